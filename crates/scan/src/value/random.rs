//! Chance: what each language's random numbers lie between.

use super::arithmetic::{between, bounds};
use super::eval::{Environment, Values};
use super::{Data, Value};
use crate::tree::{Arg, Kind};

/// How the arguments of a random call bound it.
#[derive(Clone, Copy)]
enum Shape {
    /// From 0 to 1.
    Unit,
    /// From the first argument to the second; with one argument from 0 to it; with none, 0 to 1.
    Between,
}

/// The last name of what is called. `owner`: some part before it must contain this, in lower case.
const CALLS: &[(&str, &str, Shape)] = &[
    ("random", "random", Shape::Unit),
    ("random", "math", Shape::Unit),
    ("random", "rand", Shape::Unit),
    ("uniform", "", Shape::Between),
    ("randint", "", Shape::Between),
    ("randrange", "", Shape::Between),
    ("randbelow", "", Shape::Between),
    ("triangular", "random", Shape::Between),
    ("Float64", "", Shape::Unit),
    ("Float32", "rand", Shape::Unit),
    ("Int63n", "", Shape::Between),
    ("Int31n", "", Shape::Between),
    ("Int64N", "", Shape::Between),
    ("Int32N", "", Shape::Between),
    ("Intn", "", Shape::Between),
    ("IntN", "", Shape::Between),
    ("Uint64N", "", Shape::Between),
    ("N", "rand", Shape::Between),
    ("gen_range", "", Shape::Between),
    ("random_range", "", Shape::Between),
    ("r#gen", "", Shape::Unit),
    ("gen", "rng", Shape::Unit),
    ("gen", "rand", Shape::Unit),
    ("random_f64", "", Shape::Unit),
    ("nextInt", "", Shape::Between),
    ("nextLong", "", Shape::Between),
    ("nextDouble", "", Shape::Between),
    ("nextFloat", "", Shape::Unit),
    ("nextGaussian", "", Shape::Between),
    ("Next", "rand", Shape::Between),
    ("NextInt64", "", Shape::Between),
    ("NextDouble", "", Shape::Unit),
    ("rand", "", Shape::Between),
    ("mt_rand", "", Shape::Between),
    ("random_int", "", Shape::Between),
    ("lcg_value", "", Shape::Unit),
    ("random_number", "", Shape::Between),
    ("randomInt", "", Shape::Between),
    ("u64", "fastrand", Shape::Between),
    ("u32", "fastrand", Shape::Between),
    ("f64", "fastrand", Shape::Unit),
];

impl Values<'_, '_> {
    /// The interval of a random call; `None` if it is none.
    pub(super) fn chance(
        &self,
        id: crate::tree::Id,
        path: &[String],
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let (last, before) = path.split_last()?;
        let before = before.join(".").to_ascii_lowercase();
        let row = CALLS
            .iter()
            .find(|row| row.0 == last && (row.1.is_empty() || before.contains(row.1)))?;
        let mut value = self.unknown(id);
        value.random = true;
        let data = match row.2 {
            Shape::Unit => between(0.0, 1.0, false),
            Shape::Between => self.range(args, env),
        };
        if let Some(data) = data {
            value.data = data;
        }
        Some(value)
    }

    fn range(&self, args: &[Arg<'_>], env: Environment<'_>) -> Option<Data> {
        let bound = |id| bounds(&self.value(id, env).data);
        let (low, high) = match args {
            [] => return between(0.0, 1.0, false),
            [one] => match self.tree.kind(one.value) {
                Kind::Range { from, to, .. } => {
                    let low = from.map_or(Some((0.0, 0.0, false)), bound);
                    (low, (*to).and_then(bound))
                }
                _ => (Some((0.0, 0.0, false)), bound(one.value)),
            },
            [low, high, ..] => (bound(low.value), bound(high.value)),
        };
        let (low, high) = (low?, high?);
        between(low.0.min(high.0), low.1.max(high.1), low.2 || high.2)
    }
}
