# py-slack-sdk: one retry if nobody says another number.
import os

from slack_sdk import WebClient
from slack_sdk.http_retry.builtin_handlers import ServerErrorRetryHandler

client = WebClient(token="xoxb-1", base_url=os.environ["HARNESS_URL"] + "/503/")
client.retry_handlers.append(ServerErrorRetryHandler(max_retry_count=2))
client.api_test()
