//! Every format says the same.

use std::io::Write;

use damper_learn::Learnt;

use crate::emit::{self, Format, How};
use crate::{HOW, learn_from, learn_text, system, traces};

const SHOP: &str = include_str!("shop.yaml");

/// What must not depend on how it was written.
fn essence(learnt: &Learnt) -> Vec<String> {
    let mut lines: Vec<String> = learnt
        .policies
        .iter()
        .map(|p| format!("{} -> {}: {} {:?}", p.caller, p.callee, p.calls, p.by_number))
        .collect();
    lines.extend(learnt.requests.iter().map(|r| format!("{} {}", r.name, r.share.count)));
    lines.extend(learnt.services.iter().map(|s| format!("{} {}", s.name, s.attempts)));
    lines
}

#[test]
fn all_formats_say_the_same() {
    let system = system(SHOP);
    let recorder = emit::record(&system, 1_000);
    let of = |format| {
        let found = learn_text(&traces(&recorder, &system, How { format, ..HOW })).unwrap();
        assert!(found.notes.is_empty(), "{format:?}: {:?}", found.notes);
        found
    };
    let otlp = of(Format::Otlp);
    for format in [Format::OldOtlp, Format::Jaeger, Format::Zipkin] {
        assert_eq!(essence(&of(format)), essence(&otlp), "{format:?}");
    }
}

#[test]
fn retries_show_without_being_told() {
    let system = system(SHOP);
    let recorder = emit::record(&system, 1_000);
    let told = learn_text(&traces(&recorder, &system, HOW)).unwrap();
    let alike =
        learn_text(&traces(&recorder, &system, How { tells_resends: false, ..HOW })).unwrap();
    assert_eq!(essence(&alike), essence(&told));
    let evidence = |l: &Learnt| {
        l.policies.iter().fold([0; 2], |a, p| [a[0] + p.evidence[0], a[1] + p.evidence[2]])
    };
    let ([said, none], [silent, likeness]) = (evidence(&told), evidence(&alike));
    assert!(said > 100 && none == 0 && silent == 0 && likeness == said);
}

#[test]
fn without_its_client_a_request_begins_where_it_arrives() {
    let system = system(SHOP);
    let recorder = emit::record(&system, 1_000);
    let found = learn_text(&traces(&recorder, &system, How { client: false, ..HOW })).unwrap();
    assert_eq!(found.requests.len(), 2, "{:?}", found.requests);
    let shares: Vec<f64> = found.requests.iter().map(|r| r.share.value).collect();
    assert!((shares[0] - 0.6).abs() < 0.05, "{shares:?}");
}

#[test]
fn packed_files_folders_and_pieces_of_traces_are_put_together() {
    let system = system(SHOP);
    let recorder = emit::record(&system, 300);
    let text = traces(&recorder, &system, HOW);
    let whole = learn_text(&text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // By lines, so that traces are torn between the two files.
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let (first, second) = lines.split_at(lines.len() / 2);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/one.json"), first.concat()).unwrap();
    let file = std::fs::File::create(folder.path().join("two.bin")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(&second.concat()).unwrap();
    packed.finish().unwrap();
    let torn = learn_from(vec![folder.path().to_owned()]).unwrap();
    assert_eq!(essence(&torn), essence(&whole));
    assert_eq!(torn.read.inputs, 2);
}
