//! Drills on programs that nobody here wrote: nginx, HAProxy and Envoy in front of a server, a
//! server of Python's gRPC, one from npm. What goes wrong is the same for all: the process is
//! stopped for two seconds and goes on.
//!
//! `cargo xtask test` gets them and says where they are in a variable each (`NGINX`, `HAPROXY`, `ENVOY`, `EXPORT_PYTHON`,
//! `NPM_HTTP_SERVER`); without it the test says loudly that it was left out.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{server, soon};
use crate::program::{command, finished, number};

/// A program that runs until this is dropped.
struct Program {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a program with a configuration in a file; `{port}`, `{up}` and `{folder}` are filled in.
fn start(variable: &str, file: &str, text: &str, arguments: &[&str]) -> Option<Program> {
    let Some(program) = std::env::var(variable).ok().filter(|p| !p.is_empty()) else {
        println!("LEFT OUT: ${variable} does not say where the program is");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let (port, up) = (free_port(), server());
    let fill = |text: &str| {
        text.replace("{port}", &port.to_string())
            .replace("{up}", &up.to_string())
            .replace("{folder}", folder.path().to_str().unwrap())
    };
    std::fs::write(folder.path().join(file), fill(text)).unwrap();
    let arguments: Vec<String> = arguments.iter().map(|a| fill(a)).collect();
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Program { child, port, _folder: folder };
    let up = soon(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(up, "{variable}: it does not listen");
    Some(running)
}

/// Freezes it for two seconds under load: it must be noticed, and must be over soon after.
fn freeze(program: &Program, protocol: &str) {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().to_str().unwrap().to_owned();
    let pid = program.child.id();
    let sets = [
        format!("target=http://127.0.0.1:{}/", program.port),
        format!("protocol={protocol}"),
        format!("triggers.freeze.start=kill -STOP {pid}"),
        format!("triggers.freeze.stop=kill -CONT {pid}"),
    ];
    let mut args = vec!["drill", "examples/drill/own-server.yaml", "--json", "--keep-in", &kept];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let ran = finished(command(&args).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let record: Value = serde_json::from_str(&ran.out).unwrap();
    let lost = number(&record, "/lost");
    // 100 a second for two seconds, of which the last half second still comes in time.
    assert!((100.0..=400.0).contains(&lost), "{lost} lost");
}

const NGINX: &str = "
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {}
http {
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server { listen 127.0.0.1:{port}; location / { return 200 'well'; } }
}
";

#[test]
#[ignore = "slow: half a minute of load on nginx"]
fn nginx() {
    // The worker is what answers: without a master there is one process to stop.
    let arguments = ["-p", "{folder}", "-c", "{folder}/nginx.conf", "-g", "master_process off;"];
    if let Some(running) = start("NGINX", "nginx.conf", NGINX, &arguments) {
        freeze(&running, "http1");
    }
}

const HAPROXY: &str = "
global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{up}
";

#[test]
#[ignore = "slow: half a minute of load on HAProxy"]
fn haproxy() {
    if let Some(running) =
        start("HAPROXY", "haproxy.cfg", HAPROXY, &["-db", "-f", "{folder}/haproxy.cfg"])
    {
        freeze(&running, "http1");
    }
}

const ENVOY: &str = "
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: {port}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          route_config:
            virtual_hosts:
            - {name: all, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster: up}}]}
          http_filters:
          - name: envoy.filters.http.fault
            typed_config:
              '@type': type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
              abort: {http_status: 503, percentage: {numerator: 0}}
              delay: {fixed_delay: 1s, percentage: {numerator: 0}}
          - name: envoy.filters.http.router
            typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: up
    load_assignment:
      cluster_name: up
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: {up}}}}}]}]
layered_runtime: {layers: [{name: admin, admin_layer: {}}]}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: {admin}}}}
";

/// By the fault filter and its runtime, and with a statistic of Envoy as the metric that decides.
#[test]
#[ignore = "slow: half a minute of load on Envoy"]
fn envoy() {
    let admin = free_port();
    let text = ENVOY.replace("{admin}", &admin.to_string());
    let arguments = ["-c", "{folder}/envoy.yaml", "--concurrency", "1", "--disable-hot-restart"];
    let Some(running) = start("ENVOY", "envoy.yaml", &text, &arguments) else { return };
    freeze(&running, "http1");
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.yaml");
    let text = format!(
        "drill: 1\nname: envoy\ntarget: http://127.0.0.1:{}/\nload: 50/s\n\
         recovered: {{hold: 3s, metric: waiting, below: 1}}\n\
         metrics:\n  waiting: {{envoy: 'http://127.0.0.1:{admin}', stat: 'cluster.up.upstream_rq_pending_active'}}\n\
         \x20 aborted: {{envoy: 'http://127.0.0.1:{admin}', stat: 'fault.aborts_injected'}}\n\
         triggers: {{errors: {{envoy: 'http://127.0.0.1:{admin}', abort: 503}}}}\n\
         phases: [{{load: 100%, over: 1s}}, {{hold: 4s, name: calm}}, {{start: errors, for: 3s}}, {{recover: 20s}}]\n\
         expect: [{{recovery: 10s}}, {{detection: 3s}}, {{goodput: 99%, during: calm}}, {{moved: aborted}}]\n",
        running.port
    );
    std::fs::write(&plan, text).unwrap();
    let kept = folder.path().join("kept");
    let args = ["drill", plan.to_str().unwrap(), "--json", "--keep-in", kept.to_str().unwrap()];
    let ran = finished(command(&args).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

const GRPC: &str = "
import grpc, sys
from concurrent import futures

class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b'')

server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[Echo()])
assert server.add_insecure_port('127.0.0.1:{port}')
server.start()
server.wait_for_termination()
";

#[test]
#[ignore = "slow: half a minute of load on a server of Python's gRPC"]
fn python_grpc() {
    if let Some(running) = start("EXPORT_PYTHON", "server.py", GRPC, &["{folder}/server.py"]) {
        freeze(&running, "grpc");
    }
}

/// `http-server` of npm.
#[test]
#[ignore = "slow: half a minute of load on a server from npm"]
fn npm_http_server() {
    let arguments = ["{folder}", "-p", "{port}", "-a", "127.0.0.1", "--silent"];
    if let Some(running) = start("NPM_HTTP_SERVER", "index.html", "well", &arguments) {
        freeze(&running, "http1");
    }
}
