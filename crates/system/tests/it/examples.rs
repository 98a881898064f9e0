//! Every file in `examples/` loads.

use damper_system::SystemFile;

#[test]
fn every_example_loads() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for folder in ["", "mechanisms", "incidents", "lab", "osdi22"] {
        for entry in std::fs::read_dir(format!("{root}/{folder}")).unwrap() {
            let path = entry.unwrap().path();
            // The last rung of the lab is a drill.
            let drill = path.ends_with("6-drill.yaml");
            if path.extension().is_some_and(|e| e == "yaml") && !drill {
                let file = SystemFile::read(&path).unwrap_or_else(|p| panic!("{p}"));
                file.lower().unwrap_or_else(|p| panic!("{p}"));
            }
        }
    }
}
