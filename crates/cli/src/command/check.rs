//! `damper check`.

use crate::args::CheckArgs;
use crate::{command, exit, print};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    let loaded = command::load(&args.system)?;
    print::problems(&loaded.warnings);
    let system = &loaded.system;
    let warnings = loaded.warnings.len();
    print::line(&format!(
        "{}: {} is valid ({}, {} with a policy, {}){}",
        args.system.file.display(),
        system.name,
        print::count(system.services.len(), "service"),
        print::count(system.policies.edges.len(), "call"),
        print::rate(system.total_load()),
        match warnings {
            0 => String::new(),
            n => format!(", {}", print::count(n, "warning")),
        }
    ));
    Ok(if args.strict && warnings > 0 { exit::GATE } else { exit::OK })
}
