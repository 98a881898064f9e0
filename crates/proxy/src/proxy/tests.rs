use std::os::fd::OwnedFd;
use std::path::Path;

use damper_system::SystemFile;

use super::*;
use crate::sockets::Opened;

const SYSTEM: &str = "damper: 1\nservices: {db: {workers: 2}}\nload: 1/s\n\
                      requests: {get: {calls: [db]}}\n";

fn sidecar(config: &str) -> Sidecar {
    let read = |_: &Path| SystemFile::parse("system.yaml", SYSTEM)?.lower();
    Sidecar::parse("proxy.yaml", config, Path::new(""), &read).unwrap_or_else(|p| panic!("{p}"))
}

/// A file in place of a socket: nothing can be waited for on it.
#[test]
fn a_worker_that_cannot_listen_says_so() {
    let config = "proxy: 1\nsystem: s\nworkers: 1\n\
                  inbound: [{service: db, listen: 127.0.0.1:0, upstream: 127.0.0.1:1}]\n";
    let proxy = Proxy::start(&sidecar(config), Vec::new()).unwrap();
    let running = &proxy.running[0];
    let socket = TcpListener::from(OwnedFd::from(tempfile::tempfile().unwrap()));
    socket.set_nonblocking(true).unwrap();
    let given = Given {
        address: SocketAddr::from(([127, 0, 0, 1], 9)),
        socket: Some(Opened { socket, lent: false }),
        controls: running.controls.clone(),
        connector: Connector::new(&running.listener.upstream).unwrap(),
        gate: running.gate.clone(),
        tls: None,
    };
    let (failed, told) = channel();
    proxy.workers[0].tell(Command::Set { given: vec![given], failed });
    let all: Vec<Failed> = told.iter().collect();
    let [Failed { hop, address, why }] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((hop.as_str(), address.port()), ("db", 9));
    assert_eq!(why.kind(), io::ErrorKind::PermissionDenied, "{why}");
}
