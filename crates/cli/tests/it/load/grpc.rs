//! Calls with real messages to a server of Python's gRPC, whose methods are known by a file of
//! descriptors, or by asking it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::program::{damper, json, number};

/// `shop.Orders/Place` takes an order of one article, which must be 7, for a name that begins with
/// `a`; the descriptors are written to a file, and told to those who ask.
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
service.method.add(name='Place', input_type='.shop.Order', output_type='.shop.Item')
open(sys.argv[1], 'wb').write(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
pool = descriptor_pool.Default()
pool.AddSerializedFile(file.SerializeToString())
Order = message_factory.GetMessageClass(pool.FindMessageTypeByName('shop.Order'))

def place(order, context):
    if not order.name.startswith('a') or [i.article_number for i in order.items] != [7]:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, 'another order was expected')
    return b''

class Orders(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == '/shop.Orders/Place':
            return grpc.unary_unary_rpc_method_handler(place, Order.FromString)

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
