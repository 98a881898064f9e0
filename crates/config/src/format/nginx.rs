//! nginx and its families (`proxy_`, `grpc_`, `fastcgi_`, `uwsgi_`, `scgi_`, `memcached_`): the
//! next server of an upstream is tried after a failure, on errors and timeouts if nobody says
//! otherwise.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::parts::span;
use crate::format::shared::{Counted, around, attempts};
use crate::format::{Format, nginx_facts};
use crate::layer::{Attempts, Delay, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};
use crate::units;

/// Files of nginx.
pub const FORMAT: Format = Format {
    id: "nginx",
    title: "nginx",
    syntaxes: &[Syntax::Nginx],
    is: |_, document| is_nginx(&document.root),
    read,
};

pub(super) const WHO: &str = "nginx";

/// The families that pass requests on, with the protocol.
const FAMILIES: [(&str, &str); 6] = [
    ("proxy", "http"),
    ("grpc", "grpc"),
    ("fastcgi", "http"),
    ("uwsgi", "http"),
    ("scgi", "http"),
    ("memcached", "cache"),
];

/// Places of one file that are looked at: each asks the blocks around it.
pub(super) const MOST_PLACES: usize = 2_000;

/// Blocks that a file of nginx, or one that is included into one, begins with.
const BLOCKS: &[&str] = &["http", "server", "upstream", "location", "stream"];

/// Directives of which nearly every such block has one.
const LEAVES: &[&str] = &[
    "listen",
    "server_name",
    "server",
    "root",
    "alias",
    "return",
    "include",
    "try_files",
    "access_log",
    "deny",
    "allow",
    "rewrite",
];

/// Other software has blocks of the same names; nginx's directives have words and no `=`.
fn is_nginx(root: &Node) -> bool {
    let plain =
        |entry: &Entry| entry.value.arg(0).is_some_and(|word| !word.starts_with(['=', ':']));
    let leaf = |entry: &Entry| {
        let known = LEAVES.contains(&&*entry.key) || entry.key.ends_with("_pass");
        known && entry.value.block().is_none() && plain(entry)
    };
    let mut known = root.entries().iter().any(|entry| {
        entry.key.ends_with("_next_upstream") && plain(entry)
            || entry.key.ends_with("_next_upstream_tries") && plain(entry)
            || entry.key.ends_with("_pass") && entry.value.items().len() == 1 && plain(entry)
            || &*entry.key == "limit_req_zone"
    });
    let blocks_of = root.entries().iter().filter(|entry| BLOCKS.contains(&&*entry.key));
    for block in blocks_of.filter_map(|entry| entry.value.block()) {
        blocks(block, &mut vec![block], &mut |entry, _| known |= leaf(entry));
    }
    known
}

/// What is in force at a place: the innermost directive of a name wins.
pub(super) type Scope<'a> = Vec<&'a Node>;

/// A directive as it is inherited.
pub(super) fn inherited<'a>(scope: &[&'a Node], key: &str) -> Option<&'a Entry> {
    scope.iter().rev().find_map(|block| block.all(key).next_back())
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let mut upstreams = Vec::new();
    blocks(root, &mut vec![root], &mut |entry, _| {
        if entry.key.as_ref() == "upstream" && upstreams.len() < MOST_PLACES {
            upstreams.push(entry);
        }
    });
    for upstream in &upstreams {
        nginx_facts::upstream(upstream, reading);
    }
    let mut passes = Vec::new();
    blocks(root, &mut vec![root], &mut |entry, scope| {
        let place = matches!(&*entry.key, "location" | "server" | "if" | "limit_except");
        if place && passes.len() < MOST_PLACES {
            passes.push((Some(entry), scope.clone()));
        }
    });
    if passes.len() >= MOST_PLACES {
        reading.open.push((1, format!("more than {MOST_PLACES} places: the rest is left out")));
    }
    // What is included into a location has no block around it.
    passes.push((None, vec![root]));
    for (place, scope) in &passes {
        let Some(inner) = scope.last() else { continue };
        for (family, protocol) in FAMILIES {
            for pass in inner.all(&format!("{family}_pass")) {
                pass_on(family, protocol, *place, pass, scope, &upstreams, reading);
            }
        }
    }
    loose(root, &passes, reading);
    nginx_facts::limits(root, reading);
    blocks(root, &mut vec![root], &mut |entry, _| {
        if entry.key.as_ref() == "include" && reading.open.len() < 1000 {
            let file = entry.value.arg(0).unwrap_or_default();
            if !file.ends_with("mime.types") && !file.ends_with("_params") {
                reading.open.push((entry.line, format!("include {file}")));
            }
        }
    });
}

/// Every directive with the blocks around it, for a directive with a block also its own.
pub(super) fn blocks<'a>(
    node: &'a Node,
    scope: &mut Scope<'a>,
    see: &mut dyn FnMut(&'a Entry, &Scope<'a>),
) {
    for entry in node.entries() {
        match entry.value.block() {
            Some(block) => {
                scope.push(block);
                see(entry, scope);
                blocks(block, scope, see);
                scope.pop();
            }
            None => see(entry, scope),
        }
    }
}

/// The servers of an upstream that may be asked: not those that are `down`.
pub(super) fn servers(upstream: &Entry) -> Vec<&Entry> {
    let block = upstream.value.block();
    let servers = block.into_iter().flat_map(Node::entries);
    servers
        .filter(|entry| &*entry.key == "server" && !entry.value.args().contains(&"down"))
        .collect()
}

fn pass_on(
    family: &str,
    protocol: &'static str,
    place: Option<&Entry>,
    pass: &Entry,
    scope: &[&Node],
    upstreams: &[&Entry],
    reading: &mut Reading,
) {
    let target = pass.value.arg(0).unwrap_or_default();
    let host = target.split_once("://").map_or(target, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    // What stands before an `@` is a secret.
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let bare = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let upstream = upstreams
        .iter()
        .find(|upstream| upstream.value.arg(0).is_some_and(|name| name == host || name == bare));
    let callee = match upstream.and_then(|upstream| upstream.value.arg(0)) {
        Some(name) => Some(Name::new(name, None)),
        None => Name::of_host(target, None),
    };
    if let Some(callee) = callee.clone() {
        reading.calls.push(Call {
            caller: None,
            callee,
            line: pass.line,
            evidence: format!("{family}_pass"),
            count: None,
            protocol: Some(protocol),
        });
    }
    let directive = |name: &str| inherited(scope, &format!("{family}_{name}"));
    let next = directive("next_upstream");
    let tries = directive("next_upstream_tries");
    let window = directive("next_upstream_timeout");
    let time = |name: &str| {
        let written = directive(name).and_then(|entry| {
            Some(Sourced::written(units::duration_ms(entry.value.arg(0)?, 1000.0)?, entry.line))
        });
        written.unwrap_or_else(|| Sourced::default_of(60_000.0, WHO))
    };
    let read = time("read_timeout");
    let spoken = next.is_some() || tries.is_some();
    let peers = upstream.map(|upstream| servers(upstream).len());
    let found = found(tries, next, peers, host, pass);
    if !spoken && found.value == Attempts::Count(1) {
        if directive("read_timeout").is_some() {
            let what = What::Timeout { attempt_ms: Some(read.value), overall_ms: None };
            reading.facts.push(Fact { lines: span(pass), about: callee, what });
        }
        return;
    }
    if !spoken && peers.is_none() {
        return;
    }
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, span(pass));
    let own = [next, tries, window].into_iter().flatten();
    layer.lines = around(own).unwrap_or_else(|| span(pass));
    layer.implicit = !spoken;
    layer.reach = Reach::Route;
    layer.callee = callee;
    layer.route = place.map(|place| {
        std::iter::once(&*place.key).chain(place.value.args()).collect::<Vec<_>>().join(" ")
    });
    layer.attempts = found;
    (layer.on, layer.words, layer.methods) = conditions(next);
    layer.delay = Delay::none();
    layer.timeout_ms = window
        .and_then(|entry| units::duration_ms(entry.value.arg(0)?, 1000.0))
        .filter(|ms| *ms > 0.0)
        .map(|ms| Sourced::derived(ms + read.value));
    if layer.timeout_ms.is_some() {
        layer.notes.push("the time bounds when the last try may start, not when it ends".into());
    }
    layer.attempt_timeout_ms = Some(read);
    let keepalive = upstream.and_then(|upstream| upstream.value.block()?.entry("keepalive"));
    if keepalive.is_some() {
        layer
            .notes
            .push("a failure on a kept connection earns one more try at the same server".into());
    }
    let named = |server: &&Entry| {
        server.value.arg(0).is_some_and(|host| Name::of_host(host, None).is_some())
    };
    if upstream.is_some_and(|upstream| servers(upstream).iter().any(named)) {
        layer.notes.push("a name with several addresses counts as several servers".into());
    }
    if tries.is_some_and(|tries| tries.value.arg(0) != Some("0")) && peers == Some(1) {
        layer.notes.push("there is one server: further tries need further servers".into());
    }
    reading.layers.push(layer);
}

/// Tries in total: as many as are allowed, and no more than there are servers.
fn found(
    tries: Option<&Entry>,
    next: Option<&Entry>,
    peers: Option<usize>,
    target: &str,
    pass: &Entry,
) -> Sourced<Attempts> {
    if let Some(off) = next.filter(|next| next.value.args().contains(&"off")) {
        return Sourced::written(Attempts::Count(1), off.line);
    }
    let peers = peers.and_then(|peers| u32::try_from(peers.max(1)).ok());
    let written = tries.and_then(|entry| Some((entry.value.items().first()?, entry.line)));
    let limit = written.map(|(value, line)| match value.integer() {
        Some(0) => (None, line),
        _ => (Some(attempts(value, Counted::Total)), line),
    });
    match (limit, peers) {
        (Some((Some(Attempts::Count(limit)), line)), Some(peers)) => {
            Sourced::written(Attempts::Count(limit.min(peers)), line)
        }
        (Some((Some(limit @ Attempts::Count(1)), line)), None) => Sourced::written(limit, line),
        (Some((Some(Attempts::Count(limit)), line)), None) => {
            let expression = format!("addresses of {target}");
            Sourced::written(Attempts::Open { expression, low: 1, high: Some(limit) }, line)
        }
        (Some((Some(open), line)), _) => Sourced::written(open, line),
        (_, Some(peers)) => Sourced::default_of(Attempts::Count(peers), WHO),
        (_, None) if target.contains('$') => {
            let expression = format!("addresses of {target}");
            let open = Attempts::Open { expression, low: 1, high: None };
            Sourced { value: open, from: crate::layer::Origin::Written(pass.line) }
        }
        (_, None) => Sourced::default_of(Attempts::Count(1), WHO),
    }
}

/// What is retried. An inner `next_upstream` replaces the outer one as a whole.
fn conditions(next: Option<&Entry>) -> (Sourced<Failures>, Vec<String>, Methods) {
    let words: Vec<String> = next.map_or_else(
        || vec!["error".into(), "timeout".into()],
        |next| next.value.args().into_iter().map(str::to_owned).collect(),
    );
    let mut on = Failures::NONE;
    let mut methods = Methods::Idempotent;
    for word in &words {
        match word.as_str() {
            "error" => on.add(Failures::of(&[Failure::Connect, Failure::Refused, Failure::Reset])),
            "timeout" => on.add(Failures::of(&[Failure::Connect, Failure::AttemptTimeout])),
            "invalid_header" => on.insert(Failure::Reset),
            // In a `stream` block.
            "on" => on.insert(Failure::Connect),
            "non_idempotent" => methods = Methods::All,
            "off" => {
                return (
                    Sourced::written(Failures::NONE, next.map_or(1, |n| n.line)),
                    words,
                    methods,
                );
            }
            word => on.extend_word(word.strip_prefix("http_")),
        }
    }
    let on = match next {
        Some(next) => Sourced::written(on, next.line),
        None => Sourced::default_of(on, WHO),
    };
    (on, words, methods)
}

/// `next_upstream` directives where no `pass` stands below: still what somebody wrote.
fn loose(root: &Node, passes: &[(Option<&Entry>, Scope<'_>)], reading: &mut Reading) {
    for (family, _) in FAMILIES {
        let [next, tries, window] =
            ["next_upstream", "next_upstream_tries", "next_upstream_timeout"]
                .map(|name| format!("{family}_{name}"));
        let pass = format!("{family}_pass");
        let mut found = 0;
        let mut look = |block: &Node| {
            let wrote = |key: &str| block.all(key).next_back();
            let (on, count) = (wrote(&next), wrote(&tries));
            let Some(place) = around([on, count, wrote(&window)].into_iter().flatten()) else {
                return;
            };
            let used = passes.iter().any(|(_, scope)| {
                scope.iter().any(|outer| std::ptr::eq(*outer, block))
                    && scope.last().is_some_and(|inner| inner.all(&pass).next().is_some())
            });
            if used || on.is_none() && count.is_none() || found >= MOST_PLACES {
                return;
            }
            found += 1;
            let mut layer = Layer::at(FORMAT.id, Seat::Gateway, place);
            layer.reach = Reach::Everything;
            (layer.on, layer.words, layer.methods) = conditions(on);
            layer.attempts = match (on, count.and_then(|count| count.value.items().first())) {
                (Some(on), _) if on.value.args().contains(&"off") => {
                    Sourced::written(Attempts::Count(1), on.line)
                }
                (_, Some(value)) if value.integer() != Some(0) => {
                    let line = count.map_or(place[0], |count| count.line);
                    match attempts(value, Counted::Total) {
                        Attempts::Count(limit) if limit > 1 => Sourced::written(
                            Attempts::Open {
                                expression: "servers of the upstream".into(),
                                low: 1,
                                high: Some(limit),
                            },
                            line,
                        ),
                        other => Sourced::written(other, line),
                    }
                }
                _ => Sourced::default_of(
                    Attempts::Open {
                        expression: "servers of the upstream".into(),
                        low: 1,
                        high: None,
                    },
                    WHO,
                ),
            };
            reading.layers.push(layer);
        };
        look(root);
        blocks(root, &mut vec![root], &mut |entry, _| {
            if let Some(block) = entry.value.block() {
                look(block);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    const FULL: &str = "http {\n  proxy_next_upstream error timeout http_429 non_idempotent;\n  limit_req_zone $binary_remote_addr zone=one:10m rate=60r/m;\n  upstream orders {\n    server 10.0.0.1:80 max_fails=3 fail_timeout=5s max_conns=10;\n    server o2:80; server o3:80 backup;\n    server o4 down;\n    queue 100 timeout=70s;\n  }\n  server {\n    location /orders/ {\n      limit_req zone=one burst=5;\n      limit_req_status 429;\n      proxy_pass http://orders/x;\n      proxy_read_timeout 1s;\n      proxy_next_upstream error http_503;\n      proxy_next_upstream_tries 2;\n      proxy_next_upstream_timeout 2s;\n    }\n    location /all { proxy_pass http://orders; }\n    location /none { proxy_pass http://orders; proxy_next_upstream off; }\n  }\n}\n";

    #[test]
    fn what_is_written_is_read() {
        let reading = reading("nginx.conf", Syntax::Nginx, FULL);
        let [orders, all, none] = reading.layers.as_slice() else { panic!("{reading:#?}") };
        assert_eq!(orders.attempts, Sourced::written(Attempts::Count(2), 17));
        assert_eq!(orders.lines, [16, 18]);
        assert_eq!(orders.route.as_deref(), Some("location /orders/"));
        // The list of the location replaces that of `http`.
        assert_eq!(
            orders.on.value,
            Failures::of(&[
                Failure::Connect,
                Failure::Refused,
                Failure::Reset,
                Failure::Unavailable
            ])
        );
        assert_eq!(orders.methods, Methods::Idempotent);
        assert_eq!(orders.attempt_timeout_ms, Some(Sourced::written(1000.0, 15)));
        assert_eq!(orders.timeout_ms, Some(Sourced::derived(3000.0)));
        // Three servers can be asked: the backup counts, the one that is down does not.
        assert_eq!(all.attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert_eq!(all.methods, Methods::All);
        assert!(all.on.value.contains(Failure::TooMany) && all.lines == [2, 2]);
        assert_eq!(none.attempts.value, Attempts::Count(1));
        assert!(!none.retries());
        let facts: Vec<_> = reading.facts.iter().map(|fact| &fact.what).collect();
        assert!(facts.contains(&&What::RateLimit { per_s: Some(1.0), status: Some(429) }));
        assert!(facts.contains(&&What::Queue {
            places: Some(100),
            wait_ms: Some(70_000.0),
            timeout_ms: None
        }));
    }

    #[test]
    fn nothing_written_means_every_server_of_the_upstream() {
        let text = "upstream a { server a1; server a2; }\nserver { location / { proxy_pass http://a; } }\n";
        let found = layers("nginx", "x.conf", Syntax::Nginx, text);
        assert!(found[0].implicit);
        assert_eq!(found[0].attempts.value, Attempts::Count(2));
        assert_eq!(found[0].words, ["error", "timeout"]);
        // One server, or a plain host: nothing is tried again.
        let text = "upstream a { server a1; }\nserver { location / { proxy_pass http://a; } location /b { proxy_pass http://b:80; } }\n";
        let reading = reading("x.conf", Syntax::Nginx, text);
        assert_eq!(reading.layers, []);
        assert_eq!(reading.calls.len(), 2);
    }

    #[test]
    fn tries_need_servers() {
        let text = "upstream a { server a1; keepalive 8; }\nserver { grpc_next_upstream_tries 5; location / { grpc_pass grpc://a; } location /v { grpc_pass $b; } }\n";
        let found = layers("nginx", "x.conf", Syntax::Nginx, text);
        assert_eq!(found[0].attempts.value, Attempts::Count(1));
        assert_eq!(found[0].notes.len(), 3);
        assert_eq!((found[1].attempts.value.low(), found[1].attempts.value.high()), (1, Some(5)));
    }

    #[test]
    fn other_software_with_such_blocks_is_left() {
        for text in ["http { server = a; x { root = b } }", "server { port 80; }", "upstream {\n}"]
        {
            let (documents, _) = crate::document::parse(Syntax::Nginx, text);
            assert_eq!(crate::format::read("application.conf", &documents), Reading::default());
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_told() {
        let text = "server { location / { proxy_pass http://u:hunter2@$host; proxy_next_upstream_tries 2; } }\n";
        let reading = reading("x.conf", Syntax::Nginx, text);
        assert_eq!(reading.layers.len(), 1);
        assert!(!format!("{reading:?}").contains("hunter2"));
    }

    #[test]
    fn what_no_location_uses_is_still_read() {
        let found = layers(
            "nginx",
            "x.conf",
            Syntax::Nginx,
            "proxy_next_upstream error http_502;\nproxy_next_upstream_tries 3;\n",
        );
        assert_eq!(found[0].lines, [1, 2]);
        assert_eq!(found[0].attempts.value.high(), Some(3));
    }
}
