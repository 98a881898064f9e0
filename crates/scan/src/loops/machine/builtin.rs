//! What every language has: minima, powers, chance, clocks, durations.

use super::super::called::Called;
use super::super::value::{Num, Value};
use super::expression::power;
use super::{Exit, Machine};
use crate::language::Language;
use crate::tree::{Arg, Id, Kind};

impl<'s> Machine<'_, '_, 's> {
    /// A call of something that is known everywhere; `None` if it is not.
    pub(super) fn builtin(
        &mut self,
        called: &Called<'s>,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        if self.is_match_macro(callee) {
            return self.match_macro(args);
        }
        let Called { path, lower, .. } = called;
        let receiver = path.len().checked_sub(2).map_or("", |at| path[at]);
        if let Some(value) = clock(self.file.language, receiver, lower, args.len()) {
            for arg in args {
                self.eval(arg.value)?;
            }
            return Ok(Some(value));
        }
        if let Some(value) = self.duration(lower, receiver, args)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.chance(lower, receiver, args)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.mathematics(lower, callee, args)? {
            return Ok(Some(value));
        }
        match (lower.as_str(), args) {
            (
                "fill" | "array" | "list" | "listof" | "arrayof" | "of" | "aslist" | "vec!"
                | "intarrayof",
                _,
            ) if !args.is_empty() => {
                let mut all = Vec::new();
                for arg in args.iter().take(256) {
                    all.push(self.eval(arg.value)?);
                }
                Ok(Some(Value::List(all.into())))
            }
            ("len" | "count" | "size" | "length", [only]) => {
                let value = self.eval(only.value)?;
                Ok(match value {
                    Value::List(all) => Some(Value::number(all.len() as f64)),
                    Value::Outcome(..) => Some(value),
                    Value::Null if lower == "len" => Some(Value::number(0.0)),
                    _ => None,
                })
            }
            _ => self.kept(path, lower, callee, args),
        }
    }

    /// Methods and fields of numbers and durations.
    pub(super) fn number_member(&self, num: Num, name: &str) -> Option<Value> {
        let plain = |scale: f64| {
            let mut scaled = num.map(|value| value / scale);
            scaled.duration = false;
            Some(Value::Num(scaled))
        };
        let duration = |scale: f64| {
            let mut scaled = num.map(|value| value * scale);
            scaled.duration = true;
            Some(Value::Num(scaled))
        };
        if num.duration {
            return match name {
                "TotalSeconds" | "inWholeSeconds" | "Seconds" => plain(1000.0),
                "TotalMilliseconds" | "inWholeMilliseconds" | "Milliseconds" => plain(1.0),
                _ => None,
            };
        }
        match name {
            "seconds" | "second" => duration(1000.0),
            "milliseconds" | "millis" => duration(1.0),
            "minutes" | "minute" => duration(60_000.0),
            "hours" | "hour" => duration(3_600_000.0),
            _ => None,
        }
    }

    /// Constants that are fields: `time.Second`, `DateTime.UtcNow`, `sw.Elapsed`.
    pub(super) fn constant(&self, id: Id) -> Option<Value> {
        let Kind::Field { of, name } = self.tree.kind(id) else { return None };
        let of = self.tree.last_name(*of).unwrap_or_default();
        let ms = match (of, *name) {
            ("time", "Nanosecond") => 1e-6,
            ("time", "Microsecond") => 1e-3,
            ("time", "Millisecond") => 1.0,
            ("time", "Second") => 1000.0,
            ("time", "Minute") => 60_000.0,
            ("time", "Hour") => 3_600_000.0,
            ("Duration" | "TimeSpan", "ZERO" | "Zero") => 0.0,
            ("DateTime" | "DateTimeOffset", "UtcNow" | "Now") | (_, "Elapsed") => {
                return Some(Value::Num(Num { clock: true, ..Num::ms(0.0) }));
            }
            (_, "ElapsedMilliseconds") => {
                return Some(Value::Num(Num { clock: true, ..Num::exact(0.0) }));
            }
            _ => return None,
        };
        Some(Value::Num(Num::ms(ms)))
    }

    fn duration(
        &mut self,
        lower: &str,
        receiver: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        if lower == "timedelta" {
            let mut total = Num::ms(0.0);
            for arg in args {
                let scale = match arg.name {
                    Some("seconds") => 1000.0,
                    Some("milliseconds") => 1.0,
                    Some("minutes") => 60_000.0,
                    Some("hours") => 3_600_000.0,
                    None | Some("days") => 86_400_000.0,
                    _ => continue,
                };
                let value = self.eval(arg.value)?;
                if let Some(num) = self.as_number(arg.value, &value) {
                    total = total.add(num.map(|value| value * scale));
                }
            }
            total.duration = true;
            return Ok(Some(Value::Num(total)));
        }
        let [arg, ..] = args else { return Ok(None) };
        let typed =
            matches!(receiver, "Duration" | "TimeSpan" | "time" | "ChronoDuration" | "TimeDelta");
        let scale = match lower {
            "ofseconds" | "from_secs" | "fromseconds" | "from_secs_f64" | "from_secs_f32"
            | "seconds"
                if typed =>
            {
                1000.0
            }
            "ofmillis" | "from_millis" | "frommilliseconds" | "milliseconds" if typed => 1.0,
            "ofminutes" | "from_mins" | "fromminutes" | "minutes" if typed => 60_000.0,
            "from_micros" | "frommicroseconds" if typed => 1e-3,
            "from_nanos" | "ofnanos" if typed => 1e-6,
            "tomillis" if receiver == "SECONDS" => {
                let value = self.eval(arg.value)?;
                return Ok(self
                    .as_number(arg.value, &value)
                    .map(|num| Value::Num(num.map(|value| value * 1000.0))));
            }
            // A number of nanoseconds, or the count that a unit is multiplied with.
            "duration" if receiver == "time" => {
                let value = self.eval(arg.value)?;
                return Ok(self.as_number(arg.value, &value).map(Value::Num));
            }
            _ => return Ok(None),
        };
        let value = self.eval(arg.value)?;
        Ok(self.as_number(arg.value, &value).map(|num| {
            let mut scaled = num.map(|value| value * scale);
            scaled.duration = true;
            Value::Num(scaled)
        }))
    }

    fn chance(
        &mut self,
        lower: &str,
        receiver: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let unit = || Num::between(Num::exact(0.0), Num::exact(1.0));
        let source = receiver.to_ascii_lowercase();
        let random = [
            "rand", "rng", "math", "shared", "jitter", "rnd", "current", "r", "fastrand",
            "secrets", "",
        ]
        .iter()
        .any(|known| source == *known)
            || source.contains("rand");
        if !random {
            return Ok(None);
        }
        let whole = matches!(
            lower,
            "randint"
                | "uniform"
                | "randrange"
                | "next"
                | "nextint"
                | "nextlong"
                | "int63n"
                | "intn"
                | "int31n"
                | "int64n"
                | "gen_range"
                | "random_range"
                | "randomint"
                | "getrandom"
                | "mt_rand"
                | "random_int"
                | "rand"
                | "randombelow"
                | "n"
                | "nextfloat"
                | "u64"
                | "u32"
                | "uint64n"
                | "uint32n"
                | "int32n"
                | "nextdouble"
                | "random"
                | "float64"
                | "float32"
                | "nextsingle"
                | "gen"
                | "f64"
                | "lcg_value"
                | "random_number"
                | "int63"
                | "int"
                | "int31"
        );
        // `float64(base)` only converts.
        let converts = matches!(lower, "float64" | "float32" | "f64" | "u64" | "u32" | "gen");
        if !whole
            || (matches!(lower, "n" | "int") && source != "rand")
            || source.is_empty() && converts && !args.is_empty()
        {
            return Ok(None);
        }
        if matches!(lower, "next")
            && !source.contains("rand")
            && source != "shared"
            && source != "rnd"
            && source != "rng"
        {
            return Ok(None);
        }
        if let [only] = args
            && let Kind::Range { from, to, .. } = self.tree.kind(self.range_of(only.value))
        {
            let low = match from {
                Some(from) => {
                    let value = self.eval(*from)?;
                    self.as_number(*from, &value).unwrap_or(Num::exact(0.0))
                }
                None => Num::exact(0.0),
            };
            let high = match to {
                Some(to) => {
                    let value = self.eval(*to)?;
                    self.as_number(*to, &value).unwrap_or(low)
                }
                None => low,
            };
            return Ok(Some(Value::Num(Num::between(low, high))));
        }
        let mut limits = Vec::new();
        for arg in args.iter().take(2) {
            let value = self.eval(arg.value)?;
            match self.as_number(arg.value, &value) {
                Some(num) => limits.push(num),
                None => return Ok(Some(Value::Num(unit()))),
            }
        }
        Ok(Some(Value::Num(match limits[..] {
            [] => unit(),
            [high] => Num::between(Num { random: false, ..Num::exact(0.0) }, high),
            [low, high, ..] => Num::between(low, high),
        })))
    }

    fn mathematics(
        &mut self,
        lower: &str,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let tree = self.tree;
        let of = match tree.kind(callee) {
            Kind::Field { of, .. } => Some(*of),
            _ => None,
        };
        let module = of.and_then(|of| tree.last_name(of)).is_some_and(|name| {
            matches!(
                name,
                "math"
                    | "Math"
                    | "cmp"
                    | "np"
                    | "std"
                    | "time"
                    | "Number"
                    | "Duration"
                    | "u64"
                    | "u32"
                    | "Long"
                    | "Integer"
                    | "Double"
                    | "Convert"
                    | "f64"
                    | "TimeSpan"
            )
        });
        let two = matches!(
            lower,
            "min"
                | "max"
                | "pow"
                | "powi"
                | "powf"
                | "coerceatmost"
                | "coerceatleast"
                | "mul"
                | "saturating_mul"
                | "checked_mul"
                | "mul_f64"
                | "saturating_pow"
                | "checked_pow"
                | "multipliedby"
                | "plus"
                | "add"
                | "minus"
                | "sub"
                | "saturating_add"
                | "saturating_sub"
                | "wrapping_add"
                | "minduration"
                | "maxduration"
                | "minof"
                | "maxof"
                | "times"
                | "div"
                | "div_ceil"
                | "isafter"
                | "isbefore"
                | "after"
                | "before"
                | "plusmillis"
                | "plusseconds"
                | "mulf"
                | "addmilliseconds"
                | "addseconds"
                | "minint"
                | "clamp"
                | "coercein"
                | "multiply"
                | "compareto"
                | "shl"
                | "checked_shl"
                | "exp2"
        );
        let one = matches!(
            lower,
            "int"
                | "float"
                | "round"
                | "floor"
                | "ceil"
                | "abs"
                | "number"
                | "parseint"
                | "parsefloat"
                | "tounsignedlong"
                | "tolongexact"
                | "tointexact"
                | "int64"
                | "uint"
                | "float64"
                | "uint64"
                | "uint32"
                | "int32"
                | "long"
                | "double"
                | "trunc"
                | "tolong"
                | "toint"
                | "todouble"
                | "as_secs"
                | "as_millis"
                | "as_secs_f64"
                | "tomillis"
                | "total_seconds"
                | "toseconds"
                | "milliseconds"
                | "seconds"
                | "to_i"
                | "to_f"
                | "zero?"
                | "abs_diff"
                | "into"
                | "unwrap"
                | "unwrap_or_default"
                | "from"
                | "clone"
                | "u64"
                | "getseconds"
                | "float32"
                | "toint32"
                | "nanoseconds"
                | "inwholemilliseconds"
                | "positive?"
                | "unixnano"
                | "gettime"
                | "valueof"
                | "succ"
                | "todoubleorull"
                | "tofixed"
                | "exp"
                | "isnegative"
                | "iszero"
                | "unix"
                | "decimal"
        );
        if !two && !one {
            return Ok(None);
        }
        let mut nums: Vec<(Id, Num)> = Vec::new();
        if let (Some(of), false) = (of, module) {
            let value = self.eval(of)?;
            let known =
                value.num().is_some() || (two && value == Value::Unknown && !args.is_empty());
            if !known {
                return Ok(None);
            }
            match self.as_number(of, &value) {
                Some(num) => nums.push((of, num)),
                None => return Ok(None),
            }
        }
        for arg in args.iter().take(3) {
            let value = self.eval(arg.value)?;
            if value.is_outcome() {
                return Ok(Some(value));
            }
            // One list: the smallest of it.
            match self.as_number(arg.value, &value) {
                Some(num) => nums.push((arg.value, num)),
                None => return Ok(None),
            }
        }
        Ok(match nums[..] {
            [(_, x)] if one => self.of_one(lower, x),
            [a, b] if two => self.of_two(lower, a, b),
            [x, low, high] if matches!(lower, "clamp" | "coercein") => {
                Some(Value::Num(x.1.max(low.1).min(high.1, Some(high.1.high))))
            }
            [(_, x), (_, y), _] if lower == "pow" => Some(Value::Num(power(x, y))),
            _ => None,
        })
    }

    fn of_one(&self, lower: &str, x: Num) -> Option<Value> {
        let plain = |scale: f64| Some(Value::Num(Num { duration: false, ..x.map(|v| v / scale) }));
        if x.duration {
            match lower {
                "as_secs" | "as_secs_f64" | "total_seconds" | "toseconds" | "seconds"
                | "getseconds" => {
                    return plain(1000.0);
                }
                "as_millis" | "tomillis" | "milliseconds" | "inwholemilliseconds" => {
                    return plain(1.0);
                }
                "nanoseconds" => return plain(1e-6),
                _ => {}
            }
        }
        // In Go a converted duration is a number of nanoseconds.
        let go = self.file.language == Language::Go;
        match lower {
            "zero?" | "iszero" => Some(Value::Bool(x.low == 0.0)),
            "positive?" => Some(Value::Bool(x.low > 0.0)),
            "isnegative" => Some(Value::Bool(x.low < 0.0)),
            "succ" => Some(Value::Num(x.add(Num::exact(1.0)))),
            "exp" => Some(Value::Num(x.map(f64::exp))),
            "int" | "floor" | "parseint" | "to_i" | "trunc" if !x.random && !x.duration => {
                Some(Value::Num(x.map(f64::floor)))
            }
            "round" if !x.random && !x.duration => Some(Value::Num(x.map(f64::round))),
            "ceil" if !x.random && !x.duration => Some(Value::Num(x.map(f64::ceil))),
            "seconds" | "milliseconds" if !go => None,
            _ => Some(Value::Num(x)),
        }
    }

    fn of_two(&mut self, lower: &str, (a, x): (Id, Num), (b, y): (Id, Num)) -> Option<Value> {
        Some(Value::Num(match lower {
            "min" | "coerceatmost" | "minduration" | "minof" | "minint" => {
                let cap = match (self.is_fixed(a), self.is_fixed(b)) {
                    (true, false) => Some(x),
                    (false, true) => Some(y),
                    _ => None,
                };
                let open = |num: Num| {
                    let symbol = self.trace.symbols.get(usize::from(num.symbol).wrapping_sub(1));
                    symbol.is_some_and(|symbol| symbol.usual.is_none())
                };
                // A limit that is not known is not reached.
                match (self.is_fixed(a), self.is_fixed(b)) {
                    (true, false) if open(x) => return Some(Value::Num(y)),
                    (false, true) if open(y) => return Some(Value::Num(x)),
                    _ => {}
                }
                let other = if self.is_fixed(a) { y } else { x };
                let cap = cap.map(|cap| if !cap.open { cap.high } else { f64::INFINITY });
                let mut least = x.min(y, cap);
                // The limit is not part of what is not known.
                least.open = other.open;
                if other.symbol == 0 {
                    least.symbol = 0;
                }
                least
            }
            "max" | "coerceatleast" | "maxduration" | "maxof" => x.max(y),
            "pow" | "powi" | "powf" | "saturating_pow" | "checked_pow" => power(x, y),
            "mul" | "saturating_mul" | "checked_mul" | "mul_f64" | "multipliedby" | "times"
            | "mulf" | "multiply" => x.multiply(y),
            "plus" | "add" | "saturating_add" | "wrapping_add" | "plusmillis"
            | "addmilliseconds" => x.add(y),
            "plusseconds" | "addseconds" => x.add(y.map(|value| value * 1000.0)),
            "minus" | "sub" | "saturating_sub" => x.subtract(y),
            "div" => x.divide(y),
            "div_ceil" => x.divide(y).map(f64::ceil),
            "shl" | "checked_shl" => x.with(y, |a, b| a * 2_f64.powf(b.clamp(-64.0, 512.0))),
            "isafter" | "after" | "isbefore" | "before" | "compareto" => {
                if !(x.clock || y.clock) {
                    return None;
                }
                self.trace.clock = Some(self.trace.clock.flatten().or({
                    let gap = x.mid().abs().max(y.mid().abs());
                    (gap > 0.0 && x.symbol == 0 && y.symbol == 0).then_some(gap)
                }));
                let later = matches!(lower, "isafter" | "after");
                return Some(Value::Bool(if later {
                    x.mid() > y.mid()
                } else {
                    x.mid() <= y.mid()
                }));
            }
            _ => return None,
        }))
    }
}

/// What time it is: it stands still at 0.
fn clock(language: Language, receiver: &str, lower: &str, args: usize) -> Option<Value> {
    let plain = Some(Value::Num(Num { clock: true, ..Num::exact(0.0) }));
    let typed = Some(Value::Num(Num { clock: true, ..Num::ms(0.0) }));
    match (language, lower) {
        (
            Language::Python,
            "time" | "monotonic" | "perf_counter" | "now" | "utcnow" | "process_time",
        ) => {
            if lower == "time" && !matches!(receiver, "time" | "" | "loop") {
                return None;
            }
            if matches!(lower, "now" | "utcnow") { typed } else { plain }
        }
        (Language::Ruby, "now" | "clock_gettime") => plain,
        (Language::Php, "time" | "microtime") => plain,
        (Language::Go, "now" | "since" | "until")
            if matches!(receiver, "time" | "clock") || lower == "now" =>
        {
            typed
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "now" | "gettime")
            if args == 0 =>
        {
            plain
        }
        (Language::Java | Language::Kotlin, "currenttimemillis" | "nanotime") => plain,
        (Language::Java | Language::Kotlin | Language::Rust, "now") if args == 0 => typed,
        (Language::Rust, "elapsed") => typed,
        (Language::Kotlin, "elapsednow" | "marknow") => typed,
        _ => None,
    }
}
