//! Atomics: those of the processor, or those that loom can interleave.

#[cfg(not(loom))]
pub(super) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
