//! What an annotation or an attribute of a field says it is if nobody gives it: `@Value("${a:3}")`,
//! `#[arg(default_value_t = 3)]`.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::number;
use crate::tree::{Arg, Builder, Id, Kind};

/// The default that annotations of Java or Kotlin write.
pub(super) fn of_annotations<'s>(
    b: &mut Builder<'s>,
    at: Syntax<'_>,
    modifiers: Syntax<'_>,
) -> Option<Id> {
    let text = written(b.text(modifiers))?;
    let value = of_text(b, at, text);
    Some(usually(b, at, value))
}

/// `3` of `@Value("${a.b:3}")` (Spring) and of `@ConfigProperty(name = "a", defaultValue = "3")`
/// (MicroProfile).
fn written(modifiers: &str) -> Option<&str> {
    let spring = || {
        let (_, rest) = modifiers.split_once("@Value(")?;
        let (_, rest) = rest.split_once("${")?;
        let (inside, _) = rest.split_once('}')?;
        inside.split_once(':').map(|(_, default)| default)
    };
    let profile = || {
        let (_, rest) = modifiers.split_once("@ConfigProperty(")?;
        let (_, rest) = rest.split_once("defaultValue")?;
        let (_, rest) = rest.split_once('"')?;
        rest.split_once('"').map(|(default, _)| default)
    };
    spring().or_else(profile).map(str::trim).filter(|text| !text.is_empty())
}

/// The default that an attribute of Rust gives a field, as `clap`, `serde` and builders write it.
pub(super) fn of_attribute<'s>(b: &mut Builder<'s>, at: Syntax<'_>, attribute: Id) -> Option<Id> {
    let Kind::Call { args, .. } = b.kind(attribute) else { return None };
    let named = |wanted: &str| args.iter().find(|arg| arg.name == Some(wanted));
    let given = named("default_value_t").or_else(|| named("default_value"));
    let given = given.or_else(|| named("default"))?.value;
    let text = match b.kind(given) {
        Kind::Text(Cow::Borrowed(text)) => Some(*text),
        _ => None,
    };
    let value = match text {
        // `#[serde(default = "Self::retries")]` names a function.
        Some(path) if number(path).is_none() && is_path(path) => {
            let name = path.rsplit(':').next().unwrap_or(path);
            let callee = b.add(at, Kind::Name(name));
            b.add(at, Kind::Call { callee, args: Vec::new(), new: false })
        }
        Some(text) => of_text(b, at, text),
        None => given,
    };
    Some(usually(b, at, value))
}

fn is_path(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':'))
}

fn of_text<'s>(b: &mut Builder<'s>, at: Syntax<'_>, text: &'s str) -> Id {
    match number(text) {
        Some(value) => b.add(at, Kind::Number(value)),
        None => b.add(at, Kind::Text(Cow::Borrowed(text))),
    }
}

/// `Field(3)`: no constant, but what it usually is.
fn usually<'s>(b: &mut Builder<'s>, at: Syntax<'_>, value: Id) -> Id {
    let callee = b.add(at, Kind::Name("Field"));
    let args = vec![Arg { name: None, value, spread: false }];
    b.add(at, Kind::Call { callee, args, new: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_say_what_is_not_given() {
        let all = [
            (r#"@Value("${a.b:3}") private"#, Some("3")),
            (r#"@Value("${a.b}") private"#, None),
            ("@Value(\"#{a}\")", None),
            (r#"@Inject @ConfigProperty(name = "a", defaultValue = "5")"#, Some("5")),
            (r#"@ConfigProperty(name = "a")"#, None),
            ("@Value(", None),
            ("private final", None),
        ];
        for (text, expected) in all {
            assert_eq!(written(text), expected, "{text}");
        }
    }
}
