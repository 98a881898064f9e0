iresource "aws_sfn_state_machine" "m" {
  definition = <<EOF
{"StartAt": "a", "States": {"a": {
  "Resource": "${aws_lambda_function.f.arn}",
  "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 5}]}}}
EOF
}
