//! The helpers of all files of a repository that retry as they are told, and what they do for each
//! of their callers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use crate::language::Language;
use crate::loops::{Helper, Home, Part, Parts};
use crate::policy::Policy;
use crate::value::Project;

/// So many callers that tell a helper different things are answered: each time its loop is run.
const MOST_ANSWERS: usize = 256;

/// Functions and classes that say they retry.
#[derive(Debug, Default)]
pub struct Helpers {
    /// The names of all that say so.
    declared: BTreeSet<String>,
    homes: Vec<Home>,
    /// Those whose loops were found, and the place of their file among the homes.
    all: Vec<(Helper, usize)>,
    by_name: BTreeMap<Box<str>, Vec<usize>>,
    /// By the place of the helper, and what it was told.
    answers: HashMap<(usize, String), Option<Policy>>,
}

/// The helper that a call means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meant<'h> {
    /// Its place among all.
    pub(crate) at: usize,
    /// What it is.
    pub(crate) helper: &'h Helper,
    /// The path of its file.
    pub(crate) path: &'h str,
}

impl Helpers {
    /// Adds the names of a file that say that they retry.
    pub(crate) fn declare(&mut self, names: &mut BTreeSet<String>) {
        self.declared.append(names);
    }

    /// Adds what a file has whose loops were found.
    pub(crate) fn add(&mut self, home: Home, helpers: Vec<Helper>) {
        for helper in helpers {
            self.by_name.entry(helper.name.clone()).or_default().push(self.all.len());
            self.all.push((helper, self.homes.len()));
        }
        self.homes.push(home);
    }

    /// Whether a file declares something of this name that says it retries.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.declared.contains(name)
    }

    /// Whether something of this name was found to retry as it is told.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The helper that a call in a file means: of its own, or the only one of a file that `may` be
    /// meant.
    pub(crate) fn find(
        &self,
        name: &str,
        path: &str,
        language: Language,
        may: impl Fn(&str) -> bool,
    ) -> Option<Meant<'_>> {
        let all: Vec<(usize, &Home)> =
            self.by_name.get(name)?.iter().map(|at| (*at, &self.homes[self.all[*at].1])).collect();
        let only = |which: &dyn Fn(&Home) -> bool| {
            let mut found = all.iter().filter(|(_, home)| which(home));
            (found.next(), found.next().is_none())
        };
        let found = match only(&|home| home.path == path) {
            (None, _) => only(&|home| family(home.language) == family(language) && may(&home.path)),
            own => own,
        };
        let (Some((at, home)), true) = found else { return None };
        Some(Meant { at: *at, helper: &self.all[*at].0, path: &home.path })
    }

    /// Lets those that are asked run their loops: the place of each, and what a caller tells it.
    /// Gives a note for each file that was asked too much.
    pub(crate) fn ask(&mut self, asked: Vec<(usize, Parts)>, project: &Project) -> Vec<String> {
        let mut by_home: BTreeMap<usize, BTreeMap<usize, BTreeMap<String, Parts>>> =
            BTreeMap::new();
        for (at, parts) in asked {
            let of_home = by_home.entry(self.all[at].1).or_default();
            of_home.entry(at).or_default().insert(key(&parts), parts);
        }
        let run = |(home, asked): (usize, BTreeMap<usize, BTreeMap<String, Parts>>)| {
            let all: usize = asked.values().map(|all| all.len() + 1).sum();
            let of_helper = |(at, all): (usize, BTreeMap<String, Parts>)| {
                // What it does if nobody tells it anything, too.
                let nothing = std::iter::once((key(&[]), Parts::new()));
                let all = nothing.chain(all.into_iter().take(MOST_ANSWERS));
                all.map(move |(key, parts)| (at, key, parts))
            };
            let asked: Vec<_> = asked.into_iter().flat_map(of_helper).collect();
            let told = asked.iter().map(|(at, _, parts)| (&self.all[*at].0, parts));
            let home = &self.homes[home];
            let answers = home.answers(project, told);
            let left = all - answers.len();
            let note = (left > 0).then(|| {
                format!(
                    "{}: what its helpers do for {left} of {all} callers is not told",
                    home.path
                )
            });
            let keys = asked.into_iter().map(|(at, key, _)| (at, key));
            (keys.zip(answers).collect::<Vec<_>>(), note)
        };
        let run: Vec<_> = by_home.into_par_iter().map(run).collect();
        let (answers, notes): (Vec<_>, Vec<_>) = run.into_iter().unzip();
        self.answers = answers.into_iter().flatten().collect();
        notes.into_iter().flatten().collect()
    }

    /// What a helper does if it is told this: nothing again, if there is no policy. `None`: so many
    /// were asked that this was not.
    pub(crate) fn told(&self, at: usize, parts: &Parts) -> Option<&Option<Policy>> {
        self.answers.get(&(at, key(parts)))
    }
}

fn key(parts: &[(Box<str>, Part)]) -> String {
    format!("{parts:?}")
}

/// Languages whose files call each other.
fn family(language: Language) -> Language {
    match language {
        Language::TypeScript | Language::Tsx => Language::JavaScript,
        Language::Kotlin => Language::Java,
        other => other,
    }
}
