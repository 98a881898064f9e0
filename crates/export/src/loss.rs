//! What a format cannot say: what was asked, what was written instead, and what that means.

use std::collections::BTreeMap;

use damper_control::gate::Gate;
use damper_control::{Backoff, Budget, Nanos, RetryOn};
use damper_system::model::{Policy, Spec};
use serde::Serialize;

/// Something that was asked for and is not written as it was asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// The call (`web -> orders`) or the service.
    pub at: String,
    /// Which field of its policy.
    pub field: &'static str,
    /// What was asked.
    pub asked: String,
    /// What was written instead.
    pub written: String,
    /// Why, and what follows.
    pub why: String,
    /// Which way it errs.
    pub side: Side,
    /// The same in numbers, where the models know the difference.
    pub meaning: Option<Meaning>,
    /// Why it cannot be said in numbers, where one would look for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<&'static str>,
    /// The file with the comment.
    pub file: String,
    /// The line of the comment, from 1.
    pub line: usize,
}

/// Which way a loss errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Fewer attempts than were asked for, or shorter calls.
    Fewer,
    /// As many, otherwise than was asked.
    Other,
    /// What bounds the load is missing or wider: no call makes more attempts than were asked for,
    /// but all calls together may.
    Wider,
}

/// What a loss does, as asked and as written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Meaning {
    /// Attempts at the callee for each that it needs, for one request in the worst case.
    pub worst: [f64; 2],
    /// The same for the load as a whole while everything fails: budgets act.
    pub sustained: [f64; 2],
    /// Requests per second below which the system heals by itself; `None`: no closed form.
    pub hidden_rps: [Option<f64>; 2],
}

impl Meaning {
    /// In words; `None`: nothing changes.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let mut parts = Vec::new();
        let differ = |pair: [f64; 2]| (pair[0] - pair[1]).abs() > 5e-3 * pair[0].abs().max(1.0);
        let factor = |x: f64| if x.is_finite() { format!("{x:.2}") } else { "no end".to_owned() };
        if differ(self.worst) {
            let [asked, written] = self.worst.map(factor);
            parts.push(format!("attempts at worst {asked} -> {written}"));
        }
        if differ(self.sustained) {
            let [asked, written] = self.sustained.map(factor);
            parts.push(format!("while everything fails {asked} -> {written}"));
        }
        if let [Some(asked), Some(written)] = self.hidden_rps
            && differ([asked, written])
        {
            parts.push(format!("hidden capacity {asked:.1}/s -> {written:.1}/s"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// What a loss makes of a policy.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Retries after the first attempt, by class.
    Limits(Vec<u32>),
    /// What is retried.
    On(RetryOn),
    /// Whether a call may be made twice.
    Idempotent(bool),
    /// Another budget, or none.
    Budget(Spec<Budget>),
    /// Another timeout of one attempt.
    Timeout(Option<Nanos>),
    /// Another bound for all attempts.
    Deadline(Option<Nanos>),
    /// Whether the deadline travels.
    Travels(bool),
    /// Another backoff.
    Backoff(Backoff),
    /// Another breaker, or none.
    Breaker(Option<Spec<Gate>>),
    /// Another throttle, or none.
    Throttle(Option<Spec<Gate>>),
    /// Another least time of an attempt.
    Needs(Nanos),
    /// Whether the caller does what a pushback says.
    Heeds(bool),
}

impl Change {
    /// Makes it.
    pub(crate) fn apply(&self, policy: &mut Policy) {
        match self {
            Self::Limits(limits) => policy.retry.limits = limits.clone().into(),
            Self::On(on) => policy.retry.on = *on,
            Self::Idempotent(idempotent) => policy.idempotent = *idempotent,
            Self::Budget(budget) => policy.budget = budget.clone(),
            Self::Timeout(timeout) => policy.timeout = *timeout,
            Self::Deadline(deadline) => policy.deadline = *deadline,
            Self::Travels(travels) => policy.deadline_travels = *travels,
            Self::Backoff(backoff) => policy.retry.backoff = *backoff,
            Self::Breaker(breaker) => policy.breaker.clone_from(breaker),
            Self::Throttle(throttle) => policy.throttle.clone_from(throttle),
            Self::Needs(needs) => policy.needs = *needs,
            Self::Heeds(heeds) => policy.heeds_pushback = *heeds,
        }
    }
}

/// A loss before its place and its numbers are known.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) loss: Loss,
    /// The call in the policies of the system, and what the loss makes of it.
    pub(crate) changes: Vec<(usize, Change)>,
    /// What it comes to for the models, where that is more than what it changes.
    pub(crate) comes_to: Option<(usize, Change)>,
    /// The loss in whose comment it is said, too: the same of another caller.
    pub(crate) with: Option<usize>,
}

/// What a writer gathers.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Path and text.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) losses: Vec<Said>,
    /// What whoever applies it has to know.
    pub(crate) notes: Vec<String>,
    /// Paths and names of objects, each with what it stands for.
    claims: BTreeMap<String, String>,
    /// Names that stand for two things.
    pub(crate) collisions: Vec<String>,
}

impl Draft {
    /// Notes a loss; the mark that is given back stands where its comment belongs.
    pub(crate) fn lose(&mut self, at: &str, field: &'static str, what: What) -> String {
        let mark = mark(self.losses.len());
        let loss = Loss {
            at: at.to_owned(),
            field,
            asked: what.asked,
            written: what.written,
            why: what.why,
            side: what.side,
            meaning: None,
            unmeasured: what.unmeasured,
            file: String::new(),
            line: 0,
        };
        let (changes, comes_to) = (what.changes, what.comes_to);
        self.losses.push(Said { loss, changes, comes_to, with: None });
        mark
    }

    /// A path or the name of an object that stands for something. Another that has it already would
    /// be overwritten.
    pub(crate) fn claim(&mut self, name: impl Into<String>, stands_for: impl Into<String>) {
        let (name, stands_for) = (name.into(), stands_for.into());
        match self.claims.get(&name) {
            Some(other) if *other != stands_for => {
                self.collisions.push(format!("{name} would be for {other} and for {stands_for}"));
            }
            Some(_) => {}
            None => {
                self.claims.insert(name, stands_for);
            }
        }
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: impl Into<String>, text: String) {
        self.files.push((path.into(), text));
    }

    /// Notes something once.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|known| known == text) {
            self.notes.push(text.to_owned());
        }
    }
}

/// What is lost.
pub(crate) struct What {
    asked: String,
    written: String,
    why: String,
    side: Side,
    changes: Vec<(usize, Change)>,
    comes_to: Option<(usize, Change)>,
    unmeasured: Option<&'static str>,
}

/// Something is written otherwise.
pub(crate) fn instead(
    side: Side,
    asked: impl Into<String>,
    written: impl Into<String>,
    why: impl Into<String>,
) -> What {
    What {
        asked: asked.into(),
        written: written.into(),
        why: why.into(),
        side,
        changes: Vec::new(),
        comes_to: None,
        unmeasured: None,
    }
}

impl What {
    /// With what it makes of the policy of a call.
    pub(crate) fn so(mut self, edge: usize, change: Change) -> Self {
        self.changes.push((edge, change));
        self
    }

    /// With several such things.
    pub(crate) fn so_all(mut self, changes: Vec<(usize, Change)>) -> Self {
        self.changes.extend(changes);
        self
    }

    /// With what it comes to for the models, where no policy can say that.
    pub(crate) fn comes_to(mut self, edge: usize, change: Change) -> Self {
        self.comes_to = Some((edge, change));
        self
    }

    /// With why there are no numbers.
    pub(crate) fn unmeasured(mut self, why: &'static str) -> Self {
        self.unmeasured = Some(why);
        self
    }
}

fn mark(number: usize) -> String {
    format!("@loss {number}@")
}

/// Columns of a comment.
const WIDTH: usize = 96;

/// A loss in one sentence.
#[must_use]
pub(crate) fn sentence(loss: &Loss) -> String {
    let Loss { at, field, asked, written, why, .. } = loss;
    let numbers = loss.meaning.and_then(|meaning| meaning.words());
    let numbers = numbers.or_else(|| Some(format!("no number: {}", loss.unmeasured?)));
    let numbers = numbers.map_or(String::new(), |words| format!(" ({words})"));
    format!("{at}, {field}: asked {asked}; written {written}. {why}{numbers}")
}

/// Puts comments where their marks stand, and notes where that is. A mark that no text has gets its
/// comment at the head of the first file.
pub(crate) fn place(draft: Draft) -> (Vec<(String, String)>, Vec<Loss>, Vec<String>) {
    let Draft { files, losses, notes, .. } = draft;
    let with: Vec<Option<usize>> = losses.iter().map(|said| said.with).collect();
    let mut losses: Vec<Loss> = losses.into_iter().map(|said| said.loss).collect();
    let mut placed: Vec<bool> = with.iter().map(Option::is_some).collect();
    let mut done: Vec<(String, String)> = Vec::new();
    for (path, text) in &files {
        let mut out = String::new();
        let mut line = 0;
        for row in text.lines() {
            let found = number(row).filter(|at| *at < losses.len());
            let Some(at) = found else {
                line += 1;
                out.push_str(row);
                out.push('\n');
                continue;
            };
            let first = !std::mem::replace(&mut placed[at], true);
            let loss = &mut losses[at];
            if first {
                (loss.file, loss.line) = (path.clone(), line + 1);
            }
            for row in comment(row, &format!("damper: {}", sentence(loss))) {
                line += 1;
                out.push_str(&row);
                out.push('\n');
            }
        }
        done.push((path.clone(), out));
    }
    if let Some((path, text)) = done.first_mut() {
        let mut head = String::new();
        for (loss, placed) in losses.iter_mut().zip(&placed) {
            if !placed && !path.ends_with(".json") {
                loss.line = head.lines().count() + 1;
                for row in comment("# @", &format!("damper: {}", sentence(loss))) {
                    head.push_str(&row);
                    head.push('\n');
                }
            }
            if !placed {
                loss.file.clone_from(path);
            }
        }
        let more = head.lines().count();
        for (loss, placed) in losses.iter_mut().zip(&placed) {
            if *placed && loss.file == *path {
                loss.line += more;
            }
        }
        text.insert_str(0, &head);
    }
    for (at, with) in with.into_iter().enumerate() {
        let place = with.and_then(|with| losses.get(with)).map(|one| (one.file.clone(), one.line));
        if let (Some((file, line)), Some(loss)) = (place, losses.get_mut(at)) {
            (loss.file, loss.line) = (file, line);
        }
    }
    (done, losses, notes)
}

fn number(row: &str) -> Option<usize> {
    let (_, rest) = row.split_once("@loss ")?;
    rest.split_once('@')?.0.parse().ok()
}

/// The rows of a comment, in place of a row with a mark.
fn comment(row: &str, text: &str) -> Vec<String> {
    if let Some((before, after)) = row.split_once("\"@loss ") {
        // In JSON a comment is a text of a list.
        let after = after.split_once("@\"").map_or("", |(_, after)| after);
        let text = serde_json::to_string(text).unwrap_or_default();
        return vec![format!("{before}{text}{after}")];
    }
    let at = row.find('#').unwrap_or(row.len());
    let (first, width) = (row.get(..at).unwrap_or_default(), WIDTH.saturating_sub(at).max(40));
    let mut rows: Vec<String> = Vec::new();
    let mut now = String::new();
    for word in text.split_whitespace() {
        if !now.is_empty() && now.chars().count() + 1 + word.chars().count() > width {
            rows.push(std::mem::take(&mut now));
        }
        if !now.is_empty() {
            now.push(' ');
        }
        now.push_str(word);
    }
    rows.push(now);
    let blank = " ".repeat(at);
    let before = |at: usize| if at == 0 { first } else { blank.as_str() };
    rows.iter().enumerate().map(|(at, text)| format!("{}# {text}", before(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_at_their_marks() {
        let mut draft = Draft::default();
        let long = "because ".repeat(20);
        let one = draft.lose("a -> b", "budget", instead(Side::Wider, "x", "y", long));
        let two = draft.lose("a -> c", "limit", instead(Side::Fewer, "3", "1", "Why."));
        draft.file("a.yaml", format!("a: 1\n- # {one}\n  b: 2\n"));
        draft.file("b.json", format!("[\"{two}\"]\n"));
        let _ = draft.lose("a", "needs", instead(Side::Other, "1", "2", "Lost."));
        let (files, losses, _) = place(draft);
        assert_eq!((losses[0].file.as_str(), losses[0].line), ("a.yaml", 3));
        assert_eq!((losses[1].file.as_str(), losses[1].line), ("b.json", 1));
        assert_eq!((losses[2].file.as_str(), losses[2].line), ("a.yaml", 1));
        assert!(files[0].1.starts_with(
            "# damper: a, needs: asked 1; written 2. Lost.\na: 1\n- # damper: a -> b"
        ));
        assert!(files[0].1.lines().all(|row| row.len() <= 110));
        assert!(files[1].1.contains("[\"damper: a -> c, limit"));
    }
}
