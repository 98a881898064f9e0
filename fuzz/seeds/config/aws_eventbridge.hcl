iresource "aws_cloudwatch_event_target" "t" {
  arn = aws_lambda_function.f.arn
  retry_policy {
    maximum_retry_attempts = 4
  }
}
resource "aws_scheduler_schedule" "s" {
  target {
    arn = aws_sqs_queue.q.arn
  }
}
