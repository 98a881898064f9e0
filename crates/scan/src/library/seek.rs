//! Whether a text can have anything of a library in it, told from its bytes.
//!
//! What [`super::find`] finds has a name of a shape, and, unless the shape is free, the import of
//! its entry in some form. Both are words of the text.

mod names;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::catalogue::{ECOSYSTEMS, Ecosystem, Entry};
use super::names::{segments, shape_names};
use crate::language::Language;
use names::Names;

/// The words of an ecosystem and what of them each entry needs.
#[derive(Debug)]
pub(crate) struct Seek {
    /// The words that are told by the names of a text.
    names: Names,
    /// Finds the others, by their place in `others`.
    automaton: Option<AhoCorasick>,
    /// The numbers of the others.
    others: Vec<usize>,
    words: Vec<Word>,
    entries: Vec<Needs>,
}

/// A word that is looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// It may go on: `aws_sdk_*`.
    open: bool,
    /// Something may stand before it: `*Client`.
    open_before: bool,
    /// How imports are written: the word is a part of one.
    import: Import,
}

/// What stands beside a module in the imports of a language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Import {
    /// Anything.
    #[default]
    Bare,
    /// A quote, or another part of the path, before it: `'got/core'`.
    Quoted,
    /// What is taken of it: `again::retry`, `use again;`.
    Path,
}

/// Without these an entry finds nothing: the numbers of words.
#[derive(Debug, Default)]
struct Needs {
    /// One of these is enough, with one of the options beside it that its shape needs.
    free: Vec<(usize, Vec<usize>)>,
    /// Or all of the keys of an object.
    keys: Vec<Vec<usize>>,
    /// Or one of these, with all words of an import.
    names: Vec<usize>,
    /// A shape is called by any name.
    any_name: bool,
    imports: Vec<Vec<usize>>,
}

impl Seek {
    /// What is looked for in a language; `None`: the catalogue knows nothing of it.
    pub(crate) fn of(language: Language) -> Option<&'static Self> {
        static ALL: [OnceLock<Option<Seek>>; ECOSYSTEMS.len()] =
            [const { OnceLock::new() }; ECOSYSTEMS.len()];
        let mut all = ECOSYSTEMS.iter().zip(&ALL);
        let (ecosystem, known) = all.find(|(all, _)| all.languages.contains(&language))?;
        known.get_or_init(|| Self::new(ecosystem)).as_ref()
    }

    fn new(ecosystem: &'static Ecosystem) -> Option<Self> {
        let mut numbers: BTreeMap<(String, bool), usize> = BTreeMap::new();
        let mut words: Vec<(String, Word)> = Vec::new();
        let written = match ecosystem.languages.first() {
            Some(Language::Go | Language::JavaScript) => Import::Quoted,
            Some(Language::Rust) => Import::Path,
            _ => Import::Bare,
        };
        let mut number = |text: &str, import: bool| {
            let trimmed = text.trim_matches('*');
            let word = Word {
                open: text.ends_with('*'),
                open_before: text.starts_with('*'),
                import: if import { written } else { Import::Bare },
            };
            *numbers.entry((text.to_owned(), import)).or_insert_with(|| {
                words.push((trimmed.to_owned(), word));
                words.len() - 1
            })
        };
        let entries = ecosystem.entries().ok()?;
        let entries = entries.iter().filter(|entry| !entry.background);
        let entries = entries.map(|entry| needs(ecosystem, entry, &mut number)).collect();
        // Nearly all are told by the names of a text, which is faster.
        let (mut names, mut others) = (Names::default(), Vec::new());
        for (at, (text, word)) in words.iter().enumerate() {
            if !names.add(text, word.open_before, word.open, at) {
                others.push(at);
            }
        }
        let texts: Vec<_> = others.iter().map(|at| &words[*at].0).collect();
        let build = || {
            AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::DFA))
                .build(&texts)
        };
        let automaton = if texts.is_empty() { None } else { Some(build().ok()?) };
        let words = words.into_iter().map(|(_, word)| word).collect();
        Some(Self { names, automaton, others, words, entries })
    }

    /// Whether a text has all that some entry needs.
    pub(crate) fn in_text(&self, text: &str) -> bool {
        let mut seen = vec![false; self.words.len()];
        let mut see = |at: usize, start: usize, end: usize| {
            seen[at] = seen[at] || ends(text.as_bytes(), start, end, self.words[at]);
        };
        self.names.each_in(text, &mut see);
        let others = self.automaton.iter().flat_map(|it| it.find_overlapping_iter(text));
        for found in others {
            see(self.others[found.pattern().as_usize()], found.start(), found.end());
        }
        let has = |word: &usize| seen[*word];
        self.entries.iter().any(|needs| {
            needs.free.iter().any(|(name, options)| {
                seen[*name] && (options.is_empty() || options.iter().any(has))
            }) || needs.keys.iter().any(|keys| keys.iter().all(has))
                || (needs.any_name || needs.names.iter().any(has))
                    && needs.imports.iter().any(|import| import.iter().all(has))
        })
    }
}

fn needs(
    ecosystem: &Ecosystem,
    entry: &Entry,
    number: &mut dyn FnMut(&str, bool) -> usize,
) -> Needs {
    let mut needs = Needs::default();
    for shape in &entry.shapes {
        match &shape.keys[..] {
            [] => {}
            keys if shape.free => {
                needs.keys.push(keys.iter().map(|key| number(key, false)).collect());
            }
            [first, ..] => needs.names.push(number(first, false)),
        }
        // One that is told by its place needs no word.
        let options: Option<Vec<&str>> = shape.needs.iter().map(|path| option(path)).collect();
        let options: Vec<usize> = match options.filter(|_| shape.free) {
            Some(options) => options.into_iter().map(|word| number(word, false)).collect(),
            None => Vec::new(),
        };
        for name in shape_names(shape) {
            match segments(name).last() {
                // A module that is itself called has any name.
                None | Some(&"default") => needs.any_name = true,
                Some(last) if shape.free => needs.free.push((number(last, false), options.clone())),
                Some(last) => needs.names.push(number(last, false)),
            }
        }
    }
    for import in &entry.imports {
        let parts = segments(import);
        // `from google.api_core import *` is enough for what is in a module below it. Names of Go
        // and JavaScript are of one module; those of Java begin with a domain.
        let enough = match ecosystem.languages.first() {
            Some(Language::Go | Language::JavaScript) => parts.len(),
            Some(Language::Java | Language::Kotlin) => 2,
            _ => 1,
        };
        needs.imports.push(parts.iter().take(enough).map(|part| number(part, true)).collect());
    }
    needs
}

/// The word of an option; `None`: it is told by its place among the arguments.
fn option(path: &str) -> Option<&str> {
    let name = path.trim_start_matches('@').split('#').next().unwrap_or_default();
    name.rsplit('.').next().filter(|word| !word.is_empty())
}

/// Whether a byte may be inside of a name.
const fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether what was found is no part of a longer word.
fn ends(text: &[u8], start: usize, end: usize, word: Word) -> bool {
    let inner = |byte: Option<&u8>| byte.copied().is_some_and(is_inner);
    let first = start.checked_sub(1).and_then(|at| text.get(at));
    let beside = match word.import {
        Import::Bare => true,
        Import::Quoted => first.is_some_and(|byte| b"\"'`/:.".contains(byte)),
        Import::Path => word.open || text.get(end).is_some_and(|byte| b":;".contains(byte)),
    };
    beside && (word.open_before || !inner(first)) && (word.open || !inner(text.get(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeks(language: Language, text: &str) -> bool {
        Seek::of(language).is_some_and(|seek| seek.in_text(text))
    }

    #[test]
    fn an_import_needs_a_name_of_a_shape_beside_it() {
        assert!(seeks(Language::Python, "import tenacity\n@tenacity.retry\ndef f(): ..."));
        assert!(!seeks(Language::Python, "import tenacity\nraise tenacity.RetryError()"));
        assert!(!seeks(Language::Python, "@again\ndef f(): ..."));
        let go = "import \"github.com/cenkalti/backoff/v4\"\n";
        assert!(seeks(Language::Go, &format!("{go}func f() {{ backoff.Retry(g, b) }}")));
        assert!(!seeks(Language::Go, &format!("{go}func f() {{ g.Retrying() }}")));
    }

    #[test]
    fn an_import_is_written_as_one() {
        let got = "await got.get(url, { retry: 2 });";
        assert!(seeks(Language::JavaScript, &format!("import got from 'got';\n{got}")));
        assert!(!seeks(Language::JavaScript, &format!("// what we got\n{got}")));
        assert!(seeks(Language::Rust, "again::retry(|| load()).await;"));
        assert!(seeks(Language::Rust, "use again;\nagain::retry(|| load()).await;"));
        assert!(!seeks(Language::Rust, "// once again\nretry(|| load()).await;"));
    }

    #[test]
    fn a_name_without_an_import_needs_one_of_its_options() {
        assert!(seeks(Language::JavaScript, "axios.get(url, { raxConfig: { retry: 2 } });"));
        assert!(!seeks(Language::JavaScript, "axios.get(url, { params: { page: 2 } });"));
        assert!(seeks(Language::Php, "retry(5, fn() => load());"), "told by its place");
    }
}
