//! `cargo xtask study`: the studies of `docs/studies/`, made again. The prose of a page is written
//! by hand; what lies between `<!-- NAME -->` and `<!-- end -->` is written here, as are the plots and
//! the tables of figures.

mod asked;
mod csv;
mod deadlines;
mod headroom;
mod price;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process::root;
use asked::{Asked, Shard};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which; all of them if none is named
    #[arg(value_enum)]
    only: Vec<Study>,
    /// Requests of one replication behind each figure of success
    #[arg(long, default_value_t = 20_000)]
    requests: u64,
    /// Only ask what is in one of N parts, counted from 0, and write the answers to --part
    #[arg(long, value_name = "I/N", requires = "part")]
    shard: Option<Shard>,
    /// The file that the answers of a part are written to
    #[arg(long, value_name = "FILE", requires = "shard")]
    part: Option<PathBuf>,
    /// Make the pages from the answers of all parts: they are the same as from one run
    #[arg(long, value_name = "PART", num_args = 1.., conflicts_with = "shard")]
    merge: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Study {
    /// The price of a budget
    Price,
    /// Budgets and deadlines together
    Deadlines,
    /// The price of headroom
    Headroom,
}

impl Study {
    const ALL: [Self; 3] = [Self::Price, Self::Deadlines, Self::Headroom];

    /// How many groups of questions it has. What a question depends on is in its group.
    fn groups(self) -> usize {
        match self {
            Self::Price => price::GROUPS,
            Self::Deadlines => deadlines::GROUPS,
            Self::Headroom => headroom::GROUPS,
        }
    }

    fn ask(self, asked: &Asked, group: usize) -> Result<()> {
        match self {
            Self::Price => price::ask(asked, group),
            Self::Deadlines => deadlines::ask(asked, group),
            Self::Headroom => headroom::ask(asked, group),
        }
    }

    fn make(self, asked: &Asked) -> Result<()> {
        match self {
            Self::Price => price::make(asked),
            Self::Deadlines => deadlines::make(asked),
            Self::Headroom => headroom::make(asked),
        }
    }
}

pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    let wanted = |study: &Study| arguments.only.is_empty() || arguments.only.contains(study);
    let studies: Vec<Study> = Study::ALL.into_iter().filter(wanted).collect();
    if let (Some(shard), Some(part)) = (arguments.shard, &arguments.part) {
        let asked = Asked::the_program(arguments.requests)?;
        let groups = studies.iter().flat_map(|s| (0..s.groups()).map(|group| (*s, group)));
        for (_, (study, group)) in groups.enumerate().filter(|(number, _)| shard.has(*number)) {
            study.ask(&asked, group)?;
        }
        return asked.write(part);
    }
    let asked = match arguments.merge.as_slice() {
        [] => Asked::the_program(arguments.requests)?,
        parts => Asked::the_parts(arguments.requests, parts)?,
    };
    studies.into_iter().try_for_each(|study| study.make(&asked))
}

fn page(name: &str) -> PathBuf {
    root().join("docs/studies").join(name)
}

/// Puts generated blocks into a page.
fn fill(path: &Path, blocks: &[(&str, String)]) -> Result<()> {
    let mut text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    for (name, block) in blocks {
        text = filled(&text, name, block).with_context(|| path.display().to_string())?;
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn filled(text: &str, name: &str, block: &str) -> Result<String> {
    let (start, end) = (format!("<!-- {name} -->\n"), "<!-- end -->");
    let Some((before, rest)) = text.split_once(&start) else {
        bail!("there is no `{}` in the page", start.trim());
    };
    let Some((_, after)) = rest.split_once(end) else {
        bail!("`{}` has no `{end}`", start.trim());
    };
    Ok(format!("{before}{start}{block}{end}{after}"))
}

/// A drawing in `docs/images`.
fn image(name: &str, svg: &str) -> Result<()> {
    let path = root().join("docs/images").join(name);
    fs::write(&path, svg).with_context(|| path.display().to_string())
}

/// A number of a result.
fn number(of: &Value, key: &str) -> Option<f64> {
    of.get(key).and_then(Value::as_f64)
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn interval(of: &Value, key: &str) -> Option<[f64; 2]> {
    let ends = of.get(key)?.as_array()?;
    Some([ends.first()?.as_f64()?, ends.get(1)?.as_f64()?])
}

/// What a setting loses at a share of errors, with its interval.
fn price_at(setting: &Value, errors: f64, bursty: bool) -> Option<(f64, [f64; 2])> {
    let found = list(setting, "prices").find(|p| {
        number(p, "errors").is_some_and(|e| (e - errors).abs() < 1e-12)
            && p.get("bursty").and_then(Value::as_bool) == Some(bursty)
    })?;
    Some((number(found, "price")?, interval(found, "price_ci95")?))
}

/// A price in percentage points; a bound where none was seen.
fn points((price, [low, high]): (f64, [f64; 2])) -> String {
    let digits = |share: f64| match (share * 100.0).abs() {
        p if p >= 1.0 => format!("{:.2}", share * 100.0),
        p if p >= 0.01 => format!("{:.3}", share * 100.0),
        _ => format!("{:.4}", share * 100.0),
    };
    if low <= 0.0 && high >= 0.0 { format!("≤ {}", digits(high)) } else { digits(price) }
}

/// A rate as a table has it.
fn rate(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}/s") } else { format!("{value:.1}/s") }
}

/// What a setting is called in a table.
fn short(budget: &str) -> String {
    let inner = budget.trim_start_matches("{kind: ").trim_end_matches('}');
    inner.replacen(", ", " ", 1).replace("min_retry_concurrency", "floor")
}

/// Where the numbers of a result come from, for the foot of a page.
fn provenance(result: &Value) -> String {
    format!(
        "Seed {}, {} replications, damper {}.\n",
        result["seed"],
        result["replications"],
        text(result, "version")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_replace_what_was_there_and_nothing_else() {
        let page = "# A\n<!-- one -->\nold\n<!-- end -->\ntext\n<!-- two -->\n<!-- end -->\n";
        let once = filled(page, "one", "new\n").unwrap();
        let both = filled(&once, "two", "other\n").unwrap();
        assert_eq!(
            both,
            "# A\n<!-- one -->\nnew\n<!-- end -->\ntext\n<!-- two -->\nother\n<!-- end -->\n"
        );
        assert_eq!(filled(&both, "one", "new\n").unwrap(), both, "again is the same");
        assert!(filled(page, "three", "").is_err());
        assert!(filled("<!-- one -->\n", "one", "").is_err());
    }

    #[test]
    fn prices_that_were_not_seen_are_bounds() {
        assert_eq!(points((0.0123, [0.012, 0.013])), "1.23");
        assert_eq!(points((0.000_02, [-0.000_01, 0.000_05])), "≤ 0.0050");
    }
}
