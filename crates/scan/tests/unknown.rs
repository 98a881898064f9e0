//! Helpers of libraries that the catalogue does not know.
#![allow(clippy::disallowed_methods, reason = "the tests write files")]
#![allow(clippy::expect_used, reason = "a test may fail")]

use std::sync::atomic::AtomicBool;

use damper_scan::policy::{Attempts, By};
use damper_scan::scan::{Control, Options, scan};

/// The lines and names of such helpers in a folder with these files.
fn found(files: &[(&str, &str)]) -> Vec<(String, u32, String, Attempts)> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let options = Options { roots: vec![folder.path().to_owned()], ..Options::default() };
    let stop = AtomicBool::new(false);
    let scan = scan(&options, Control { stop: &stop, progress: &|_, _| {} }).expect("threads");
    let mut all = Vec::new();
    for file in &scan.files {
        for policy in &file.policies {
            let By::Library { id, package } = &policy.by else { continue };
            assert_eq!(id, "unknown", "{policy:?}");
            let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
            all.push((name, policy.line, package.clone(), policy.attempts_total.value.clone()));
        }
    }
    all
}

const CALLS: &str = "import { withRetry } from 'some-kit';\n\n\
    export const load = (id) => withRetry(() => api.load(id), 4);\n";

#[test]
fn a_call_of_something_that_says_it_retries_is_one() {
    let all = found(&[("load.js", CALLS)]);
    let [(file, 3, package, Attempts::Dynamic { low, high, .. })] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!((&**file, &**package, *low, *high), ("load.js", "some-kit", Some(4), Some(5)));
    let java = "import com.example.Again;\nclass A {\n  void f() {\n    \
        Again.withBackOffAndRetry(\"load\", () -> api.load(1), log);\n  }\n}\n";
    assert_eq!(found(&[("A.java", java)]).len(), 1);
    let kotlin = "class A {\n  fun f() = client.retrying(times = 3) { api.load(1) }\n}\n";
    assert_eq!(found(&[("A.kt", kotlin)]).len(), 1);
}

#[test]
fn what_the_repository_declares_is_judged_where_it_is() {
    let own = "export function withRetry(f, n) { return f().catch(() => pass(n)); }\n";
    assert_eq!(found(&[("load.js", CALLS), ("kit.js", own)]), []);
    let relative = CALLS.replace("some-kit", "./kit");
    assert_eq!(found(&[("load.js", &relative)]), [], "its file may not have been read");
    let rust = "use crate::kit::with_retry;\nfn f() { with_retry(|| api.load(1)) }\n";
    assert_eq!(found(&[("load.rs", rust)]), []);
    let other = CALLS.replace("some-kit", "super-kit");
    assert_eq!(
        found(&[("load.js", &other)]).len(),
        1,
        "a package that only begins as `super` does"
    );
    let handed = "export const load = (retry) => retry(() => api.load(1));\n";
    assert_eq!(found(&[("load.js", handed)]), [], "it is what the caller hands over");
}

#[test]
fn a_name_alone_is_none() {
    for call in [
        "withRetry(api, 4)",
        "onRetry(() => api.load(id))",
        "setRetryHandler(() => api.load(id))",
        "isRetryable(() => api.load(id))",
        "retryButton.onClick(() => api.load(id))",
        "retryQueue(() => api.load(id))",
        "new RetryView(() => api.load(id))",
        "entries.map(() => api.load(id))",
    ] {
        let text = format!("export const load = (id) => {call};\n");
        assert_eq!(found(&[("load.js", &text)]), [], "{call}");
    }
}
