//! Strings as numbers, and names that a system file allows.

use std::collections::{HashMap, HashSet};

/// A string of an [`Interner`]. 0 is the empty one.
pub(crate) type Sym = u32;

/// More different strings than this are not told apart.
const MOST: usize = 200_000;
/// Longer strings are cut.
const LONGEST: usize = 200;

/// Strings as small numbers. Bounded: what is too much is `(other)`.
#[derive(Debug)]
pub(crate) struct Interner {
    numbers: HashMap<Box<str>, Sym>,
    texts: Vec<Box<str>>,
}

impl Default for Interner {
    fn default() -> Self {
        Self { numbers: HashMap::from([("".into(), 0)]), texts: vec!["".into()] }
    }
}

impl Interner {
    /// The number of a string.
    pub(crate) fn number(&mut self, text: &str) -> Sym {
        let text = cut(text);
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        if self.texts.len() >= MOST && text != "(other)" {
            return self.number("(other)");
        }
        let number = self.texts.len() as Sym;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// The string of a number.
    #[must_use]
    pub(crate) fn text(&self, number: Sym) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }
}

fn cut(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// An operation without what differs from request to request: the query, and the parts of a path
/// that are numbers or identifiers. What a query says may be secret, too.
pub(crate) fn operation<'a>(name: &'a str, into: &'a mut String) -> &'a str {
    let name = name.split(['?', '#']).next().unwrap_or_default();
    if !name.split('/').any(is_identifier) {
        return name;
    }
    into.clear();
    for (i, part) in name.split('/').enumerate() {
        if i > 0 {
            into.push('/');
        }
        into.push_str(if is_identifier(part) { "*" } else { part });
    }
    into
}

/// Numbers, UUIDs and long hexadecimal words.
fn is_identifier(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let hex = part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    digits > 0 && (digits == part.len() || part.len() >= 16 && hex)
}

/// Words that the system file keeps for itself.
const RESERVED: [&str; 10] =
    ["client", "default", "all", "none", "parallel", "entry", "steps", "ramp", "burst", "trace"];
/// Characters of a name in the system file.
const LONGEST_NAME: usize = 60;

/// Names for a system file, each given once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A name like the text that is not taken yet.
    pub(crate) fn give(&mut self, text: &str) -> String {
        let mut name = String::new();
        for c in text.chars() {
            let fits = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if fits && (!name.is_empty() || c.is_ascii_alphanumeric()) {
                name.push(c);
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
            if name.len() >= LONGEST_NAME {
                break;
            }
        }
        let name = name.trim_end_matches(['-', '.', '_']);
        let mut name = if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() };
        // Words that YAML reads as something else, and numbers, which look like mistakes.
        let number = name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if number || RESERVED.contains(&name.as_str()) {
            name = format!("the-{name}");
        }
        let mut unique = name.clone();
        let mut n = 2;
        while !self.taken.insert(unique.clone()) {
            unique = format!("{name}-{n}");
            n += 1;
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_lose_what_differs() {
        let mut buffer = String::new();
        for (name, expected) in [
            ("GET /users/12345/orders?token=secret", "GET /users/*/orders"),
            ("GET /a/0af7651916cd43dd8448eb211c80319c", "GET /a/*"),
            ("GET /v1/orders", "GET /v1/orders"),
            ("shop.Orders/Get", "shop.Orders/Get"),
            ("", ""),
        ] {
            assert_eq!(operation(name, &mut buffer), expected);
        }
    }

    #[test]
    fn names_fit_the_system_file_and_differ() {
        let mut names = Names::default();
        let given: Vec<String> = ["my svc", "my/svc", "client", "  ", "_x", "8080", "ä", "a->b"]
            .into_iter()
            .map(|text| names.give(text))
            .collect();
        let expected =
            ["my-svc", "my-svc-2", "the-client", "unnamed", "x", "the-8080", "unnamed-2", "a-b"];
        assert_eq!(given, expected);
    }

    #[test]
    fn strings_are_bounded() {
        let mut strings = Interner::default();
        let long = "ä".repeat(LONGEST);
        let number = strings.number(&long);
        assert!(strings.text(number).len() <= LONGEST);
        assert_eq!(strings.number(""), 0);
        assert_eq!(strings.text(u32::MAX), "");
    }
}
