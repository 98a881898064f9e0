//! The workloads of `cargo xtask compare sim` in NeXosim, in two shapes. The executor has one
//! thread, as the comparison has one core. Timers are keyed events; a reply in time cancels
//! its timer.

mod fused;
mod parts;

use std::error::Error;

use compare_workload::Arguments;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    if arguments.parts { parts::run(arguments) } else { fused::run(arguments) }
}
