use super::*;
use crate::SystemFile;

const SYSTEM: &str = "\
damper: 1
classes: [high, low]
services: {front: {}, db: {}}
load: {high: 1/s, low: 1/s}
requests: {get: {calls: [{front: [db]}]}}
";

fn read(text: &str) -> Result<Sidecar, Problems> {
    let system = |_: &Path| SystemFile::parse("shop.yaml", SYSTEM)?.lower();
    Sidecar::parse("proxy.yaml", text, Path::new("etc"), &system)
}

#[test]
fn what_is_left_out_is_as_the_tables_say() {
    let text = "\
proxy: 1
system: shop.yaml
inbound: [{service: db, listen: '[::]:80', upstream: 127.0.0.1:5432}]
outbound: [{call: front->db, listen: 127.0.0.1:81, upstream: ['db:1', '10.0.0.1:2']}]
";
    let sidecar = read(text).unwrap();
    assert_eq!(sidecar.system_file, Path::new("etc/shop.yaml"));
    assert_eq!((sidecar.workers, &sidecar.admin), (None, &None));
    assert_eq!(sidecar.drain.timeout, Nanos::from_secs(30));
    let [inbound, outbound] = &sidecar.listeners[..] else { panic!("two") };
    assert_eq!((inbound.name(), &inbound.trust), ("db", &Trust::None));
    assert_eq!((outbound.name(), &outbound.trust), ("front -> db", &Trust::Loopback));
    assert_eq!(outbound.upstream.to[0], Endpoint::Name("db".into(), 1));
    assert_eq!(inbound.limits, outbound.limits);
    // The defaults that the tables print are those that are used.
    for (section, shown) in [
        (&tables::LIMITS, "8192 16384 100 64KiB 10s 30s 5min 256"),
        (&tables::DRAIN, "0s 30s"),
        (&tables::UPSTREAM_SECTION, "as-caller p2c 1s 30s 1024 lru 5min 60s"),
    ] {
        let defaults = section.keys.iter().filter_map(|key| match key.presence {
            crate::schema::Presence::Default(text) => Some(text),
            _ => None,
        });
        assert_eq!(defaults.collect::<Vec<_>>().join(" "), shown);
    }
    let limits = inbound.limits;
    assert_eq!((limits.connections, limits.headers, limits.head), (8192, 100, 65_536));
    assert_eq!(limits.requests, 16_384);
    assert_eq!((limits.idle, limits.streams, limits.body), (Nanos::from_secs(300), 256, None));
    let upstream = &inbound.upstream;
    assert_eq!((upstream.balance, upstream.order), (Balance::P2c, PoolOrder::Lru));
    assert_eq!((upstream.connections, upstream.max_age), (1024, Nanos::from_secs(300)));
}

#[test]
fn everything_can_be_said() {
    let text = "\
proxy: 1
system: shop.yaml
workers: 3
admin: {listen: 0.0.0.0:9901, token_file: token}
drain: {delay: 2s, timeout: 0s}
limits: {body: 1MiB, head: 16KiB}
inbound:
  - service: db
    listen: 127.0.0.1:80
    upstream:
      to: db:1
      protocol: http2
      balance: least-request
      tls: {ca: ca.pem, name: db.shop, certificate: a.pem, key: a.key}
      order: mru
      connections: 7
    trust: [10.0.0.0/8, 'fd00::/8', 192.0.2.1]
    timeout: 3s
    flow: X-User
    rank: X-Rank
    tls: {certificate: s.pem, key: s.key, client_ca: c.pem}
    limits: {body: 2MiB}
outbound:
  - {call: front -> db, listen: 127.0.0.1:81, upstream: db:1, repeat: by-policy, trust: all}
";
    let sidecar = read(text).unwrap();
    let inbound = &sidecar.listeners[0];
    assert_eq!((inbound.limits.body, inbound.limits.head), (Some(2 << 20), 16 << 10));
    assert_eq!(sidecar.listeners[1].limits.body, Some(1 << 20));
    assert_eq!(inbound.flow.as_deref(), Some("x-user"));
    assert_eq!((inbound.rank.as_deref(), &sidecar.listeners[1].rank), (Some("x-rank"), &None));
    assert_eq!(inbound.tls.as_ref().unwrap().key, Path::new("etc/s.key"));
    assert_eq!(sidecar.listeners[1].repeat, Repeat::ByPolicy);
    for (peer, believed) in [
        ("10.1.2.3", true),
        ("::ffff:10.1.2.3", true),
        ("11.0.0.1", false),
        ("fd12::1", true),
        ("fe80::1", false),
        ("192.0.2.1", true),
        ("192.0.2.2", false),
    ] {
        assert_eq!(inbound.trust.believes(peer.parse().unwrap()), believed, "{peer}");
    }
    assert!(Trust::Loopback.believes("::1".parse().unwrap()));
}

/// Each mistake with its place and what to write instead.
#[test]
fn mistakes_say_where_and_what() {
    let inbound = |more: &str| {
        format!(
            "proxy: 1\nsystem: s\ninbound:\n  - service: db\n    listen: 127.0.0.1:1\n    upstream: 127.0.0.1:2\n{more}"
        )
    };
    let cases = [
        (String::new(), "proxy.yaml:1:1: error: the file is empty"),
        (
            "proxy: 2\nsystem: s\ninbound: []\n".into(),
            "1:8: error: this version of the format is not known",
        ),
        (
            "proxy: 1\nsystem: s\n".into(),
            "there is nothing to listen for; found neither `inbound` nor `outbound`",
        ),
        (
            "proxy: 1\nsystem: s\ninbound: []\n".into(),
            "there is nothing to listen for; found empty lists",
        ),
        (
            inbound("").replace("db", "dbb"),
            "4:14: error: there is no service `dbb`; expected the name of a service; did you mean `db`?",
        ),
        (inbound("    upstraem: x\n"), "7:5: error: an inbound has no key `upstraem`"),
        (inbound("").replace("127.0.0.1:2", "db"), "6:15: error: the port is missing"),
        (inbound("").replace("127.0.0.1:2", "10.0.0.300:1"), "this is not a host name"),
        (
            inbound("").replace("127.0.0.1:1", "db:1"),
            "5:13: error: this is not an address with its port",
        ),
        (
            inbound("    trust: [10.0.0.1/8]\n"),
            "7:13: error: this address has bits beyond its prefix",
        ),
        (inbound("    trust: loopbak\n"), "did you mean `loopback`?"),
        (
            inbound("    limits: {body: 10MB}\n"),
            "7:20: error: `MB` is not a unit of size here; found `10MB`; expected a size such as `64KiB`, from 0B to 1024GiB; did you mean `10MiB`?",
        ),
        (inbound("    limits: {head: 64}\n"), "a size needs a unit"),
        (inbound("    limits: {head: 1B}\n"), "this size is too small"),
        (inbound("    flow: 'a b'\n"), "this cannot be the name of a header"),
        (inbound("    rank: 'a b'\n"), "this cannot be the name of a header"),
        (
            inbound("    rank: X-Damper-Class\n"),
            "7:11: error: this header is there for something else",
        ),
        (inbound("    rank: Host\n"), "this header is there for something else"),
        (inbound("    tls: {certificate: a}\n"), "`key` is missing"),
        (inbound("admin: {listen: 0.0.0.0:1}\n"), "others could pull the lever here"),
        (
            inbound("  - {service: db, listen: 127.0.0.1:3, upstream: 'a:1'}\n"),
            "another listener is this hop already",
        ),
        (
            inbound("  - {service: front, listen: 127.0.0.1:1, upstream: 'a:1'}\n"),
            "another listener listens there already",
        ),
        (
            inbound("outbound: [{call: front -> dbs, listen: 127.0.0.1:3, upstream: 'a:1'}]\n"),
            "no request makes the call `front -> dbs`; expected a call of the system file, as `caller -> callee`; did you mean `front -> db`?",
        ),
    ];
    for (text, wanted) in cases {
        let problems = match read(&text) {
            Ok(_) => panic!("{text} is fine"),
            Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        };
        assert!(problems.iter().any(|p| p.contains(wanted)), "{text}\n{wanted}\n{problems:#?}");
    }
}

#[test]
fn all_mistakes_come_in_one_go_and_the_system_files_come_as_they_are() {
    let text = "proxy: 1\nsystem: s\nworkers: 0\ninbound: [{service: x, listen: y, upstream: z}]\n";
    assert_eq!(read(text).unwrap_err().len(), 4);
    let wrong = |_: &Path| SystemFile::parse("s", "damper: 7\n")?.lower();
    let good =
        "proxy: 1\nsystem: s\ninbound: [{service: db, listen: '127.0.0.1:1', upstream: 'a:1'}]\n";
    let problems = Sidecar::parse("p", good, Path::new(""), &wrong).unwrap_err();
    assert!(problems.iter().all(|p| p.file == "s"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[a-z0-9:/\\[\\]{}, .\\n-]{0,200}") {
        let _ = read(&text);
        let _ = read(&format!("proxy: 1\nsystem: s\n{text}"));
        let _ = (place::endpoint(&text), place::network(&text), place::is_host(&text));
    }
}
