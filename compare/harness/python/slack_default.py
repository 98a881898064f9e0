# py-slack-sdk: lost connections are retried once if nobody says otherwise.
import os

from slack_sdk import WebClient

WebClient(token="xoxb-1", base_url=os.environ["HARNESS_URL"] + "/close/").api_test()
