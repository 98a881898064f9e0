use super::*;

const ISSUE: &str = r#"
  {"damper": 1,
   "position": "outbound",
   "classes": ["high", "low"], "default_class": "low",
   "class": {"header": "x-damper-class", "baggage": "class", "remember": {"by": "traceparent"},
     "match": [{"class": "high", "path_prefix": "/pay", "method": "POST", "host": "shop",
                "header": {"name": "x-tier", "exact": "gold"}, "baggage": {"key": "class", "exact": "high"}}]},
   "trust": "mesh",
   "retry": {"limit": {"high": 5, "low": 1}, "on": ["rejected", "failed", "timeout"], "status_codes": [503],
             "backoff": {"base_ms": 25, "max_ms": 250}, "capacity_per_s": 93.6,
             "budget": {"kind": "token-bucket", "max_tokens": 100, "token_ratio": 0.1}, "pushback": true},
   "edges": [{"host": "search", "retry": {"limit": 0}}],
   "deadline": {"header": "x-damper-deadline-ms", "margin_ms": 5},
   "lever": {"low": {"throttle": 0.5}}}"#;

#[test]
fn what_is_written_comes_back() {
    let config = read(ISSUE.as_bytes()).unwrap();
    assert_eq!(read(config.to_json().as_bytes()).unwrap(), config);
    for other in [
        r#""retry": {"limit": 3, "budget": {"kind": "ratio", "percent": 10.5, "min_per_s": 2}}"#,
        r#""retry": {"limit": 3, "budget": {"kind": "arb", "max_percent": 9, "min_percent": 2, "memory_ms": 7, "hold_ms": 8}}"#,
        r#""trust": ["10.0.0.0/8", "spiffe://mesh/"], "lever": {"default": {"ramp": {"from": 0, "to": 1, "over_s": 9}}}"#,
        r#""trust": "none", "lever": {"default": {"pause": true}}"#,
    ] {
        let text = format!(r#"{{"damper": 1, "position": "edge", {other}}}"#);
        let config = read(text.as_bytes()).unwrap();
        // Nothing of what was written is lost on the way.
        let (written, back): (Value, Value) = (
            serde_json::from_str(&text).unwrap(),
            serde_json::from_str(&config.to_json()).unwrap(),
        );
        let same = |a: &Value, b: &Value| {
            a.to_string().replace(".0", "") == b.to_string().replace(".0", "")
        };
        assert!(written.as_object().unwrap().iter().all(|(k, v)| same(v, &back[k])), "{back}");
    }
    let least = read(br#"{"damper": 1, "position": "edge"}"#).unwrap();
    assert_eq!(least, Config::new(crate::filter::config::Position::Edge));
    assert_eq!(read(least.to_json().as_bytes()).unwrap(), least);
}

/// Every key of the table is one that the types take, and a value of its kind passes both.
#[test]
fn each_mistake_names_its_field() {
    let mistakes = [
        "",
        "[]",
        "{\"damper\": 1",
        r#"{"position": "sideways"}"#,
        r#"{"damper": 2, "position": "inbound", "clases": ["a"]}"#,
        r#"{"damper": 1, "position": "outbound", "classes": ["high", "low", "HIGH"], "default_class": "lo"}"#,
        r#"{"damper": 1, "position": "outbound", "classes": ["high", "low"], "retry": {"limit": {"hihg": 5}}}"#,
        r#"{"damper": 1, "position": "outbound", "retry": {"limit": -1, "on": ["rejcted"], "status_codes": [200]}}"#,
        r#"{"damper": 1, "position": "outbound", "retry": {"limit": "5", "budget": {"kind": "token-bucket", "max_token": 5}}}"#,
        r#"{"damper": 1, "position": "outbound", "retry": {"budget": {"max_tokens": 5}, "backoff": {"base_ms": 25, "max_ms": 5}}}"#,
        r#"{"damper": 1, "position": "outbound", "retry": {"budget": {"kind": "arb", "min_percent": 30}}}"#,
        r#"{"damper": 1, "position": "outbound", "edges": [{"retry": {}}, {"host": "a:80"}]}"#,
        r#"{"damper": 1, "position": "edge", "trust": "everybody"}"#,
        r#"{"damper": 1, "position": "edge", "trust": ["10.0.0.0/8", "spiffe://mesh"]}"#,
        r#"{"damper": 1, "position": "edge", "class": {"header": "x-envoy-max-retries", "match": [{"class": "default"}]}}"#,
        r#"{"damper": 1, "position": "inbound", "lever": {"default": {"throttle": 2, "pause": true}}}"#,
        r#"{"damper": 1, "position": "inbound", "class": {"header": "X-Upper"}, "deadline": {"header": "x-damper-class"}}"#,
        r#"{"damper": 1, "position": "inbound", "classes": []}"#,
    ];
    let said: Vec<String> = mistakes
        .iter()
        .map(|text| format!("{text}\n{}\n", read(text.as_bytes()).unwrap_err()))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn much_that_is_wrong_is_cut() {
    let keys: Vec<String> = (0..1000).map(|n| format!("\"{n}\": {n}")).collect();
    let problems = read(format!("{{{}}}", keys.join(",")).as_bytes()).unwrap_err();
    assert_eq!(problems.0.len(), MOST_PROBLEMS);
    assert_eq!(read(&vec![b' '; MOST_BYTES + 1]).unwrap_err().0.len(), 1);
}

#[test]
fn the_schema_agrees() {
    let schema = jsonschema::validator_for(&crate::filter::schema::json_schema()).unwrap();
    let text = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert!(schema.is_valid(&text(ISSUE)));
    for wrong in [
        r#"{"damper": 1}"#,
        r#"{"damper": 1, "position": "edge", "x": 1}"#,
        r#"{"damper": 1, "position": "edge", "retry": {"budget": {"kind": "arb", "max_tokens": 5}}}"#,
    ] {
        assert!(!schema.is_valid(&text(wrong)), "{wrong}");
        assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
