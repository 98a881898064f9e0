//! HAR 1.2, as browsers save it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    BadImport, Imported, Keeper, METHODS, MOST_BODY, MOST_BYTES, MOST_HEADERS, MOST_REQUESTS,
    Recorded, literal, url,
};

/// Takes over the requests of a HAR file, as far as they went to the origin that most of them went to.
///
/// # Errors
/// It is too long, no HAR file, or has no request.
pub fn from_har(text: &str, keep_secrets: bool) -> Result<Imported, BadImport> {
    if text.len() > MOST_BYTES {
        return Err(BadImport::TooLong(MOST_BYTES >> 20));
    }
    let har: Value = serde_json::from_str(text).map_err(|error| {
        BadImport::NotThat(format!("this is no HAR file, which is JSON: {error}"))
    })?;
    let entries = har.pointer("/log/entries").and_then(Value::as_array);
    let entries = entries
        .ok_or_else(|| BadImport::NotThat("this is no HAR file: it has no log.entries".into()))?;
    let mut by_origin: BTreeMap<String, Vec<(String, &Value)>> = BTreeMap::new();
    let mut unread = 0;
    for request in entries.iter().filter_map(|entry| entry.get("request")) {
        let asked = request.get("url").and_then(Value::as_str).filter(|url| url.contains("://"));
        match asked.map(url) {
            Some(Ok((origin, path))) => by_origin.entry(origin).or_default().push((path, request)),
            _ => unread += 1,
        }
    }
    let most = by_origin.iter().max_by_key(|(_, requests)| requests.len());
    let origin = most.map(|(origin, _)| origin.clone()).ok_or(BadImport::Nothing)?;
    let taken = by_origin.remove(&origin).unwrap_or_default();
    let mut keeper = Keeper::new(keep_secrets);
    let mut imported = Imported { origin, ..Imported::default() };
    let elsewhere: usize = by_origin.values().map(Vec::len).sum();
    if elsewhere > 0 {
        imported.notes.push(format!("left out, since they went elsewhere: {elsewhere}"));
    }
    for (path, request) in taken {
        match recorded(&mut keeper, &path, request) {
            Some(new) => add(&mut imported.requests, new, &mut unread),
            None => unread += 1,
        }
    }
    if unread > 0 {
        imported.notes.push(format!("left out for their method, body or number: {unread}"));
    }
    if imported.requests.is_empty() {
        return Err(BadImport::Nothing);
    }
    imported.variables = keeper.variables();
    Ok(imported)
}

/// The same request twice is one with twice the weight.
fn add(requests: &mut Vec<Recorded>, new: Recorded, unread: &mut usize) {
    let same = |known: &&mut Recorded| {
        (&known.method, &known.path, &known.body) == (&new.method, &new.path, &new.body)
    };
    if let Some(known) = requests.iter_mut().find(same) {
        known.times = known.times.saturating_add(1);
    } else if requests.len() < MOST_REQUESTS {
        requests.push(new);
    } else {
        *unread += 1;
    }
}

fn recorded(keeper: &mut Keeper, path: &str, request: &Value) -> Option<Recorded> {
    let method = request.get("method")?.as_str()?.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        return None;
    }
    let body = match request.get("postData") {
        None | Some(Value::Null) => None,
        Some(data) => {
            let text = data.get("text")?.as_str()?;
            // What is not text is in base64, which a request file has no word for.
            if text.len() > MOST_BODY || data.get("encoding").is_some() {
                return None;
            }
            Some(literal(text))
        }
    };
    let headers = request.get("headers").and_then(Value::as_array).map(Vec::as_slice);
    let mut found: Vec<(String, String)> = Vec::new();
    for header in headers.unwrap_or_default().iter().take(MOST_HEADERS) {
        let text = |key| header.get(key).and_then(Value::as_str);
        let (Some(name), Some(value)) = (text("name"), text("value")) else { continue };
        if let Some(header) = keeper.header(name, value)
            && !found.iter().any(|(known, _)| *known == header.0)
        {
            found.push(header);
        }
    }
    Some(Recorded { method, path: keeper.path(path), headers: found, body, times: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HAR: &str = r#"{"log": {"entries": [
        {"request": {"method": "GET", "url": "https://shop.example/a?q=1&token=abc", "headers": [
            {"name": ":authority", "value": "shop.example"}, {"name": "Accept", "value": "*/*"},
            {"name": "Cookie", "value": "sid=123"}]}},
        {"request": {"method": "GET", "url": "https://shop.example/a?q=1&token=abc", "headers": []}},
        {"request": {"method": "POST", "url": "https://shop.example/orders", "headers": [],
            "postData": {"mimeType": "application/json", "text": "{\"n\": \"{{x}}\"}"}}},
        {"request": {"method": "CONNECT", "url": "https://shop.example/", "headers": []}},
        {"request": {"method": "GET", "url": "https://cdn.example/x.js", "headers": []}},
        {"request": {"url": "data:text/plain,x"}}
    ]}}"#;

    #[test]
    fn a_recording_becomes_a_request_file() {
        let imported = from_har(HAR, false).unwrap();
        assert_eq!(imported.origin, "https://shop.example");
        assert_eq!(imported.variables, ["COOKIE", "TOKEN"]);
        insta::assert_snapshot!(imported.to_yaml());
        assert!(!imported.to_yaml().contains("abc") && !imported.to_yaml().contains("sid=123"));
        assert!(from_har(HAR, true).unwrap().to_yaml().contains("sid=123"));
    }

    #[test]
    fn what_is_no_recording_says_so() {
        for text in ["", "{}", "[]", "{\"log\": {\"entries\": []}}", "x"] {
            assert!(from_har(text, false).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_recording_panics(at in 0..HAR.len(), with in "\\PC{0,3}") {
            if HAR.is_char_boundary(at) {
                let text = format!("{}{with}{}", &HAR[..at], &HAR[(at + 1).min(HAR.len())..]);
                let _ = from_har(&text, false).map(|imported| imported.to_yaml());
            }
        }
    }
}
