//! Conditions (`--at`): assignments like those of `--set`, or a multiple of what the file says.

use anyhow::bail;
use damper_system::SystemFile;
use serde_json::Value;

use super::targets::number;
use crate::words::near;

/// The assignments of a condition: `load.low=150/s` as it is, `load.low=x3` with the number
/// written out, `load=x3` for every class.
pub(super) fn of(file: &SystemFile, text: &str) -> anyhow::Result<Vec<String>> {
    let scaled = text.rsplit_once('=').and_then(|(path, value)| {
        let factor = value.trim().strip_prefix('x').and_then(number)?;
        Some((path.trim(), factor))
    });
    let Some((path, factor)) = scaled else {
        return Ok(vec![text.to_owned()]);
    };
    let root = file.to_json();
    let mut at = &root;
    for key in keys(path) {
        let Some(below) = at.get(&key) else {
            let names = at.as_object().into_iter().flat_map(|m| m.keys().map(String::as_str));
            let hint = near(&key, names);
            bail!(
                "--at {text}: the file has no `{key}` there, so that there is nothing to multiply; give the value itself, as in `{path}=100/s`{hint}"
            );
        };
        at = below;
    }
    let leaves: Vec<(String, &Value)> = match at {
        Value::Object(map) => map.iter().map(|(k, v)| (format!("{path}.{k}"), v)).collect(),
        value => vec![(path.to_owned(), value)],
    };
    let mut found = Vec::new();
    for (path, value) in leaves {
        let Some(value) = times(value, factor) else {
            bail!(
                "--at {text}: what the file says of `{path}` is not one number; give the value itself, as in `{path}=100/s`"
            );
        };
        found.push(format!("{path}={value}"));
    }
    Ok(found)
}

/// The keys of a path; quotes protect dots.
fn keys(path: &str) -> Vec<String> {
    let mut quote = None;
    let mut keys = vec![String::new()];
    for c in path.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            ('.', None) => keys.push(String::new()),
            (c, _) => {
                if let Some(key) = keys.last_mut() {
                    key.push(c);
                }
            }
        }
    }
    keys
}

/// A number with its unit, multiplied.
fn times(value: &Value, factor: f64) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let unit = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')));
    let (digits, unit) = text.split_at(unit.unwrap_or(text.len()));
    // Rounded, so that 0.1 + 0.2 does not show.
    let x = (number(digits)? * factor * 1e9).round() / 1e9;
    x.is_finite().then(|| format!("{x}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> SystemFile {
        let text = "{damper: 1, classes: [a, b], services: {'s.t': {workers: 3}}, load: {a: 0.1/s, b: 250/s}, requests: {r: {calls: [s.t]}}}";
        SystemFile::parse("x", text).unwrap()
    }

    #[test]
    fn multiples_are_written_out() {
        let of = |text: &str| of(&file(), text).unwrap();
        assert_eq!(of("load.b=x3"), ["load.b=750/s"]);
        assert_eq!(of("load.a=x3"), ["load.a=0.3/s"]);
        assert_eq!(of("load=x2"), ["load.a=0.2/s", "load.b=500/s"]);
        assert_eq!(of("services.\"s.t\".workers=x2"), ["services.\"s.t\".workers=6"]);
        assert_eq!(of("load.b=9/s"), ["load.b=9/s"]);
        assert_eq!(of("load.b=xyz"), ["load.b=xyz"]);
    }

    #[test]
    fn what_cannot_be_multiplied() {
        let error = |text: &str| of(&file(), text).unwrap_err().to_string();
        assert!(error("laod.b=x3").contains("did you mean `load`?"), "{}", error("laod.b=x3"));
        assert!(error("load.c=x3").contains("has no `c`"), "{}", error("load.c=x3"));
        assert!(error("requests.r.calls=x3").contains("not one number"));
    }
}
