iresource "kubernetes_cron_job_v1" "c" {
  metadata { name = "import" }
  spec {
    job_template {
      spec {
        backoff_limit = 1
        template {
          spec { restart_policy = "OnFailure" }
        }
      }
    }
  }
}
