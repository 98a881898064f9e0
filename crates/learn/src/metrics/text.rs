//! Prometheus' text, and the plain `/stats` of Envoy.

use std::io::{BufRead, BufReader, Read};

use crate::learn::MOST_METRICS;
use crate::read::Metric;

/// Longer lines are left out.
const LONGEST_LINE: u64 = 1 << 20;
/// Labels of one metric.
const MOST_LABELS: usize = 64;

/// Reads metrics, line by line.
///
/// # Errors
/// Says where it cannot be read on. What is no metric is passed over.
pub(crate) fn read(input: impl Read, into: &mut Vec<Metric>) -> Result<(), String> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        number += 1;
        let got = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        match got {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(format!("line {number}: {error}")),
        }
        if into.len() >= MOST_METRICS {
            return Err(format!("line {number}: more than {MOST_METRICS} values"));
        }
        let text = String::from_utf8_lossy(&line);
        into.extend(metric(text.trim()));
    }
}

/// One line; `None`: no metric.
pub(crate) fn metric(line: &str) -> Option<Metric> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' ', '\t', ':']).unwrap_or(line.len());
    if line[end..].starts_with(':') && !line[..end].is_empty() {
        return stat_line(line).or_else(|| prometheus(line));
    }
    prometheus(line)
}

/// `name{label="value"} 1 1700000000`
fn prometheus(line: &str) -> Option<Metric> {
    let end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(end);
    let mut labels = Vec::new();
    let mut rest = rest.trim_start();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = self::labels(inner, &mut labels)?;
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    let right = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.'));
    right.then(|| Metric { name: name.to_owned(), labels, value })
}

/// Reads labels up to their brace, and returns what follows.
fn labels<'a>(mut rest: &'a str, into: &mut Vec<(String, String)>) -> Option<&'a str> {
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some(after);
        }
        let (name, after) = rest.split_once('=')?;
        let mut value = String::new();
        let mut chars = after.trim_start().strip_prefix('"')?.char_indices();
        let start = after.len() - after.trim_start().len() + 1;
        let end = loop {
            match chars.next()? {
                (at, '"') => break start + at + 1,
                (_, '\\') => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, c) => value.push(c),
            }
        };
        if into.len() < MOST_LABELS {
            into.push((name.trim().to_owned(), value));
        }
        rest = after.get(end..)?;
    }
}

/// `cluster.NAME.STAT: 1`, under the name that Prometheus gives it.
fn stat_line(line: &str) -> Option<Metric> {
    let (name, value) = line.rsplit_once(": ")?;
    stat(name, value.trim().parse().ok()?)
}

/// The same with its name and its value.
pub(crate) fn stat(name: &str, value: f64) -> Option<Metric> {
    let rest = name.strip_prefix("cluster.")?;
    // Names of clusters may have dots; those of the statistics that are read have none, but for
    // the answers that were thrown away.
    let (cluster, stat) = match rest.split_once(".retry.") {
        Some((cluster, stat)) => (cluster, format!("retry_{stat}")),
        None => {
            let (cluster, stat) = rest.rsplit_once('.')?;
            (cluster, stat.to_owned())
        }
    };
    Some(Metric {
        name: format!("envoy_cluster_{stat}"),
        labels: vec![("envoy_cluster_name".to_owned(), cluster.to_owned())],
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_prometheus() {
        let m = metric(r#"istio_requests_total{reporter="source", a="x\"y\\z"} 12 1700000"#);
        let m = m.unwrap();
        assert_eq!((m.name.as_str(), m.value), ("istio_requests_total", 12.0));
        assert_eq!((m.label("reporter"), m.label("a"), m.label("b")), ("source", "x\"y\\z", ""));
        assert_eq!(metric("up 1").unwrap().value, 1.0);
        for wrong in ["# HELP x", "", "x{a=\"b\" 1", "x{a=b} 1", "x one", "{} 1", "x", "x{a=\"\\"] {
            assert_eq!(metric(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lines_of_envoy() {
        let m = metric("cluster.outbound|80||a.b.svc.upstream_rq_retry: 7").unwrap();
        assert_eq!(m.name, "envoy_cluster_upstream_rq_retry");
        assert_eq!(m.label("envoy_cluster_name"), "outbound|80||a.b.svc");
        let m = metric("cluster.orders.retry.upstream_rq_503: 2").unwrap();
        assert_eq!(m.name, "envoy_cluster_retry_upstream_rq_503");
    }
}
