//! Helpers of libraries that the catalogue does not know.
#![allow(clippy::disallowed_methods, reason = "the tests write files")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test says what is wrong by panicking")]

#[path = "unknown/helpers.rs"]
mod helpers;

use std::sync::atomic::AtomicBool;

use damper_scan::policy::{Attempts, By, Scope};
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
            let package = match &policy.by {
                By::Library { id, package } => {
                    assert_eq!(id, "unknown", "{policy:?}");
                    package
                }
                By::HandRolled { shape } if shape == "helper" => shape,
                By::HandRolled { .. } => continue,
            };
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
    let all = found(&[("load.js", CALLS), ("kit.js", own)]);
    let [(file, 3, shape, _)] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&**file, &**shape), ("load.js", "helper"), "it gives a number of its own");
    let plain = CALLS.replace(", 4)", ")");
    assert_eq!(found(&[("load.js", &plain), ("kit.js", own)]), []);
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

/// What is told by the name of an option: the file, the number, and from where it comes.
fn options(files: &[(&str, &str)]) -> Vec<(u32, String, Option<u32>, Option<u32>)> {
    let all = found(files).into_iter();
    all.map(|(_, line, package, attempts)| match attempts {
        Attempts::Dynamic { low, high, .. } => (line, package, low, high),
        other => panic!("{other:?}"),
    })
    .collect()
}

#[test]
fn a_number_of_retries_given_to_what_is_imported_is_one() {
    let python =
        "from pricefeed import Client\n\nfeed = Client(\n    key=1,\n    max_retries=4,\n)\n";
    let script = "import { Signer } from 'sign-kit';\nconst retry = opts.retry || 3;\n\
        const signer = new Signer({ url, retry });\n";
    let chained = "use kit::Client;\nfn f() -> Client {\n    \
        Client::builder().timeout(T).max_retries(4).build()\n}\n";
    let go = "package a\n\nimport \"example.com/kit\"\n\n\
        var c = kit.New(&kit.Config{URL: u, MaxRetries: 4})\n";
    let java = "import com.example.Target;\nclass A {\n  Object t = Target.builder()\n    \
        .retryAttempts(4).build();\n}\n";
    let sharp = "using Kit;\nclass A {\n  void F() {\n    var o = Options.Parse(text);\n    \
        o.ConnectRetry = 4;\n  }\n}\n";
    let base = "from pricefeed import Client\n\nclass Mine(Client):\n    \
        def __init__(self, retries=4):\n        super().__init__(retries=retries)\n";
    let (four, five) = (Some(4), Some(5));
    let cases = [
        ("a.py", python, 5, "pricefeed", four, five),
        ("a.rs", chained, 3, "kit", four, five),
        ("a.go", go, 5, "example.com/kit", four, five),
        ("A.java", java, 4, "com.example", four, five),
        ("A.cs", sharp, 5, "Options", four, five),
        // Whoever makes it may give another number.
        ("base.py", base, 5, "pricefeed", Some(1), None),
        ("a.ts", script, 3, "sign-kit", Some(1), None),
    ];
    for (name, text, line, package, low, high) in cases {
        assert_eq!(options(&[(name, text)]), [(line, package.to_owned(), low, high)], "{name}");
    }
    let setting = python.replace("4", "settings.max_retries");
    assert_eq!(options(&[("a.py", &setting)]), [(5, "pricefeed".to_owned(), Some(1), None)]);
}

#[test]
fn a_number_that_is_no_option_of_others_is_none() {
    let import = "from kit import Client, log, schema\n";
    for call in [
        "Client(max_retries=0)",
        "Client(retry_delay=4)",
        "Client(retried=4)",
        "log(\"failed\", retries=4)",
        "schema.object(max_retries=schema.number())",
        "dict(max_retries=4)",
        "print(max_retries=4)",
    ] {
        assert_eq!(options(&[("a.py", &format!("{import}x = {call}\n"))]), [], "{call}");
    }
    let handed = format!("{import}def f(n):\n    return Client(max_retries=n)\n");
    assert_eq!(options(&[("a.py", &handed)]), [], "it is for who calls it");
    let text = format!("{import}x = Client(max_retries=4)\n");
    let own =
        "class Client:\n    def __init__(self, max_retries): self.max_retries = max_retries\n";
    assert_eq!(options(&[("a.py", &text), ("client.py", own)]), [], "it is declared here");
    assert_eq!(options(&[("a.py", &text), ("kit.py", "")]), [], "its module is here");
    let module = "module example.com/kit\n";
    let go = "package a\n\nimport \"example.com/kit/net\"\n\n\
        var c = net.New(net.Config{MaxRetries: 4})\n";
    assert_eq!(options(&[("a.go", go), ("go.mod", module)]), [], "its module is here");
    assert_eq!(options(&[("a.go", go)]).len(), 1);
}

const HELPER: &str = "package kit\n\nfunc Retry(ctx context.Context, op func() error, \
    next func(error) time.Duration) error {\n\treturn run(ctx, op, next)\n}\n";

#[test]
fn a_helper_that_is_given_numbers_is_used_there() {
    let used = |args: &str| {
        format!(
            "package a\n\nimport \"example.com/a/kit\"\n\n\
             func f() {{\n\top := func() error {{ return client.Send(x) }}\n\t\
             kit.Retry(ctx, op, {args})\n}}\n"
        )
    };
    let all = |args: &str| found(&[("a.go", &used(args)), ("kit.go", HELPER)]).len();
    assert_eq!(all("func(error) time.Duration { return backoff.Next() }"), 1);
    assert_eq!(all("4"), 1);
    assert_eq!(all("4 * time.Second"), 1);
    assert_eq!(all("func(err error) error { return tell(err) }"), 0, "it says of no wait");
    assert_eq!(all("next"), 0, "somebody else says it");
    assert_eq!(all("kit.Policy{Attempts: max}"), 1);
    assert_eq!(all("kit.Key{Name: name, Space: space}"), 0, "it says what, and not how often");
    let alone = found(&[("a.go", &used("4"))]);
    assert_eq!(alone, [], "what nobody declares has to be given what to do where it is called");
    let test = used("4").replace("kit.Retry", "testutil.Retry");
    assert_eq!(found(&[("a.go", &test), ("kit.go", HELPER)]), [], "a test waits");
}

#[test]
fn a_module_for_tests_is_none_of_production() {
    let text = "#[cfg(test)]\nmod tests {\n    async fn load() -> u32 {\n        loop {\n            \
        if let Ok(x) = client.fetch(url).await { return x; }\n            \
        sleep(Duration::from_secs(1)).await;\n        }\n    }\n}\n";
    let folder = tempfile::tempdir().expect("a folder");
    let scopes = |text: &str| -> Vec<Scope> {
        std::fs::write(folder.path().join("a.rs"), text).expect("written");
        let options = Options { roots: vec![folder.path().to_owned()], ..Options::default() };
        let stop = AtomicBool::new(false);
        let scan = scan(&options, Control { stop: &stop, progress: &|_, _| {} }).expect("threads");
        scan.files.iter().flat_map(|file| &file.policies).map(|policy| policy.scope).collect()
    };
    assert_eq!(scopes(text), [Scope::Test]);
    assert_eq!(scopes(&text.replace("#[cfg(test)]\n", "")), [Scope::Production]);
}
