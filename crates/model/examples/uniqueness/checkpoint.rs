//! How far a hunt has come, in a file, so that another run goes on from there.

use std::fs;
use std::io;
use std::path::Path;

use crate::generate::GENERATOR;
use crate::hunt::{STARTS, Tally};

const HEADER: &str = "damper uniqueness hunt";

/// What is done of a hunt. The cases found have files of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) seed: u64,
    /// Time taken, over all runs.
    pub(crate) seconds: f64,
    pub(crate) tally: Tally,
}

impl Checkpoint {
    /// As it is in the file.
    pub(crate) fn text(&self) -> String {
        let tally = &self.tally;
        format!(
            "{HEADER}\ngenerator {GENERATOR}\nstarts {STARTS}\nseed {}\nseconds {:?}\ncases {}\n\
             networks {}\nopen {}\nunsettled {}\ndismissed {}\nothers {}\nseveral {}\nsingle {}\n\
             largest {:?}\n",
            self.seed,
            self.seconds,
            tally.cases,
            tally.networks,
            tally.open,
            tally.unsettled,
            tally.dismissed,
            tally.others,
            tally.several,
            tally.single,
            tally.largest,
        )
    }

    /// From the text of a file, or what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(format!("does not begin with `{HEADER}`"));
        }
        let mut value = |key: &str| {
            let line = lines.next().unwrap_or_default();
            let value = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
            value.ok_or_else(|| format!("found `{line}`, expected `{key} …`"))
        };
        let (generator, starts) = (whole(value("generator")?)?, whole(value("starts")?)?);
        if generator != u64::from(GENERATOR) || starts != STARTS {
            return Err(format!(
                "is of generator {generator} with {starts} starts a network; this one is \
                 {GENERATOR} with {STARTS}, and has other cases"
            ));
        }
        let (seed, seconds) = (whole(value("seed")?)?, real(value("seconds")?)?);
        let tally = Tally {
            cases: whole(value("cases")?)?,
            networks: whole(value("networks")?)?,
            open: whole(value("open")?)?,
            unsettled: whole(value("unsettled")?)?,
            dismissed: whole(value("dismissed")?)?,
            others: whole(value("others")?)?,
            several: whole(value("several")?)?,
            single: whole(value("single")?)?,
            largest: real(value("largest")?)?,
            found: Vec::new(),
        };
        Ok(Self { seed, seconds, tally })
    }

    /// Replaces the file in one step: a run that is killed leaves the one before.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        fs::write(&beside, self.text())?;
        fs::rename(&beside, path)
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected a whole number"))
}

fn real(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| format!("found `{text}`, expected a number from 0 up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Checkpoint {
        let tally = Tally {
            cases: 1_234_500,
            networks: 12_345,
            open: 12_000,
            unsettled: 3,
            dismissed: 2,
            others: 7,
            several: 5,
            single: 1,
            largest: 1.0 / 3.0 * 1e-9,
            found: Vec::new(),
        };
        Checkpoint { seed: u64::MAX, seconds: 17.25, tally }
    }

    #[test]
    fn what_is_written_is_read_to_the_last_bit() {
        assert_eq!(Checkpoint::parse(&some().text()), Ok(some()));
    }

    #[test]
    fn what_is_not_a_checkpoint_of_this_generator_is_refused() {
        let text = some().text();
        let other = text.replace(&format!("generator {GENERATOR}"), "generator 99");
        assert!(Checkpoint::parse(&other).unwrap_err().contains("has other cases"));
        let cut = &text[..text.len() / 2];
        assert!(Checkpoint::parse(cut).is_err());
        assert!(Checkpoint::parse("").unwrap_err().contains("does not begin"));
        let negative = text.replace("seconds 17", "seconds -17");
        assert!(Checkpoint::parse(&negative).unwrap_err().contains("from 0 up"));
    }
}
