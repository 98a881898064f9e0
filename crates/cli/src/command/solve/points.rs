//! The points of a sweep: `load.low=50..250:50`, and `policies.default.retry.limit=1,3,5`.

use anyhow::{Context as _, bail};
use damper_system::SystemFile;

/// More would be a table that nobody reads.
const MOST: usize = 10_000;
/// What may have to stand behind a number that was written without a unit.
const UNITS: [&str; 4] = ["", "/s", "%", "ms"];

/// Assignments of every point; none: there is no sweep.
pub(crate) fn of(
    file: &SystemFile,
    sweep: Option<&str>,
    vary: Option<&str>,
) -> anyhow::Result<Vec<Vec<String>>> {
    let swept = sweep.map(|text| range(file, text)).transpose()?;
    let varied = vary.map(values).transpose()?;
    let none = || vec![None];
    let (swept, varied) = (swept.map_or_else(none, some), varied.map_or_else(none, some));
    if swept.len() * varied.len() > MOST {
        bail!("{} points are too many; at most {MOST}", swept.len() * varied.len());
    }
    let pairs = varied.iter().flat_map(|v| swept.iter().map(move |s| [v, s]));
    let points = pairs.map(|pair| pair.into_iter().flatten().cloned().collect::<Vec<String>>());
    Ok(points.filter(|point| !point.is_empty()).collect())
}

fn some(list: Vec<String>) -> Vec<Option<String>> {
    list.into_iter().map(Some).collect()
}

fn range(file: &SystemFile, text: &str) -> anyhow::Result<Vec<String>> {
    let wrong = || {
        format!(
            "`{text}` is not a sweep; expected PATH=FROM..TO:STEP such as `load.low=50..250:50`"
        )
    };
    let (path, range) = text.rsplit_once('=').with_context(wrong)?;
    let (from, rest) = range.split_once("..").with_context(wrong)?;
    let (to, step) = rest.rsplit_once(':').with_context(wrong)?;
    // A unit may stand at any of the three, or at none.
    let digits = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | 'e'));
    let split =
        |s: &str| s.find(digits).map_or((s.to_owned(), ""), |i| (s[..i].to_owned(), &s[i..])).0;
    let unit = [from, to, step].into_iter().find_map(|s| s.find(digits).map(|i| s[i..].to_owned()));
    let number = |s: &str| split(s).replace('_', "").parse::<f64>().ok().filter(|x| x.is_finite());
    let (Some(from), Some(to), Some(step)) = (number(from), number(to), number(step)) else {
        bail!(wrong());
    };
    if step <= 0.0 || to < from {
        bail!("{}: the step must be above zero, and TO not below FROM", wrong());
    }
    let steps = ((to - from) / step + 1e-9).floor();
    if steps >= MOST as f64 {
        bail!("{steps:.0} points are too many; at most {MOST}");
    }
    let at = |i: usize, unit: &str| {
        // Rounded, so that 0.1 + 0.2 does not show.
        let x = ((from + step * i as f64) * 1e9).round() / 1e9;
        format!("{path}={x}{unit}")
    };
    let fits = |unit: &&str| {
        let mut file = file.clone();
        file.set(&at(0, unit)).is_ok() && file.lower().is_ok()
    };
    let unit = match unit {
        Some(unit) => unit,
        None => UNITS.iter().find(|unit| fits(unit)).map_or_else(String::new, |u| (*u).to_owned()),
    };
    Ok((0..=steps as usize).map(|i| at(i, &unit)).collect())
}

/// Values apart by commas that are not inside brackets.
fn values(text: &str) -> anyhow::Result<Vec<String>> {
    let wrong = || {
        format!(
            "`{text}` varies nothing; expected PATH=VALUE,VALUE such as `policies.default.retry.limit=1,3,5`"
        )
    };
    let (path, list) = text.split_once('=').with_context(wrong)?;
    let (mut depth, mut start, mut found) = (0i32, 0, Vec::new());
    for (i, c) in list.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(list[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(list[start..].trim());
    if path.trim().is_empty() || found.iter().any(|v| v.is_empty()) {
        bail!(wrong());
    }
    Ok(found.into_iter().map(|value| format!("{path}={value}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{damper: 1, classes: [a, b], services: {s: {}}, load: {a: 1/s, b: 2/s}, requests: {r: {calls: [s]}}}";

    fn points(sweep: Option<&str>, vary: Option<&str>) -> anyhow::Result<Vec<Vec<String>>> {
        of(&SystemFile::parse("x", TEXT).map_err(|p| anyhow::anyhow!("{p}"))?, sweep, vary)
    }

    #[test]
    fn a_sweep_finds_the_unit_and_ends_at_its_end() -> anyhow::Result<()> {
        let found = points(Some("load.a=50..150:50"), None)?;
        assert_eq!(found, [["load.a=50/s"], ["load.a=100/s"], ["load.a=150/s"]]);
        assert_eq!(points(Some("load.a=0.1..0.35/s:0.1"), None)?.len(), 3);
        let both = points(Some("load.a=1..2:1"), Some("x.retry={limit: 1, on: [a, b]},none"))?;
        assert_eq!(both.len(), 4);
        assert_eq!(both[0], ["x.retry={limit: 1, on: [a, b]}", "load.a=1/s"]);
        assert!(points(None, None)?.is_empty());
        Ok(())
    }

    #[test]
    fn what_is_not_a_sweep_says_what_is() {
        for bad in [
            "load.a",
            "load.a=1",
            "load.a=1..2",
            "load.a=1..2:0",
            "load.a=3..2:1",
            "load.a=1..2:1e-9",
        ] {
            let error = points(Some(bad), None);
            assert!(error.is_err(), "{bad}");
        }
        for bad in ["x", "x=", "x=1,,2", "=1"] {
            assert!(points(None, Some(bad)).is_err(), "{bad}");
        }
    }
}
