//! How many seats a request of the Kubernetes API takes.
//!
//! Source: kubernetes/apiserver `pkg/util/flowcontrol/request` and `apf_controller.go`. An
//! attempt at a service has one seat, and no control here asks for these numbers. They tell what
//! `fair` is to be given for an API server: requests that take w seats are about w attempts.

use crate::Nanos;

/// Most seats of a list by the number of its objects, and of a write.
pub const MOST: u32 = 10;

/// Most seats of a list by the size of its objects (the gate `SizeBasedListCostEstimate`).
pub const MOST_BY_SIZE: u32 = 100;

const OBJECTS_PER_SEAT: u64 = 100;
const WATCHES_PER_SEAT: u64 = 10;
const BYTES_PER_SEAT: u64 = 100_000;
/// What an object is taken for whose size is not known.
const OBJECT_BYTES: u64 = 1_500_000;
/// What a list from the cache has in memory at most, because it is streamed.
const CACHE_BYTES: u64 = 1_000_000;
/// How long the watchers of a write are busy with it.
const EVENT: Nanos = Nanos::from_millis(5);

/// Most seats that one request of a level may take: 15 % of its nominal seats and no more than
/// one for each queue of a hand, at least 1 and at most `cap` ([`MOST`] or [`MOST_BY_SIZE`]).
#[must_use]
pub fn max_seats(nominal: u32, hand: u32, cap: u32) -> u32 {
    let share = libm::ceil(f64::from(nominal) * 0.15) as u32;
    share.min(nominal / hand.max(1)).max(1).min(cap)
}

/// Where a list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFrom {
    /// It names one object.
    Single,
    /// The watch cache, also the initial events of a watch.
    Cache,
    /// Storage, with a selector of fields or labels.
    Selected,
    /// Storage.
    Storage,
}

/// The seats of a list of up to `limit` (0: all) of `stored` objects, by their number.
#[must_use]
pub fn list_seats(stored: u64, limit: u64, from: ListFrom, max: u32) -> u32 {
    let limited = limited(stored, limit);
    let objects = match from {
        ListFrom::Single => 1,
        ListFrom::Cache => stored,
        ListFrom::Selected => stored.saturating_add(limited),
        ListFrom::Storage => limited.saturating_mul(2),
    };
    clamp(objects.div_ceil(OBJECTS_PER_SEAT), max)
}

/// The seats of such a list by the size of its objects, in bytes on average (0: not known).
#[must_use]
pub fn list_seats_by_size(stored: u64, limit: u64, size: u64, from: ListFrom, max: u32) -> u32 {
    let size = if size == 0 && stored > 0 { OBJECT_BYTES } else { size };
    let limited = limited(stored, limit);
    let objects = match from {
        ListFrom::Single => 1,
        ListFrom::Selected => limited.max(stored / 2),
        ListFrom::Cache | ListFrom::Storage => limited,
    };
    let bytes = objects.saturating_mul(size);
    let in_memory = if from == ListFrom::Cache { bytes.min(CACHE_BYTES) } else { bytes };
    clamp(in_memory.div_ceil(BYTES_PER_SEAT), max)
}

/// What a write holds after its reply, while its `watchers` hear of it: seats, and for how long.
/// Above `max` seats it is as much work in fewer seats for longer.
#[must_use]
pub fn write_seats(watchers: u64, max: u32) -> (u32, Nanos) {
    if watchers < WATCHES_PER_SEAT || max == 0 {
        return (0, Nanos::ZERO);
    }
    let wanted = watchers.div_ceil(WATCHES_PER_SEAT);
    let seats = clamp(wanted, max);
    (seats, EVENT.scale(wanted as f64 / f64::from(seats)))
}

const fn limited(stored: u64, limit: u64) -> u64 {
    if limit > 0 && limit < stored { limit } else { stored }
}

fn clamp(seats: u64, max: u32) -> u32 {
    u32::try_from(seats).unwrap_or(u32::MAX).max(1).min(max.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nominal seats of the default levels with hands of 6 and 4: 15 % of 74 is 11.1 → 12, of
    /// 25 is 3.75 → 4, and 25 / 4 = 6.
    #[test]
    fn most_of_a_level() {
        for (nominal, hand, seats) in
            [(74, 6, 12), (98, 6, 15), (25, 4, 4), (245, 6, 37), (49, 6, 8), (13, 6, 2), (3, 6, 1)]
        {
            assert_eq!(max_seats(nominal, hand, u32::MAX), seats, "{nominal}");
            assert_eq!(max_seats(nominal, hand, MOST), seats.min(10), "{nominal}");
        }
        assert_eq!(max_seats(0, 0, MOST), 1);
        assert_eq!(max_seats(20, 15, MOST), 1, "20 / 15 is below 15 % of 20");
    }

    #[test]
    fn lists_by_number() {
        use ListFrom::{Cache, Selected, Single, Storage};
        for (stored, limit, from, seats) in [
            (699, 0, Single, 1),
            (699, 0, Cache, 7),
            (699, 100, Cache, 7),
            (699, 399, Storage, 8),
            (399, 0, Storage, 8),
            (699, 399, Selected, 10),
            (699, 99, Selected, 8),
            (399, 1000, Storage, 8),
            (1_000_000_000, 0, Cache, 10),
            (0, 0, Cache, 1),
            (u64::MAX, 0, Storage, 10),
        ] {
            assert_eq!(list_seats(stored, limit, from, MOST), seats, "{stored} {limit} {from:?}");
        }
    }

    #[test]
    fn lists_by_size() {
        use ListFrom::{Cache, Selected, Single, Storage};
        for (stored, limit, size, from, seats) in [
            (1000, 0, 1000, Storage, 10),
            (1000, 100, 1000, Storage, 1),
            (1000, 100, 1000, Selected, 5),
            (1000, 600, 1000, Selected, 6),
            (10_000, 0, 1000, Cache, 10),
            (10_000, 0, 1000, Storage, 100),
            (1000, 500, 1000, Cache, 5),
            (10, 0, 0, Single, 15),
            (0, 0, 0, Single, 1),
            (u64::MAX, 0, u64::MAX, Storage, 100),
        ] {
            let by_size = list_seats_by_size(stored, limit, size, from, MOST_BY_SIZE);
            assert_eq!(by_size, seats, "{stored} {limit} {size} {from:?}");
        }
    }

    /// 9 watchers are none. 25 are 3 seats for 5 ms. 1000 would be 100 seats; in 10 they take
    /// 50 ms.
    #[test]
    fn writes_hold_as_much_work_in_fewer_seats() {
        for (watchers, max, held) in [
            (0, 10, (0, 0)),
            (9, 10, (0, 0)),
            (10, 10, (1, 5)),
            (25, 10, (3, 5)),
            (1000, 10, (10, 50)),
            (1000, 4, (4, 125)),
        ] {
            let (seats, ms) = held;
            assert_eq!(write_seats(watchers, max), (seats, Nanos::from_millis(ms)), "{watchers}");
        }
        assert_eq!(write_seats(u64::MAX, 1).0, 1);
    }
}
