iresource "google_cloud_tasks_queue" "q" {
  rate_limits {
    max_dispatches_per_second = 10
    max_concurrent_dispatches = 3
  }
  retry_config {
    max_attempts = 4
    max_retry_duration = "60s"
    min_backoff = "2s"
  }
}
resource "google_cloud_tasks_queue" "r" {}
