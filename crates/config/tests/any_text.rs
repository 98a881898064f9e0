//! Whatever stands in a file, it is read or its mistake is told; nothing panics.

use damper_config::document::{MAX_DEPTH, Node, Syntax, Value, parse};
use damper_config::format;
use proptest::prelude::*;

/// A sample of each syntax, with what is easily cut in two.
const SAMPLES: &[(Syntax, &str)] = &[
    (Syntax::Yaml, "a: &x [1, \"zwei\", {b: 'c'}]\nc: *x\n---\nspring:\n  cloud: |\n    text é\n"),
    (Syntax::Json, "{\"a\": [1, \"\\u00e9\", {\"b\": null}], // c\n \"d\": true}"),
    (Syntax::Toml, "a.b = 1\n[c.\"d é\"]\ne = [1, {f = '''g\n'''}]\n[[h]]\ni = 1979-05-27\n"),
    (Syntax::Properties, "a.b[0].c = d\\\n  e\nf\\ g:\\u00e9\nx.\"y.z\".w=1\nA/b/Retry/delay=5\n"),
    (Syntax::Ini, "[profile é]\nmax_attempts = 3\ns3 =\n  a = b\nlong = c\n  d\n"),
    (Syntax::Env, "export A=\"b c\" # é\nD='e'\nF=${G}\n"),
    (Syntax::Dockerfile, "FROM x\nENV A=\"b c\" \\\n  D=é\nENV OLD form\n"),
    (
        Syntax::Hcl,
        "a \"b\" \"c\" {\n  d = \"e-${f}\"\n  g = [1, -2, h(i)]\n  j = <<EOT\né\nEOT\n}\n",
    ),
    (
        Syntax::Nginx,
        "http { # é\n upstream a { server b:80; }\n set $x \"y ; ${z}\";\n l_by_lua_block { {} }\n}\n",
    ),
    (Syntax::Haproxy, "defaults é\n retries 3 # x\nbackend b\n server a\\ b \"c d\" 'e'\n"),
    (
        Syntax::Caddyfile,
        "{\n x\n}\na.b,\nc {\n reverse_proxy \"d é\" `e` {\n  lb_retries 1\n }\n f <<G\n h\n G\n}\n",
    ),
];

fn check(syntax: Syntax, text: &str) {
    let (documents, _) = parse(syntax, text);
    for document in &documents {
        within(&document.root, 0);
    }
    for path in ["a/x", ".github/workflows/x.yml", "application.yml", "nginx.conf", "apisix.yaml"] {
        let _ = format::read(path, &documents);
    }
}

/// Lines are in order, and nothing is deeper than is promised.
fn within(node: &Node, depth: usize) {
    assert!(depth <= 2 * MAX_DEPTH + 4, "{depth}");
    assert!(node.lines[0] >= 1 && node.lines[0] <= node.lines[1], "{:?}", node.lines);
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| within(item, depth + 1)),
        Value::Map(entries) => entries.iter().for_each(|entry| within(&entry.value, depth + 1)),
        _ => {}
    }
}

#[test]
fn any_truncation_of_a_sample_is_read() {
    for (syntax, text) in SAMPLES {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            check(*syntax, &text[..end]);
            check(*syntax, &text[end..]);
        }
    }
}

#[test]
fn every_sample_is_right() {
    for (syntax, text) in SAMPLES {
        let (documents, troubles) = parse(*syntax, text);
        assert_eq!(troubles, [], "{syntax:?}");
        assert!(!documents.is_empty(), "{syntax:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_reported(text in "\\PC{0,80}", sign in "[\\[\\]{}\"'#=:;.\\\\\n <|&*!-]{0,80}") {
        for (syntax, _) in SAMPLES {
            check(*syntax, &text);
            check(*syntax, &sign);
        }
    }

    #[test]
    fn any_change_of_a_sample_is_read(
        which in 0..SAMPLES.len(),
        at in 0_usize..200,
        length in 0_usize..20,
        new in "[\\[\\]{}\"'#=:;.\\\\\n <|a0-]{0,12}",
    ) {
        let (syntax, text) = SAMPLES[which];
        let letters: Vec<char> = text.chars().collect();
        let at = at.min(letters.len());
        let end = (at + length).min(letters.len());
        let changed: String =
            letters[..at].iter().copied().chain(new.chars()).chain(letters[end..].iter().copied()).collect();
        check(syntax, &changed);
    }
}

/// Work that grows with the square of a file would take minutes here, not seconds.
#[test]
#[ignore = "slow: a megabyte of each syntax"]
fn large_files_end() {
    let many = |head: &str, row: &dyn Fn(usize) -> String| {
        let mut text = head.to_owned();
        let mut at = 0;
        while text.len() < 1_000_000 {
            text += &row(at);
            at += 1;
        }
        text
    };
    let texts = [
        (
            Syntax::Nginx,
            many("", &|_| {
                "location / { proxy_pass http://a; limit_req zone=a; proxy_next_upstream error; }\n"
                    .into()
            }),
        ),
        (Syntax::Nginx, many("", &|_| "upstream a { server b; }\n".into())),
        (
            Syntax::Haproxy,
            many("", &|at| {
                format!("defaults d{at}\n retries 1\nbackend a from d{at}\n server s 1.1.1.1:1\n")
            }),
        ),
        (
            Syntax::Caddyfile,
            many("", &|_| "a {\n reverse_proxy b {\n lb_retries 1\n }\n}\n".into()),
        ),
        (
            Syntax::Properties,
            many("", &|at| format!("resilience4j.retry.instances.a{at}.baseConfig=c{at}\n")),
        ),
        (
            Syntax::Properties,
            many("", &|at| format!("resilience4j.retry.configs.a{at}.baseConfig=a{}\n", at + 1)),
        ),
        (Syntax::Properties, many("", &|at| format!("{at}{}=1\n", ".a".repeat(120)))),
        (Syntax::Properties, many("", &|at| format!("A{at}/m/Retry/maxRetries=1\n"))),
        (
            Syntax::Hcl,
            many("", &|at| {
                format!(
                    "resource \"aws_sqs_queue\" \"a{at}\" {{}}\nresource \"aws_sqs_queue_redrive_policy\" \"a{at}\" {{\n queue_url = 1\n}}\nresource \"aws_lambda_function\" \"a{at}\" {{}}\n"
                )
            }),
        ),
        (Syntax::Toml, many("", &|at| format!("[http.middlewares.a{at}.retry]\nattempts = 2\n"))),
        (
            Syntax::Yaml,
            many("Resources:\n", &|at| format!("  a{at}: {{Type: AWS::Lambda::Function}}\n")),
        ),
        (Syntax::Yaml, many("upstreams:\n", &|_| "- {type: a, nodes: {a: 1, b: 1}}\n".into())),
        (Syntax::Env, many("", &|at| format!("A{at}=1\nAWS_MAX_ATTEMPTS=2\n"))),
        (Syntax::Ini, many("", &|at| format!("[profile a{at}]\nmax_attempts = 2\n"))),
    ];
    for (syntax, text) in &texts {
        check(*syntax, text);
    }
}
