//! What the program answers to the questions of the studies: from the program, or from files in which shards have
//! written it down. An answer is the same wherever it is asked for, so that a page put together from shards is the
//! page that one machine makes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::process::{self, output, program};

/// One of so many parts, counted from 0: `I/N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(super) index: usize,
    pub(super) count: usize,
}

impl Shard {
    /// Whether the question with this number is its own.
    pub(super) fn has(self, number: usize) -> bool {
        number % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err("a part is I/N, counted from 0, as 0/4".to_owned()),
        }
    }
}

/// What shards write down.
#[derive(Serialize, Deserialize)]
struct Part {
    /// Of the program that answered.
    version: String,
    /// By the words that it was given.
    answers: BTreeMap<String, Value>,
}

/// The program, how much is asked of it, and what it has answered.
pub(super) struct Asked {
    damper: PathBuf,
    requests: u64,
    /// Whether an answer that is not there may be asked for.
    asks: bool,
    answers: RefCell<BTreeMap<String, Value>>,
}

impl Asked {
    /// Asks the program.
    pub(super) fn the_program(requests: u64) -> Result<Self> {
        Ok(Self { damper: process::damper()?, requests, asks: true, answers: RefCell::default() })
    }

    /// Takes the answers from what shards have written down, and asks nothing.
    pub(super) fn the_parts(requests: u64, parts: &[PathBuf]) -> Result<Self> {
        let asked = Self { asks: false, ..Self::the_program(requests)? };
        let version = asked.version()?;
        for path in parts {
            let name = path.display().to_string();
            let text = fs::read_to_string(path).context(name.clone())?;
            let part: Part = serde_json::from_str(&text).context(name.clone())?;
            ensure!(
                part.version == version,
                "{name} is of {}, and this is {version}",
                part.version
            );
            for (words, answer) in part.answers {
                let before = asked.answers.borrow_mut().insert(words.clone(), answer.clone());
                ensure!(before.is_none_or(|b| b == answer), "{name} disagrees: `damper {words}`");
            }
        }
        Ok(asked)
    }

    fn version(&self) -> Result<String> {
        Ok(output(program(&self.damper).arg("--version"))?.trim().to_owned())
    }

    /// Writes down what was answered.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let part = Part { version: self.version()?, answers: self.answers.borrow().clone() };
        let text = serde_json::to_string(&part)?;
        fs::write(path, text).with_context(|| path.display().to_string())
    }

    /// What the program says to these words, which make it print JSON.
    pub(super) fn json(&self, words: &[&str], more: &[String]) -> Result<Value> {
        let words: Vec<&str> =
            words.iter().copied().chain(more.iter().map(String::as_str)).collect();
        self.answer(&words.join(" "), || {
            let text = output(program(&self.damper).args(&words))?;
            serde_json::from_str(&text).context("the program printed something else than JSON")
        })
    }

    fn answer(&self, line: &str, ask: impl FnOnce() -> Result<Value>) -> Result<Value> {
        if let Some(there) = self.answers.borrow().get(line) {
            return Ok(there.clone());
        }
        if !self.asks {
            bail!("no part has the answer to `damper {line}`");
        }
        eprintln!("damper {line}");
        let answer = ask()?;
        self.answers.borrow_mut().insert(line.to_owned(), answer.clone());
        Ok(answer)
    }

    /// Runs `damper price` and gives its result.
    pub(super) fn price(&self, words: &[&str], more: &[String]) -> Result<Value> {
        let with = self.budgeted(&["--json"]);
        self.json(words, &[with.as_slice(), more].concat())
    }

    /// One of so many parts of a `damper price` that is too long for one machine.
    pub(super) fn price_part(&self, words: &[&str], shard: Shard) -> Result<Value> {
        let Shard { index, count } = shard;
        let line =
            format!("{} --requests {} --shard {index}/{count}", words.join(" "), self.requests);
        self.answer(&line, || {
            let file = scratch(&format!("part-{index}.json"))?;
            let more =
                self.budgeted(&["--quiet", "--shard", &format!("{index}/{count}"), "--part"]);
            output(program(&self.damper).args(words).args(more).arg(&file))?;
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            serde_json::from_str(&text).context("a part is something else than JSON")
        })
    }

    /// The result of a `damper price` whose parts are answered one by one; its figures go to a CSV file, too.
    pub(super) fn price_of_parts(&self, words: &[&str], count: usize, csv: &Path) -> Result<Value> {
        let mut files = Vec::new();
        for index in 0..count {
            let part = self.price_part(words, Shard { index, count })?;
            let file = scratch(&format!("merge-{index}.json"))?;
            fs::write(&file, part.to_string()).with_context(|| file.display().to_string())?;
            files.push(file);
        }
        let mut merge = program(&self.damper);
        merge.args(["price", "--json", "--csv"]).arg(csv).arg("--merge").args(files);
        let merged = output(&mut merge)?;
        serde_json::from_str(&merged).context("the program printed something else than JSON")
    }

    fn budgeted(&self, more: &[&str]) -> Vec<String> {
        let requests = self.requests.to_string();
        ["--requests", requests.as_str()].iter().chain(more).map(|w| (*w).to_owned()).collect()
    }
}

/// A file for what two runs of the program tell each other, and no other shard at work here.
fn scratch(name: &str) -> Result<PathBuf> {
    let folder = process::target()?.join("study");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder.join(format!("{}-{name}", std::process::id())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_in_one_shard() {
        let shards: Vec<Shard> = (0..3).map(|i| format!("{i}/3").parse().unwrap()).collect();
        for number in 0..20 {
            assert_eq!(shards.iter().filter(|s| s.has(number)).count(), 1, "{number}");
        }
        for wrong in ["", "1", "3/3", "0/0", "-1/2", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    fn answered(answers: &[(&str, i32)], asks: bool) -> Asked {
        let there = answers.iter().map(|(words, n)| ((*words).to_owned(), Value::from(*n)));
        Asked { damper: "damper".into(), requests: 1, asks, answers: RefCell::new(there.collect()) }
    }

    #[test]
    fn what_is_there_is_not_asked_again_and_what_is_missing_is_named() {
        let asked = answered(&[("headroom a.yaml --json", 1)], false);
        let one = asked.json(&["headroom", "a.yaml"], &["--json".to_owned()]).unwrap();
        assert_eq!(one, 1);
        let missing = asked.json(&["headroom", "b.yaml"], &[]).unwrap_err().to_string();
        assert!(missing.contains("`damper headroom b.yaml`"), "{missing}");
        let asked = answered(&[], true);
        assert_eq!(asked.answer("a", || Ok(Value::from(2))).unwrap(), 2);
        assert_eq!(asked.answer("a", || bail!("asked twice")).unwrap(), 2);
    }
}
