//! Targets as they are written on the command line.

use anyhow::{Context as _, bail};
use damper_model::plan::Target;
use damper_system::System;

use crate::args::PlanArgs;
use crate::words::near;

/// What is asked for if nothing is.
const DEFAULT_HIDE: &str = "99.9%";
/// Units of a rate, and seconds to each.
const RATES: [(&str, f64); 4] = [("/s", 1.0), ("/min", 60.0), ("/ms", 1e-3), ("/h", 3600.0)];

/// A target, and how it is written.
pub(super) struct Asked {
    pub(super) target: Target,
    pub(super) text: String,
}

/// All targets of the command line.
pub(super) fn of(args: &PlanArgs, system: &System) -> anyhow::Result<Vec<Asked>> {
    let mut all: Vec<Asked> = Vec::new();
    for text in &args.reject {
        for (class, at_most) in rejection(system, text)? {
            let name = &system.classes[class];
            let same =
                |a: &Asked| matches!(a.target, Target::Rejection { class: c, .. } if c == class);
            if all.iter().any(same) {
                bail!("--reject has two targets for `{name}`: give one");
            }
            let text = format!("--reject {name}={}", in_percent(at_most));
            all.push(Asked { target: Target::Rejection { class, at_most }, text });
        }
    }
    let mut add = |flag: &str, text: Option<&str>, read: fn(&str) -> anyhow::Result<Target>| {
        if let Some(text) = text {
            let target = read(text).with_context(|| format!("--{flag}"))?;
            all.push(Asked { target, text: format!("--{flag} {}", text.trim()) });
        }
        anyhow::Ok(())
    };
    add("amplification", args.amplification.as_deref(), |t| {
        factor(t).map(Target::WorstAmplification)
    })?;
    add("amplified", args.amplified.as_deref(), |t| factor(t).map(Target::Amplification))?;
    add("hide", args.hide.as_deref(), |t| percentage(t).map(Target::Hidden))?;
    add("hidden", args.hidden.as_deref(), capacity)?;
    if all.is_empty() {
        let target = Target::Hidden(percentage(DEFAULT_HIDE)?);
        all.push(Asked { target, text: format!("--hide {DEFAULT_HIDE}") });
    }
    Ok(all)
}

/// `high=2%`, `high<=2%`, or `2%` for every class.
fn rejection(system: &System, text: &str) -> anyhow::Result<Vec<(usize, f64)>> {
    let Some(at) = text.find(['<', '=', '≤']) else {
        let share = percentage(text).with_context(|| {
            format!("--reject {text}: expected CLASS=SHARE such as `{}=2%`", system.classes[0])
        })?;
        return Ok((0..system.classes.len()).map(|class| (class, share)).collect());
    };
    let name = text[..at].trim();
    let Some(class) = system.classes.iter().position(|c| c == name) else {
        let hint = near(name, system.classes.iter().map(String::as_str));
        bail!(
            "--reject: there is no class `{name}`{hint} (the classes are {})",
            system.classes.join(", ")
        );
    };
    let share = text[at..].trim_start_matches(['<', '=', '≤']);
    let share = percentage(share).with_context(|| format!("--reject {text}"))?;
    Ok(vec![(class, share)])
}

/// `2%`. The sign is required, as in the file.
pub(super) fn percentage(text: &str) -> anyhow::Result<f64> {
    let text = text.trim();
    let Some(x) = text.strip_suffix('%').and_then(number) else {
        bail!("`{text}` is not a percentage; expected one such as `2%`, with its sign");
    };
    if !(0.0..=100.0).contains(&x) {
        bail!("`{text}` is not a share; expected 0% to 100%");
    }
    Ok(x / 100.0)
}

fn factor(text: &str) -> anyhow::Result<f64> {
    let text = text.trim();
    let Some(x) = number(text.strip_suffix('x').unwrap_or(text)) else {
        bail!("`{text}` is not a factor; expected a number such as `1.5`");
    };
    Ok(x)
}

fn capacity(text: &str) -> anyhow::Result<Target> {
    let text = text.trim();
    if text.ends_with('%') {
        return percentage(text).map(Target::CapacityShare);
    }
    for (unit, seconds) in RATES {
        if let Some(x) = text.strip_suffix(unit).and_then(number) {
            return Ok(Target::Capacity(x / seconds));
        }
    }
    bail!(
        "`{text}` is neither a rate such as `250/s` nor a share of advertised capacity such as `90%`"
    )
}

/// A number that is not negative.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim().replace('_', "");
    text.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0)
}

fn in_percent(share: f64) -> String {
    format!("{}%", (share * 1e11).round() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> System {
        let text = "{damper: 1, classes: [high, low], services: {s: {}}, load: {high: 1/s, low: 1/s}, requests: {r: {calls: [s]}}}";
        damper_system::SystemFile::parse("x", text).unwrap().lower().unwrap()
    }

    #[test]
    fn rejections() {
        let system = system();
        for text in ["high=2%", "high<=2%", "high <= 2 %", "high≤2%"] {
            assert_eq!(rejection(&system, text).unwrap(), [(0, 0.02)], "{text}");
        }
        assert_eq!(rejection(&system, "5%").unwrap(), [(0, 0.05), (1, 0.05)]);
        let error = |text: &str| format!("{:#}", rejection(&system, text).unwrap_err());
        assert!(error("hihg=2%").contains("did you mean `high`?"), "{}", error("hihg=2%"));
        assert!(error("high=0.02").contains("such as `2%`"), "{}", error("high=0.02"));
        assert!(error("high").contains("CLASS=SHARE"), "{}", error("high"));
        assert!(error("low=120%").contains("0% to 100%"), "{}", error("low=120%"));
    }

    #[test]
    fn capacities_and_factors() {
        assert_eq!(capacity("250/s").unwrap(), Target::Capacity(250.0));
        assert_eq!(capacity("120/min").unwrap(), Target::Capacity(2.0));
        assert_eq!(capacity("1_000/s").unwrap(), Target::Capacity(1000.0));
        assert_eq!(capacity("90%").unwrap(), Target::CapacityShare(0.9));
        assert_eq!(factor("1.5x").unwrap(), 1.5);
        for bad in ["", "250", "/s", "-1/s", "nan/s", "inf/s", "%"] {
            assert!(capacity(bad).is_err(), "{bad}");
        }
        for bad in ["", "x", "-1", "nan", "1e999"] {
            assert!(factor(bad).is_err(), "{bad}");
        }
        assert_eq!(in_percent(0.02), "2%");
        assert_eq!(in_percent(0.001), "0.1%");
    }
}
