//! Ctrl-C: the first asks for what has been measured so far, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the first Ctrl-C raises.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // Without a handler Ctrl-C simply ends the process, which loses the partial result but harms
    // nothing.
    let _ = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            #[expect(clippy::exit, reason = "the user asked twice; there is nothing to unwind")]
            std::process::exit(i32::from(crate::exit::INTERRUPTED));
        }
    });
    flag
}
