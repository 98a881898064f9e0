//! From the tree to [`Sidecar`].

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use damper_control::Nanos;

use super::tables::{
    ADMIN, CLIENT_TLS, DRAIN, INBOUND, LIMITS, OUTBOUND, SIDECAR, TLS, UPSTREAM_SECTION,
};
use super::{
    Admin, Balance, ClientTls, Drain, Endpoint, Limits, Listener, PoolOrder, Protocol, Repeat,
    Sidecar, Tls, Trust, Upstream, Way, place,
};
use crate::model::System;
use crate::node::{Node, Value, quoted};
use crate::problem::{Draft, Problems};
use crate::read::{Fields, NameList, Reader, Val};
use crate::schema::Kind;
use crate::source::Span;

/// Headers that no rank can be in: a message needs them, or another control reads them.
const RESERVED: [&str; 15] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "grpc-previous-rpc-attempts",
    "grpc-timeout",
    "host",
    "keep-alive",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-envoy-attempt-count",
];

/// `None`: something is wrong with it, and was said.
pub(super) fn lower(
    reader: &mut Reader<'_>,
    root: &Node,
    base: &Path,
    read: &dyn Fn(&Path) -> Result<System, Problems>,
) -> Result<Option<Sidecar>, Problems> {
    if matches!(root.value, Value::Null) {
        reader.error(
            Draft::new(root.span, "the file is empty")
                .found("nothing")
                .expected("`proxy: 1`, the system file and listeners"),
        );
        return Ok(None);
    }
    let Some(fields) = reader.section(root, &SIDECAR, root.span) else { return Ok(None) };
    if let Some(node) = fields.node("proxy").filter(|node| node.scalar() != Some("1")) {
        reader.error(
            Draft::new(node.span, "this version of the format is not known")
                .found(node.found())
                .expected("`1`, the only version so far"),
        );
    }
    let Some(path) = text(reader, &fields, "system") else { return Ok(None) };
    let system_file = base.join(path);
    let system = match read(&system_file) {
        Ok(system) => system,
        // Those of this file first: they may be why it is the wrong system file.
        Err(problems) if !reader.sink.has_errors() => return Err(problems),
        Err(_) => return Ok(None),
    };
    let services: Vec<String> = system.services.iter().map(|s| s.name.clone()).collect();
    reader.names.services = NameList::new(services);
    let mut file = File { reader, system: &system, base, seen: HashMap::new() };
    Ok(file.lower(&fields, &system_file))
}

/// What the parts need of the whole.
struct File<'r, 's, 'f> {
    reader: &'r mut Reader<'s>,
    system: &'f System,
    base: &'f Path,
    /// Addresses and hops that are taken, by what they are called.
    seen: HashMap<String, Span>,
}

impl File<'_, '_, '_> {
    fn lower(&mut self, fields: &Fields<'_>, system_file: &Path) -> Option<Sidecar> {
        let workers = self.reader.count32(fields, "workers");
        let admin = fields.node("admin").and_then(|node| self.admin(node));
        let drain = self.drain(fields);
        let limits = self.limits(fields, DEFAULTS);
        let mut listeners = Vec::new();
        for (key, inbound) in [("inbound", true), ("outbound", false)] {
            let Some(node) = fields.node(key) else { continue };
            let Value::Seq(items) = &node.value else {
                self.reader.error(
                    Draft::new(node.span, "this must be a list")
                        .found(node.found())
                        .expected("a list of listeners, each a mapping"),
                );
                continue;
            };
            listeners.extend(items.iter().filter_map(|i| self.listener(i, inbound, limits)));
        }
        if !fields.has("inbound") && !fields.has("outbound") {
            self.reader.error(
                Draft::new(fields.at, "there is nothing to listen for")
                    .found("neither `inbound` nor `outbound`")
                    .expected("`inbound:` with services, or `outbound:` with calls"),
            );
        } else if listeners.is_empty() && !self.reader.sink.has_errors() {
            self.reader.error(
                Draft::new(fields.at, "there is nothing to listen for")
                    .found("empty lists")
                    .expected("at least one listener"),
            );
        }
        if self.reader.sink.has_errors() {
            return None;
        }
        Some(Sidecar {
            system_file: system_file.to_path_buf(),
            system: self.system.clone(),
            workers,
            admin,
            drain,
            listeners,
        })
    }

    fn admin(&mut self, node: &Node) -> Option<Admin> {
        let fields = self.reader.section(node, &ADMIN, node.span)?;
        let listen = match fields.has("listen") {
            true => self.address(&fields, "listen")?,
            false => SocketAddr::from(([127, 0, 0, 1], 9901)),
        };
        let token_file = self.path(&fields, "token_file");
        if !listen.ip().is_loopback() && !fields.has("token_file") {
            self.reader.error(
                Draft::new(fields.span("listen"), "others could pull the lever here")
                    .expected("a loopback address, or a `token_file`"),
            );
        }
        Some(Admin { listen, token_file, state_file: self.path(&fields, "state_file") })
    }

    fn drain(&mut self, fields: &Fields<'_>) -> Drain {
        let mut drain = Drain { delay: Nanos::ZERO, timeout: Nanos::from_secs(30) };
        let Some(node) = fields.node("drain") else { return drain };
        if let Some(fields) = self.reader.section(node, &DRAIN, node.span) {
            drain.delay = self.reader.duration(&fields, "delay").unwrap_or(drain.delay);
            drain.timeout = self.reader.duration(&fields, "timeout").unwrap_or(drain.timeout);
        }
        drain
    }

    fn listener(&mut self, node: &Node, inbound: bool, limits: Limits) -> Option<Listener> {
        let section = if inbound { &INBOUND } else { &OUTBOUND };
        let fields = self.reader.section(node, section, node.span)?;
        let way = if inbound { self.service(&fields) } else { self.call(&fields) };
        let listen = self.address(&fields, "listen");
        if let Some(address) = listen.filter(|address| address.port() != 0) {
            self.once(&fields, "listen", &address.to_string(), "listens there");
        }
        if let Some(Way::Inbound(name) | Way::Outbound(name)) = &way {
            let key = if inbound { "service" } else { "call" };
            self.once(&fields, key, name, "is this hop");
        }
        let upstream = fields.node("upstream").and_then(|node| self.upstream(node));
        let default = if inbound { Trust::None } else { Trust::Loopback };
        let trust = self.trust(&fields).unwrap_or(default);
        let repeat = match self.reader.word(&fields, "repeat") {
            Some("by-policy") => Repeat::ByPolicy,
            _ => Repeat::ByMethod,
        };
        let timeout = self.reader.duration(&fields, "timeout");
        let flow = self.header(&fields, "flow");
        let rank = self.rank(&fields);
        let tls = fields.node("tls").map(|node| self.tls(node));
        let limits = self.limits(&fields, limits);
        if tls.as_ref().is_some_and(Option::is_none) {
            return None;
        }
        Some(Listener {
            way: way?,
            listen: listen?,
            upstream: upstream?,
            trust,
            timeout,
            flow,
            rank,
            repeat,
            tls: tls.flatten(),
            limits,
        })
    }

    /// The header of a rank, which is written and dropped here.
    fn rank(&mut self, fields: &Fields<'_>) -> Option<String> {
        let name = self.header(fields, "rank")?;
        let taken = RESERVED.contains(&name.as_str()) || name.starts_with("x-damper-");
        if taken {
            self.reader.error(
                Draft::new(fields.span("rank"), "this header is there for something else")
                    .found(quoted(&name))
                    .expected("a name of its own such as `x-rank`"),
            );
        }
        (!taken).then_some(name)
    }

    fn service(&mut self, fields: &Fields<'_>) -> Option<Way> {
        let id = self.reader.id(fields, "service")?;
        Some(Way::Inbound(self.system.services.get(id)?.name.clone()))
    }

    fn call(&mut self, fields: &Fields<'_>) -> Option<Way> {
        let call = text(self.reader, fields, "call")?;
        if let Some(edge) = self.system.edge_named(&call) {
            return Some(Way::Outbound(self.edge(edge)));
        }
        let edges: Vec<String> =
            self.system.policies.edges.iter().map(|edge| self.edge(edge)).collect();
        let near = self.reader.near(&call, edges.iter().map(String::as_str));
        self.reader.error(
            Draft::new(fields.span("call"), format!("no request makes the call {}", quoted(&call)))
                .expected("a call of the system file, as `caller -> callee`")
                .suggest(near),
        );
        None
    }

    fn edge(&self, edge: &crate::model::Edge) -> String {
        let (caller, callee) =
            (self.system.caller_name(edge.caller), self.system.target_name(edge.target));
        format!("{caller} -> {callee}")
    }

    /// What may stand in the file once.
    fn once(&mut self, fields: &Fields<'_>, key: &str, name: &str, what: &str) {
        let at = fields.span(key);
        if let Some(first) = self.seen.insert(format!("{what} {name}"), at) {
            self.reader.error(
                Draft::new(at, format!("another listener {what} already"))
                    .expected("each once")
                    .also(first, "the other"),
            );
        }
    }

    fn header(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let name = text(self.reader, fields, key)?.to_ascii_lowercase();
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.bytes().all(token) {
            return Some(name);
        }
        self.reader.error(
            Draft::new(fields.span(key), "this cannot be the name of a header")
                .expected("a name such as `x-user`"),
        );
        None
    }

    fn trust(&mut self, fields: &Fields<'_>) -> Option<Trust> {
        let node = fields.node("trust")?;
        let Value::Seq(items) = &node.value else {
            return Some(match self.reader.word(fields, "trust")? {
                "all" => Trust::All,
                "loopback" => Trust::Loopback,
                _ => Trust::None,
            });
        };
        let networks = items.iter().filter_map(|item| {
            let network = place::network(item.scalar().unwrap_or_default());
            network
                .map_err(|why| {
                    self.reader.error(
                        Draft::new(item.span, why)
                            .found(item.found())
                            .expected("a network such as `10.0.0.0/8`, or an address"),
                    );
                })
                .ok()
        });
        Some(Trust::Networks(networks.collect()))
    }

    fn upstream(&mut self, node: &Node) -> Option<Upstream> {
        let defaults = |to| Upstream {
            to,
            protocol: Protocol::AsCaller,
            balance: Balance::P2c,
            tls: None,
            connect_timeout: Nanos::from_secs(1),
            refresh: Nanos::from_secs(30),
            connections: 1024,
            order: PoolOrder::Lru,
            max_age: Nanos::from_secs(300),
            idle: Nanos::from_secs(60),
        };
        if !node.is_map() {
            return Some(defaults(self.endpoints(node)?));
        }
        let fields = self.reader.section(node, &UPSTREAM_SECTION, node.span)?;
        let to = fields.node("to").and_then(|node| self.endpoints(node));
        let tls = fields.node("tls").map(|node| self.client_tls(node));
        let reader = &mut *self.reader;
        let mut upstream = defaults(Vec::new());
        match reader.word(&fields, "protocol") {
            Some("http1") => upstream.protocol = Protocol::Http1,
            Some("http2") => upstream.protocol = Protocol::Http2,
            _ => {}
        }
        match reader.word(&fields, "balance") {
            Some("round-robin") => upstream.balance = Balance::RoundRobin,
            Some("least-request") => upstream.balance = Balance::LeastRequest,
            _ => {}
        }
        if reader.word(&fields, "order") == Some("mru") {
            upstream.order = PoolOrder::Mru;
        }
        for (key, value) in [
            ("connect_timeout", &mut upstream.connect_timeout),
            ("refresh", &mut upstream.refresh),
            ("max_age", &mut upstream.max_age),
            ("idle", &mut upstream.idle),
        ] {
            *value = reader.duration(&fields, key).unwrap_or(*value);
        }
        upstream.connections =
            reader.count32(&fields, "connections").unwrap_or(upstream.connections);
        upstream.tls = match tls {
            Some(tls) => Some(tls?),
            None => None,
        };
        upstream.to = to?;
        Some(upstream)
    }

    fn endpoints(&mut self, node: &Node) -> Option<Vec<Endpoint>> {
        let texts = self.reader.one_or_many(node, &Kind::Text)?;
        let items: Vec<Span> = match &node.value {
            Value::Seq(items) => items.iter().map(|i| i.span).collect(),
            _ => vec![node.span],
        };
        let mut endpoints = Vec::new();
        for (text, at) in texts.into_iter().zip(items) {
            let Val::Text(text) = text else { continue };
            match place::endpoint(&text) {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(why) => {
                    self.reader
                        .error(Draft::new(at, why).expected("`address:port` or `name:port`"));
                }
            }
        }
        Some(endpoints)
    }

    fn tls(&mut self, node: &Node) -> Option<Tls> {
        let fields = self.reader.section(node, &TLS, node.span)?;
        let client_ca = self.path(&fields, "client_ca");
        let (certificate, key) = (self.path(&fields, "certificate"), self.path(&fields, "key"));
        Some(Tls { certificate: certificate?, key: key?, client_ca })
    }

    fn client_tls(&mut self, node: &Node) -> Option<ClientTls> {
        let fields = self.reader.section(node, &CLIENT_TLS, node.span)?;
        let (ca, name) = (self.path(&fields, "ca"), text(self.reader, &fields, "name"));
        let pair = (self.path(&fields, "certificate"), self.path(&fields, "key"));
        let identity = match pair {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                self.reader.error(
                    Draft::new(fields.at, "`certificate` and `key` belong together")
                        .expected("both, or neither"),
                );
                None
            }
        };
        let name = name?;
        if !place::is_host(&name) && name.parse::<std::net::IpAddr>().is_err() {
            self.reader.error(
                Draft::new(fields.span("name"), "no certificate has this name")
                    .expected("a host name or an address"),
            );
        }
        Some(ClientTls { ca: ca?, name, identity })
    }

    fn limits(&mut self, of: &Fields<'_>, mut limits: Limits) -> Limits {
        let Some(node) = of.node("limits") else { return limits };
        let reader = &mut *self.reader;
        let Some(fields) = reader.section(node, &LIMITS, node.span) else { return limits };
        for (key, value) in [
            ("connections", &mut limits.connections),
            ("requests", &mut limits.requests),
            ("headers", &mut limits.headers),
            ("streams", &mut limits.streams),
        ] {
            *value = reader.count32(&fields, key).unwrap_or(*value);
        }
        for (key, value) in [
            ("head_timeout", &mut limits.head_timeout),
            ("body_timeout", &mut limits.body_timeout),
            ("idle", &mut limits.idle),
        ] {
            *value = reader.duration(&fields, key).unwrap_or(*value);
        }
        limits.head = reader.count(&fields, "head").unwrap_or(limits.head);
        limits.body = reader.count(&fields, "body").or(limits.body);
        limits
    }

    fn address(&mut self, fields: &Fields<'_>, key: &str) -> Option<SocketAddr> {
        let text = text(self.reader, fields, key)?;
        let address = text.parse().ok();
        if address.is_none() {
            self.reader.error(
                Draft::new(fields.span(key), "this is not an address with its port")
                    .expected("an address such as `127.0.0.1:8080` or `[::]:8080`"),
            );
        }
        address
    }

    fn path(&mut self, fields: &Fields<'_>, key: &str) -> Option<PathBuf> {
        text(self.reader, fields, key).map(|name| self.base.join(name))
    }
}

fn text(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<String> {
    match reader.value(fields, key) {
        Some(Val::Text(text)) => Some(text),
        _ => None,
    }
}

/// What the tables say.
const DEFAULTS: Limits = Limits {
    connections: 8192,
    requests: 16_384,
    headers: 100,
    head: 64 << 10,
    body: None,
    head_timeout: Nanos::from_secs(10),
    body_timeout: Nanos::from_secs(30),
    idle: Nanos::from_secs(300),
    streams: 256,
};
