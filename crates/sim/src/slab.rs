//! A pool of equal records, addressed by a 32-bit index and reused at once.

use std::ops::{Index, IndexMut};

/// "No record."
pub(crate) const NONE: u32 = u32::MAX;

/// A pool of records. Freed places are reused last in, first out, so the records in use stay
/// warm in the cache and memory is bounded by the most ever in use.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    records: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { records: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, record: T) -> u32 {
        if let Some(i) = self.free.pop() {
            self.records[i as usize] = record;
            i
        } else {
            self.records.push(record);
            (self.records.len() - 1) as u32
        }
    }

    #[inline]
    pub(crate) fn free(&mut self, i: u32) {
        self.free.push(i);
    }

    /// Records in use.
    pub(crate) fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// The most records that were ever in use together.
    pub(crate) fn most(&self) -> usize {
        self.records.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: u32) -> &T {
        &self.records[i as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, i: u32) -> &mut T {
        &mut self.records[i as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_reused() {
        let mut s = Slab::new();
        let (a, b) = (s.insert(1), s.insert(2));
        s.free(a);
        assert_eq!(s.len(), 1);
        assert_eq!(s.insert(3), a);
        assert_eq!((s[a], s[b], s.len()), (3, 2, 2));
    }
}
