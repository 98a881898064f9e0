//! Lists that grow: what a batch keeps of what failed.

use super::super::value::Value;
use super::{Exit, Machine};
use crate::tree::{Arg, Id, Kind};

/// Longer lists are not kept whole.
const MOST_KEPT: usize = 64;

impl<'s> Machine<'_, '_, 's> {
    /// A call that puts an element into a list that is known: `failed.append(one)`,
    /// `failed = append(failed, one)`.
    pub(super) fn kept(
        &mut self,
        path: &[&'s str],
        name: &str,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        match (name, args) {
            ("append" | "push" | "add" | "push_back", [only]) => {
                let Kind::Field { of, .. } = self.tree.kind(callee) else { return Ok(None) };
                let Some(Value::List(all)) = self.current(*of) else { return Ok(None) };
                let longer = self.longer(all.to_vec(), only.value)?;
                self.set(*of, longer)?;
                Ok(Some(Value::Unknown))
            }
            ("append", [list, more]) if path.len() == 1 => {
                let all = match self.eval(list.value)? {
                    Value::List(all) => all.to_vec(),
                    Value::Null => Vec::new(),
                    _ => return Ok(None),
                };
                Ok(Some(self.longer(all, more.value)?))
            }
            _ => Ok(None),
        }
    }

    /// Whether an element of a list stands for all of another: `[0, ...delays]`.
    pub(super) fn is_spread(&self, element: Id) -> bool {
        self.tree.source(element).starts_with("...")
    }

    fn longer(&mut self, mut all: Vec<Value>, more: Id) -> Result<Value, Exit<'s>> {
        let value = self.eval(more)?;
        if all.len() < MOST_KEPT {
            all.push(value);
        }
        Ok(Value::List(all.into()))
    }
}
