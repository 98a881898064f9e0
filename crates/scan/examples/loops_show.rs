#![allow(clippy::all, missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]
use damper_scan::{language::Language, lower};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let p = std::path::Path::new(&path);
    let l = Language::of_extension(p.extension().unwrap().to_str().unwrap()).unwrap();
    let text = std::fs::read_to_string(p).unwrap();
    let tree = lower::tree(l, &text).unwrap();
    println!("{}", tree.show(tree.root()));
}
