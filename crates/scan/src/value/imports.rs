//! What a name of this file is elsewhere.

use std::borrow::Cow;

use foldhash::HashMap;

use crate::tree::{Arg, Id, Kind, Tree};

/// Something that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported<'s> {
    /// The module it comes from.
    pub module: Cow<'s, str>,
    /// What was taken from it; `None`: the module itself.
    pub item: Option<&'s str>,
    /// The line of the import.
    pub line: u32,
}

/// A name or a field, followed to its import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qualified<'s> {
    /// The module: `tenacity`, `github.com/cenkalti/backoff/v4`.
    pub module: Cow<'s, str>,
    /// What follows: of `tenacity.retry` it is `["retry"]`.
    pub path: Vec<&'s str>,
}

impl std::fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.module)?;
        self.path.iter().try_for_each(|part| write!(f, ".{part}"))
    }
}

/// The imports of a file.
#[derive(Clone, Debug, Default)]
pub struct Imports<'s> {
    names: HashMap<&'s str, Imported<'s>>,
    modules: Vec<Cow<'s, str>>,
    everything_of: Vec<Cow<'s, str>>,
}

impl<'s> Imports<'s> {
    /// Reads them.
    #[must_use]
    pub fn of(tree: &Tree<'s>) -> Self {
        let mut all = Self::default();
        for id in tree.ids() {
            match tree.kind(id) {
                Kind::Import { module, item, alias, all: everything } => {
                    let line = tree.span(id).line;
                    all.add(module.clone(), *item, *alias, *everything, line);
                }
                Kind::Let { target, value: Some(value), .. } => {
                    all.required(tree, *target, *value);
                }
                Kind::Assign { op: None, target, value } => all.required(tree, *target, *value),
                _ => {}
            }
        }
        all
    }

    fn add(
        &mut self,
        module: Cow<'s, str>,
        item: Option<&'s str>,
        alias: Option<&'s str>,
        everything: bool,
        line: u32,
    ) {
        self.modules.push(module.clone());
        if everything {
            self.everything_of.push(module);
            return;
        }
        let last = alias.or(item).map_or_else(|| last_part(&module), Some);
        let Some(name) = last else {
            // The last part of an owned name cannot be lent out: such a module has no name here.
            return;
        };
        // `import a.b` of Python binds `a`, and `a.b.c` is then written in full.
        let (name, module) = match (&module, item, alias) {
            (Cow::Borrowed(full), None, None) if python_like(full) => {
                let first = full.split('.').next().unwrap_or(full);
                (first, Cow::Borrowed(first))
            }
            _ => (name, module),
        };
        self.names.insert(name, Imported { module, item, line });
    }

    /// `x = require("m")`, `{ a, b: c } = require("m")`, `x = require("m").y`,
    /// `x = await import("m")`.
    fn required(&mut self, tree: &Tree<'s>, target: Id, value: Id) {
        let (mut at, mut item) = (value, None);
        loop {
            match tree.kind(at) {
                Kind::Await(inner) => at = *inner,
                Kind::Field { of, name } if item.is_none() => {
                    item = Some(*name);
                    at = *of;
                }
                _ => break,
            }
        }
        let Kind::Call { callee, args, .. } = tree.kind(at) else { return };
        let (Kind::Name("require" | "import"), [Arg { value: module, .. }]) =
            (tree.kind(*callee), &args[..])
        else {
            return;
        };
        let Kind::Text(module) = tree.kind(*module) else { return };
        let line = tree.span(target).line;
        match tree.kind(target) {
            Kind::Name(name) => self.add(module.clone(), item, Some(name), false, line),
            Kind::Record { entries, .. } => {
                for entry in entries {
                    let here = tree.last_name(entry.value);
                    let item = entry.key.as_ref().map_or(here, |key| match key {
                        Cow::Borrowed(key) => Some(*key),
                        Cow::Owned(_) => here,
                    });
                    self.add(module.clone(), item, here, false, line);
                }
            }
            Kind::List(all) | Kind::Other(all) => {
                for id in all {
                    let name = tree.last_name(*id);
                    self.add(module.clone(), name, name, false, line);
                }
            }
            _ => {}
        }
    }

    /// What this name was imported as.
    #[must_use]
    pub fn name(&self, name: &str) -> Option<&Imported<'s>> {
        self.names.get(name)
    }

    /// Every imported module.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(Cow::as_ref)
    }

    /// The modules of which everything was imported: `using Polly`, `from x import *`.
    pub fn everything_of(&self) -> impl Iterator<Item = &str> {
        self.everything_of.iter().map(Cow::as_ref)
    }

    /// A name or a field followed to its import; `None` if its first part was not imported.
    #[must_use]
    pub fn qualify(&self, tree: &Tree<'s>, id: Id) -> Option<Qualified<'s>> {
        let parts = tree.path(id)?;
        let (first, rest) = parts.split_first()?;
        let found = self.names.get(first)?;
        let path = found.item.into_iter().chain(rest.iter().copied()).collect();
        Some(Qualified { module: found.module.clone(), path })
    }
}

/// The last part of a module's name, by any separator; a version at the end of a Go path is passed
/// over.
fn last_part<'s>(module: &Cow<'s, str>) -> Option<&'s str> {
    let Cow::Borrowed(full) = module else { return None };
    let parts: Vec<&str> =
        full.split(['/', '.', ':', '\\']).filter(|part| !part.is_empty()).collect();
    let is_version = |part: &str| {
        part.len() > 1 && part.starts_with('v') && part[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let last = parts.iter().rev().find(|part| !is_version(part)).copied()?;
    Some(last.strip_prefix("go-").unwrap_or(last))
}

/// Whether a module's name is written with dots alone: then its first part is what is bound.
fn python_like(module: &str) -> bool {
    module.contains('.') && !module.contains(['/', ':', '\\', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::lower;

    fn qualified(text: &str) -> Option<String> {
        let tree = lower::tree(Language::Python, text).unwrap();
        let imports = Imports::of(&tree);
        let call = tree.ids().find_map(|id| match tree.kind(id) {
            Kind::Call { callee, .. } => Some(*callee),
            _ => None,
        });
        imports.qualify(&tree, call.unwrap()).map(|name| name.to_string())
    }

    #[test]
    fn names_are_followed_to_their_import() {
        let cases = [
            ("import tenacity\ntenacity.retry()", Some("tenacity.retry")),
            ("import tenacity as t\nt.retry()", Some("tenacity.retry")),
            ("from tenacity import retry as r\nr()", Some("tenacity.retry")),
            (
                "import google.api_core.retry\ngoogle.api_core.retry.Retry()",
                Some("google.api_core.retry.Retry"),
            ),
            (
                "from google.api_core import retry\nretry.Retry()",
                Some("google.api_core.retry.Retry"),
            ),
            ("retry()", None),
        ];
        for (text, name) in cases {
            assert_eq!(qualified(text).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn a_version_is_not_the_name_of_a_module() {
        let go = Cow::Borrowed("github.com/cenkalti/backoff/v4");
        assert_eq!(last_part(&go), Some("backoff"));
        assert_eq!(last_part(&Cow::Borrowed("github.com/avast/retry-go")), Some("retry-go"));
    }
}
