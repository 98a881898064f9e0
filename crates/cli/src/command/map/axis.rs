//! A direction of a map: what is varied, and from where to where.

use anyhow::{Context as _, bail};
use damper_report::result as out;
use damper_sim::{MapAxis, most_load};
use damper_system::{Problems, SystemFile};

use crate::command::Loaded;
use crate::command::solve::points::{UNITS, quantity};

/// The word for the load of all classes together.
const LOAD: &str = "load";
/// What stands before a key of the file's trigger.
const TRIGGER: &str = "trigger.";
/// Without a range: from this share of the file's value to that many times it.
const AROUND: [f64; 2] = [0.05, 2.0];
/// Without a range: the load, in shares of what the capacities allow.
const OF_CAPACITY: [f64; 2] = [0.05, 1.05];

/// A direction.
#[derive(Debug)]
pub(super) struct Axis {
    /// As it was asked for.
    name: String,
    /// What is assigned; nothing: the load of all classes.
    paths: Vec<String>,
    unit: String,
    from: f64,
    to: f64,
    whole: bool,
    /// Where the file is.
    here: Option<f64>,
}

impl Axis {
    /// Reads `PATH` or `PATH=FROM..TO`.
    pub(super) fn parse(text: &str, loaded: &Loaded) -> anyhow::Result<Self> {
        let (name, range) = match text.rsplit_once('=') {
            Some((name, range)) => (name.trim(), Some(range.trim())),
            None => (text.trim(), None),
        };
        let paths = paths(name, loaded)?;
        let first = paths.first().and_then(|p| loaded.file.value(p));
        let written =
            first.as_ref().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
        let (value, unit) = written.as_deref().map_or((None, ""), quantity);
        let here = if name == LOAD { Some(loaded.system.total_load()) } else { value };
        let (from, to, told) = match range {
            Some(range) => span(text, range)?,
            None => {
                let (from, to) = usual(name, here, loaded)?;
                (from, to, String::new())
            }
        };
        let mut axis =
            Self { name: name.to_owned(), paths, unit: told, from, to, whole: false, here };
        if axis.name == LOAD {
            if !matches!(axis.unit.as_str(), "" | "/s") {
                bail!("`{text}`: a load is per second, such as `load=50..300`");
            }
            axis.unit = "/s".to_owned();
            return Ok(axis);
        }
        // A file in another unit than asked for is somewhere else.
        axis.here = axis.here.filter(|_| axis.unit.is_empty() || axis.unit == unit);
        if axis.unit.is_empty() {
            axis.find_unit(unit, loaded);
        }
        axis.whole =
            !axis.fits(axis.between(), loaded) && axis.fits(axis.between().round(), loaded);
        if axis.whole && range.is_none() {
            axis.from = axis.from.floor();
            axis.to = axis.to.max(4.0);
        }
        Ok(axis)
    }

    /// The unit in which the first of its values can be assigned, the file's own before others.
    fn find_unit(&mut self, own: &str, loaded: &Loaded) {
        let all = [own].into_iter().chain(UNITS);
        for unit in all {
            unit.clone_into(&mut self.unit);
            if self.fits(self.to, loaded) || self.fits(self.to.round(), loaded) {
                return;
            }
        }
        own.clone_into(&mut self.unit);
    }

    /// A value that is no whole number.
    fn between(&self) -> f64 {
        self.from.floor() + 0.5
    }

    fn fits(&self, value: f64, loaded: &Loaded) -> bool {
        let mut file = loaded.file.clone();
        self.apply(value, &mut file).is_ok() && file.lower().is_ok()
    }

    /// Puts a value into the file; a load is brought to it afterwards.
    pub(super) fn apply(&self, value: f64, file: &mut SystemFile) -> Result<(), Problems> {
        self.paths.iter().try_for_each(|path| file.set(&format!("{path}={value}{}", self.unit)))
    }

    /// Whether it is the load of all classes.
    pub(super) fn is_load(&self) -> bool {
        self.paths.is_empty()
    }

    pub(super) fn range(&self) -> MapAxis {
        MapAxis { from: self.from, to: self.to, whole: self.whole }
    }

    pub(super) fn told(&self) -> out::MapAxis {
        let Self { name, unit, from, to, .. } = self;
        out::MapAxis { path: name.clone(), unit: unit.clone(), from: *from, to: *to }
    }

    /// Where the file is, if that is on the axis.
    pub(super) fn inside(&self) -> Option<f64> {
        self.here.filter(|here| (self.from..=self.to).contains(here))
    }

    /// What a reader should know.
    pub(super) fn note(&self) -> Option<String> {
        (self.paths.len() > 1).then(|| {
            format!("`{}` is set at {} actions of the trigger", self.name, self.paths.len())
        })
    }
}

/// What a name stands for.
fn paths(name: &str, loaded: &Loaded) -> anyhow::Result<Vec<String>> {
    if name.is_empty() {
        bail!("a direction needs a name, such as `--x load` or `--y trigger.for=1..10s`");
    }
    if name == LOAD {
        return Ok(Vec::new());
    }
    let Some(key) = name.strip_prefix(TRIGGER) else { return Ok(vec![name.to_owned()]) };
    let system = &loaded.system;
    let trigger = system.experiment.trigger.and_then(|t| system.triggers.get(t));
    let trigger =
        trigger.context("the file has no trigger: add `triggers:`, and see `damper headroom`")?;
    let path = |i: usize| format!("triggers.\"{}\"[{i}].{key}", trigger.name);
    let all: Vec<String> = (0..trigger.actions.len())
        .map(path)
        .filter(|path| loaded.file.value(path).is_some())
        .collect();
    if all.is_empty() {
        bail!("no action of the trigger `{}` has a `{key}` in the file", trigger.name);
    }
    Ok(all)
}

/// `FROM..TO`, with one unit for both.
fn span(text: &str, range: &str) -> anyhow::Result<(f64, f64, String)> {
    let wrong = || format!("`{text}`: expected PATH=FROM..TO such as `load=50..300`");
    let (from, to) = range.split_once("..").with_context(wrong)?;
    let ((low, unit_low), (high, unit_high)) = (quantity(from.trim()), quantity(to.trim()));
    let (Some(low), Some(high)) = (low, high) else { bail!(wrong()) };
    // The units come first: `100ms..4s` goes upwards, and its numbers do not.
    let unit = match (unit_low, unit_high) {
        (a, b) if a.is_empty() || a == b => b,
        (a, "") => a,
        (a, b) => bail!("`{text}`: both ends in one unit, not `{a}` and `{b}`"),
    };
    if high <= low {
        bail!("`{text}`: TO must be above FROM");
    }
    Ok((low, high, unit.to_owned()))
}

/// The range where none is given.
fn usual(name: &str, here: Option<f64>, loaded: &Loaded) -> anyhow::Result<(f64, f64)> {
    let around = |value: f64, shares: [f64; 2]| {
        // Three digits, so that the ends can be read.
        let unit = 10_f64.powf((shares[1] * value).abs().log10().floor() - 2.0);
        let [from, to] = shares.map(|share| (share * value / unit).round() * unit);
        // Adding and taking away makes 0.30000000000000004 a 0.3.
        let clean = |x: f64| (x * 1e9).round() / 1e9;
        (clean(from), clean(to))
    };
    if name == LOAD {
        let most = most_load(&loaded.system).with_context(
            || "nothing limits the load of this system: give a range, such as `load=50..300`",
        )?;
        return Ok(around(most, OF_CAPACITY));
    }
    match here {
        Some(value) if value > 0.0 => Ok(around(value, AROUND)),
        _ => bail!("`{name}` is no number in the file: give a range, such as `{name}=1..10`"),
    }
}
