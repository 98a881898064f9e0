//! Numbers for people: a unit, three digits that matter, and never `NaN`.

/// What stands where nothing was measured.
pub(crate) const NONE: &str = "–";

/// No-break space between a number and its unit.
const NBSP: char = '\u{A0}';

/// The value, if it is one that can be drawn or printed as a measurement.
pub(crate) fn measured(value: f64) -> Option<f64> {
    (value.is_finite() && value.abs() < 1e15).then_some(value)
}

/// Three significant digits, without trailing zeros: `297`, `12.3`, `0.05`.
pub(crate) fn number(value: f64) -> String {
    let Some(value) = measured(value) else {
        return NONE.to_owned();
    };
    let size = value.abs();
    let text = if size == 0.0 {
        "0".to_owned()
    } else if size < 0.001 {
        return if value < 0.0 { ">−0.001".to_owned() } else { "<0.001".to_owned() };
    } else if size >= 999.5e9 {
        format!("{value:.2e}")
    } else if size >= 999.5e6 {
        format!("{}G", digits(value / 1e9))
    } else if size >= 999.5e3 {
        format!("{}M", digits(value / 1e6))
    } else if size >= 999.5 {
        format!("{}k", digits(value / 1e3))
    } else {
        digits(value)
    };
    text.replacen('-', "−", 1)
}

/// `297/s`, `12.3/s`, `1.2k/s`.
pub(crate) fn rate(value: f64) -> String {
    with_unit(number(value), "/s")
}

/// The same for a value that may be missing.
pub(crate) fn rate_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), rate)
}

/// `147–153`, for use behind a rate. Empty if it is not an interval.
pub(crate) fn interval(bounds: Option<[f64; 2]>, print: fn(f64) -> String) -> Option<String> {
    let [low, high] = ordered(bounds)?;
    Some(if low < 0.0 || high < 0.0 {
        format!("{} to {}", print(low), print(high))
    } else {
        format!("{}–{}", print(low), print(high))
    })
}

/// The bounds, if both are numbers and in order.
pub(crate) fn ordered(bounds: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let [low, high] = bounds?;
    let (low, high) = (measured(low)?, measured(high)?);
    (low <= high).then_some([low, high])
}

/// `1 s`, `12.3 s`, `850 ms`, `12 µs`, `12.1 min`.
pub(crate) fn seconds(value: f64) -> String {
    let Some(value) = measured(value) else {
        return NONE.to_owned();
    };
    let size = value.abs();
    let (scaled, unit) = if size == 0.0 {
        (0.0, "s")
    } else if size < 0.999_5e-3 {
        (value * 1e6, "µs")
    } else if size < 0.999_5 {
        (value * 1e3, "ms")
    } else if size < 600.0 {
        (value, "s")
    } else if size < 7200.0 {
        (value / 60.0, "min")
    } else {
        (value / 3600.0, "h")
    };
    format!("{}{NBSP}{unit}", number(scaled))
}

/// A duration on an axis: the unit changes below a second only, so that decades stay round.
pub(crate) fn seconds_on_axis(value: f64) -> String {
    if value >= 1.0 { with_unit(number(value), "\u{A0}s") } else { seconds(value) }
}

/// A point in time: always in seconds, so that it can be compared along an axis.
pub(crate) fn moment(value: f64) -> String {
    let Some(value) = measured(value) else {
        return NONE.to_owned();
    };
    let text = if value.fract() == 0.0 && value.abs() < 1e9 {
        trimmed(format!("{value:.0}"))
    } else {
        trimmed(format!("{value:.2}"))
    };
    format!("{text}{NBSP}s")
}

/// A share as a percentage; more digits near 0 and 1, where they matter.
pub(crate) fn percent(share: f64) -> String {
    let Some(share) = measured(share) else {
        return NONE.to_owned();
    };
    let edge = share.abs().min((1.0 - share).abs());
    let decimals = if edge == 0.0 {
        0
    } else if edge < 0.001 {
        3
    } else if edge < 0.02 {
        2
    } else {
        1
    };
    let text = trimmed(format!("{:.decimals$}", share * 100.0));
    format!("{}{NBSP}%", text.replacen('-', "−", 1))
}

/// A difference of two shares, in percentage points, always with its sign.
pub(crate) fn points(difference: f64) -> String {
    let Some(difference) = measured(difference) else {
        return NONE.to_owned();
    };
    format!("{}{NBSP}pp", points_bare(difference))
}

/// The same without the unit.
pub(crate) fn points_bare(difference: f64) -> String {
    let Some(difference) = measured(difference) else {
        return NONE.to_owned();
    };
    let value = difference * 100.0;
    let decimals = if value.abs() < 0.095 { 3 } else { 2 };
    let text = trimmed(format!("{:.decimals$}", value.abs()));
    match text.as_str() {
        "0" => "0".to_owned(),
        _ if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// `1.8×`.
pub(crate) fn times(value: f64) -> String {
    with_unit(number(value), "×")
}

/// `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    let plain = value.to_string();
    let mut text = String::with_capacity(plain.len() + plain.len() / 3);
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Cut to `most` characters, the last of them an ellipsis.
pub(crate) fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// An estimate of how wide a text is drawn, on the generous side.
pub(crate) fn width_px(text: &str, font_px: f64) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'l' | '.' | ',' | ' ' | '\u{A0}' | '·' | ':' | '\'' | '|' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
            'A'..='Z' => 0.76,
            c if u32::from(c) >= 0x2E80 => 1.1,
            _ => 0.64,
        })
        .sum::<f64>()
        * font_px
}

fn with_unit(number: String, unit: &str) -> String {
    if number == NONE { number } else { number + unit }
}

/// Three significant digits of a value between 0.001 and 1000.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.09995 => 3,
        size if size >= 0.009_995 => 4,
        _ => 5,
    };
    trimmed(format!("{value:.decimals$}"))
}

fn trimmed(mut text: String) -> String {
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_carry_a_unit_and_three_digits() {
        let printed: Vec<_> =
            [297.4, 12.34, 1.0, 0.05, 1234.0, 999.6, 3000.0, 2_971.0, 4.56e6, 0.0, 1e-9]
                .map(rate)
                .into();
        assert_eq!(
            printed,
            [
                "297/s", "12.3/s", "1/s", "0.05/s", "1.23k/s", "1k/s", "3k/s", "2.97k/s",
                "4.56M/s", "0/s", "<0.001/s"
            ]
        );
    }

    #[test]
    fn what_is_not_a_number_is_a_dash_everywhere() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            for print in [number, rate, seconds, moment, percent, points, points_bare, times] {
                assert_eq!(print(value), NONE);
            }
        }
        assert_eq!(interval(Some([f64::NAN, 1.0]), rate), None);
        assert_eq!(interval(Some([2.0, 1.0]), rate), None);
        assert_eq!(interval(None, rate), None);
    }

    #[test]
    fn durations_take_the_unit_that_fits() {
        let printed: Vec<_> = [0.0, 12e-6, 0.85, 1.0, 12.34, 725.0, 9000.0].map(seconds).into();
        assert_eq!(
            printed,
            [
                "0\u{a0}s",
                "12\u{a0}µs",
                "850\u{a0}ms",
                "1\u{a0}s",
                "12.3\u{a0}s",
                "12.1\u{a0}min",
                "2.5\u{a0}h"
            ]
        );
        assert_eq!(moment(61.25), "61.25\u{a0}s");
    }

    #[test]
    fn shares_show_more_digits_near_their_ends() {
        let printed: Vec<_> = [0.0, 1.0, 0.5, 0.9998, 0.9901, 0.00012].map(percent).into();
        assert_eq!(
            printed,
            ["0\u{a0}%", "100\u{a0}%", "50\u{a0}%", "99.98\u{a0}%", "99.01\u{a0}%", "0.012\u{a0}%"]
        );
        assert_eq!(points(-0.0099), "−0.99\u{a0}pp");
        assert_eq!(points(0.000_05), "+0.005\u{a0}pp");
        assert_eq!(points(-1e-9), "0\u{a0}pp");
    }

    #[test]
    fn counts_are_grouped_and_intervals_are_short() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(interval(Some([147.2, 153.0]), number).as_deref(), Some("147–153"));
        assert_eq!(interval(Some([-0.01, 0.0]), points_bare).as_deref(), Some("−1 to 0"));
    }

    #[test]
    fn long_names_are_cut_by_characters() {
        assert_eq!(clip("frontend", 8), "frontend");
        assert_eq!(clip("größenordnung", 6), "größe…");
        assert_eq!(clip("x", 0), "…");
    }
}
