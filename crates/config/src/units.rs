//! Durations, shares and lists as the formats write them.

use crate::document::Node;

/// A duration in milliseconds: `1s`, `0.25s`, `1h30m`, `500ms`, `2 minutes`; a bare number counts
/// in `bare_ms` (0: a bare number is none).
#[must_use]
pub fn duration_ms(text: &str, bare_ms: f64) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let ms = number * bare_ms;
        return (bare_ms > 0.0 && ms.is_finite() && ms >= 0.0).then_some(ms);
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest.get(..end)?.parse().ok()?;
        rest = rest.get(end..)?.trim_start();
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        sum += number * unit_ms(rest.get(..end)?)?;
        rest = rest.get(end..)?.trim_start();
    }
    (sum.is_finite() && !text.is_empty()).then_some(sum)
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ns" | "nanos" => 1e-6,
        "us" | "µs" | "micros" => 1e-3,
        "ms" | "millis" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
        "m" | "min" | "mins" | "minute" | "minutes" => 60e3,
        "h" | "hour" | "hours" => 3_600e3,
        "d" | "day" | "days" => 86_400e3,
        _ => return None,
    })
}

/// As [`duration_ms`], of a node.
#[must_use]
pub fn duration_of(node: &Node, bare_ms: f64) -> Option<f64> {
    duration_ms(node.text()?, bare_ms)
}

/// The words of a list that is written as one text with commas, or as a list.
#[must_use]
pub fn words(node: &Node) -> Vec<String> {
    let split = |text: &str| {
        text.split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    node.one_or_more().iter().filter_map(Node::text).flat_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_they_are_written() {
        assert_eq!(duration_ms("1s", 0.0), Some(1000.0));
        assert_eq!(duration_ms("0.250s", 0.0), Some(250.0));
        assert_eq!(duration_ms("1h30m", 0.0), Some(5_400_000.0));
        assert_eq!(duration_ms("2 minutes", 0.0), Some(120_000.0));
        assert_eq!(duration_ms("5", 1000.0), Some(5000.0));
        assert_eq!(duration_ms("5", 0.0), None);
        assert_eq!(duration_ms("1e999", 1.0), None);
        assert_eq!(duration_ms("-1", 1.0), None);
        assert_eq!(duration_ms("soon", 1.0), None);
        assert_eq!(duration_ms("", 1.0), None);
    }
}
