"""How many attempts a gRPC client makes of calls of which every attempt fails.

Arguments: a file with a service config, and the number of calls, which are made one after another.
Prints the attempts of each as a list. The server is on the loopback interface.
"""

import json
import sys
from concurrent import futures

import grpc


class Server(grpc.GenericRpcHandler):
    def __init__(self):
        self.attempts = {}

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, request, context):
        self.attempts[request] = self.attempts.get(request, 0) + 1
        context.abort(grpc.StatusCode.UNAVAILABLE, "as asked")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = file.read()
    handler = Server()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    options = [("grpc.service_config", config), ("grpc.enable_http_proxy", 0)]
    counts = []
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        call = channel.unary_unary("/damper.Export/Call")
        for number in range(int(sys.argv[2])):
            request = str(number).encode()
            try:
                call(request, timeout=30)
            except grpc.RpcError:
                pass
            counts.append(handler.attempts.get(request, 0))
    server.stop(None)
    print(json.dumps(counts))


main()
