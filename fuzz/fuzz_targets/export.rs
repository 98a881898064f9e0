//! The importers with what the exporters write: the first bytes choose policies and a format, the
//! rest says where the written text is changed. No panic, no place outside of the text; what was not
//! changed never makes more attempts than were asked for, and is what was said to be written.
#![no_main]

use damper_config::effective::Versions;
use damper_export::{FORMATS, Options, compare, diff, export};
use damper_system::SystemFile;
use libfuzzer_sys::fuzz_target;

const BACKOFFS: [&str; 5] = [
    "none",
    "{kind: constant, base: 50ms}",
    "{kind: exponential, base: 25ms, max: 250ms, jitter: full}",
    "grpc-backoff",
    "linkerd-backoff",
];
const BUDGETS: [&str; 6] = ["none", "envoy", "deposit", "token-bucket", "arb", "aws-standard"];
const ON: [&str; 5] = ["rejected", "timeout", "failed", "downstream", "shed"];

/// Changes of a text: each takes this many bytes.
const CHANGE: usize = 4;
const MOST_CHANGES: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((head, rest)) = data.split_at_checked(8) else { return };
    let pick = |at: usize, of: &[&'static str]| of[usize::from(head[at]) % of.len()];
    let on: Vec<&str> =
        ON.iter().enumerate().filter(|(n, _)| head[3] & 1 << n != 0).map(|(_, end)| *end).collect();
    let limit = |at: usize| u32::from(head[at]) % 9;
    let flag = |bit: u8| head[7] >> bit & 1 == 1;
    // With several callers, formats that know none merge the policies of all: those inside of a mesh,
    // and those that come through a gateway.
    let more = |bit: u8, text: &'static str| if flag(bit) { text } else { "" };
    let second = more(1, ", orders");
    let third = more(6, ", {shop: [orders]}");
    let other = [
        more(1, "  \"client -> orders\": {timeout: 30ms, retry: {limit: 1}}\n"),
        more(
            6,
            "  \"shop -> orders\": {timeout: none, deadline: 3s, \
             retry: {limit: 2, on: [rejected, shed, timeout]}}\n",
        ),
    ]
    .concat();
    let text = format!(
        "damper: 1\nclasses: [high, low]\nservices: {{web: {{}}, shop: {{}}, orders: {{pushback: {}}}}}\n\
         load: {{high: 1/s, low: 1/s}}\nrequests: {{a: {{calls: [{{web: [orders]}}{second}{third}]}}}}\n\
         policies:\n{other}  default: {{timeout: {}us, deadline: {}, idempotent: {}, breaker: {}, \
         retry: {{limit: {{high: {}, low: {}}}, on: [{}], backoff: {}, budget: {}}}}}\n",
        if flag(2) { "stop" } else { "2s" },
        u32::from(head[4]) * 20_011 + 1,
        if flag(3) { "none" } else { "2s" },
        !flag(4),
        if flag(5) { "breaker-consecutive" } else { "none" },
        limit(5),
        limit(6),
        if on.is_empty() { "rejected".to_owned() } else { on.join(", ") },
        pick(1, &BACKOFFS),
        pick(2, &BUDGETS),
    );
    let file = SystemFile::parse("a.yaml", &text).expect("a file");
    let system = file.lower().expect("a system");
    let format = FORMATS[usize::from(head[0]) % FORMATS.len()];
    let plain = head[7] & 1 == 0;
    let written = export(&system, format, &Options { plain, ..Options::default() });
    let mut as_written = system.clone();
    for (edge, policy) in as_written.policies.edges.iter_mut().zip(&written.policies) {
        edge.policy.clone_from(policy);
    }
    let mut files: Vec<(String, String)> =
        written.files.into_iter().map(|file| (file.path, file.text)).collect();
    for change in rest.chunks_exact(CHANGE).take(MOST_CHANGES) {
        let many = files.len();
        let Some((_, text)) = files.get_mut(usize::from(change[0]) % many.max(1)) else { return };
        let mut bytes = std::mem::take(text).into_bytes();
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % bytes.len().max(1);
        match change[3] % 4 {
            0 => drop(bytes.drain(at..(at + 3).min(bytes.len()))),
            1 => bytes.insert(at, change[3]),
            2 => bytes.truncate(at),
            _ => {
                let end = (at + 40).min(bytes.len());
                let part = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, part);
            }
        }
        *text = String::from_utf8_lossy(&bytes).into_owned();
    }
    let readings = damper_config::read_tree(&files);
    for (path, reading) in &readings {
        let text = files.iter().find(|(known, _)| known == path).map_or("", |(_, text)| text);
        let rows = u32::try_from(text.matches(['\n', '\r']).count()).expect("few lines") + 2;
        for layer in &reading.layers {
            assert!(layer.lines[1] <= rows, "{layer:?}");
            assert!(layer.attempts.value.low() >= 1, "{layer:?}");
        }
    }
    let comparison = diff(&system, &readings, Versions::default(), "x-damper-class");
    assert_eq!(comparison.calls.len(), system.policies.edges.len());
    if rest.len() < CHANGE {
        // Envoy Gateway stands before calls from outside alone, and the filter keeps what is not in
        // the rest.
        if plain && format.id != "envoy-gateway" {
            let same = compare(&as_written, &readings, Versions::default(), "x-damper-class");
            assert!(
                same.calls.iter().all(|call| call.differs.is_empty()),
                "{}: {same:#?}",
                format.id
            );
        }
        for one in comparison.calls.iter().flat_map(|call| &call.differs) {
            let number = |text: &str| text.parse::<u32>().ok();
            if let ("attempts", Some(asked), Some(runs)) =
                (one.field, number(&one.asked), number(&one.runs))
            {
                assert!(runs <= asked, "{}: {one:?}", format.id);
            }
        }
    }
});
