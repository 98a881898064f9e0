//! The page of the formats names every format, and none that is not there.

use damper_config::format::FORMATS;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn every_format_stands_on_its_page_once() {
    let page = page();
    for format in FORMATS {
        let row = format!("| `{}` |", format.id);
        let rows = page.lines().filter(|line| line.starts_with(&row)).count();
        assert_eq!(rows, 1, "`{}` has {rows} rows in docs/formats.md", format.id);
    }
}

#[test]
fn the_page_names_no_format_that_is_not_there() {
    let page = page();
    let named = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    for id in named {
        assert!(FORMATS.iter().any(|format| format.id == id), "there is no format `{id}`");
    }
}

#[test]
fn ids_are_unique() {
    for (at, format) in FORMATS.iter().enumerate() {
        assert!(FORMATS.iter().skip(at + 1).all(|other| other.id != format.id), "{}", format.id);
        assert!(!format.title.is_empty() && !format.syntaxes.is_empty(), "{}", format.id);
    }
}
