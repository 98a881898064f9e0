//! Loops whose rounds are only counted, by a helper of the language: `for n in itertools.count(1)`.

use super::super::value::{Num, Value};
use super::{Exit, Machine};
use crate::tree::{Arg, Id};

impl<'s> Machine<'_, '_, 's> {
    /// What such a helper gives: numbers without end, or the same so many times.
    pub(super) fn counted_up(
        &mut self,
        over: Id,
        most: u32,
    ) -> Result<Option<Vec<Value>>, Exit<'s>> {
        let Some((name, args)) = self.file.counts_up(over) else { return Ok(None) };
        let end = most as usize + 1;
        if name == "repeat" {
            let times = match args {
                [_, times, ..] => self.argument(times)?.map(|times| {
                    self.bounded_by(times);
                    times.high.clamp(0.0, f64::from(most)) as usize
                }),
                _ => None,
            };
            self.trace.counted |= times.is_some();
            return Ok(Some(vec![Value::Unknown; times.unwrap_or(end)]));
        }
        let first = args.first().map(|arg| self.argument(arg)).transpose()?.flatten();
        let apart = args.get(1).map(|arg| self.argument(arg)).transpose()?.flatten();
        let (first, apart) = (first.map_or(0.0, Num::mid), apart.map_or(1.0, Num::mid));
        Ok(Some((0..end).map(|at| Value::number(first + apart * at as f64)).collect()))
    }

    fn argument(&mut self, arg: &Arg<'s>) -> Result<Option<Num>, Exit<'s>> {
        let value = self.eval(arg.value)?;
        Ok(self.as_number(arg.value, &value))
    }
}
