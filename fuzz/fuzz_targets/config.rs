//! Any text as a configuration file: the first byte chooses how it is written, the rest is read by
//! every format. No panic, no place outside of the text, no number that is none.
#![no_main]

use damper_config::document::{MAX_DEPTH, Node, Syntax, Value, parse};
use damper_config::format;
use libfuzzer_sys::fuzz_target;

/// Texts beyond this say nothing new.
const MOST_BYTES: usize = 20_000;

/// Each with a path that lets its formats look at it.
const KINDS: &[(Syntax, &str)] = &[
    (Syntax::Yaml, "apisix.yaml"),
    (Syntax::Yaml, ".github/workflows/ci.yml"),
    (Syntax::Json, "config.json"),
    (Syntax::Toml, "dynamic.toml"),
    (Syntax::Properties, "application.properties"),
    (Syntax::Ini, "home/.aws/config"),
    (Syntax::Env, ".env"),
    (Syntax::Dockerfile, "Dockerfile"),
    (Syntax::Hcl, "main.tf"),
    (Syntax::Nginx, "nginx.conf"),
    (Syntax::Haproxy, "haproxy.cfg"),
    (Syntax::Caddyfile, "Caddyfile"),
];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    if rest.len() > MOST_BYTES {
        return;
    }
    let (syntax, path) = KINDS[usize::from(first.wrapping_sub(b'a')) % KINDS.len()];
    let text = String::from_utf8_lossy(rest);
    // YAML ends a line at a carriage return, too.
    let rows = u32::try_from(text.matches(['\n', '\r']).count()).expect("few lines") + 2;
    let (documents, troubles) = parse(syntax, &text);
    assert!(troubles.iter().all(|trouble| trouble.line <= rows), "{troubles:?}");
    for document in &documents {
        inside(&document.root, rows, 0);
    }
    let reading = format::read(path, &documents);
    for layer in &reading.layers {
        assert!(layer.lines[0] >= 1 && layer.lines[0] <= layer.lines[1], "{layer:?}");
        assert!(layer.lines[1] <= rows, "{layer:?}");
        assert!(layer.attempts.value.low() >= 1, "{layer:?}");
        assert!(
            layer.attempts.value.high().is_none_or(|high| high >= layer.attempts.value.low()),
            "{layer:?}"
        );
        let times = [
            &layer.attempt_timeout_ms,
            &layer.timeout_ms,
            &layer.delay.base_ms,
            &layer.delay.cap_ms,
        ];
        for time in times.into_iter().flatten() {
            assert!(time.value >= 0.0 && time.value.is_finite(), "{layer:?}");
        }
        assert!(layer.delay.factor.is_none_or(f64::is_finite), "{layer:?}");
    }
    assert!(reading.facts.iter().all(|fact| fact.lines[0] >= 1 && fact.lines[0] <= fact.lines[1]));
});

/// Lines are in order and in the text, and nothing is deeper than is promised.
fn inside(node: &Node, rows: u32, depth: usize) {
    assert!(depth <= 2 * MAX_DEPTH + 4);
    assert!(
        node.lines[0] >= 1 && node.lines[0] <= node.lines[1] && node.lines[1] <= rows,
        "{:?} of {rows}",
        node.lines
    );
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| inside(item, rows, depth + 1)),
        Value::Map(entries) => {
            entries.iter().for_each(|entry| inside(&entry.value, rows, depth + 1))
        }
        _ => {}
    }
}
