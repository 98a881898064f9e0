//! Units of time.

/// A unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    #[default]
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    Min,
    /// Hours.
    H,
    /// Days.
    D,
}

/// The words of all languages for a unit, in lower case and singular.
const WORDS: &[(&str, Unit)] = &[
    ("nanosecond", Unit::Ns),
    ("nano", Unit::Ns),
    ("ns", Unit::Ns),
    ("microsecond", Unit::Us),
    ("micro", Unit::Us),
    ("us", Unit::Us),
    ("µs", Unit::Us),
    ("usec", Unit::Us),
    ("millisecond", Unit::Ms),
    ("milli", Unit::Ms),
    ("msec", Unit::Ms),
    ("ms", Unit::Ms),
    ("second", Unit::S),
    ("sec", Unit::S),
    ("s", Unit::S),
    ("minute", Unit::Min),
    ("min", Unit::Min),
    ("m", Unit::Min),
    ("hour", Unit::H),
    ("h", Unit::H),
    ("day", Unit::D),
    ("d", Unit::D),
    ("week", Unit::D),
];

impl Unit {
    /// Milliseconds in one of it.
    #[must_use]
    pub fn millis(self) -> f64 {
        match self {
            Self::Ns => 1e-6,
            Self::Us => 1e-3,
            Self::Ms => 1.0,
            Self::S => 1e3,
            Self::Min => 60e3,
            Self::H => 3600e3,
            Self::D => 86_400e3,
        }
    }

    /// Of a word in any case, singular or plural.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        let find = |word: &str| WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
        find(&lower).or_else(|| lower.strip_suffix('s').and_then(find))
    }
}

/// A number as text. `nan` is a word that reads as a number and is none; `inf` is one.
#[must_use]
pub(crate) fn number_text(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| !number.is_nan())
}

/// A duration as text in milliseconds: `5s`, `1m30s`, `100 ms`, `PT2.5S`, `00:00:05`; digits alone
/// are of the unit `bare`.
#[must_use]
pub fn duration_text(text: &str, bare: Unit) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() || text.len() > 40 {
        return None;
    }
    if let Some(number) = number_text(text) {
        return Some(number * bare.millis());
    }
    if text.contains(':') {
        let parts: Option<Vec<f64>> = text.split(':').map(number_text).collect();
        return match parts?[..] {
            [h, m, s] => Some(((h * 60.0 + m) * 60.0 + s) * 1e3),
            _ => None,
        };
    }
    let iso = text.starts_with('P') && text.len() > 1;
    let body = if iso { text.trim_start_matches('P') } else { text };
    let (mut total, mut number, mut word, mut any) = (0.0, String::new(), String::new(), false);
    // A space at the end closes the last pair.
    for c in body.chars().chain(std::iter::once('0')) {
        let digit = c.is_ascii_digit() || c == '.';
        if digit && !word.is_empty() {
            let unit = Unit::of_word(&word)?;
            total += number.parse::<f64>().ok()? * unit.millis();
            any = true;
            number.clear();
            word.clear();
        }
        match c {
            _ if digit => number.push(c),
            'T' if iso && number.is_empty() => {}
            ' ' | '_' => {}
            _ => word.push(c),
        }
    }
    (any && word.is_empty() && number == "0").then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_text() {
        let cases = [
            ("5s", Some(5000.0)),
            ("1m30s", Some(90_000.0)),
            ("100 ms", Some(100.0)),
            ("PT2.5S", Some(2500.0)),
            ("PT1M", Some(60_000.0)),
            ("00:00:05", Some(5000.0)),
            ("250", Some(250.0)),
            ("2 seconds", Some(2000.0)),
            ("fast", None),
            ("nan", None),
            ("nan:1:2", None),
            ("5 apples", None),
            ("", None),
        ];
        for (text, ms) in cases {
            assert_eq!(duration_text(text, Unit::Ms), ms, "{text}");
        }
        assert_eq!(duration_text("3", Unit::S), Some(3000.0));
    }
}
