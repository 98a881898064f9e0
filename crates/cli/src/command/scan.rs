//! `damper scan`.

use damper_scan::config::Config;
use damper_scan::scan::{Control, Options, scan};
use damper_scan::walk::Limits;

use crate::args::ScanArgs;
use crate::progress::Progress;
use crate::{convert, exit, interrupt, print};

pub(crate) fn run(args: &ScanArgs) -> anyhow::Result<u8> {
    for path in &args.paths {
        anyhow::ensure!(path.exists(), "{}: there is nothing", path.display());
    }
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let options = Options {
        roots: args.paths.clone(),
        limits: Limits { file_bytes: args.max_file_mib << 20, ..Limits::default() },
        threads: args.threads,
        config: Config::default(),
    };
    let show = |done, total| progress.show("reading", done, total);
    let found = scan(&options, Control { stop: &stop, progress: &show })?;
    drop(progress);
    let roots = args.paths.iter().map(|path| path.display().to_string()).collect();
    let result = convert::scan::scan(&found, roots);
    if args.json {
        print::json(&result)?;
    } else {
        print::scan(&result);
    }
    Ok(if result.partial { exit::INTERRUPTED } else { exit::OK })
}
