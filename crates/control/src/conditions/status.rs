//! Sets of HTTP statuses.

use super::words::{NotACondition, items};

/// A set of HTTP statuses from 100 to 599.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatusSet([u64; 8]);

const FIRST: u16 = 100;
const LAST: u16 = 599;

impl StatusSet {
    /// None.
    pub const EMPTY: Self = Self([0; 8]);

    /// The set with one more; a number that is no status adds nothing.
    #[must_use]
    pub const fn with(self, status: u16) -> Self {
        let mut bits = self.0;
        if status >= FIRST && status <= LAST {
            let at = (status - FIRST) as usize;
            bits[at / 64] |= 1 << (at % 64);
        }
        Self(bits)
    }

    /// The set with all from the first to the last.
    #[must_use]
    pub const fn with_range(self, first: u16, last: u16) -> Self {
        let (mut set, mut status) = (self, if first < FIRST { FIRST } else { first });
        while status <= last && status <= LAST {
            set = set.with(status);
            status += 1;
        }
        set
    }

    /// What is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        let (mut bits, mut i) = (self.0, 0);
        while i < 8 {
            bits[i] |= other.0[i];
            i += 1;
        }
        Self(bits)
    }

    /// Whether it is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, status: u16) -> bool {
        if status < FIRST || status > LAST {
            return false;
        }
        let at = (status - FIRST) as usize;
        self.0[at / 64] & (1 << (at % 64)) != 0
    }

    /// Reads a list such as `5xx, 429, 502-504, gateway-error`, as Linkerd's annotation has it.
    ///
    /// # Errors
    /// The first item that is none of these, with where it stands.
    pub fn parse(list: &str) -> Result<Self, NotACondition<'_>> {
        let mut set = Self::EMPTY;
        for (at, item) in items(list) {
            set = set.item(item).ok_or(NotACondition {
                word: item,
                at,
                expected: "a status from 100 to 599, a range such as 502-504, 1xx to 5xx or gateway-error",
            })?;
        }
        Ok(set)
    }

    fn item(self, item: &str) -> Option<Self> {
        if item == "gateway-error" {
            return Some(self.with_range(502, 504));
        }
        if let [hundred @ b'1'..=b'5', b'x', b'x'] = item.as_bytes() {
            let first = u16::from(hundred - b'0') * 100;
            return Some(self.with_range(first, first + 99));
        }
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (status(first)?, status(last)?);
        (first <= last).then(|| self.with_range(first, last))
    }
}

/// Three digits.
fn status(text: &str) -> Option<u16> {
    let plain = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|s| plain && (FIRST..=LAST).contains(s))
}
