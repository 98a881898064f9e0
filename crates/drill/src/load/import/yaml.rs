//! What was taken over, written as a request file.

use std::fmt::Write as _;

use super::Imported;

/// Texts are in double quotes, as JSON has them, which YAML reads alike. What is neither a letter nor
/// of ASCII is escaped: YAML takes some of that for the end of a line, and some for nothing at all.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in serde_json::to_string(text).unwrap_or_default().chars() {
        if c == '\u{7f}' || !c.is_ascii() && !c.is_alphanumeric() {
            let _ = write!(out, "\\U{:08x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

pub(super) fn write(imported: &Imported) -> String {
    let mut out = String::new();
    // Writing to a text does not fail.
    let _ = writeln!(out, "# Recorded at {}", imported.origin.replace(char::is_control, " "));
    for variable in &imported.variables {
        let _ = writeln!(out, "# needs the variable {variable}");
    }
    for note in &imported.notes {
        let _ = writeln!(out, "# {}", note.replace(char::is_control, " "));
    }
    out.push_str("requests: 1\nsend:\n");
    for (number, request) in (1..).zip(&imported.requests) {
        let _ = writeln!(out, "  {}:", name(number, &request.method, &request.path));
        if request.method != "GET" {
            let _ = writeln!(out, "    method: {}", request.method);
        }
        let _ = writeln!(out, "    path: {}", quoted(&request.path));
        if request.times > 1 {
            let _ = writeln!(out, "    weight: {}", request.times);
        }
        if !request.headers.is_empty() {
            out.push_str("    headers:\n");
            for (name, value) in &request.headers {
                let _ = writeln!(out, "      {}: {}", quoted(name), quoted(value));
            }
        }
        if let Some(body) = &request.body {
            let _ = writeln!(out, "    body: {}", quoted(body));
        }
    }
    out
}

/// `1-get-search`: numbers keep them apart.
fn name(number: usize, method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let words = path.split('/').filter(|word| !word.is_empty() && !word.contains("{{"));
    let word = words.take(2).collect::<Vec<_>>().join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let word: String = word.chars().map(plain).take(40).collect();
    let name = format!("{number}-{}-{}", method.to_ascii_lowercase(), word);
    name.trim_end_matches('-').to_owned()
}
