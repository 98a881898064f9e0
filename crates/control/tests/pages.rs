//! `docs/controls/` is what the registry prints.
//!
//! `DAMPER_BLESS=1 cargo test -p damper-control --test pages` rewrites it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use damper_control::entry::{Entry, Kind};
use damper_control::registry;

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/controls")).to_owned()
}

fn wanted() -> BTreeMap<String, String> {
    let page = |e: &'static Entry| (format!("{}.md", e.name), generated(&e.page()));
    let mut pages: BTreeMap<String, String> = registry::all().map(page).collect();
    pages.insert("README.md".to_owned(), generated(&index()));
    pages
}

fn generated(page: &str) -> String {
    format!("<!-- Printed by the registry: cargo xtask docs -->\n\n{page}")
}

fn index() -> String {
    let mut page = "# Controls\n\nEvery control that a system file can name, in the order in which \
        an attempt meets them. `damper controls NAME` prints a page, `damper controls --json` all of \
        them. [What each does in a storm](../controls-compared.md).\n"
        .to_owned();
    for kind in Kind::ALL {
        let entries: Vec<&Entry> = registry::of(kind).collect();
        if entries.is_empty() {
            continue;
        }
        let (name, place) = (kind.name(), kind.place());
        page.push_str(&format!("\n## {name}\n\n`{place}`\n\n| | |\n|---|---|\n"));
        for e in entries {
            page.push_str(&format!("| [{0}]({0}.md) | {1} |\n", e.name, e.summary));
        }
    }
    page
}

#[test]
fn pages_are_up_to_date() {
    let folder = folder();
    let wanted = wanted();
    if std::env::var_os("DAMPER_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, page) in &wanted {
            std::fs::write(folder.join(name), page).unwrap();
        }
    }
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.insert(name, std::fs::read_to_string(path).unwrap());
    }
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&wanted), "run cargo xtask docs");
    for (name, page) in &wanted {
        assert!(found[name] == *page, "docs/controls/{name} is out of date: run cargo xtask docs");
    }
}
