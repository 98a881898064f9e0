//! Quantities with their units, as a file writes them.

use damper_control::Nanos;

/// Why a text is not a quantity, and what was probably meant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mistake {
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
}

impl Mistake {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), suggestion: None }
    }

    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

type Result<T> = std::result::Result<T, Mistake>;

/// Nothing in a file lasts longer.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(10_000_000);
/// Nothing in a file is faster, per second.
const FASTEST: f64 = 1e9;

const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Other spellings, with the one that is right.
const SPELLINGS: [(&str, &str); 17] = [
    ("µs", "us"),
    ("μs", "us"),
    ("micros", "us"),
    ("millis", "ms"),
    ("msec", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("m", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hr", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("S", "s"),
];

/// `5ms`, `1.5s`, `3min`; a bare `0` needs no unit.
pub(crate) fn duration(text: &str) -> Result<Nanos> {
    let (number, unit) = split(text)?;
    if unit.is_empty() {
        if value(number) == 0.0 {
            return Ok(Nanos::ZERO);
        }
        return Err(Mistake::new("a duration needs a unit").suggest(format!("{number}ms")));
    }
    let Some(size) = unit_size(unit) else {
        return Err(match spelling(unit) {
            Some(right) => Mistake::new(format!("`{unit}` is not a unit of time here"))
                .suggest(format!("{number}{right}")),
            None => Mistake::new("this is not a duration"),
        });
    };
    exact(number, size)
        .filter(|t| *t <= LONGEST)
        .ok_or_else(|| Mistake::new("durations end at 10_000_000s"))
}

/// `300/s`, `10/min`, `5/ms`: per second.
pub(crate) fn rate(text: &str) -> Result<f64> {
    let (number, unit) = split(text)?;
    let per_second = |number| format!("{number}/s");
    let Some(per) = unit.strip_prefix('/') else {
        return Err(match unit.to_ascii_lowercase().as_str() {
            "" => Mistake::new("a rate needs a unit").suggest(per_second(number)),
            "rps" | "qps" | "hz" | "tps" => {
                Mistake::new(format!("`{unit}` is not written here")).suggest(per_second(number))
            }
            "rpm" => Mistake::new("`rpm` is not written here").suggest(format!("{number}/min")),
            _ => Mistake::new("this is not a rate"),
        });
    };
    let per = per.trim();
    let Some(size) = unit_size(per) else {
        return Err(match spelling(per) {
            Some(right) => Mistake::new(format!("`{per}` is not a unit of time here"))
                .suggest(format!("{number}/{right}")),
            None => Mistake::new("this is not a rate"),
        });
    };
    let rate = value(number) * (1e9 / size as f64);
    if rate > FASTEST {
        return Err(Mistake::new("rates end at 1_000_000_000/s"));
    }
    Ok(rate)
}

/// `20%`: 0.2. The percent sign is required, so that 0.2 and 20 cannot be mixed up.
pub(crate) fn share(text: &str) -> Result<f64> {
    match percent(text)? {
        share if share <= 100.0 => Ok(share / 100.0),
        _ => Err(Mistake::new("a share cannot exceed 100%")),
    }
}

/// `150%`, as it stands there.
pub(crate) fn percent(text: &str) -> Result<f64> {
    let (number, unit) = split(text)?;
    let share = value(number);
    match unit {
        "%" => Ok(share),
        "" if share <= 1.0 => Err(Mistake::new("a share needs a percent sign")
            .suggest(format!("{}%", rounded(share * 100.0)))),
        "" if share <= 100.0 => {
            Err(Mistake::new("a share needs a percent sign").suggest(format!("{number}%")))
        }
        _ => Err(Mistake::new("this is not a percentage")),
    }
}

/// `1000`, `100_000`.
pub(crate) fn count(text: &str) -> Result<u64> {
    let (number, unit) = split(text)?;
    if !unit.is_empty() {
        let known = match unit {
            "k" | "K" => Some("000"),
            "M" => Some("000_000"),
            _ => None,
        };
        let mistake = Mistake::new("this is not a whole number");
        return Err(match known {
            Some(zeros) if !number.contains('.') => mistake.suggest(format!("{number}_{zeros}")),
            _ => mistake,
        });
    }
    if number.contains('.') {
        return Err(Mistake::new("this is not a whole number"));
    }
    number.replace('_', "").parse().map_err(|_| Mistake::new("this number is too large"))
}

/// Units of bytes.
pub(crate) const SIZES: [(&str, u64); 4] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// `64KiB`, `10MiB`: bytes.
pub(crate) fn size(text: &str) -> Result<u64> {
    let (number, unit) = split(text)?;
    if unit.is_empty() {
        return Err(Mistake::new("a size needs a unit").suggest(format!("{number}B")));
    }
    let Some((_, size)) = SIZES.iter().find(|(name, _)| *name == unit) else {
        let wide = |(name, _): &&(&str, u64)| {
            let first = |text: &str| text.chars().next().map(|c| c.to_ascii_uppercase());
            first(name) == first(unit)
        };
        return Err(match SIZES.iter().find(wide) {
            Some((right, _)) => Mistake::new(format!("`{unit}` is not a unit of size here"))
                .suggest(format!("{number}{right}")),
            None => Mistake::new("this is not a size"),
        });
    };
    exact(number, *size).map(|bytes| bytes.0).ok_or_else(|| Mistake::new("this size is too large"))
}

/// `0.1`, `2`.
pub(crate) fn number(text: &str) -> Result<f64> {
    match split(text)? {
        (number, "") => Ok(value(number)),
        _ => Err(Mistake::new("this is not a number without a unit")),
    }
}

/// `3x` or `3`.
pub(crate) fn factor(text: &str) -> Result<f64> {
    match split(text)? {
        (number, "" | "x") => Ok(value(number)),
        (number, "%") => Err(Mistake::new("a factor is not a percentage")
            .suggest(format!("{}x", rounded(value(number) / 100.0)))),
        _ => Err(Mistake::new("this is not a factor")),
    }
}

/// A number and what follows it.
fn split(text: &str) -> Result<(&str, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '_' && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let whole = number.split('.').next().unwrap_or_default();
    let fraction = number.split_once('.').map(|(_, f)| f);
    let digits = |s: &str| s.starts_with(|c: char| c.is_ascii_digit()) && !s.ends_with('_');
    if !digits(whole) || fraction.is_some_and(|f| !digits(f) || f.contains('.')) {
        let negative = text.strip_prefix('-').is_some_and(|rest| split(rest).is_ok());
        return Err(Mistake::new(if negative {
            "this must not be negative"
        } else {
            "this is not a quantity"
        }));
    }
    if number.len() > 40 {
        return Err(Mistake::new("this number is too long"));
    }
    Ok((number, unit.trim_start()))
}

/// The value of what [`split`] returns.
fn value(number: &str) -> f64 {
    number.replace('_', "").parse().unwrap_or(f64::MAX)
}

/// `number` times `size`, rounded to the nearest, without the error of binary fractions.
fn exact(number: &str, size: u64) -> Option<Nanos> {
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let whole: u128 = whole.parse().ok()?;
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10u128.pow(fraction.len() as u32);
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let size = u128::from(size);
    let whole = whole.checked_mul(size)?;
    let part = (parts * size + scale / 2) / scale;
    u64::try_from(whole.checked_add(part)?).ok().map(Nanos)
}

fn unit_size(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(u, _)| *u == unit).map(|(_, size)| *size)
}

fn spelling(unit: &str) -> Option<&'static str> {
    SPELLINGS.iter().find(|(wrong, _)| *wrong == unit).map(|(_, right)| *right)
}

/// Without the noise of binary fractions: 0.07 × 100 is 7.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_exact() {
        for (text, nanos) in [
            ("0", 0),
            ("0.0", 0),
            ("10ns", 10),
            ("100us", 100_000),
            ("5 ms", 5_000_000),
            ("1.5s", 1_500_000_000),
            ("0.1s", 100_000_000),
            ("0.3us", 300),
            ("1.0000000005s", 1_000_000_001),
            ("3min", 180_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1_000ms", 1_000_000_000),
            ("10_000_000s", 10_000_000_000_000_000),
        ] {
            assert_eq!(duration(text), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_was_meant() {
        let suggestion = |m: Mistake| m.suggestion;
        for (text, meant) in [("5", "5ms"), ("5sec", "5s"), ("5m", "5min"), ("5µs", "5us")] {
            assert_eq!(duration(text).map_err(suggestion), Err(Some(meant.into())));
        }
        for (text, meant) in [("5", "5/s"), ("5rps", "5/s"), ("5/sec", "5/s"), ("5rpm", "5/min")] {
            assert_eq!(rate(text).map_err(suggestion), Err(Some(meant.into())));
        }
        for (text, meant) in [("0.07", "7%"), ("20", "20%"), ("1", "100%")] {
            assert_eq!(share(text).map_err(suggestion), Err(Some(meant.into())));
        }
        assert_eq!(count("10k").map_err(suggestion), Err(Some("10_000".into())));
        assert_eq!(factor("300%").map_err(suggestion), Err(Some("3x".into())));
        for text in ["-5ms", "", "ms", "1e3s", "1..2s", "1._5s", "_1s", "5 parsecs", "99999999999h"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_shares_counts_factors() {
        assert_eq!(rate("300/s"), Ok(300.0));
        assert_eq!(rate("93.6 / s"), Ok(93.6));
        assert_eq!(rate("5/ms"), Ok(5000.0));
        assert_eq!(rate("30/min"), Ok(0.5));
        assert_eq!(share("20%"), Ok(0.2));
        assert!(share("101%").is_err());
        assert_eq!(count("100_000"), Ok(100_000));
        assert!(count("1.5").is_err() && count("99999999999999999999").is_err());
        assert_eq!((factor("3x"), factor("0.5")), (Ok(3.0), Ok(0.5)));
    }

    proptest! {
        #[test]
        fn nothing_panics_and_nothing_is_out_of_range(text in "\\PC{0,24}|[0-9_.]{0,30}(ns|s|h|%|/s|x)?") {
            prop_assert!(duration(&text).is_ok_and(|t| t <= LONGEST) || duration(&text).is_err());
            prop_assert!(rate(&text).map_or(true, |r| (0.0..=FASTEST).contains(&r)));
            prop_assert!(share(&text).map_or(true, |r| (0.0..=1.0).contains(&r)));
            let _ = (count(&text), number(&text), factor(&text));
        }

        #[test]
        fn what_a_duration_prints_as_reads_back(ns in 0u64..10_000_000_000_000_000) {
            let back = duration(&Nanos(ns).to_string());
            let close = |t: Nanos| t.0.abs_diff(ns) as f64 <= 1e-9 * ns as f64 + 1.0;
            prop_assert!(back.is_ok_and(close), "{}", Nanos(ns));
        }
    }
}
