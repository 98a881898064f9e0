//! The helpers of all files of a repository that retry as they are told, and what they do for each
//! of their callers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::language::Language;
use crate::loops::{Helper, Home, Told};
use crate::policy::Policy;
use crate::value::Project;

/// A helper is asked for so many callers that tell it different things: each time its loop is run.
const MOST_ANSWERS: usize = 256;

/// Functions and classes that say they retry.
#[derive(Debug, Default)]
pub struct Helpers {
    /// The names of all that say so.
    declared: BTreeSet<String>,
    by_name: BTreeMap<Box<str>, Vec<Arc<Declared>>>,
}

/// A helper where it is declared.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) helper: Helper,
    pub(crate) path: Arc<str>,
    language: Language,
    text: Arc<str>,
    answers: Mutex<HashMap<String, Option<Policy>>>,
}

impl Helpers {
    /// Adds what a file declares: names that say that they retry, and what was found to do so.
    pub(crate) fn add(
        &mut self,
        path: &str,
        language: Language,
        names: &mut BTreeSet<String>,
        helpers: Vec<Helper>,
        text: &Arc<str>,
    ) {
        self.declared.append(names);
        let path: Arc<str> = path.into();
        for helper in helpers {
            let (text, path) = (Arc::clone(text), Arc::clone(&path));
            let name = helper.name.clone();
            let answers = Mutex::default();
            let declared = Declared { helper, path, language, text, answers };
            self.by_name.entry(name).or_default().push(Arc::new(declared));
        }
    }

    /// Whether a file declares something of this name that says it retries.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.declared.contains(name)
    }

    /// The helper that a call in a file means: of its own, or the only one of a file that `may` be
    /// meant.
    pub(crate) fn find(
        &self,
        name: &str,
        path: &str,
        language: Language,
        may: impl Fn(&str) -> bool,
    ) -> Option<&Declared> {
        let all = self.by_name.get(name)?;
        let own = |one: &&Arc<Declared>| *one.path == *path;
        let alike =
            |one: &&Arc<Declared>| family(one.language) == family(language) && may(&one.path);
        let mut found = all.iter().filter(own);
        if let Some(one) = found.next() {
            return found.next().is_none().then_some(&**one);
        }
        let mut found = all.iter().filter(alike);
        found.next().filter(|_| found.next().is_none()).map(|one| &**one)
    }
}

impl Declared {
    /// What it does if it is told this; `None`: it cannot be told.
    pub(crate) fn told(
        &self,
        project: Option<&Project>,
        parts: &[(Box<str>, Told)],
    ) -> Option<Policy> {
        let key = format!("{parts:?}");
        {
            let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = answers.get(&key) {
                return known.clone();
            }
            if answers.len() >= MOST_ANSWERS {
                return None;
            }
        }
        let home = Home { text: &self.text, path: &self.path, language: self.language, project };
        let answer = self.helper.told(&home, parts);
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(key, answer.clone());
        answer
    }
}

/// Languages whose files call each other.
fn family(language: Language) -> Language {
    match language {
        Language::TypeScript | Language::Tsx => Language::JavaScript,
        Language::Kotlin => Language::Java,
        other => other,
    }
}
