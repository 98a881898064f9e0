//! The points of a sweep: `load.low=50..250:50`, and `policies.default.retry.limit=1,3,5`.

use anyhow::{Context as _, bail};
use damper_report::result::Swept;
use damper_system::SystemFile;

/// More would be a table that nobody reads.
const MOST: usize = 10_000;
/// What may have to stand behind a number that was written without a unit.
pub(crate) const UNITS: [&str; 4] = ["", "/s", "%", "ms"];

/// Where the system is solved.
#[derive(Debug, Default)]
pub(crate) struct Points {
    /// In order; none: there is neither a sweep nor a variation.
    pub(crate) all: Vec<At>,
    /// The swept field.
    pub(crate) swept: Option<Swept>,
    /// The path of the varied field.
    pub(crate) varied: Option<String>,
}

/// One point.
#[derive(Debug, Default)]
pub(crate) struct At {
    /// The assignments that make it, the varied one first.
    pub(crate) set: Vec<String>,
    pub(crate) value: Option<f64>,
    pub(crate) variant: Option<String>,
}

/// The points of `--sweep` and `--vary`.
pub(crate) fn of(
    file: &SystemFile,
    sweep: Option<&str>,
    vary: Option<&str>,
) -> anyhow::Result<Points> {
    let swept = sweep.map(|text| range(file, text)).transpose()?;
    let varied = vary.map(values).transpose()?;
    let steps = swept.as_ref().map_or(1, |s| s.values.len());
    let count = steps * varied.as_ref().map_or(1, |v| v.values.len());
    if count > MOST {
        bail!("{count} points are too many; at most {MOST}");
    }
    let variants: Vec<Option<String>> = varied
        .as_ref()
        .map_or_else(|| vec![None], |v| v.values.iter().cloned().map(Some).collect());
    let values: Vec<Option<f64>> =
        swept.as_ref().map_or_else(|| vec![None], |s| s.values.iter().copied().map(Some).collect());
    let mut points = Points::default();
    for variant in variants {
        for value in &values {
            let mut set = Vec::new();
            if let (Some(varied), Some(variant)) = (&varied, &variant) {
                set.push(format!("{}={variant}", varied.path));
            }
            if let (Some(range), Some(value)) = (&swept, value) {
                set.push(format!("{}={value}{}", range.swept.path, range.swept.unit));
            }
            if !set.is_empty() {
                points.all.push(At { set, value: *value, variant: variant.clone() });
            }
        }
    }
    points.swept = swept.map(|s| s.swept);
    points.varied = varied.map(|v| v.path);
    Ok(points)
}

/// A field and the numbers that it takes.
struct Range {
    swept: Swept,
    values: Vec<f64>,
}

/// A field and the texts that it takes.
struct Values {
    path: String,
    values: Vec<String>,
}

fn range(file: &SystemFile, text: &str) -> anyhow::Result<Range> {
    let wrong = || {
        format!(
            "`{text}` is not a sweep; expected PATH=FROM..TO:STEP such as `load.low=50..250:50`"
        )
    };
    let (path, range) = text.rsplit_once('=').with_context(wrong)?;
    let (from, rest) = range.split_once("..").with_context(wrong)?;
    let (to, step) = rest.rsplit_once(':').with_context(wrong)?;
    // A unit may stand at any of the three, or at none.
    let unit = [from, to, step].into_iter().map(|s| quantity(s).1).find(|unit| !unit.is_empty());
    let unit = unit.map(str::to_owned);
    let number = |s: &str| quantity(s).0;
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
    // Rounded, so that 0.1 + 0.2 does not show.
    let at = |i: usize| ((from + step * i as f64) * 1e9).round() / 1e9;
    let fits = |unit: &&str| {
        let mut file = file.clone();
        file.set(&format!("{path}={}{unit}", at(0))).is_ok() && file.lower().is_ok()
    };
    let unit = match unit {
        Some(unit) => unit,
        None => UNITS.iter().find(|unit| fits(unit)).map_or_else(String::new, |u| (*u).to_owned()),
    };
    let swept = Swept { path: path.to_owned(), unit };
    Ok(Range { swept, values: (0..=steps as usize).map(at).collect() })
}

/// A number and the unit behind it: `1.5ms`, `300/s`, `20%`, `7`.
pub(crate) fn quantity(text: &str) -> (Option<f64>, &str) {
    let digits = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | 'e'));
    let (number, unit) = text.split_at(text.find(digits).unwrap_or(text.len()));
    (number.replace('_', "").parse().ok().filter(|x: &f64| x.is_finite()), unit)
}

/// Values apart by commas that are not inside brackets.
fn values(text: &str) -> anyhow::Result<Values> {
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
    let values = found.into_iter().map(str::to_owned).collect();
    Ok(Values { path: path.to_owned(), values })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{damper: 1, classes: [a, b], services: {s: {}}, load: {a: 1/s, b: 2/s}, requests: {r: {calls: [s]}}}";

    fn points(sweep: Option<&str>, vary: Option<&str>) -> anyhow::Result<Vec<Vec<String>>> {
        let file = SystemFile::parse("x", TEXT).map_err(|p| anyhow::anyhow!("{p}"))?;
        Ok(of(&file, sweep, vary)?.all.into_iter().map(|at| at.set).collect())
    }

    #[test]
    fn a_point_knows_its_number_and_its_variant() -> anyhow::Result<()> {
        let file = SystemFile::parse("x", TEXT).map_err(|p| anyhow::anyhow!("{p}"))?;
        let found = of(&file, Some("load.a=5..10:5"), Some("load.b=1/s,2/s"))?;
        assert_eq!(found.swept, Some(Swept { path: "load.a".into(), unit: "/s".into() }));
        assert_eq!(found.varied.as_deref(), Some("load.b"));
        let last = &found.all[3];
        assert_eq!((last.value, last.variant.as_deref()), (Some(10.0), Some("2/s")));
        assert_eq!(last.set, ["load.b=2/s", "load.a=10/s"]);
        Ok(())
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
