//! `damper learn`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use damper_learn::{Control, Learnt, Options, learn, yaml};
use damper_system::SystemFile;

use crate::args::LearnArgs;
use crate::progress::Progress;
use crate::{exit, interrupt, print};

pub(crate) fn run(args: &LearnArgs) -> anyhow::Result<u8> {
    let options = options(args)?;
    // Before the work: a graph that cannot be read is an error of the command line.
    let worst = args.graph.as_deref().map(worst).transpose()?;
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let show = |done: u64, total: u64| progress.show("reading", done >> 20, total >> 20);
    let learnt = learn(&options, &Control { stop: &stop, progress: &show })?;
    drop(progress);
    for note in &learnt.notes {
        print::note(&format!("note: {note}"));
    }
    let text = if args.json {
        json(&learnt, worst.as_deref())?
    } else if args.amplification {
        print::measured(&learnt, worst.as_deref())
    } else {
        yaml(&learnt)
    };
    write(args, &text)?;
    Ok(if stop.load(std::sync::atomic::Ordering::Relaxed) {
        exit::INTERRUPTED
    } else if args.strict && learnt.read.partial {
        exit::GATE
    } else {
        exit::OK
    })
}

fn options(args: &LearnArgs) -> anyhow::Result<Options> {
    let sampling = share(&args.sampling)?;
    let over_s = args.over.as_deref().map(seconds).transpose()?;
    Ok(Options {
        paths: args.paths.clone(),
        sampling,
        types: args.types as usize,
        open_spans: args.open_spans as usize,
        over_s,
        prometheus: args.prometheus.clone(),
        since: args.since.clone(),
    })
}

/// A share above nothing: `1%`.
fn share(text: &str) -> anyhow::Result<f64> {
    let number = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    match number {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => bail!("--sampling {text}: expected a share above 0% and up to 100%, such as `1%`"),
    }
}

/// A duration in seconds: `10min`.
fn seconds(text: &str) -> anyhow::Result<f64> {
    const UNITS: [(&str, f64); 5] =
        [("ms", 0.001), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("s", 1.0)];
    let value = UNITS.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    match value {
        Some(seconds) if seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        _ => bail!("--over {text}: expected a duration such as `10min` or `1h`"),
    }
}

/// What is possible at each service of a system file: its name and the largest amplification.
fn worst(path: &Path) -> anyhow::Result<Vec<(String, f64)>> {
    let system = SystemFile::read(path)?.lower()?;
    let solved = damper_model::system::solve(&system)
        .with_context(|| format!("no worst amplification of {}", path.display()))?;
    let names = system.services.iter().map(|service| service.name.clone());
    Ok(names.zip(solved.services.iter().map(|s| s.worst_amplification)).collect())
}

fn json(learnt: &Learnt, worst: Option<&[(String, f64)]>) -> anyhow::Result<String> {
    let mut value = serde_json::to_value(learnt)?;
    if let (Some(worst), Some(rows)) =
        (worst, value.get_mut("amplification").and_then(serde_json::Value::as_array_mut))
    {
        for row in rows {
            let name = row.get("service").and_then(serde_json::Value::as_str).unwrap_or_default();
            let found = worst.iter().find(|(service, _)| service == name).map(|(_, w)| *w);
            if let (Some(row), Some(worst)) = (row.as_object_mut(), found) {
                row.insert("worst".to_owned(), worst.into());
            }
        }
    }
    Ok(serde_json::to_string_pretty(&value)?)
}

fn write(args: &LearnArgs, text: &str) -> anyhow::Result<()> {
    let text = text.trim_end();
    let Some(file) = &args.output else {
        print::line(text);
        return Ok(());
    };
    fs::write(file, format!("{text}\n"))
        .with_context(|| format!("cannot write {}", file.display()))?;
    print::note(&format!("written: {}", file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_need_their_units() {
        assert_eq!(share("1%").unwrap(), 0.01);
        assert_eq!(seconds("10min").unwrap(), 600.0);
        assert_eq!(seconds("90s").unwrap(), 90.0);
        for wrong in ["0%", "101%", "0.1", "x%", "NaN%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10", "0s", "-1h", "x", "1e9h", "NaNs"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
