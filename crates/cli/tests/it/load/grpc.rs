//! Calls with real messages to a server of Python's gRPC, whose methods are known by a file of
//! descriptors, or by asking it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::program::{damper, json, number};

/// `shop.Orders/Place` takes an order of one article, which must be 7, for a name that begins with
/// `a`; `Sum` takes two such orders, `List` answers with three items, `Talk` with one for each order
/// and does both. The descriptors are written to a file, and told to those who ask.
const SERVER: &str = r#"
import sys, grpc
from concurrent import futures
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

file = descriptor_pb2.FileDescriptorProto(name='shop.proto', package='shop', syntax='proto3')
item = file.message_type.add(name='Item')
item.field.add(name='article_number', number=1, type=3, label=1)
order = file.message_type.add(name='Order')
order.field.add(name='name', number=1, type=9, label=1)
order.field.add(name='items', number=2, type=11, type_name='.shop.Item', label=3)
service = file.service.add(name='Orders')
streams = {'Place': (False, False), 'Sum': (True, False), 'List': (False, True), 'Talk': (True, True)}
for name, (up, down) in streams.items():
    service.method.add(name=name, input_type='.shop.Order', output_type='.shop.Item',
                       client_streaming=up, server_streaming=down)
open(sys.argv[1], 'wb').write(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
pool = descriptor_pool.Default()
pool.AddSerializedFile(file.SerializeToString())
Order = message_factory.GetMessageClass(pool.FindMessageTypeByName('shop.Order'))

def place(order, context):
    if not order.name.startswith('a') or [i.article_number for i in order.items] != [7]:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, 'another order was expected')
    return b''

def sum_up(orders, context):
    if [place(order, context) for order in orders] != [b'', b'']:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, 'two orders were expected')
    return b'1234'

def list_all(order, context):
    for _ in range(3):
        yield b'12345'
    if order.name == 'busy':
        context.abort(grpc.StatusCode.UNAVAILABLE, 'no more today')

def talk(orders, context):
    for order in orders:
        yield place(order, context)

METHODS = {
    '/shop.Orders/Place': grpc.unary_unary_rpc_method_handler(place, Order.FromString),
    '/shop.Orders/Sum': grpc.stream_unary_rpc_method_handler(sum_up, Order.FromString),
    '/shop.Orders/List': grpc.unary_stream_rpc_method_handler(list_all, Order.FromString),
    '/shop.Orders/Talk': grpc.stream_stream_rpc_method_handler(talk, Order.FromString),
}

class Orders(grpc.GenericRpcHandler):
    def service(self, details):
        return METHODS.get(details.method)

server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[Orders()])
if sys.argv[2] == 'told':
    from grpc_reflection.v1alpha import reflection
    reflection.enable_server_reflection(('shop.Orders', reflection.SERVICE_NAME), server)
port = server.add_insecure_port('127.0.0.1:0')
server.start()
print(port, flush=True)
server.wait_for_termination()
"#;

struct Server {
    child: Child,
    target: String,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(told: &str) -> Option<Self> {
        let Some(python) = std::env::var("EXPORT_PYTHON").ok().filter(|p| !p.is_empty()) else {
            println!("LEFT OUT: $EXPORT_PYTHON does not say where a Python with gRPC is");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.py");
        std::fs::write(&file, SERVER).unwrap();
        let mut child = Command::new(python)
            .args([file.as_os_str(), folder.path().join("shop.binpb").as_os_str(), told.as_ref()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let target = format!("http://127.0.0.1:{}/shop.Orders/Place", port.trim());
        Some(Self { child, target, folder })
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

const ORDER: &str = "{\"name\": \"a7\", \"items\": [{\"articleNumber\": 7}]}";
const OTHER: &str = "{\"name\": \"a7\", \"items\": [{\"articleNumber\": 8}]}";

/// Counts by end of a load with more arguments.
fn load(target: &str, more: &[&str]) -> [f64; 3] {
    let args = ["load", target, "--rate", "200/s", "--for", "500ms", "--grpc"];
    let result = json(&[args.as_slice(), more].concat());
    ["/total/requests", "/total/ok", "/total/failed"].map(|count| number(&result, count))
}

#[test]
fn json_becomes_the_messages_that_a_file_of_descriptors_says() {
    let Some(server) = Server::start("silent") else { return };
    let shop = server.file("shop.binpb");
    let [requests, ok, _] = load(&server.target, &["--descriptors", &shop, "--message", ORDER]);
    assert!(requests > 50.0 && (ok - requests).abs() < 0.5, "{ok} of {requests}");
    let [requests, _, failed] = load(&server.target, &["--descriptors", &shop, "--message", OTHER]);
    assert!(requests > 50.0 && (failed - requests).abs() < 0.5, "it reads what was sent: {failed}");
    let file = server.file("requests.yaml");
    let text = "requests: 1\ndescriptors: shop.binpb\nsend:\n  place:\n    path: /shop.Orders/Place\n\
        \x20   body: '{\"name\": \"a{{counter}}\", \"items\": [{\"articleNumber\": 7}]}'\n";
    std::fs::write(&file, text).unwrap();
    let target = server.target.trim_end_matches("/shop.Orders/Place").to_owned();
    let [requests, ok, _] = load(&target, &["--requests", &file]);
    assert!(requests > 50.0 && (ok - requests).abs() < 0.5, "{ok} of {requests}");
    std::fs::write(&file, text.replace("Place", "Plaec").replace("articleNumber", "artNumber"))
        .unwrap();
    let ran = damper(&["load", &target, "--rate", "1/s", "--grpc", "--requests", &file]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("there is no method /shop.Orders/Plaec"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `/shop.Orders/Place`?"), "{}", ran.err);
    assert!(ran.err.contains("requests.yaml:5:11"), "{}", ran.err);
    std::fs::write(&file, text.replace("articleNumber", "articleNumbr")).unwrap();
    let ran = damper(&["load", &target, "--rate", "1/s", "--grpc", "--requests", &file]);
    assert!(ran.err.contains("shop.Item has no field `articleNumbr`"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `articleNumber`?"), "{}", ran.err);
    // Nobody who could be asked.
    let message = ["--reflect", "--message", ORDER];
    let ran =
        damper(&[&["load", &server.target, "--rate", "1/s", "--grpc"], &message[..]].concat());
    assert!(ran.code == Some(2) && ran.err.contains("has no reflection"), "{}", ran.err);
}

#[test]
fn a_server_that_is_asked_says_what_its_methods_take() {
    let Some(server) = Server::start("told") else { return };
    let [requests, ok, _] = load(&server.target, &["--reflect", "--message", ORDER]);
    assert!(requests > 50.0 && (ok - requests).abs() < 0.5, "{ok} of {requests}");
    let message = ["--reflect", "--message", "{\"nam\": \"a\"}"];
    let ran =
        damper(&[&["load", &server.target, "--rate", "1/s", "--grpc"], &message[..]].concat());
    assert!(ran.code == Some(2) && ran.err.contains("did you mean `name`?"), "{}", ran.err);
}

#[test]
fn streams_are_sent_and_read_to_their_end() {
    let Some(server) = Server::start("silent") else { return };
    let shop = server.file("shop.binpb");
    let of = |method: &str, message: &str, more: &[&str]| {
        let target = server.target.replace("Place", method);
        let args = ["load", &target, "--rate", "100/s", "--for", "500ms", "--grpc"];
        let message = ["--descriptors", &shop, "--message", message];
        json(&[&args[..], &message, more].concat())
    };
    let two = format!("[{ORDER}, {ORDER}]");
    // Messages of a reply, and their bytes.
    for (method, message, messages, bytes) in
        [("Sum", &two, 1.0, 4.0), ("List", &ORDER.to_owned(), 3.0, 15.0), ("Talk", &two, 2.0, 0.0)]
    {
        let result = of(method, message, &[]);
        let [requests, ok, came, long] = ["requests", "ok", "received/messages", "received/bytes"]
            .map(|name| number(&result, &format!("/total/{name}")));
        assert!(requests > 20.0 && (ok - requests).abs() < 0.5, "{method}: {ok} of {requests}");
        assert!((came - messages * requests).abs() < 0.5, "{method}: {came} messages");
        assert!((long - bytes * requests).abs() < 0.5, "{method}: {long} bytes");
    }
    // The end is what the status says that follows the messages.
    let result = of("Sum", ORDER, &[]);
    assert!(number(&result, "/total/failed") > 20.0, "one order is not two: {result}");
    let result = of("List", "{\"name\": \"busy\"}", &["--retry", "naive", "--limit", "1"]);
    let rejected = number(&result, "/total/attempts/ends/rejected");
    assert!(rejected > 40.0, "{result}");
    assert!((number(&result, "/total/received/messages") - 3.0 * rejected).abs() < 0.5);
    let target = server.target.as_str();
    let args = ["load", target, "--rate", "1/s", "--grpc", "--descriptors", &shop, "--message"];
    let ran = damper(&[args.as_slice(), &[&two]].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("a list, and the method takes one message"), "{}", ran.err);
}

#[test]
fn what_would_be_sent_is_known_by_asking() {
    let Some(server) = Server::start("told") else { return };
    let of = |message: &str| {
        let args = ["load", &server.target, "--rate", "9/s", "--grpc", "--reflect", "--dry-run"];
        damper(&[args.as_slice(), &["--message", message]].concat())
    };
    let said = of(ORDER);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.ends_with("what its methods take, and no request was sent\n"), "{}", said.out);
    assert!(of("{\"nam\": \"a\"}").err.contains("did you mean `name`?"));
}
