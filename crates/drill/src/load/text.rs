//! Texts of requests with placeholders that are filled in for each of them.
//!
//! | placeholder | what stands there |
//! |---|---|
//! | `{{counter}}` | the number of the request, from 0 |
//! | `{{random}}` | a whole number of 64 bits |
//! | `{{random 1..100}}` | a whole number between the two, both included |
//! | `{{uuid}}` | a random UUID (version 4) |
//! | `{{class}}` | the name of the request's class |
//! | `{{env NAME}}` | a variable of the environment, read once before anything is sent |
//! | `{{braces}}` | two opening braces |
//!
//! What is filled in depends on the seed and the number of the request alone: a retry sends the same
//! bytes again.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::SplitMix64;

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Counter,
    Random,
    Between(u64, u64),
    Uuid,
    Class,
}

/// What is wrong with a placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// It is not known.
    #[error("there is no placeholder `{{{{{0}}}}}`")]
    Unknown(String),
    /// `{{` without `}}`.
    #[error("`{{{{` has no `}}}}` after it")]
    Open,
    /// The variable is not set.
    #[error("the variable {0} is not set")]
    Unset(String),
    /// The bounds of `random` are not two whole numbers in order.
    #[error("`{0}` is not a range such as 1..100")]
    Range(String),
    /// A control character, which could begin a header of its own, or a name that is none.
    #[error("there is a character in it that a header cannot have")]
    Control,
}

/// The names of placeholders.
pub const PLACEHOLDERS: [&str; 6] = ["counter", "random", "uuid", "class", "env", "braces"];

/// What placeholders of one request are filled from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling<'a> {
    pub(super) seed: u64,
    pub(super) number: u64,
    pub(super) class: &'a str,
}

impl Text {
    /// A text in which nothing is filled in, whatever it looks like.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Literal(text.into())] }
    }

    /// Reads a text with placeholders; `variable` knows the environment.
    ///
    /// # Errors
    /// A placeholder is not known, or its variable is not set.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, BadText> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            let (before, after) = rest.split_at(at);
            let end = after.find("}}").ok_or(BadText::Open)?;
            push(&mut pieces, before);
            match placeholder(after[2..end].trim(), &variable)? {
                Piece::Literal(value) => push(&mut pieces, &value),
                piece => pieces.push(piece),
            }
            rest = &after[end + 2..];
        }
        push(&mut pieces, rest);
        Ok(Self { pieces })
    }

    /// The whole text, if nothing is filled in.
    #[must_use]
    pub fn fixed(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether no control character is in it.
    pub(super) fn is_plain(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Literal(text) => !text.chars().any(char::is_control),
            _ => true,
        })
    }

    /// Appends the text of one request. `salt` tells the texts of a request apart.
    pub(super) fn fill(&self, of: Filling<'_>, salt: u64, into: &mut Vec<u8>) {
        use std::io::Write as _;
        let mut chance = None;
        let mut draw = || {
            let seed = of.seed ^ of.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (salt << 48);
            chance.get_or_insert_with(|| SplitMix64::seed_from_u64(seed)).next_u64()
        };
        for piece in &self.pieces {
            // Writing to memory does not fail.
            let _ = match piece {
                Piece::Literal(text) => {
                    into.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                Piece::Counter => write!(into, "{}", of.number),
                Piece::Random => write!(into, "{}", draw()),
                Piece::Between(low, high) => {
                    let width = u128::from(high - low) + 1;
                    let above = (u128::from(draw()) * width) >> 64;
                    write!(into, "{}", low + above as u64)
                }
                Piece::Uuid => {
                    let (a, b) = (draw(), draw());
                    write!(
                        into,
                        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
                        a >> 32,
                        a >> 16 & 0xffff,
                        a & 0xfff,
                        0x8000 | b >> 48 & 0x3fff,
                        b & 0xffff_ffff_ffff
                    )
                }
                Piece::Class => {
                    into.extend_from_slice(of.class.as_bytes());
                    Ok(())
                }
            };
        }
    }
}

/// Neighbouring literals are one.
fn push(pieces: &mut Vec<Piece>, text: &str) {
    if text.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some(Piece::Literal(last)) => last.push_str(text),
        _ => pieces.push(Piece::Literal(text.to_owned())),
    }
}

fn placeholder(name: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Piece, BadText> {
    let (word, argument) = name.split_once([' ', ':']).unwrap_or((name, ""));
    let argument = argument.trim();
    Ok(match (word, argument) {
        ("counter", "") => Piece::Counter,
        ("random", "") => Piece::Random,
        ("random", range) => {
            let wrong = || BadText::Range(range.to_owned());
            let (low, high) = range.split_once("..").ok_or_else(wrong)?;
            let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
            match (number(low)?, number(high)?) {
                (low, high) if low <= high => Piece::Between(low, high),
                _ => return Err(wrong()),
            }
        }
        ("uuid", "") => Piece::Uuid,
        ("class", "") => Piece::Class,
        ("braces", "") => Piece::Literal("{{".to_owned()),
        ("env", name) if !name.is_empty() => {
            Piece::Literal(variable(name).ok_or_else(|| BadText::Unset(name.to_owned()))?)
        }
        _ => return Err(BadText::Unknown(name.chars().take(60).collect())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str, number: u64) -> String {
        let text = Text::parse(text, |name| (name == "KEY").then(|| "secret".into())).unwrap();
        let mut out = Vec::new();
        text.fill(Filling { seed: 7, number, class: "high" }, 0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(
            filled("/a/{{counter}}?c={{ class }}&k={{env KEY}}", 12),
            "/a/12?c=high&k=secret"
        );
        assert_eq!(filled("plain {x} }}", 0), "plain {x} }}");
        let uuid = filled("{{uuid}}", 3);
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        for number in 0..100 {
            let drawn: u64 = filled("{{random 5..7}}", number).parse().unwrap();
            assert!((5..=7).contains(&drawn));
        }
    }

    #[test]
    fn a_retry_sends_the_same_and_another_request_does_not() {
        assert_eq!(filled("{{random}}", 1), filled("{{random}}", 1));
        assert_ne!(filled("{{random}}", 1), filled("{{random}}", 2));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let why = |text: &str| Text::parse(text, |_| None).unwrap_err().to_string();
        assert_eq!(why("{{conter}}"), "there is no placeholder `{{conter}}`");
        assert_eq!(why("{{counter"), "`{{` has no `}}` after it");
        assert_eq!(why("{{env TOKEN}}"), "the variable TOKEN is not set");
        assert_eq!(why("{{random 9..1}}"), "`9..1` is not a range such as 1..100");
        assert!(!Text::literal("a\r\nb: c").is_plain());
        assert_eq!(Text::literal("{{counter}}").fixed(), Some("{{counter}}"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\{\\{|\\}\\}|random|[0-9. a-z]|\\PC){0,30}") {
            if let Ok(read) = Text::parse(&text, |_| None) {
                let mut out = Vec::new();
                read.fill(Filling { seed: 1, number: 2, class: "c" }, 3, &mut out);
                prop_assert!(String::from_utf8(out).is_ok());
            }
        }
    }
}
