"""Both ends of gRPC calls, without generated code.

`grpc_peer.py serve` prints its port and serves until its input ends; `grpc_peer.py call PORT` calls it
through whatever listens there, and prints one JSON object.
"""

import json
import sys
import time
from concurrent import futures

import grpc

SERVICE = "damper.Test"


def unary(request, context):
    if request == b"fail":
        context.set_trailing_metadata((("x-why", "asked"),))
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as asked")
    if request == b"slow":
        time.sleep(2)
    context.send_initial_metadata((("x-first", "1"),))
    context.set_trailing_metadata((("x-last", "2"),))
    return request


def stream_out(request, context):
    for number in range(int(request)):
        yield str(number).encode()


def stream_in(requests, context):
    return str(sum(len(request) for request in requests)).encode()


def stream_both(requests, context):
    for request in requests:
        yield request


class Handler(grpc.GenericRpcHandler):
    methods = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Out": grpc.unary_stream_rpc_method_handler(stream_out),
        "In": grpc.stream_unary_rpc_method_handler(stream_in),
        "Both": grpc.stream_stream_rpc_method_handler(stream_both),
    }

    def service(self, details):
        return self.methods.get(details.method.rsplit("/", 1)[-1])


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(None)


def status(call):
    try:
        call()
        return "OK"
    except grpc.RpcError as error:
        return error.code().name


def call(port):
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=(("grpc.enable_retries", 0),))
    path = f"/{SERVICE}/"
    one = channel.unary_unary(path + "Unary")
    reply, seen = one.with_call(b"hello", timeout=10)
    failed = None
    try:
        one(b"fail", timeout=10)
    except grpc.RpcError as error:
        failed = {
            "code": error.code().name,
            "details": error.details(),
            "trailers": dict(error.trailing_metadata()).get("x-why"),
        }
    big = b"x" * 1_000_000
    sums = channel.stream_unary(path + "In")(iter([big, big]), timeout=20)
    both = channel.stream_stream(path + "Both")(iter([b"a", b"b", b"c"]), timeout=10)
    print(
        json.dumps(
            {
                "reply": reply.decode(),
                "first": dict(seen.initial_metadata()).get("x-first"),
                "last": dict(seen.trailing_metadata()).get("x-last"),
                "failed": failed,
                "slow": status(lambda: one(b"slow", timeout=0.3)),
                "unknown": status(lambda: channel.unary_unary(path + "None")(b"", timeout=10)),
                "out": len(list(channel.unary_stream(path + "Out")(b"100", timeout=10))),
                "in": int(sums),
                "both": b"".join(both).decode(),
            }
        )
    )


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else call(int(sys.argv[2]))
