iresource "aws_lambda_function" "f" {}
resource "aws_lambda_event_source_mapping" "k" {
  event_source_arn = aws_kinesis_stream.s.arn
  function_name = aws_lambda_function.f.arn
}
resource "aws_lambda_event_source_mapping" "q" {
  event_source_arn = aws_sqs_queue.q.arn
}
