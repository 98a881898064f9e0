//! What the values of small files are.

use super::*;
use crate::language::Language;
use crate::lower;
use crate::tree::{Id, Kind, Tree};

/// The argument of the call `probe(…)`.
fn probed(tree: &Tree<'_>) -> Id {
    tree.ids()
        .find_map(|id| match tree.kind(id) {
            Kind::Call { callee, args, .. } if tree.last_name(*callee) == Some("probe") => {
                Some(args[0].value)
            }
            _ => None,
        })
        .unwrap()
}

fn value(language: Language, text: &str) -> Value {
    let tree = lower::tree(language, text).unwrap();
    let imports = Imports::of(&tree);
    Values::new(&tree, &imports).of(probed(&tree))
}

fn shown(value: &Value) -> String {
    let data = match &value.data {
        Data::Null => "null".to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::Number(number) => number.to_string(),
        Data::Duration(ms) => format!("{ms} ms"),
        Data::Interval { low, high, duration } => {
            format!("{low}..{high}{}", if *duration { " ms" } else { "" })
        }
        Data::Text(text) => format!("'{text}'"),
        Data::List(all) => format!("[{}]", all.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Data::Record(all) => {
            let all: Vec<_> =
                all.iter().map(|(key, value)| format!("{key}: {}", shown(value))).collect();
            format!("{{{}}}", all.join(", "))
        }
        Data::Unknown(text) => format!("? {text}"),
    };
    let trust = match value.trust {
        Trust::Exact => "",
        Trust::Usual => " usual",
        Trust::Environment => " env",
    };
    format!("{data}{trust}{}", if value.random { " random" } else { "" })
}

#[track_caller]
fn check(language: Language, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(shown(&value(language, text)), *expected, "{text}");
    }
}

#[test]
fn python_expressions() {
    check(
        Language::Python,
        &[
            ("probe(1 + 2 * 3)", "7"),
            ("probe(-1)", "-1"),
            ("probe(2 ** 5)", "32"),
            ("probe(min(30, 2 ** 4))", "16"),
            ("probe(min(x, 30))", "-inf..30"),
            ("probe(None)", "null"),
            ("import math\nprobe(math.inf)", "inf"),
            ("probe(float('inf'))", "inf"),
            ("from datetime import timedelta\nprobe(timedelta(seconds=5, minutes=1))", "65000 ms"),
            ("probe(timedelta(minutes=2).total_seconds())", "120"),
            ("probe(3 if True else 4)", "3"),
            ("probe(3 if x else 5)", "3..5"),
            ("probe(int('7'))", "7"),
            ("import random\nprobe(random.uniform(1, 3))", "1..3 random"),
            ("import random\nprobe(2 * random.random())", "0..2 random"),
            ("from random import randint\nprobe(1 + randint(0, 4))", "1..5 random"),
            ("probe(f(3))", "? f(3)"),
        ],
    );
}

#[test]
fn python_names() {
    check(
        Language::Python,
        &[
            ("N = 3\ndef f():\n    probe(N)", "3"),
            ("def f(n=4):\n    probe(n)", "4 usual"),
            ("def f(n):\n    probe(n)", "? n"),
            ("def f():\n    n = 1\n    n = 2\n    probe(n)\n    n = 3", "2"),
            ("def f():\n    n = 1\n    for x in y:\n        probe(n)\n        n = 3", "? n"),
            ("def f():\n    n = 1\n    if x:\n        n = 2\n    probe(n)", "? n"),
            ("x = x + 1\nprobe(x)", "? x"),
            ("class A:\n    n = 5\n    def f(self):\n        probe(self.n)", "5"),
            (
                "class A:\n    def __init__(self, n=6):\n        self.n = n\n    def f(self):\n        probe(self.n)",
                "6 usual",
            ),
            ("class S:\n    n: int = 5\ns = S()\nprobe(s.n)", "5 usual"),
            ("class S:\n    n: int = 5\ns = S(n=8)\nprobe(s.n)", "8"),
            ("class S:\n    N = 5\nprobe(S.N)", "5"),
            ("C = {'r': {'n': 3}}\nprobe(C['r']['n'])", "3"),
            ("C = {'n': 3}\nprobe(C.get('n', 4))", "3"),
            ("def f(o):\n    probe(o.get('n', 4))", "4 usual"),
            ("import os\nprobe(os.environ.get('N', 3))", "3 env"),
            ("import os\nN = int(os.getenv('N', '4'))\nprobe(N)", "4 env"),
            ("import os\nprobe(int(os.environ.get('N') or 5))", "5 env"),
            ("def f(n=None):\n    probe(n or 5)", "5 usual"),
            ("def n():\n    return 9\nprobe(n())", "9"),
            ("A, B = 1, 2\nprobe(B)", "2"),
        ],
    );
}

#[test]
fn the_environment_of_a_loop_comes_first() {
    let tree = lower::tree(Language::Python, "d = 1\nprobe(d * 2)").unwrap();
    let imports = Imports::of(&tree);
    let values = Values::new(&tree, &imports);
    let env = |name: &str| (name == "d").then(|| Value::exact(Data::Number(8.0), 1));
    assert_eq!(shown(&values.within(probed(&tree), &env)), "16");
    assert_eq!(shown(&values.of(probed(&tree))), "2");
}

#[test]
fn a_line_is_where_it_is_written() {
    let found = value(Language::Python, "\nN = 3\n\nprobe(N)");
    assert_eq!(found.place, Place { path: None, line: 2 });
}

#[test]
fn other_files_are_looked_into() {
    let mut project = Project::new();
    let other =
        "class Settings:\n    TRIES = 4\nDELAY = 2.5\nCFG = {'n': 7}\nTWICE = 1\nTWICE = 2\n";
    let tree = lower::tree(Language::Python, other).unwrap();
    project.add("src/app/config.py", Constants::of(&tree));
    let ask = |from: &str, text: &str| {
        let tree = lower::tree(Language::Python, text).unwrap();
        let imports = Imports::of(&tree);
        let alone = Values::new(&tree, &imports);
        assert!(!alone.of(probed(&tree)).is_known(), "{text}");
        assert!(alone.wants_project(), "{text}");
        let found = Values::new(&tree, &imports).with_project(&project, from).of(probed(&tree));
        (shown(&found), found.place.path.as_deref().map(str::to_owned))
    };
    let there = Some("src/app/config.py".to_owned());
    let main = "src/app/main.py";
    assert_eq!(
        ask(main, "from app.config import DELAY\nprobe(DELAY)"),
        ("2.5".into(), there.clone())
    );
    assert_eq!(ask(main, "from .config import CFG\nprobe(CFG['n'])").0, "7");
    assert_eq!(
        ask(main, "from . import config\nprobe(config.DELAY)"),
        ("2.5".into(), there.clone())
    );
    assert_eq!(
        ask(main, "from app.config import Settings\nprobe(Settings.TRIES)"),
        ("4".into(), there)
    );
    assert_eq!(ask(main, "from app.config import TWICE\nprobe(TWICE)").0, "? TWICE");
}

#[test]
fn fields_that_count_or_wait_are_usually_what_other_files_say() {
    let mut project = Project::new();
    let mut add = |path: &str, text: &str| {
        let tree = lower::tree(Language::Python, text).unwrap();
        project.add(path, Constants::of(&tree));
    };
    add("app/a/settings.py", "class Settings:\n    retry_delay: float = 2.5\n    size = 3\n");
    add("app/b/client.py", "class Client:\n    def __init__(self, url, max_retries=4): ...\n");
    add("app/c/one.py", "class One:\n    wait = 1\n");
    add("app/d/two.py", "class Two:\n    wait = 2\n");
    let ask = |from: &str, field: &str| {
        let text = format!("probe(given.{field})");
        let tree = lower::tree(Language::Python, &text).unwrap();
        let imports = Imports::of(&tree);
        let values = Values::new(&tree, &imports).with_project(&project, from);
        let found = values.of(probed(&tree));
        (shown(&found), found.is_known().then_some(found.trust))
    };
    assert_eq!(ask("app/main.py", "retry_delay"), ("2.5 usual".into(), Some(Trust::Usual)));
    assert_eq!(ask("app/main.py", "max_retries"), ("4 usual".into(), Some(Trust::Usual)));
    // Only what counts or waits is taken by its name alone.
    assert_eq!(ask("app/main.py", "size").1, None);
    // They do not agree, but one is nearer.
    assert_eq!(ask("app/main.py", "wait").1, None);
    assert_eq!(ask("app/d/main.py", "wait").1, Some(Trust::Usual));
}

#[test]
fn a_file_of_names_that_name_each_other_ends() {
    let mut text = String::new();
    for at in 0..2000 {
        text.push_str(&format!("a{at} = a{} + a{}\n", at + 1, at + 1));
    }
    text.push_str("probe(a0)");
    assert!(!value(Language::Python, &text).is_known());
}

#[test]
fn other_languages() {
    let cases: &[(Language, &[(&str, &str)])] = &[
        (
            Language::JavaScript,
            &[
                ("const N = 3;\nfunction f() { probe(N); }", "3"),
                ("probe(Math.min(2 ** 10, 500))", "500"),
                ("probe(Math.random() * 100)", "0..100 random"),
                ("probe(process.env.N || 3)", "3 env"),
                ("probe(Number(process.env.N ?? '4'))", "4 env"),
                ("probe(Number.MAX_SAFE_INTEGER)", "inf"),
                ("probe(Infinity)", "inf"),
                ("const c = { retry: { n: 5 } };\nprobe(c.retry.n)", "5"),
                ("function f(options) { probe(options.n ?? 7); }", "7 usual"),
                ("class A { n = 2; f() { probe(this.n); } }", "2"),
                ("const n = parseInt('12', 10);\nprobe(n)", "12"),
            ],
        ),
        (
            Language::Go,
            &[
                ("package p\nconst n = 3\nfunc f() { probe(n) }", "3"),
                ("package p\nfunc f() { d := 2 * time.Second\n probe(d) }", "2000 ms"),
                ("package p\nfunc f() { probe(time.Duration(3) * time.Minute) }", "180000 ms"),
                (
                    "package p\nfunc f() { probe(time.Duration(rand.Intn(100)) * time.Millisecond) }",
                    "0..100 ms random",
                ),
            ],
        ),
        (
            Language::Rust,
            &[
                ("const N: u32 = 3; fn f() { probe(N); }", "3"),
                ("fn f() { probe(Duration::from_millis(250)); }", "250 ms"),
                ("fn f() { probe(Duration::from_secs(2) * 3); }", "6000 ms"),
                ("fn f() { probe(usize::MAX); }", "inf"),
                (
                    "fn f() { probe(env::var(\"N\").ok().and_then(|v| v.parse().ok()).unwrap_or(5)); }",
                    "5 env",
                ),
            ],
        ),
        (
            Language::Java,
            &[
                ("class A { static final int N = 3; void f() { probe(N); } }", "3"),
                ("class A { void f() { probe(Duration.ofSeconds(2)); } }", "2000 ms"),
                ("class A { void f() { probe(TimeUnit.SECONDS.toMillis(5)); } }", "5000"),
                ("class A { void f() { probe(Integer.MAX_VALUE); } }", "inf"),
            ],
        ),
        (
            Language::Kotlin,
            &[
                ("const val N = 3\nfun f() { probe(N) }", "3"),
                ("fun f() { probe(2.seconds) }", "2000 ms"),
                ("fun f(n: Int = 4) { probe(n) }", "4 usual"),
            ],
        ),
        (
            Language::CSharp,
            &[
                ("class A { const int N = 3; void F() { probe(N); } }", "3"),
                ("class A { void F() { probe(TimeSpan.FromSeconds(2)); } }", "2000 ms"),
                (
                    "class A { void F() { probe(TimeSpan.FromMilliseconds(Math.Pow(2, 3) * 100)); } }",
                    "800 ms",
                ),
            ],
        ),
        (Language::Ruby, &[("N = 3\nprobe(N)", "3"), ("probe(ENV.fetch('N', 4))", "4 env")]),
        (Language::Php, &[("<?php\n$n = 3;\nprobe($n);", "3")]),
    ];
    for (language, cases) in cases {
        // A language that is not lowered has nothing but its root.
        if lower::tree(*language, cases[0].0).is_some_and(|tree| tree.len() > 1) {
            check(*language, cases);
        }
    }
}

/// A parameter that is only set on a condition is what the caller gave otherwise.
#[test]
fn parameters_that_may_be_set() {
    check(
        Language::Python,
        &[
            ("def f(n=None):\n    if n is None:\n        n = 3\n    probe(n)", "3 usual"),
            ("def f(n=5):\n    if n > 10:\n        n = 10\n    probe(n)", "5 usual"),
            ("def f(n):\n    n = 2\n    probe(n)", "2"),
        ],
    );
    check(
        Language::Go,
        &[
            ("package p\nfunc f(n int) {\n\tif n <= 0 {\n\t\tn = 4\n\t}\n\tprobe(n)\n}", "4 usual"),
            ("package p\nfunc f(n int) {\n\tif n < 0 {\n\t\tn = 0\n\t}\n\tprobe(n)\n}", "? n"),
        ],
    );
}

/// Lists of waits, and what a schema or a field says of what is not given.
#[test]
fn lists_and_defaults_of_schemas() {
    check(
        Language::Java,
        &[
            ("class A { void f() { probe(Arrays.asList(50L, 100L)); } }", "[50, 100]"),
            ("class A { void f() { probe(List.of(1, 2)); } }", "[1, 2]"),
            ("class A { void f() { probe(Path.of(1, 2)); } }", "? Path.of(1, 2)"),
        ],
    );
    check(
        Language::Kotlin,
        &[
            ("fun f() { probe(listOf(50, 100)) }", "[50, 100]"),
            ("fun f() { probe((2 + 3).seconds) }", "5000 ms"),
        ],
    );
    check(
        Language::Python,
        &[(
            "class A:\n    waits: list = field(default_factory=lambda: [0.5, 1])\n    def f(self):\n        probe(self.waits)",
            "[0.5, 1] usual",
        )],
    );
    check(
        Language::JavaScript,
        &[
            ("probe(z.coerce.number().default(4));", "4 usual"),
            ("probe(settings.theme().default(4));", "? settings.theme().default(4)"),
        ],
    );
}

/// What one file gives to a field that another one names: as its property or its parameter too, a
/// list as well as a number.
#[test]
fn fields_of_other_files() {
    let options = "class Options {\n    public List<int> RetrySchedule { get; } = [50, 100];\n    public int MaxRetries { get; set; } = 3;\n}";
    let tree = lower::tree(Language::CSharp, options).unwrap();
    let mut project = Project::new();
    project.add("src/Options.cs", Constants::of(&tree));
    for (asked, expected) in [
        ("class A { void F() { probe(options.retrySchedule); } }", "[50, 100] usual"),
        ("class A { void F() { probe(this.inner._maxRetries); } }", "3 usual"),
        ("class A { void F() { probe(options.Retries); } }", "? options.Retries"),
    ] {
        let tree = lower::tree(Language::CSharp, asked).unwrap();
        let imports = Imports::of(&tree);
        let values = Values::new(&tree, &imports).with_project(&project, "src/A.cs");
        assert_eq!(shown(&values.of(probed(&tree))), expected, "{asked}");
    }
}

/// What an annotation or an attribute says of a field that is not given.
#[test]
fn defaults_beside_a_field() {
    check(
        Language::Java,
        &[
            (
                "class A { @Value(\"${a.tries:3}\") int tries; void f() { probe(tries); } }",
                "3 usual",
            ),
            ("class A { @Value(\"${a.tries}\") int tries; void f() { probe(tries); } }", "? tries"),
            ("class A { A(@Value(\"${a:4}\") int tries) { probe(tries); } }", "4 usual"),
        ],
    );
    check(
        Language::Kotlin,
        &[(
            "class A(@Value(\"\\${a.tries:3}\") val tries: Int) { fun f() { probe(tries) } }",
            "3 usual",
        )],
    );
    check(
        Language::Rust,
        &[
            (
                "struct A { #[arg(long, default_value_t = 3)] retries: u32 } impl A { fn f(&self) { probe(self.retries); } }",
                "3 usual",
            ),
            (
                "struct A { #[serde(default = \"five\")] retries: u32 } fn five() -> u32 { 5 } impl A { fn f(&self) { probe(self.retries); } }",
                "5 usual",
            ),
            (
                "struct A { #[serde(default)] retries: u32 } impl A { fn f(&self) { probe(self.retries); } }",
                "? self.retries",
            ),
        ],
    );
}

/// A getter of another file, that reads a setting with a default.
#[test]
fn getters_of_other_files() {
    let config = "class Config { public int getBindRetries() { return all.getIntProperty(\"a\", 3).get(); } public int getTotal() { return total; } }";
    let tree = lower::tree(Language::Java, config).unwrap();
    let mut project = Project::new();
    project.add("src/Config.java", Constants::of(&tree));
    for (asked, expected) in [
        ("class A { void f() { probe(config.getBindRetries()); } }", "3 env"),
        ("class A { void f() { probe(config.getTotal()); } }", "? config.getTotal()"),
        ("class A { void f() { probe(config.getBindRetries(1)); } }", "? config.getBindRetries(1)"),
    ] {
        let tree = lower::tree(Language::Java, asked).unwrap();
        let imports = Imports::of(&tree);
        let values = Values::new(&tree, &imports).with_project(&project, "src/A.java");
        assert_eq!(shown(&values.of(probed(&tree))), expected, "{asked}");
    }
}
