iresource "aws_sqs_queue" "q" {
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.d.arn
    maxReceiveCount = var.most
  })
}
resource "aws_sqs_queue" "r" {}
resource "aws_sqs_queue_redrive_policy" "r" {
  queue_url = aws_sqs_queue.r.id
  redrive_policy = jsonencode({ maxReceiveCount = 4 })
}
