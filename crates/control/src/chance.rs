//! Draws that controls make from the chance they are given.

use rand_core::Rng;

/// A uniform draw from `[0, 1)` with 53 bits.
#[inline]
pub(crate) fn unit<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A uniform draw from `[0, n)`, or 0 for `n = 0`, by a widening multiplication. Its bias of
/// at most n / 2^64 is far below what any control could show.
#[inline]
pub(crate) fn below<R: Rng + ?Sized>(n: u64, rng: &mut R) -> u64 {
    if n == 0 {
        return 0;
    }
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}
