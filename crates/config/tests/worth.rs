//! No text with a layer, a fact or a call in it may be left out unread.

use damper_config::{Reading, Syntax, document, format, worth};

/// What a text says.
fn read(path: &str, syntax: Syntax, text: &str) -> Reading {
    format::read(path, &document::parse(syntax, text).0)
}

#[test]
fn what_says_something_is_worth_reading() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/config");
    let (mut counted, mut missed) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).expect("seeds") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let seed = std::fs::read_to_string(&path).expect("a seed");
        // The first letter is for the fuzz target.
        let text = seed.get(1..).expect("a letter, and a text");
        let syntaxes: &[Syntax] = match name.rsplit('.').next() {
            Some("nginx") => &[Syntax::Nginx],
            Some("haproxy") => &[Syntax::Haproxy],
            _ => Syntax::of_path(&name),
        };
        for syntax in syntaxes {
            let reading = read(&name, *syntax, text);
            if !reading.layers.is_empty() || !reading.facts.is_empty() {
                counted += 1;
                missed.extend((!worth(&name, text)).then(|| name.clone()));
            }
        }
    }
    assert_eq!(missed, [""; 0], "left out");
    assert!(counted > 30, "{counted} seeds say something");
}

#[test]
fn what_others_are_filled_in_from_is_worth_reading() {
    assert!(worth("chart/values.yaml", "a: 1\n"));
    assert!(worth("chart/Chart.yaml", "name: a\n"));
    assert!(worth("base/kustomization.yaml", "resources: [a.yaml]\n"));
    assert!(!worth("a.yaml", "a: 1\n"));
}
