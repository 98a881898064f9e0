//! For tests: a source of chance that always gives the same.

use core::convert::Infallible;

/// Always zero: a uniform draw from `[0, 1)` gives 0.
pub(crate) struct Zero;

impl rand_core::TryRng for Zero {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}
