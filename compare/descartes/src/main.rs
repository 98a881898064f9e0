//! The workloads of `cargo xtask compare sim` in DesCartes, in two shapes.
//!
//! Events to a component cannot be withdrawn in DesCartes: as in the retry storm that comes
//! with it, the timer of an attempt that was answered fires and finds nothing to do.

mod fused;
mod parts;

use std::error::Error;
use std::time::Duration;

use compare_workload::Arguments;
use descartes_core::SimTime;

fn nanos(time: u64) -> SimTime {
    SimTime::from_duration(Duration::from_nanos(time))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    if arguments.parts { parts::run(arguments) } else { fused::run(arguments) }
}
