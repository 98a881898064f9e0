//! What is known of an inbound request when the service makes its outbound calls.
//!
//! Most applications forward `traceparent` or `x-request-id` and nothing of ours. What came in is
//! kept in shared data under a slot that the id chooses: as many slots as `capacity`, each holding
//! one request, a newer one in place of an older. Slots are never given back (Envoy's shared data
//! has no way to), so memory is bounded by `capacity`.
//!
//! Only what differs from what would be assumed anyway is kept, and a deadline of the default class
//! does not take the place of another class: a flood of the default class displaces nothing.
//!
//! An id leads to a class, so whoever chooses the id chooses the class: a stranger that sends one
//! important request could send a thousand others with its id. What a stranger sends gets a fresh id.

use damper_control::Nanos;
use rand_core::Rng;

use super::config::{Remember, RememberBy};
use super::host::Host;

/// Requests that are remembered if nothing is written.
const CAPACITY: u32 = 4096;
/// How long if nothing is written.
const EXPIRY: Nanos = Nanos::from_secs(60);

/// What is remembered of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// A hash of the name of its class: the other side may number classes in another way.
    pub(super) class: u64,
    /// When it is given up; [`Nanos::MAX`]: never.
    pub(super) deadline: Nanos,
}

/// Whose id leads where.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    by: RememberBy,
    capacity: u64,
    expiry: Nanos,
}

impl Memory {
    pub(super) fn new(settings: &Remember) -> Self {
        Self {
            by: settings.by,
            capacity: u64::from(settings.capacity.unwrap_or(CAPACITY).max(1)),
            expiry: settings.expiry_s.map_or(EXPIRY, |s| Nanos::from_secs(u64::from(s))),
        }
    }

    /// The header with the id.
    pub(super) fn header(&self) -> &'static str {
        match self.by {
            RememberBy::Traceparent => "traceparent",
            RememberBy::XRequestId => "x-request-id",
        }
    }

    /// A hash of the id in a value of that header.
    pub(super) fn id(&self, value: &[u8]) -> Option<u64> {
        let id = match self.by {
            // version "-" trace id "-" span id "-" flags: the span differs from hop to hop.
            RememberBy::Traceparent => {
                let id = value.get(3..35)?;
                let whole = value.get(2) == Some(&b'-') && value.get(35) == Some(&b'-');
                if !whole || !id.iter().all(u8::is_ascii_hexdigit) || id.iter().all(|b| *b == b'0')
                {
                    return None;
                }
                id
            }
            RememberBy::XRequestId if (8..=128).contains(&value.len()) => value,
            RememberBy::XRequestId => return None,
        };
        Some(hash(id))
    }

    /// An id that nobody knows, in the form of `old`. What says whether the trace is sampled stays.
    pub(super) fn fresh(&self, old: &[u8], rng: &mut impl Rng) -> Vec<u8> {
        // Not 0, which is no id.
        let (a, b) = (rng.next_u64() | 1, rng.next_u64() | 1);
        let digit = |at: usize| old.get(at).copied().filter(u8::is_ascii_hexdigit);
        let text = match self.by {
            RememberBy::Traceparent => {
                let flags = digit(54).and_then(|flags| char::from(flags).to_digit(16));
                let sampled = flags.is_none_or(|flags| flags % 2 == 1);
                format!("00-{a:016x}{b:016x}-{b:016x}-0{}", u8::from(sampled))
            }
            // Envoy keeps in the first digit of the third group why it traces a request.
            RememberBy::XRequestId => {
                let reason = char::from(digit(14).filter(|_| old.len() == 36).unwrap_or(b'4'));
                let (time, middle) = (a >> 32, (a >> 16) & 0xffff);
                let (low, node) = (a & 0xfff, b & 0xffff_ffff_ffff);
                format!("{time:08x}-{middle:04x}-{reason}{low:03x}-8{:03x}-{node:012x}", b >> 52)
            }
        };
        text.into_bytes()
    }

    /// Keeps a fact. One of the default class does not take the place of another class.
    pub(super) fn keep(
        &self,
        host: &mut impl Host,
        now: Nanos,
        id: u64,
        fact: Fact,
        is_default: bool,
    ) {
        if is_default
            && self.entry(host, id).is_some_and(|other| {
                other.until.min(other.fact.deadline) > now && other.fact.class != fact.class
            })
        {
            return;
        }
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&id.to_le_bytes());
        entry[8..16].copy_from_slice(&(now + self.expiry).0.to_le_bytes());
        entry[16..24].copy_from_slice(&fact.deadline.0.to_le_bytes());
        entry[24..].copy_from_slice(&fact.class.to_le_bytes());
        host.set_shared(&self.slot(id), &entry);
    }

    /// What was kept, if it is not too old and nothing took its place.
    pub(super) fn recall(&self, host: &mut impl Host, now: Nanos, id: u64) -> Option<Fact> {
        let entry = self.entry(host, id)?;
        (entry.id == id && entry.until > now).then_some(entry.fact)
    }

    /// What is in the slot of an id.
    fn entry(&self, host: &mut impl Host, id: u64) -> Option<Entry> {
        let bytes: [u8; ENTRY] = host.shared(&self.slot(id))?.try_into().ok()?;
        let word = |n: usize| {
            let word = bytes.get(n * 8..n * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            u64::from_le_bytes(word.unwrap_or_default())
        };
        Some(Entry {
            id: word(0),
            until: Nanos(word(1)),
            fact: Fact { deadline: Nanos(word(2)), class: word(3) },
        })
    }

    fn slot(&self, id: u64) -> String {
        // The low bits tell requests apart; the whole is in the entry.
        format!("damper.m.{}", id % self.capacity)
    }
}

/// Bytes of a slot.
const ENTRY: usize = 32;

/// A slot.
struct Entry {
    id: u64,
    /// When it is too old.
    until: Nanos,
    fact: Fact,
}

/// FNV-1a, with its bits mixed at the end so that any part of it will do.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::super::testing::Fake;
    use super::*;

    const TRACE: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn memory(by: RememberBy, capacity: u32) -> Memory {
        Memory::new(&Remember { by, capacity: Some(capacity), expiry_s: Some(2) })
    }

    #[test]
    fn the_span_does_not_count() {
        let memory = memory(RememberBy::Traceparent, 16);
        let other = b"00-4bf92f3577b34da6a3ce929d0e0e4736-aaaaaaaaaaaaaaaa-00";
        assert!(memory.id(TRACE).is_some());
        assert_eq!(memory.id(TRACE), memory.id(other));
        for bad in [&TRACE[..34], b"", b"00-00000000000000000000000000000000-00f067aa0ba902b7-01"] {
            assert_eq!(memory.id(bad), None);
        }
    }

    #[test]
    fn facts_expire_and_give_way() {
        let memory = memory(RememberBy::XRequestId, 1);
        let mut host = Fake::default();
        let (one, two) = (memory.id(b"request-one").unwrap(), memory.id(b"request-two").unwrap());
        let fact = Fact { class: 3, deadline: Nanos(77) };
        memory.keep(&mut host, Nanos::from_secs(10), one, fact, false);
        assert_eq!(memory.recall(&mut host, Nanos::from_secs(11), one), Some(fact));
        assert_eq!(memory.recall(&mut host, Nanos::from_secs(11), two), None, "another request");
        assert_eq!(memory.recall(&mut host, Nanos::from_secs(12), one), None, "too old");
        memory.keep(&mut host, Nanos::from_secs(10), two, fact, false);
        assert_eq!(memory.recall(&mut host, Nanos::from_secs(11), one), None, "displaced");
        assert_eq!(host.shared.len(), 1, "no more slots than were asked for");
    }

    #[test]
    fn the_default_class_displaces_nothing_else() {
        let memory = memory(RememberBy::XRequestId, 1);
        let mut host = Fake::default();
        let (one, two) = (memory.id(b"request-one").unwrap(), memory.id(b"request-two").unwrap());
        let (start, later) = (Nanos::from_secs(10), Nanos::from_millis(10_500));
        let high = Fact { class: 3, deadline: Nanos::from_millis(10_200) };
        let low = Fact { class: 0, deadline: Nanos::from_secs(20) };
        memory.keep(&mut host, start, one, high, false);
        memory.keep(&mut host, start, two, low, true);
        assert_eq!(memory.recall(&mut host, start, one), Some(high));
        memory.keep(&mut host, later, two, low, true);
        assert_eq!(memory.recall(&mut host, later, two), Some(low), "that request is over");
        memory.keep(&mut host, later, one, low, true);
        assert_eq!(memory.recall(&mut host, later, one), Some(low), "its own class it displaces");
    }

    #[test]
    fn fresh_ids_have_the_form_of_the_old() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let (trace, request) =
            (memory(RememberBy::Traceparent, 8), memory(RememberBy::XRequestId, 8));
        for old in [TRACE, b"nonsense", b""] {
            let fresh = trace.fresh(old, &mut rng);
            assert!(trace.id(&fresh).is_some() && trace.id(&fresh) != trace.id(old));
            assert!(fresh.len() == 55 && fresh.ends_with(b"-01"), "{fresh:?}");
        }
        for (flags, kept) in [("00", "-00"), ("03", "-01"), ("0a", "-00"), ("0b", "-01")] {
            let old = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
            assert!(trace.fresh(old.as_bytes(), &mut rng).ends_with(kept.as_bytes()), "{flags}");
        }
        let old = b"7c3ebbb5-7a52-9f37-8a07-cd5b1f4c3a11";
        let fresh = String::from_utf8(request.fresh(old, &mut rng)).unwrap();
        let lengths: Vec<usize> = fresh.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{fresh}");
        assert_eq!(&fresh[14..15], "9", "{fresh}");
    }
}
