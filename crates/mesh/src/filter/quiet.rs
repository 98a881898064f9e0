//! Destinations that have asked for time.
//!
//! What a filter sees is the last answer of a request: Envoy's own retries of that request have been
//! made by then, and nothing can call them back. What it can do is not to grant retries to the next
//! requests for the same host until the time is over. First attempts are not held back.
//!
//! What a class is told holds for it and for the classes below it, and for none above: a destination
//! that sheds what is least important says nothing about the rest, and what was said to the important
//! must not leave the room to the others.

use damper_control::Nanos;

/// Hosts and classes that are known at a time, for each worker.
const PLACES: usize = 64;

/// Until when each host wants no retries of a class. A newer one takes the place of an older.
#[derive(Clone, Debug)]
pub(super) struct Quiet(Box<[(u64, Nanos)]>);

impl Default for Quiet {
    fn default() -> Self {
        Self(vec![(0, Nanos::ZERO); PLACES].into())
    }
}

impl Quiet {
    /// This host wants no retries of this class until then.
    pub(super) fn until(&mut self, host: u64, class: u8, until: Nanos) {
        let key = key(host, class);
        let place = &mut self.0[place(key)];
        if place.0 != key || place.1 < until {
            *place = (key, until);
        }
    }

    /// Whether this host wants no retries of this class now.
    pub(super) fn is(&self, host: u64, class: u8, now: Nanos) -> bool {
        (0..=class).map(|class| key(host, class)).any(|key| {
            let (known, until) = self.0[place(key)];
            known == key && now < until
        })
    }
}

/// Classes of a host lie side by side: its own never take each other's places.
fn key(host: u64, class: u8) -> u64 {
    // At most 16 classes.
    (host << 4) | u64::from(class & 15)
}

fn place(key: u64) -> usize {
    // The remainder is below the length, which is not 0.
    (key % PLACES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_class_is_told_holds_for_those_below_it() {
        let (mut quiet, now) = (Quiet::default(), Nanos::from_secs(5));
        quiet.until(7, 1, Nanos::from_secs(9));
        let quiet_now: Vec<bool> = (0..4).map(|class| quiet.is(7, class, now)).collect();
        assert_eq!(quiet_now, [false, true, true, true]);
        assert!(!quiet.is(8, 1, now), "another host");
        assert!(!quiet.is(7, 1, Nanos::from_secs(9)), "over");
        quiet.until(7, 1, Nanos::from_secs(6));
        assert!(quiet.is(7, 1, Nanos::from_secs(8)), "the longer one stays");
    }
}
