//! `damper check`.

use crate::args::CheckArgs;
use crate::{command, exit, print};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    let loaded = command::load(&args.system)?;
    print::problems(&loaded.warnings);
    let system = &loaded.system;
    let warnings = loaded.warnings.len();
    print::line(&format!(
        "{}: {} is valid ({} services, {} calls with a policy, {:.4}/s){}",
        args.system.file.display(),
        system.name,
        system.services.len(),
        system.policies.edges.len(),
        system.total_load(),
        match warnings {
            0 => String::new(),
            1 => ", 1 warning".to_owned(),
            n => format!(", {n} warnings"),
        }
    ));
    Ok(if args.strict && warnings > 0 { exit::GATE } else { exit::OK })
}
