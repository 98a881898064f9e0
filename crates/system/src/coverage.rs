//! Which parts of a file a command takes into account.
//!
//! The simulator takes all of a file (`simulate`, `headroom`, `map`, `price`, what `drill` predicts
//! with it). Others do not, and say so: one table ([`PARTS`]) has what each of them leaves out and
//! what follows from it, for standard error, `--json`, reports and `docs/approximations.md`.

mod table;

use std::fmt;

use crate::model::System;

pub use table::PARTS;

/// A command that does not take all of a file into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `damper solve`.
    Solve,
    /// `damper plan`: it solves, too.
    Plan,
    /// `damper solve --basins`.
    Basins,
    /// `damper emulate`.
    Emulate,
    /// `damper export`.
    Export,
    /// What `damper drill` puts beside the simulator's prediction: a figure of `damper solve`.
    DrillModel,
}

impl Command {
    /// As it calls itself.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Solve => "solve",
            Self::Plan => "plan",
            Self::Basins => "solve --basins",
            Self::Emulate => "emulate",
            Self::Export => "export",
            Self::DrillModel => "the model's figure",
        }
    }
}

/// What becomes of a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// It is taken as the simulator takes it.
    Whole,
    /// The command itself says what becomes of it, value by value: losses, remarks, refusals.
    Tells,
    /// A part of it, and what this means for the answer.
    Less(&'static str),
    /// It is left out, and what this means for the answer.
    Not(&'static str),
}

/// A part of a system file that not every command takes into account.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Where it stands in a file: `services.*.health`.
    pub key: &'static str,
    /// What it is, before a name: `the health checks of`.
    pub what: &'static str,
    /// Who has it, by name; for what is not of anybody one empty name.
    pub find: fn(&System) -> Vec<String>,
    /// What the analytic model makes of it: `solve`, `plan`.
    pub model: Takes,
    /// What the chain of `solve --basins` makes of it.
    pub basins: Takes,
    /// What the small servers of `emulate` make of it.
    pub emulate: Takes,
    /// What `export` makes of it.
    pub export: Takes,
}

impl Part {
    /// What a command makes of it.
    #[must_use]
    pub fn by(&self, command: Command) -> Takes {
        match command {
            Command::Solve | Command::Plan | Command::DrillModel => self.model,
            Command::Basins => self.basins,
            Command::Emulate => self.emulate,
            Command::Export => self.export,
        }
    }
}

/// Something that a file has and a command leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Who leaves it out.
    pub command: Command,
    /// Where it stands in a file.
    pub key: &'static str,
    /// Who has it, by name.
    pub of: Vec<String>,
    /// What this means for the answer.
    pub means: &'static str,
    what: &'static str,
    all: bool,
}

/// Names that are told; more are counted.
const TOLD: usize = 3;

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.all { "leaves out" } else { "takes only a part of" };
        write!(f, "{} {verb} {}", self.command.name(), self.what)?;
        let named: Vec<&str> =
            self.of.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        for (i, name) in named.iter().take(TOLD).enumerate() {
            let before = match i {
                0 => " ",
                _ if i + 1 == named.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}`{name}`")?;
        }
        if named.len() > TOLD {
            write!(f, " and {} more", named.len() - TOLD)?;
        }
        write!(f, ": {}", self.means)
    }
}

/// What a command leaves out of a system, in the order of the table.
#[must_use]
pub fn left_out(command: Command, system: &System) -> Vec<LeftOut> {
    let out = |part: &Part| {
        let (means, all) = match part.by(command) {
            Takes::Whole | Takes::Tells => return None,
            Takes::Less(means) => (means, false),
            Takes::Not(means) => (means, true),
        };
        let of = (part.find)(system);
        let Part { key, what, .. } = *part;
        (!of.is_empty()).then_some(LeftOut { command, key, of, means, what, all })
    };
    PARTS.iter().filter_map(out).collect()
}

/// The table for a page: what each command takes, and below it what is meant where it does not.
#[must_use]
pub fn markdown() -> String {
    let columns = [Command::Solve, Command::Basins, Command::Emulate, Command::Export];
    let mark = |takes: Takes| match takes {
        Takes::Whole => "yes",
        Takes::Tells => "says itself",
        Takes::Less(_) => "in part",
        Takes::Not(_) => "no",
    };
    let mut page = "| | `solve`, `plan` | `solve --basins` | `emulate` | `export` |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for part in PARTS {
        let marks = columns.map(|command| mark(part.by(command)));
        page += &format!("| `{}` | {} |\n", part.key, marks.join(" | "));
    }
    for command in columns {
        page += &format!("\n### {}\n\n", title(command));
        for part in PARTS {
            if let Takes::Less(means) | Takes::Not(means) = part.by(command) {
                page += &format!("- `{}`: {means}.\n", part.key);
            }
        }
    }
    page
}

fn title(command: Command) -> String {
    match command {
        Command::Solve => "`solve` and `plan`".to_owned(),
        other => format!("`{}`", other.name()),
    }
}

#[cfg(test)]
mod tests;
