"""How many attempts gRPC's own client makes of each call, beside what our throttle expects.

Reads a file with what `compare-control grpc` prints: for each setting of the throttle a list of
calls, how their attempts are to end, and how many attempts ours would make. Starts a server on
the loopback interface that ends them so, makes the calls with retries by service config, and
compares. Exits with 1 if a number differs.
"""

import json
import sys
from concurrent import futures

import grpc

METHOD = "/damper.Compare/Call"


class Server(grpc.GenericRpcHandler):
    """Ends each attempt as its call says, and counts them."""

    def __init__(self, calls):
        self.calls = calls
        self.attempts = [0] * len(calls)

    def service(self, details):
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, request, context):
        call = int(request)
        attempt = self.attempts[call]
        self.attempts[call] += 1
        if self.calls[call]["fails"][attempt]:
            context.abort(grpc.StatusCode.UNAVAILABLE, "as asked")
        return b""


def attempts(setting):
    """Makes all calls, one after another; how many attempts of each arrived."""
    handler = Server(setting["calls"])
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), handlers=[handler])
    # A port of its own for each setting: gRPC keeps one throttle for each name of a server.
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    config = {
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": setting["max_attempts"],
                    # With 1 ms, which jitter makes 0, gRPC 1.85 never sends the retry.
                    "initialBackoff": "0.005s",
                    "maxBackoff": "0.005s",
                    "backoffMultiplier": 1,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
        "retryThrottling": {
            "maxTokens": setting["max_tokens"],
            "tokenRatio": setting["token_ratio"],
        },
    }
    options = [
        ("grpc.enable_retries", 1),
        ("grpc.service_config", json.dumps(config)),
        ("grpc.enable_http_proxy", 0),  # it stays on this machine
    ]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        method = channel.unary_unary(METHOD)
        for call in range(len(setting["calls"])):
            try:
                method(str(call).encode(), timeout=10)
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
    server.stop(None).wait()
    return handler.attempts


def main():
    different = 0
    total = 0
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = [json.loads(line) for line in file]
    for setting in settings:
        expected = [call["attempts"] for call in setting["calls"]]
        made = attempts(setting)
        total += sum(made)
        for call, (ours, theirs) in enumerate(zip(expected, made)):
            if ours != theirs:
                different += 1
                tokens = f"{setting['max_tokens']} tokens and {setting['token_ratio']}"
                print(f"{tokens}, call {call}: {theirs} attempts of gRPC, {ours} of ours")
    print(f"gRPC {grpc.__version__}: {total} attempts, {different} calls differ")
    sys.exit(1 if different or total == 0 else 0)


if __name__ == "__main__":
    main()
