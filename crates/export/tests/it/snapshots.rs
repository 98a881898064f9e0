//! Every format with every kind of policy, as text.

use damper_export::{FORMATS, Options, export};

fn shown(plain: bool) {
    let text = include_str!("../systems/shop.yaml");
    let system = crate::random::system(text);
    for format in FORMATS {
        let written = export(&system, format, &Options { plain, ..Options::default() });
        let mut all = String::new();
        for file in &written.files {
            all.push_str(&format!("==== {}\n{}", file.path, file.text));
        }
        all.push_str("==== losses\n");
        for loss in &written.losses {
            all.push_str(&format!("{}:{}: {}\n", loss.file, loss.line, loss.sentence()));
            // Each stands in the file, at its line.
            let file = written.files.iter().find(|file| file.path == loss.file).unwrap();
            let row = file.text.lines().nth(loss.line - 1).unwrap();
            assert!(row.contains(&format!("damper: {}, {}", loss.at, loss.field)), "{row}");
        }
        all.push_str("==== notes\n");
        written.notes.iter().for_each(|note| all.push_str(&format!("{note}\n")));
        let kind = if plain { "plain" } else { "with-filter" };
        insta::assert_snapshot!(format!("{}-{kind}", format.id), all);
    }
}

#[test]
fn every_format_in_plain() {
    shown(true);
}

#[test]
fn every_format_with_the_filter() {
    shown(false);
}
