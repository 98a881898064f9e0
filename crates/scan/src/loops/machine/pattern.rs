//! Patterns: whether a value is what an arm of a `match` or a `case` says.

use super::super::value::{Part, Truth, Value};
use super::super::words;
use super::names::is_retry_after;
use super::{Exit, Machine, seen};
use crate::language::Language;
use crate::tree::{Id, Kind, Op, Tree};

impl<'s> Machine<'_, '_, 's> {
    /// Whether a value fits a pattern: `Err(e)`, `Ok(_)`, `Some(x)`, `is Foo`, `nil`.
    pub(super) fn matches(
        &mut self,
        of: Id,
        value: &Value,
        pattern: Id,
    ) -> Result<Truth, Exit<'s>> {
        let tree = self.tree;
        let head = match tree.kind(pattern) {
            Kind::Call { callee, .. } => *callee,
            _ => pattern,
        };
        let name = tree.last_name(head).unwrap_or_default();
        if let Value::Outcome(part, fail) = value {
            let fits = match inner_pattern(tree, pattern).unwrap_or(name) {
                // An error that is there, or advice to try again, and none.
                "Some" if matches!(part, Part::Error | Part::Doubt) => Some(*fail),
                "None" if matches!(part, Part::Error | Part::Doubt) => Some(!fail),
                "Ok" | "Some" | "Success" | "Right" => Some(!fail),
                "Err" | "None" | "Failure" | "Left" | "Error" => Some(*fail),
                _ => None,
            };
            // Beside an arm for another attempt, that of an error is for what nobody tries again.
            if fits == Some(true) && *fail && self.is_beside_another(pattern) {
                self.notice(seen::FLAG);
                self.is_told_by(of);
                return Ok(Truth::No);
            }
            if let Some(fits) = fits {
                self.notice(match name {
                    "Some" | "None" => seen::FALSY,
                    _ => seen::ERROR,
                });
                // `Err(Kind::Interrupted)` is about which error it is.
                let narrow = matches!(tree.kind(pattern), Kind::Call { args, .. }
                    if args.iter().any(|arg| !matches!(tree.kind(arg.value), Kind::Name(_) | Kind::Let { .. })));
                if fits && narrow && *fail {
                    return Ok(Truth::Maybe(true));
                }
                return Ok(Truth::of(fits));
            }
            if words::names_another(name) {
                self.notice(seen::FLAG);
                return Ok(Truth::of(*fail));
            }
            if *part == Part::Error {
                return Ok(if *fail { Truth::Maybe(true) } else { Truth::No });
            }
            return match tree.kind(pattern) {
                Kind::Name(name)
                    if *name == "_"
                        || (name.starts_with(char::is_lowercase)
                            && matches!(self.file.language, Language::Rust | Language::Python)) =>
                {
                    Ok(Truth::Yes)
                }
                _ => {
                    let other = self.eval(pattern)?;
                    Ok(self.compared(Op::Equal, of, *part, *fail, pattern, &other))
                }
            };
        }
        if let Value::Num(num) = value {
            let there = match name {
                "Some" | "None" => num.server || num.listed || num.symbol == 0,
                "Ok" | "Err" => num.server,
                _ => false,
            };
            if there {
                return Ok(Truth::of(matches!(name, "Some" | "Ok")));
            }
        }
        if *value == Value::Null && matches!(name, "Some" | "None") {
            return Ok(Truth::of(name == "None"));
        }
        match tree.kind(pattern) {
            Kind::Name("_") => Ok(Truth::Yes),
            Kind::Number(_) | Kind::Text(_) | Kind::Bool(_) | Kind::Null => {
                let other = self.eval(pattern)?;
                Ok(match (value, &other) {
                    (Value::Unknown, _) => Truth::Maybe(false),
                    (a, b) => Truth::of(a == b),
                })
            }
            _ => Ok(Truth::Maybe(false)),
        }
    }

    /// Gives the names in a pattern what they stand for.
    pub(super) fn capture(&mut self, pattern: Id, value: &Value) -> Result<(), Exit<'s>> {
        let tree = self.tree;
        if let Kind::Call { callee, args, .. } = tree.kind(pattern) {
            let is_some = tree.last_name(*callee) == Some("Some") && args.len() == 1;
            // `Err(Error::Limited { retry_after })` has names further in.
            for at in args.iter().flat_map(|arg| tree.walk(arg.value)) {
                if let Kind::Name(name) = tree.kind(at)
                    && name.starts_with(|c: char| c.is_lowercase() || c == '_')
                {
                    let inner = match value {
                        _ if is_retry_after(name) => self.server_value(at),
                        // What advice says of another attempt is not what failed.
                        Value::Outcome(Part::Doubt, true) => Value::Unknown,
                        Value::Outcome(_, true) => Value::Outcome(Part::Error, true),
                        Value::Outcome(_, false) => Value::Outcome(Part::Field, false),
                        Value::Num(num) if num.server || is_some => value.clone(),
                        _ => Value::Unknown,
                    };
                    self.set_here(name, inner);
                }
            }
        } else if let Kind::Name(name) = tree.kind(pattern)
            && name.starts_with(char::is_lowercase)
        {
            self.set_here(name, value.clone());
        } else if let Kind::Let { target, .. } = tree.kind(pattern) {
            return self.capture(*target, value);
        }
        Ok(())
    }
}

/// The name of the pattern in a pattern for what is there: of `Some(Err(e))` and `Ok(Err(e))` it
/// is `Err`.
fn inner_pattern<'s>(tree: &Tree<'s>, pattern: Id) -> Option<&'s str> {
    let Kind::Call { callee, args, .. } = tree.kind(pattern) else { return None };
    let [only] = &args[..] else { return None };
    let Kind::Call { callee: inner, .. } = tree.kind(only.value) else { return None };
    let outer = matches!(tree.last_name(*callee), Some("Some" | "Ok"));
    tree.last_name(*inner).filter(|name| outer && matches!(*name, "Ok" | "Err"))
}
