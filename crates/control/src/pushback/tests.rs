//! Headers worked by hand, and headers that nobody meant.

use super::*;
use crate::testing::Zero;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::format;

const MS: fn(u64) -> Nanos = Nanos::from_millis;
const S: fn(u64) -> Nanos = Nanos::from_secs;
const MINUTE: Nanos = Nanos::from_secs(60);

/// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
const EXAMPLE: u64 = 784_111_777;

fn grpc(value: &str) -> Option<Pushback> {
    grpc_pushback([value.as_bytes()], Nanos::MAX)
}

#[test]
fn grpc_reads_milliseconds_and_stops_at_everything_else() {
    assert_eq!(grpc_pushback([], MINUTE), None);
    assert_eq!(grpc("0"), Some(Pushback::After(Nanos::ZERO)));
    assert_eq!(grpc("1500"), Some(Pushback::After(MS(1500))));
    assert_eq!(grpc("2147483647"), Some(Pushback::After(MS(2_147_483_647))));
    for no in ["-1", "", "x", "1.5", "007", "+5", " 5", "2147483648", "99999999999999999999999"] {
        assert_eq!(grpc(no), Some(Pushback::Stop), "{no:?}");
    }
    let several: [&[u8]; 2] = [b"5", b"5"];
    assert_eq!(grpc_pushback(several, MINUTE), Some(Pushback::Stop));
}

#[test]
fn a_wait_beyond_the_cap_is_a_stop() {
    let at = |ms: &[u8]| grpc_pushback([ms], MINUTE);
    assert_eq!(at(b"60000"), Some(Pushback::After(MINUTE)));
    assert_eq!(at(b"60001"), Some(Pushback::Stop));
    let hint = Pushback::Hint { wait: Nanos::MAX, above: AWS_ABOVE };
    assert_eq!(hint.bounded(MINUTE), hint, "bounded by the delay that it is added to");
    assert_eq!(Pushback::Stop.wait(), None);
    assert_eq!(hint.wait(), Some(Nanos::MAX));
}

#[test]
fn aws_hints_in_milliseconds_and_ignores_nonsense() {
    let hint = |wait| Some(Pushback::Hint { wait, above: S(5) });
    assert_eq!(amz_retry_after(b"1500"), hint(MS(1500)));
    assert_eq!(amz_retry_after(b" 0 "), hint(Nanos::ZERO));
    assert_eq!(amz_retry_after(b"99999999999999999999999"), hint(Nanos::MAX));
    for no in ["-1", "", "1.5", "soon"] {
        assert_eq!(amz_retry_after(no.as_bytes()), None, "{no:?}");
    }
}

#[test]
fn retry_after_reads_seconds() {
    let at = |value: &str| retry_after(value.as_bytes(), S(EXAMPLE), MINUTE);
    assert_eq!(at("0"), Some(Pushback::After(Nanos::ZERO)));
    assert_eq!(at(" 30\t"), Some(Pushback::After(S(30))));
    assert_eq!(at("007"), Some(Pushback::After(S(7))), "1*DIGIT");
    assert_eq!(at("120"), Some(Pushback::Stop));
    assert_eq!(at("184467440737095516160"), Some(Pushback::Stop), "saturates");
    for no in ["", "-1", "1.5", "30s", "tomorrow"] {
        assert_eq!(at(no), None, "{no:?}");
    }
}

#[test]
fn retry_after_reads_all_three_forms_of_a_date() {
    let forms = [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ];
    for form in forms {
        let before = Nanos::from_millis(EXAMPLE * 1000 - 10_500);
        let wait = retry_after(form.as_bytes(), before, MINUTE);
        assert_eq!(wait, Some(Pushback::After(MS(10_500))), "{form}");
        let past = retry_after(form.as_bytes(), S(EXAMPLE + 1), MINUTE);
        assert_eq!(past, Some(Pushback::After(Nanos::ZERO)), "{form}");
        let early = retry_after(form.as_bytes(), S(EXAMPLE - 3600), MINUTE);
        assert_eq!(early, Some(Pushback::Stop), "{form}");
    }
}

/// Known instants: seconds since 1970.
#[test]
fn calendar_by_hand() {
    for (date, unix) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 02 Jan 1970 00:00:01 GMT", 86_401),
        ("Wed, 31 Dec 1969 23:59:59 GMT", 0),
        ("Sat, 01 Jan 0000 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
        ("Fri, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Thu, 01 Jan 2099 00:00:00 GMT", 4_070_908_800),
        ("Thu Jan 15 00:00:00 2026", 1_768_435_200),
    ] {
        let wait = retry_after(date.as_bytes(), Nanos::ZERO, Nanos::MAX);
        assert_eq!(wait, Some(Pushback::After(S(unix))), "{date}");
    }
    let latest = retry_after(b"Fri, 31 Dec 9999 23:59:59 GMT", Nanos::ZERO, Nanos::MAX);
    assert_eq!(latest, Some(Pushback::After(Nanos::MAX)), "saturates");
}

#[test]
fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
    let now = S(1_768_435_200); // 2026
    for (year, unix) in [
        ("26", 1_767_225_600u64),
        ("76", 3_345_062_400),
        ("77", 0),
        ("94", 0),
        ("70", 3_155_760_000),
    ] {
        let date = format!("Friday, 01-Jan-{year} 00:00:00 GMT");
        let wait = retry_after(date.as_bytes(), now, Nanos::MAX);
        assert_eq!(wait, Some(Pushback::After(S(unix).since(now))), "{date}");
    }
    // On either side of a new year: 2026 + 50 = 2076, and 2025 + 50 = 2075.
    let date = b"Friday, 01-Jan-76 00:00:00 GMT";
    assert_eq!(retry_after(date, S(1_767_225_599), Nanos::MAX), Some(Pushback::After(Nanos::ZERO)));
    let wait = S(3_345_062_400 - 1_767_225_600);
    assert_eq!(retry_after(date, S(1_767_225_600), Nanos::MAX), Some(Pushback::After(wait)));
}

#[test]
fn what_is_not_a_date_is_as_if_it_were_not_there() {
    for no in [
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 GMT!",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 2023 00:00:00 GMT",
        "Wed, 29 Feb 2100 00:00:00 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Xyz 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
    ] {
        assert_eq!(retry_after(no.as_bytes(), Nanos::ZERO, Nanos::MAX), None, "{no:?}");
    }
}

#[test]
fn envoy_takes_the_first_header_within_the_bound() {
    use ResetFormat::{Seconds, UnixTimestamp};
    let now = S(EXAMPLE) + MS(900);
    let at = |headers: &[(ResetFormat, &'static [u8])]| {
        envoy_reset(headers.iter().copied(), now, ENVOY_MAX_INTERVAL, &mut Zero)
    };
    assert_eq!(at(&[]), None);
    assert_eq!(at(&[(Seconds, b"30")]), Some(Pushback::Once(S(30))));
    assert_eq!(at(&[(Seconds, b"300")]), Some(Pushback::Once(S(300))));
    assert_eq!(at(&[(Seconds, b"301"), (Seconds, b"7")]), Some(Pushback::Once(S(7))));
    assert_eq!(at(&[(Seconds, b"later"), (Seconds, b"7")]), Some(Pushback::Once(S(7))));
    // Whole seconds of the clock: 12 s from 08:49:37, whatever the milliseconds say.
    assert_eq!(at(&[(UnixTimestamp, b"784111789")]), Some(Pushback::Once(S(12))));
    assert_eq!(at(&[(UnixTimestamp, b"784111776")]), None, "past");
    // Zero seconds are within the bound, so it is the one that counts, and it is too short.
    assert_eq!(at(&[(Seconds, b"0"), (Seconds, b"7")]), None);
    assert_eq!(at(&[(UnixTimestamp, b"784111777")]), None);
    assert_eq!(at(&[(Seconds, b"99999999999999999999")]), None);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut low, mut high) = (Nanos::MAX, Nanos::ZERO);
    for _ in 0..2000 {
        let headers: [(ResetFormat, &[u8]); 1] = [(Seconds, b"10")];
        let drawn = envoy_reset(headers, now, ENVOY_MAX_INTERVAL, &mut rng).unwrap();
        let Pushback::Once(wait) = drawn else { panic!("{drawn:?}") };
        assert!(wait.0.is_multiple_of(1_000_000));
        (low, high) = (low.min(wait), high.max(wait));
    }
    assert!(low >= S(10) && low < MS(10_050), "{low}");
    assert!(high < S(15) && high > MS(14_950), "{high}");
}

/// The published rule has no jitter, so it brings everybody back at once.
#[test]
fn callers_told_the_same_come_back_together_unless_they_are_spread() {
    let told = retry_after(b"10", Nanos::ZERO, MINUTE).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let waits = |spread: bool, rng: &mut _| {
        let one = |_| if spread { told.spread(rng) } else { told };
        (0..1000).map(one).collect::<std::collections::HashSet<_>>().len()
    };
    assert_eq!(waits(false, &mut rng), 1);
    assert_eq!(waits(true, &mut rng), 1000);
}

#[test]
fn spreading_adds_up_to_half() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for _ in 0..1000 {
        let wait = Pushback::After(S(10)).spread(&mut rng).wait().unwrap();
        assert!(wait >= S(10) && wait < S(15), "{wait}");
    }
    assert_eq!(Pushback::Stop.spread(&mut rng), Pushback::Stop);
    assert_eq!(Pushback::Once(Nanos::MAX).spread(&mut rng), Pushback::Once(Nanos::MAX));
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic_or_wait_beyond_its_cap(
        bytes in prop::collection::vec(any::<u8>(), 0..48), now: u64, cap: u64, seed: u64,
    ) {
        never_beyond(&bytes, now, cap, seed)?;
    }

    #[test]
    fn nor_does_what_looks_like_a_date(
        text in "(Sun|Sunday|Mon)(,| )? ?[0-9 ]{1,2}[ -](Nov|Feb)[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2} (GMT|[0-9]{4})",
        now: u64, cap: u64, seed: u64,
    ) {
        never_beyond(text.as_bytes(), now, cap, seed)?;
    }

    #[test]
    fn dates_come_in_the_order_of_their_days(day in 0u64..60_000, time in 0u64..86_400) {
        // 60 000 days from 1970 end in 2134. Days are named by counting, not by the formula.
        let (mut year, mut left) = (1970, day);
        let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
        while left >= 365 + u64::from(leap(year)) {
            left -= 365 + u64::from(leap(year));
            year += 1;
        }
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut month = 0;
        while left >= lengths[month] {
            left -= lengths[month];
            month += 1;
        }
        let (h, m, s) = (time / 3600, time / 60 % 60, time % 60);
        let name = names[month];
        let date = format!("Mon, {:02} {name} {year} {h:02}:{m:02}:{s:02} GMT", left + 1);
        let wait = retry_after(date.as_bytes(), Nanos::ZERO, Nanos::MAX);
        prop_assert_eq!(wait, Some(Pushback::After(S(day * 86_400 + time))), "{}", date);
    }
}

fn never_beyond(bytes: &[u8], now: u64, cap: u64, seed: u64) -> Result<(), TestCaseError> {
    let (now, cap) = (Nanos(now), Nanos(cap));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let reset = |format| [(format, bytes)];
    for waits in [grpc_pushback([bytes], cap), retry_after(bytes, now, cap)] {
        prop_assert!(waits.and_then(Pushback::wait).is_none_or(|wait| wait <= cap));
    }
    for format in [ResetFormat::Seconds, ResetFormat::UnixTimestamp] {
        let waits = envoy_reset(reset(format), now, cap, &mut rng).and_then(Pushback::wait);
        prop_assert!(waits.is_none_or(|wait| wait.0 <= cap.0.saturating_add(cap.0 / 2)));
    }
    let _ = amz_retry_after(bytes);
    Ok(())
}
