//! Every file in `examples/` loads.

use damper_system::SystemFile;

#[test]
fn every_example_loads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "yaml") {
            let file = SystemFile::read(&path).unwrap_or_else(|p| panic!("{p}"));
            file.lower().unwrap_or_else(|p| panic!("{p}"));
        }
    }
}
