//! `Retry-After` in both of its forms, and the three forms of a date in HTTP.
//!
//! Source: RFC 9110, 10.2.3 and 5.6.7.

use super::{Pushback, digits};
use crate::Nanos;

const DAY_S: u64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Reads `Retry-After`: whole seconds, or a date against `unix_now` (nanoseconds since 1970).
///
/// A date that has passed is a wait of zero. A wait above `cap` is [`Pushback::Stop`]. What
/// cannot be read is as if it were not there. The header names the earliest time and everybody
/// who was refused may have been told the same: [`Pushback::spread`] helps.
#[must_use]
pub fn retry_after(value: &[u8], unix_now: Nanos, cap: Nanos) -> Option<Pushback> {
    let value = value.trim_ascii();
    let wait = match digits(value) {
        Some(seconds) => Nanos::from_secs(seconds),
        None => Nanos::from_secs(date(value, unix_now)?).since(unix_now),
    };
    Some(Pushback::After(wait).bounded(cap))
}

/// Seconds since 1970 of a date in one of the three forms; an earlier date is 0.
fn date(text: &[u8], unix_now: Nanos) -> Option<u64> {
    fixed(text).or_else(|| rfc850(text, unix_now)).or_else(|| asctime(text))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn fixed(text: &[u8]) -> Option<u64> {
    let mut t = Text(text);
    t.day(3)?;
    t.literal(", ")?;
    let day = t.number(2)?;
    t.literal(" ")?;
    let month = t.month()?;
    t.literal(" ")?;
    let year = t.number(4)?;
    t.literal(" ")?;
    let time = t.time()?;
    t.literal(" GMT")?;
    t.end()?;
    since_1970(year, month, day, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(text: &[u8], unix_now: Nanos) -> Option<u64> {
    let mut t = Text(text);
    t.day(usize::MAX)?;
    t.literal(", ")?;
    let day = t.number(2)?;
    t.literal("-")?;
    let month = t.month()?;
    t.literal("-")?;
    let short = t.number(2)?;
    t.literal(" ")?;
    let time = t.time()?;
    t.literal(" GMT")?;
    t.end()?;
    // The latest year with these two digits that is not more than 50 years ahead.
    let latest = year_of(unix_now.0 / 1_000_000_000 / DAY_S) + 50;
    let year = latest - (latest + 100 - short) % 100;
    since_1970(year, month, day, time)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &[u8]) -> Option<u64> {
    let mut t = Text(text);
    t.day(3)?;
    t.literal(" ")?;
    let month = t.month()?;
    t.literal(" ")?;
    let day = if t.literal(" ").is_some() { t.number(1)? } else { t.number(2)? };
    t.literal(" ")?;
    let time = t.time()?;
    t.literal(" ")?;
    let year = t.number(4)?;
    t.end()?;
    since_1970(year, month, day, time)
}

/// `month` counts from 1.
fn since_1970(year: u64, month: u64, day: u64, time: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(leap),
        _ => 31,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    // Count years from March, so that the leap day is the last of a year; 719 468 days lie
    // between the first of March of the year 0 and 1970. Every year before 1970 has passed alike.
    let (year, month) = (year.max(1969), if year < 1969 { 1 } else { month });
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    Some((before * DAY_S + time).saturating_sub(719_468 * DAY_S))
}

/// The year of a day counted from 1970.
fn year_of(day: u64) -> u64 {
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    // From day 306 after the first of March it is January.
    era * 400 + year + u64::from(of_year >= 306)
}

/// What is left to read.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn literal(&mut self, literal: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(literal.as_bytes())?;
        Some(())
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    fn number(&mut self, length: usize) -> Option<u64> {
        let (number, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        digits(number)
    }

    /// A month, counted from 1.
    fn month(&mut self) -> Option<u64> {
        let at = MONTHS.iter().position(|name| self.0.starts_with(name.as_bytes()))?;
        self.0 = &self.0[3..];
        Some(at as u64 + 1)
    }

    /// The first letters of a day of the week. Whether it is the right one is not worth a refusal.
    fn day(&mut self, letters: usize) -> Option<()> {
        DAYS.iter().find_map(|day| self.literal(&day[..letters.min(day.len())]))
    }

    /// `08:49:37` as seconds of the day; a leap second is allowed.
    fn time(&mut self) -> Option<u64> {
        let hours = self.number(2)?;
        self.literal(":")?;
        let minutes = self.number(2)?;
        self.literal(":")?;
        let seconds = self.number(2)?;
        (hours < 24 && minutes < 60 && seconds <= 60)
            .then_some(hours * 3600 + minutes * 60 + seconds)
    }
}
