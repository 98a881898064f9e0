//! Bad input: an error or a part, never a panic.

use proptest::prelude::*;

use crate::emit::{self, Format, How};
use crate::{HOW, learn_text, system, traces};

fn sample(format: Format) -> Vec<u8> {
    let system = system(include_str!("shop.yaml"));
    traces(&emit::record(&system, 20), &system, How { format, ..HOW })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_cut_off_is_an_error_or_a_part(cut in 0.0..1.0_f64, n in 0_usize..3) {
        let text = sample([Format::Otlp, Format::Jaeger, Format::Zipkin][n]);
        let at = (cut * text.len() as f64) as usize;
        if let Ok(found) = learn_text(&text[..at]) {
            let whole = text[at..].iter().all(u8::is_ascii_whitespace);
            let line = text[..at].ends_with(b"\n");
            let ended = line || text[..at].ends_with(b"}");
            prop_assert!(found.read.partial || whole || ended, "nobody noticed");
            let file = damper_learn::yaml(&found);
            if found.load_rps.is_some() {
                let parsed = damper_system::SystemFile::parse("x", &file).and_then(|f| f.lower());
                prop_assert!(parsed.is_ok(), "{}\n{file}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn bytes_that_change_harm_nothing(at in 0.0..1.0_f64, byte: u8, n in 0_usize..3) {
        let mut text = sample([Format::Otlp, Format::Jaeger, Format::Zipkin][n]);
        let at = (at * text.len() as f64) as usize;
        text[at] = byte;
        if let Ok(found) = learn_text(&text) {
            let _ = damper_learn::yaml(&found);
        }
    }

    #[test]
    fn any_text_harms_nothing(text in "[\\[{\"a-z:,0-9}\\]]{0,200}") {
        let _ = learn_text(text.as_bytes());
    }
}

#[test]
fn the_place_of_a_mistake_is_named() {
    let text = sample(Format::Otlp);
    let cut = &text[..text.len() - 30];
    let found = learn_text(cut).unwrap();
    assert!(found.read.partial);
    assert!(
        found.notes[0].contains("cut off") && found.notes[0].contains("spans)"),
        "{:?}",
        found.notes
    );
    let none = learn_text(b"{\"resourceSpans\": [}").unwrap_err().to_string();
    assert!(none.contains(":1:20: "), "{none}");
    let empty = learn_text(b"").unwrap_err().to_string();
    assert!(empty.contains("empty"), "{empty}");
    let other = learn_text(b"{\"hello\": 1}").unwrap_err().to_string();
    assert!(other.contains("neither traces nor metrics"), "{other}");
}

#[test]
fn depth_numbers_and_strange_bytes_have_bounds() {
    let deep = format!("{{\"data\":{}", "[".repeat(100_000));
    assert!(learn_text(deep.as_bytes()).is_err());
    let huge = br#"[{"traceId":"a","id":"1","timestamp":99999999999999999999999,"duration":1e300,"localEndpoint":{"serviceName":"x"}}]"#;
    let _ = learn_text(huge);
    let most = br#"[{"traceId":"a","id":"1","timestamp":18446744073709551615,"duration":18446744073709551615,"localEndpoint":{"serviceName":"x"}},{"traceId":"b","id":"1","timestamp":1,"duration":18446744073709551615,"localEndpoint":{"serviceName":"x"}}]"#;
    let found = learn_text(most).unwrap();
    assert!(damper_learn::yaml(&found).contains("damper: 1"));
    let _ = learn_text(b"[{\"traceId\":\"\xff\xfe\",\"id\":\"1\"}]");
}

/// A chain of a hundred thousand spans, and one whose end is its beginning.
#[test]
fn a_long_chain_does_not_end_the_program() {
    let mut text = String::from("[");
    for n in 1..=100_000_u32 {
        let parent = if n == 1 { 100_000 } else { n - 1 };
        text.push_str(&format!(
            "{}{{\"traceId\":\"7\",\"id\":\"{n:x}\",\"parentId\":\"{parent:x}\",\"kind\":\"SERVER\",\"timestamp\":{},\"duration\":1000,\"localEndpoint\":{{\"serviceName\":\"s{}\"}}}}",
            if n > 1 { "," } else { "" },
            1_000_000 + n,
            n % 3
        ));
    }
    text.push(']');
    let found = learn_text(text.as_bytes()).unwrap();
    assert!(found.notes.iter().any(|n| n.contains("own ancestors")), "{:?}", found.notes);
}

#[test]
fn what_attributes_say_is_not_told() {
    let text = br#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"web"}}]},"scopeSpans":[{"spans":[
{"traceId":"01","spanId":"01","name":"GET /x?token=hunter2","kind":2,"startTimeUnixNano":"1000","endTimeUnixNano":"2000","attributes":[{"key":"http.request.header.authorization","value":{"stringValue":"hunter2"}},{"key":"url.full","value":{"stringValue":"http://me:hunter2@web/x?token=hunter2"}},{"key":"db.statement","value":{"stringValue":"hunter2"}}]},
{"traceId":"02","spanId":"02","name":"GET","kind":3,"startTimeUnixNano":"3000","endTimeUnixNano":"4000","attributes":[{"key":"url.full","value":{"stringValue":"http://me:hunter2@db/x?token=hunter2"}}]}]}]}]}"#;
    let found = learn_text(text).unwrap();
    let all = format!("{}{}", damper_learn::yaml(&found), serde_json::to_string(&found).unwrap());
    assert!(all.contains("db") && !all.contains("hunter2"), "{all}");
}

/// Requests that are centuries apart are a load all the same.
#[test]
fn a_load_that_rounds_to_nothing_is_written() {
    let span = |id: u32, time: u64| {
        format!(
            "{{\"traceId\":\"{id}\",\"id\":\"{id}\",\"kind\":\"SERVER\",\"name\":\"get\",\"timestamp\":{time},\"duration\":1000,\"localEndpoint\":{{\"serviceName\":\"web\"}}}}"
        )
    };
    let text = format!("[{},{}]", span(1, 1_556_604_172_355_736), span(2, u64::MAX / 4_000));
    let found = learn_text(text.as_bytes()).unwrap();
    let yaml = damper_learn::yaml(&found);
    let lowered = damper_system::SystemFile::parse("learnt.yaml", &yaml).and_then(|f| f.lower());
    assert!(lowered.is_ok() || found.load_rps.is_none(), "{yaml}");
}

#[test]
fn a_retry_after_what_no_span_tells_leaves_a_gap() {
    // One execution is reported, and its span says that one attempt came before it.
    let trace = |n: u64| {
        format!(
            r#"{{"traceId":"{n:032x}","id":"{:016x}","name":"GET /","kind":"SERVER","timestamp":{},"duration":9000,"localEndpoint":{{"serviceName":"shop"}}}},
            {{"traceId":"{n:032x}","parentId":"{:016x}","id":"{:016x}","name":"get","kind":"CLIENT","timestamp":{},"duration":1000,"localEndpoint":{{"serviceName":"shop"}},"remoteEndpoint":{{"serviceName":"db"}},"tags":{{"http.request.resend_count":"1"}}}}"#,
            2 * n,
            1_000_000 * n,
            2 * n,
            2 * n + 1,
            1_000_000 * n + 1000,
        )
    };
    let text = format!("[{}]", (1..50).map(trace).collect::<Vec<_>>().join(","));
    let found = learn_text(text.as_bytes()).unwrap();
    let policy = found.policies.iter().find(|p| p.callee == "db").unwrap();
    assert_eq!((policy.limit, policy.on.len()), (Some(1), 0));
    assert!(
        found.gaps.iter().any(|gap| gap.path.ends_with("retry.on")),
        "{:?}",
        found.gaps.iter().map(|gap| &gap.path).collect::<Vec<_>>()
    );
    let file = damper_learn::yaml(&found);
    let parsed = damper_system::SystemFile::parse("x", &file).and_then(|f| f.lower());
    assert!(parsed.is_ok(), "{}\n{file}", parsed.unwrap_err());
}

#[test]
fn every_character_of_a_name_may_stand_in_the_file() {
    let mut found = learn_text(&sample(Format::Zipkin)).unwrap();
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    for part in all.chunks(50_000) {
        found.notes = vec![part.iter().collect()];
        let file = damper_learn::yaml(&found);
        let parsed = damper_system::SystemFile::parse("x", &file).and_then(|f| f.lower());
        assert!(parsed.is_ok(), "{}", parsed.unwrap_err());
    }
}
