//! Calls whose value is known: durations, conversions, the environment, small functions of the
//! same file.

use super::arithmetic::{binary, extreme};
use super::eval::{Environment, Values};
use super::units::{Unit, number_text};
use super::{Data, Trust, Value};
use crate::tree::{Arg, Id, Kind, Op};

/// Names that make a duration of a number, in any spelling, with their unit.
const DURATIONS: &[(&str, Unit)] = &[
    ("from_secs", Unit::S),
    ("from_secs_f64", Unit::S),
    ("from_secs_f32", Unit::S),
    ("from_millis", Unit::Ms),
    ("from_micros", Unit::Us),
    ("from_nanos", Unit::Ns),
    ("from_mins", Unit::Min),
    ("from_hours", Unit::H),
    ("from_days", Unit::D),
    ("ofNanos", Unit::Ns),
    ("ofMillis", Unit::Ms),
    ("ofSeconds", Unit::S),
    ("ofMinutes", Unit::Min),
    ("ofHours", Unit::H),
    ("ofDays", Unit::D),
    ("FromTicks", Unit::Ns),
    ("FromMicroseconds", Unit::Us),
    ("FromMilliseconds", Unit::Ms),
    ("FromSeconds", Unit::S),
    ("FromMinutes", Unit::Min),
    ("FromHours", Unit::H),
    ("FromDays", Unit::D),
    ("fromMillis", Unit::Ms),
    ("fromSeconds", Unit::S),
];

/// Names after a duration that give a number of a unit.
const CONVERSIONS: &[(&str, Unit)] = &[
    ("as_secs", Unit::S),
    ("as_secs_f64", Unit::S),
    ("as_secs_f32", Unit::S),
    ("as_millis", Unit::Ms),
    ("as_micros", Unit::Us),
    ("as_nanos", Unit::Ns),
    ("total_seconds", Unit::S),
    ("toNanos", Unit::Ns),
    ("toMillis", Unit::Ms),
    ("toSeconds", Unit::S),
    ("toMinutes", Unit::Min),
    ("getSeconds", Unit::S),
    ("inWholeMilliseconds", Unit::Ms),
    ("inWholeSeconds", Unit::S),
    ("Milliseconds", Unit::Ms),
    ("Seconds", Unit::S),
    ("Nanoseconds", Unit::Ns),
    ("TotalMilliseconds", Unit::Ms),
    ("TotalSeconds", Unit::S),
];

/// Calls that give back their only argument or what they are called on.
const SAME: &[&str] = &[
    "int",
    "float",
    "Number",
    "parseInt",
    "parseFloat",
    "valueOf",
    "parseLong",
    "parseDouble",
    "Atoi",
    "ParseInt",
    "ParseUint",
    "ParseFloat",
    "Parse",
    "ToInt32",
    "ToInt64",
    "ToDouble",
    "round",
    "floor",
    "ceil",
    "trunc",
    "Round",
    "Floor",
    "Ceil",
    "Ceiling",
    "abs",
    "Abs",
    "int64",
    "int32",
    "uint64",
    "uint32",
    "uint",
    "float64",
    "long",
    "double",
    "Duration",
    "Int",
    "Integer",
    "Float",
    "to_i",
    "to_f",
    "toInt",
    "toLong",
    "toDouble",
    "intValue",
    "longValue",
    "parse",
    "unwrap",
    "expect",
    "ok",
    "into",
    "clone",
    "to_owned",
    "to_string",
    "Some",
    "Ok",
    "intval",
    "floatval",
    "Decimal",
    "str",
    "String",
    "toString",
    "freeze",
    "copied",
    "as_ref",
    "unref",
    "ofNullable",
    "Optional",
    "cast",
    "from",
    "try_from",
    "usize",
    "u32",
    "u64",
    "f64",
    "defineConfig",
    "FromResult",
    "new",
];

/// The names of calls that give a default for something unknown before the dot.
const DEFAULTS: &[&str] =
    &["unwrap_or", "unwrap_or_else", "orElse", "orElseGet", "getOrElse", "GetValueOrDefault"];

/// Longer lists are no settings.
const MOST_LISTED: usize = 64;

/// Whether a call makes a list of its arguments: `Arrays.asList(1, 2)`, `List.of(1, 2)`.
fn lists(last: &str, path: &[String]) -> bool {
    match last {
        "asList" | "listOf" | "longArrayOf" | "intArrayOf" | "arrayOf" | "doubleArrayOf" => true,
        "of" => path.iter().rev().nth(1).is_some_and(|owner| {
            matches!(owner.as_str(), "List" | "ImmutableList" | "LongStream" | "IntStream")
        }),
        _ => false,
    }
}

impl Values<'_, '_> {
    pub(super) fn call(
        &self,
        id: Id,
        callee: Id,
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let path = self.call_path(callee);
        let last = path.last()?.as_str();
        let first = args.first().filter(|arg| !arg.spread).map(|arg| arg.value);
        let on = match self.tree.kind(callee) {
            Kind::Field { of, .. } => Some(*of),
            _ => None,
        };
        if let Some(value) = self.chance(id, &path, args, env) {
            return Some(value);
        }
        if let Some((_, unit)) = DURATIONS.iter().find(|row| row.0 == last) {
            return self.scaled(first?, unit.millis(), env);
        }
        if let (Some((_, unit)), Some(on)) = (CONVERSIONS.iter().find(|row| row.0 == last), on) {
            return self.converted(on, args, *unit, env);
        }
        match (last, args.len()) {
            ("timedelta" | "relativedelta", _) => return self.timedelta(id, args, env),
            ("TimeSpan", 3..=5) => return self.time_span(id, args, env),
            ("of", 2) if path.iter().any(|part| part == "Duration") => {
                let unit = self.value(args[1].value, env);
                return binary(Op::Multiply, &self.value(first?, env), &unit);
            }
            (
                "min" | "Min" | "minOf" | "coerceAtMost" | "max" | "Max" | "maxOf"
                | "coerceAtLeast",
                _,
            ) => {
                return self.extreme_of(last, on, args, env);
            }
            ("pow" | "Pow" | "powi" | "powf" | "checked_pow" | "saturating_pow", 1..=3) => {
                let (base, exponent) = match (args, on) {
                    ([exponent], Some(on)) => (on, exponent.value),
                    ([base, exponent, ..], _) => (base.value, exponent.value),
                    _ => return None,
                };
                let (base, exponent) = (self.value(base, env), self.value(exponent, env));
                return binary(Op::Power, &base, &exponent);
            }
            ("exp2", 1) => {
                let two = self.exact(id, Data::Number(2.0));
                return binary(Op::Power, &two, &self.value(first?, env));
            }
            (
                "saturating_mul" | "mul_f64" | "mul_f32" | "multipliedBy" | "times" | "mul"
                | "checked_mul",
                1,
            ) => {
                return binary(Op::Multiply, &self.value(on?, env), &self.value(first?, env));
            }
            ("saturating_add" | "plus" | "Add" | "checked_add", 1) => {
                return binary(Op::Add, &self.value(on?, env), &self.value(first?, env));
            }
            ("saturating_sub" | "checked_sub", 1) => {
                return binary(Op::Subtract, &self.value(on?, env), &self.value(first?, env));
            }
            ("ms", 1) if path.len() == 1 => {
                let mut value = self.value(first?, env);
                let ms = value.millis(Unit::Ms)?;
                value.data = Data::Number(ms);
                return Some(value);
            }
            ("ParseDuration", 1) => {
                let mut value = self.value(first?, env);
                value.data = Data::Duration(value.millis(Unit::Ns)?);
                return Some(value);
            }
            _ => {}
        }
        if DEFAULTS.contains(&last) {
            let value = self.value(on?, env);
            if value.is_known() && value.data != Data::Null {
                return Some(value);
            }
            let trust = self.source_trust(on?);
            return Some(self.body_or_value(first?, env).at_most(trust));
        }
        if let Some(value) = self.environment_call(&path, args, env) {
            return Some(value);
        }
        if matches!(last, "get" | "fetch" | "getOrDefault" | "dig") {
            return self.looked_up(on?, args, env);
        }
        if let Some(value) = self.own_call(id, &path, args, env) {
            return Some(value);
        }
        // `Field(3)`, `field(default=3)`, `field(default_factory=lambda: [1, 2])`: what an attribute
        // is if nobody says otherwise.
        if matches!(last, "Field" | "field" | "attrib" | "ib") {
            let named = |name: &str| args.iter().find(|arg| arg.name == Some(name));
            let given = named("default").or_else(|| named("default_factory"));
            let given = given.or_else(|| args.first().filter(|arg| arg.name.is_none()))?;
            return Some(self.body_or_value(given.value, env).at_most(Trust::Usual));
        }
        if let Some(default) = self.default_of_schema(last, &path, args, env) {
            return Some(default);
        }
        if lists(last, &path) {
            let all = args.iter().take(MOST_LISTED).map(|arg| self.value(arg.value, env)).collect();
            return Some(self.exact(id, Data::List(all)));
        }
        // `config.getMaxRetries()`: what the getter of that name gives.
        if let (Some(_), [], Some(value)) = (on, args, self.getter_elsewhere(last)) {
            return Some(value);
        }
        if SAME.contains(&last) {
            let mut value = self.value(first.or(on)?, env);
            let keeps = matches!(last, "str" | "String" | "toString" | "to_string" | "to_owned");
            if let (Data::Text(text), false) = (&value.data, keeps)
                && let Some(number) = number_text(text)
            {
                value.data = Data::Number(number);
            }
            return Some(value);
        }
        None
    }

    /// `z.coerce.number().default(3)`, `Joi.number().default(3)`: what a setting is if it is not
    /// given.
    fn default_of_schema(
        &self,
        last: &str,
        path: &[String],
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let [only] = args else { return None };
        let typed = |part: &String| matches!(part.as_str(), "number" | "int" | "integer" | "num");
        let schema = last == "default" && path.iter().any(typed);
        schema.then(|| self.value(only.value, env).at_most(Trust::Usual))
    }

    /// The parts of what is called, followed to its import; a call in it is passed through.
    pub(super) fn call_path(&self, callee: Id) -> Vec<String> {
        if let Some(found) = self.imports.qualify(self.tree, callee) {
            let module = found.module.split(['.', '/', ':']).filter(|part| !part.is_empty());
            return module
                .map(str::to_owned)
                .chain(found.path.iter().map(|p| (*p).to_owned()))
                .collect();
        }
        let (mut parts, mut at) = (Vec::new(), callee);
        loop {
            match self.tree.kind(at) {
                Kind::Name(name) => {
                    parts.push((*name).to_owned());
                    break;
                }
                Kind::Field { of, name } => {
                    parts.push((*name).to_owned());
                    at = *of;
                }
                Kind::Call { callee, .. } => at = *callee,
                Kind::Index { of, .. } => at = *of,
                Kind::Await(of) | Kind::Propagate(of) => at = *of,
                _ => break,
            }
        }
        parts.reverse();
        parts
    }

    fn scaled(&self, id: Id, by: f64, env: Environment<'_>) -> Option<Value> {
        let mut value = self.value(id, env);
        value.data = match value.data {
            Data::Interval { low, high, duration: false } => {
                Data::Interval { low: low * by, high: high * by, duration: true }
            }
            Data::Duration(ms) => Data::Duration(ms),
            _ => match value.number() {
                Some(number) => Data::Duration(number * by),
                None if value.random => return Some(value),
                None => return None,
            },
        };
        Some(value)
    }

    /// `d.as_secs()`, `TimeUnit.SECONDS.toMillis(5)`.
    fn converted(&self, on: Id, args: &[Arg<'_>], to: Unit, env: Environment<'_>) -> Option<Value> {
        let mut value = self.value(on, env);
        if let [amount] = args {
            value = binary(Op::Multiply, &self.value(amount.value, env), &value)?;
        }
        value.data = match value.data {
            Data::Duration(ms) => Data::Number(ms / to.millis()),
            Data::Interval { low, high, duration: true } => {
                Data::Interval { low: low / to.millis(), high: high / to.millis(), duration: false }
            }
            data => data,
        };
        Some(value)
    }

    fn timedelta(&self, id: Id, args: &[Arg<'_>], env: Environment<'_>) -> Option<Value> {
        let mut total = self.exact(id, Data::Duration(0.0));
        for (at, arg) in args.iter().enumerate() {
            // Positions: days, seconds, microseconds.
            let unit = match arg.name {
                Some(name) => {
                    Unit::of_word(name)?.millis() * if name == "weeks" { 7.0 } else { 1.0 }
                }
                None => [Unit::D, Unit::S, Unit::Us, Unit::Ms].get(at)?.millis(),
            };
            total = binary(Op::Add, &self.scaled(arg.value, unit, env)?, &total)?;
        }
        Some(total)
    }

    fn time_span(&self, id: Id, args: &[Arg<'_>], env: Environment<'_>) -> Option<Value> {
        let units: &[Unit] = match args.len() {
            3 => &[Unit::H, Unit::Min, Unit::S],
            _ => &[Unit::D, Unit::H, Unit::Min, Unit::S, Unit::Ms],
        };
        let mut total = self.exact(id, Data::Duration(0.0));
        for (arg, unit) in args.iter().zip(units) {
            total = binary(Op::Add, &self.scaled(arg.value, unit.millis(), env)?, &total)?;
        }
        Some(total)
    }

    fn extreme_of(
        &self,
        name: &str,
        on: Option<Id>,
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let smallest = matches!(name, "min" | "Min" | "minOf" | "coerceAtMost");
        let mut all: Vec<Value> = args
            .iter()
            .filter(|arg| arg.name.is_none())
            .map(|arg| self.value(arg.value, env))
            .collect();
        if let [only] = &all[..] {
            match (&only.data, on) {
                // `min([a, b])`, `[a, b].min`
                (Data::List(inner), _) => all = inner.clone(),
                (_, Some(on)) => all.push(self.value(on, env)),
                _ => {}
            }
        } else if let (true, Some(on)) = (all.is_empty(), on)
            && let Data::List(inner) = self.value(on, env).data
        {
            all = inner;
        }
        extreme(&all, smallest)
    }

    /// `settings.get("x", 3)`; without arguments what a holder holds.
    fn looked_up(&self, on: Id, args: &[Arg<'_>], env: Environment<'_>) -> Option<Value> {
        let owner = self.value(on, env);
        let Some(key) = args.first() else { return Some(owner) };
        if let Data::Text(key) = self.value(key.value, env).data
            && let Some(value) = owner.entry(&key)
        {
            return Some(value.clone().at_most(owner.trust));
        }
        let default = self.body_or_value(args.get(1)?.value, env);
        Some(if owner.is_known() { default } else { default.at_most(Trust::Usual) })
    }

    /// `os.getenv("X", 3)`, `ENV.fetch("X", 3)`, `getEnvInt("X", 3)`: a name and what it is if it
    /// is not set. Without a default it is not known.
    fn environment_call(
        &self,
        path: &[String],
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let about = |part: &String| {
            let lower = part.to_ascii_lowercase();
            lower.contains("env")
                || lower == "decouple"
                || lower.starts_with("get") && lower.ends_with("property")
                || lower == "getinteger"
                || lower == "getlong"
        };
        if !path.iter().any(about) {
            return None;
        }
        let [key, rest @ ..] = args else { return None };
        if !matches!(
            self.tree.kind(key.value),
            Kind::Text(_) | Kind::Name(_) | Kind::Field { .. } | Kind::Binary { .. }
        ) {
            return None;
        }
        let default = rest
            .iter()
            .find(|arg| arg.name == Some("default"))
            .or_else(|| rest.iter().find(|arg| arg.name.is_none()))?;
        Some(self.body_or_value(default.value, env).at_most(Trust::Environment))
    }

    /// A function of this file whose body is one value, or a class of this file
    /// whose attributes have values.
    fn own_call(
        &self,
        id: Id,
        path: &[String],
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let last = path.last()?.as_str();
        if let Some([class]) = self.bindings.classes.get(last).map(Vec::as_slice)
            && path.len() <= 2
        {
            return self.instance(id, *class, args, env);
        }
        let [function] = self.bindings.functions.get(last)?[..] else { return None };
        if path.len() > 2 {
            return None;
        }
        let Kind::Function { body, params, .. } = self.tree.kind(function) else { return None };
        let given: Vec<Value> = args.iter().take(8).map(|arg| self.value(arg.value, env)).collect();
        let inside = |name: &str| {
            let at = params.iter().position(|param| param.name == name)?;
            let named = args.iter().position(|arg| arg.name == Some(name));
            given.get(named.unwrap_or(at)).cloned()
        };
        self.guarded(function, || {
            let value = self.value(*body, &inside);
            (value.is_known() || value.random).then_some(value)
        })
    }

    /// A closure's result, or the value itself.
    pub(super) fn body_or_value(&self, id: Id, env: Environment<'_>) -> Value {
        match self.tree.kind(id) {
            Kind::Function { body, .. } => self.value(*body, env),
            _ => self.value(id, env),
        }
    }
}
