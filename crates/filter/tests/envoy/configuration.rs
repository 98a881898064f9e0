//! Configurations, good and bad.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::envoy::programs;
use crate::{Client, Listener, Protocol, Setup, Upstream, envoy, run};

const BAD: &str = r#"{"damper": 1, "position": "outbound", "classes": ["high", "low"],
    "retry": {"limit": {"hihg": 5}}}"#;

/// Envoy takes no bootstrap and no listener with a bad configuration, and the reason names its field.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_bad_configuration_is_refused_and_names_its_field() {
    let Some((envoy, plugin)) = programs() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (text, says) in [
        (
            BAD,
            "retry.limit.hihg: found `hihg`, expected a class of `classes` (high, low); did you mean `high`?",
        ),
        ("{", "the configuration: found no JSON"),
        ("", "the configuration: found nothing"),
        (r#"{"damper": 1, "position": "edge", "trsut": "mesh"}"#, "trsut: found an unknown key"),
    ] {
        let setup = Setup::default().cluster("up", 1, false, None);
        let mut listener = Listener::new("out", "up", BAD);
        listener.plugin = Some(text.to_owned());
        let file = folder.path().join("envoy.json");
        let bootstrap = setup.listener(listener).bootstrap(&plugin.display().to_string());
        fs::write(&file, bootstrap.to_string()).expect("a file");
        let output = Command::new(&envoy)
            .args(["--mode", "validate", "--log-level", "warn", "--config-path"])
            .arg(&file)
            .output()
            .expect("Envoy runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{text}: {said}");
    }
}

/// A bad configuration that comes while Envoy runs is refused and counted; what there was goes on.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_bad_change_leaves_traffic_as_it_was() {
    run(async {
        let upstream = Upstream::failing(Protocol::Http1).await;
        let folder = tempfile::tempdir().expect("a folder");
        let good =
            r#"{"damper": 1, "position": "outbound", "retry": {"limit": 2, "on": ["rejected"]}}"#;
        let mut setup = Setup::new(&upstream, Listener::new("out", "up", good));
        setup.watched = Some(folder.path().join("listeners.json"));
        let Some(envoy) = envoy(&setup).await else { return };
        setup.listeners[0].plugin = Some(BAD.to_owned());
        envoy.change(&setup, "2");
        crate::envoy::pause(2000).await;
        let rejected = envoy.stats("listener_manager.lds.update_rejected").await;
        assert_eq!(rejected.values().sum::<u64>(), 1, "{rejected:?}");
        assert!(envoy.log().contains("did you mean `high`?"), "{}", envoy.log());
        assert!(envoy.counter("configuration_errors").await > 0);
        Client::connect(envoy.port("out"), false).await.get("/", &[]).await;
        assert_eq!(upstream.seen().len(), 3);
    });
}

/// A module that loads, and fails with the first request: what a fault in the plugin would look like.
fn faulty() -> Vec<u8> {
    let section = |id: u8, content: &[u8]| [&[id, content.len() as u8], content].concat();
    let export = |name: &str, kind: u8, index: u8| {
        [&[name.len() as u8], name.as_bytes(), &[kind, index]].concat()
    };
    // (i32, i32, i32) -> i32, (i32, i32) -> i32, (i32, i32) -> (), () -> (), (i32) -> i32
    let types = [
        &[5u8][..],
        &[0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f],
        &[0x60, 2, 0x7f, 0x7f, 1, 0x7f],
        &[0x60, 2, 0x7f, 0x7f, 0],
        &[0x60, 0, 0],
        &[0x60, 1, 0x7f, 1, 0x7f],
    ]
    .concat();
    let exports = [
        export("memory", 2, 0),
        export("proxy_on_request_headers", 0, 0),
        export("proxy_on_vm_start", 0, 1),
        export("proxy_on_configure", 0, 1),
        export("proxy_on_context_create", 0, 2),
        export("proxy_abi_version_0_2_1", 0, 3),
        export("malloc", 0, 4),
    ];
    // `unreachable`; the constant 1; nothing; nothing; the constant 16.
    let code: [&[u8]; 5] =
        [&[0, 0x00, 0x0b], &[0, 0x41, 1, 0x0b], &[0, 0x0b], &[0, 0x0b], &[0, 0x41, 16, 0x0b]];
    let bodies: Vec<u8> =
        code.iter().flat_map(|body| [&[body.len() as u8], *body].concat()).collect();
    let listed = [&[exports.len() as u8][..], &exports.concat()].concat();
    // The length of the exports takes two bytes.
    let length = [(listed.len() & 0x7f) as u8 | 0x80, (listed.len() >> 7) as u8];
    [
        &b"\0asm\x01\0\0\0"[..],
        &section(1, &types),
        &section(3, &[5, 0, 1, 2, 3, 4]),
        &section(5, &[1, 0, 1]),
        &[7],
        &length,
        &listed,
        &section(10, &[&[5u8][..], &bodies].concat()),
    ]
    .concat()
}

/// With FAIL_OPEN, as the examples have it, requests pass a plugin that has failed, and Envoy says
/// that it has; with FAIL_CLOSED none does.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_plugin_that_fails_lets_traffic_pass() {
    run(async {
        for closed in [false, true] {
            let upstream = Upstream::failing(Protocol::Http1).await;
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("faulty.wasm");
            fs::write(&file, faulty()).expect("a file");
            let mut listener = Listener::new("out", "up", BAD);
            listener.closed = closed;
            let setup = Setup::new(&upstream, listener);
            let Some(envoy) = crate::envoy::envoy_with(&setup, &file).await else { return };
            let mut client = Client::connect(envoy.port("out"), false).await;
            // The request during which it fails is answered by Envoy.
            client.get("/", &[]).await;
            upstream.forget();
            for _ in 0..5 {
                client.get("/", &[]).await;
            }
            assert_eq!(upstream.seen().len(), if closed { 0 } else { 5 }, "{}", envoy.log());
            assert!(envoy.log().contains("proxy_on_request_headers"), "{}", envoy.log());
        }
    });
}

/// The trap of immediate retries is told when the configuration is loaded, and can be alerted on.
#[test]
#[ignore = "slow: needs Envoy"]
fn delays_that_are_too_short_are_told() {
    run(async {
        let upstream = Upstream::failing(Protocol::Http1).await;
        for (base, warned) in [(1, 1), (25, 0)] {
            let plugin = format!(
                r#"{{"damper": 1, "position": "outbound", "classes": ["high", "low"], "retry": {{
                    "limit": {{"high": 5, "low": 1}}, "capacity_per_s": 93.6,
                    "backoff": {{"base_ms": {base}}}}}}}"#
            );
            let Some(envoy) =
                envoy(&Setup::new(&upstream, Listener::new("out", "up", &plugin))).await
            else {
                return;
            };
            assert_eq!(envoy.counter("outbound.configuration_warnings").await, warned);
            let said = envoy.log().contains("the priority has little or no effect");
            assert_eq!(said, warned > 0, "{}", envoy.log());
        }
    });
}

/// The example files are valid to Envoy, plugin and all.
#[test]
#[ignore = "slow: needs Envoy"]
fn examples_are_valid() {
    let Some((envoy, plugin)) = programs() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // The examples name the plugin as it is called, wherever it is.
    fs::copy(plugin, folder.path().join("damper-filter.wasm")).expect("a copy");
    let mut files = 0;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/filter");
    for entry in fs::read_dir(examples).expect("the folder of examples") {
        let path = fs::canonicalize(entry.expect("a file").path()).expect("a path");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("envoy-") {
            continue;
        }
        let output = Command::new(&envoy)
            .args(["--mode", "validate", "--log-level", "warn", "--config-path"])
            .arg(&path)
            .current_dir(folder.path())
            .output()
            .expect("Envoy runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert!(!said.contains("damper: "), "{name}: {said}");
        files += 1;
    }
    assert!(files >= 2);
}
