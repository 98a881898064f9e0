# py-grpcio-service-config: the server is in this program, and tells the harness of each call.
import json
import os
from concurrent import futures

import grpc
import requests

METHOD = "/harness.Orders/Find"


def find(request, context):
    requests.get(os.environ["HARNESS_URL"] + "/503")
    context.abort(grpc.StatusCode.UNAVAILABLE, "no")


server = grpc.server(futures.ThreadPoolExecutor(1))
handler = grpc.unary_unary_rpc_method_handler(find)
server.add_generic_rpc_handlers(
    [grpc.method_handlers_generic_handler("harness.Orders", {"Find": handler})]
)
port = server.add_insecure_port("127.0.0.1:0")
server.start()

config = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "0.1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
)
channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.service_config", config)])
channel.unary_unary(METHOD)(b"")
