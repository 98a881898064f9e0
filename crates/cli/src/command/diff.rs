//! `damper diff`.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use damper_config::Reading;
use damper_config::effective::Versions;
use damper_export::{Call, Comparison, diff};
use damper_scan::walk::{self, Limits};

use crate::args::DiffArgs;
use crate::{command, exit, print};

/// The largest file that is read: a dump of a busy Envoy has tens of megabytes.
const LARGEST: u64 = 64 << 20;

/// Files with mistakes that are named.
const MOST_BROKEN: usize = 10;

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<u8> {
    let loaded = command::load(&args.system)?;
    let versions = Versions { istio: args.istio.as_deref().map(version).transpose()? };
    let files = read(&args.running)?;
    let readings = damper_config::read_tree(&files);
    if readings.iter().all(|(_, reading)| reading.formats.is_empty()) {
        print::note("no file holds configuration that is known: every call differs from none");
    }
    broken(&readings);
    let header = args.class_header.to_ascii_lowercase();
    let comparison = diff(&loaded.system, &readings, versions, &header);
    if args.json {
        print::json(&comparison)?;
    } else {
        show(&comparison);
    }
    Ok(if comparison.differs() { exit::GATE } else { exit::OK })
}

/// Files that are not read near their mistakes: what they say otherwise cannot be told from what
/// nobody wrote.
fn broken(readings: &[(String, Reading)]) {
    let broken =
        readings.iter().filter_map(|(path, reading)| Some((path, reading.broken.as_ref()?)));
    let mut left_out = 0;
    for (n, (path, broken)) in broken.filter(|(_, broken)| broken.ours).enumerate() {
        match broken.mistakes.first() {
            Some((line, why)) if n < MOST_BROKEN => {
                print::note(&format!("not read near {path}:{line}: {why}"));
            }
            _ => left_out += 1,
        }
    }
    if left_out > 0 {
        print::note(&format!("{} more with mistakes", print::count(left_out, "file")));
    }
}

fn version(text: &str) -> anyhow::Result<(u32, u32)> {
    let parts = text.trim_start_matches('v').split_once('.');
    let numbers = parts.and_then(|(major, minor)| {
        let minor = minor.split('.').next().unwrap_or(minor);
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    let Some(version) = numbers else {
        bail!("--istio: found `{text}`, expected a version such as `1.24`");
    };
    Ok(version)
}

/// The texts of what was named, and of what is below it.
fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    let limits = Limits { file_bytes: LARGEST, line_bytes: usize::MAX, ..Limits::default() };
    let mut files = Vec::new();
    for root in paths {
        ensure!(root.exists(), "there is no file or folder {}", root.display());
        if root.is_file() {
            let text = walk::read(root, &limits)
                .map_err(|why| anyhow::anyhow!("{}: {}", root.display(), why.name()))?;
            files.push((named(root), text));
            continue;
        }
        let walked = walk::walk(std::slice::from_ref(root), &[], &limits, 0);
        for (path, file) in walked.settings {
            // What is no text is no configuration.
            let Ok(text) = walk::read(&file, &limits) else { continue };
            if damper_config::worth(&path, &text) {
                let shown =
                    if paths.len() > 1 { format!("{}/{path}", root.display()) } else { path };
                files.push((shown, text));
            }
        }
    }
    Ok(files)
}

/// A dump may have any name; it is JSON.
fn named(path: &Path) -> String {
    let name = path.display().to_string();
    if damper_config::Syntax::of_path(&name).is_empty() { format!("{name}.json") } else { name }
}

fn show(comparison: &Comparison) {
    for call in &comparison.calls {
        one(call);
    }
    for call in &comparison.unknown {
        print::line(&format!("{call}: runs, and the system file does not have it"));
    }
    let of = |which: &dyn Fn(&Call) -> bool| comparison.calls.iter().filter(|c| which(c)).count();
    let count = of(&|call| !call.differs.is_empty());
    let less = of(&|call| call.differs.is_empty() && !call.notes.is_empty());
    let calls = print::count(comparison.calls.len(), "call");
    let unknown = comparison.unknown.len();
    print::line(&match (count, less) {
        (0, 0) if unknown == 0 => format!("{calls}: what runs is what the file says"),
        (0, less) if unknown == 0 => {
            format!(
                "{calls}: nothing runs that the file does not say; {less} retry less than it says"
            )
        }
        (0, _) => format!("{calls} as the file says, and {unknown} that it does not have"),
        (count, _) => format!("{calls}, {count} of them run otherwise than the file says"),
    });
}

fn one(call: &Call) {
    let amplification = call.amplification.and_then(|numbers| numbers.words());
    let tail = amplification.map_or(String::new(), |words| format!(" ({words})"));
    print::line(&match (call.differs.is_empty(), call.notes.is_empty()) {
        (true, true) => format!("{}: as it should be{tail}", call.call),
        (true, false) => format!("{}: retries less than the file asks for{tail}", call.call),
        (false, _) => format!("{}:{tail}", call.call),
    });
    for one in &call.differs {
        let class = one.class.as_ref().map_or(String::new(), |class| format!(" of {class}"));
        let from = if one.from.is_empty() { String::new() } else { format!("  [{}]", one.from) };
        print::line(&format!(
            "  {}{class}: {} asked, {} runs{from}",
            one.field, one.asked, one.runs
        ));
    }
    for note in &call.notes {
        print::line(&format!("  note: {note}"));
    }
}
