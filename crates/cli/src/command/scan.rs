//! `damper scan`.

mod amplification;
mod baseline;
mod frame;
mod roots;
mod settings;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use damper_report::result::scan::{Scan, rank};
use damper_report::scan::{github, html, markdown, sarif, study};
use damper_scan::policy::Scope;
use damper_scan::rules::Severity;
use damper_scan::scan::{Control, Options, Scan as Found};
use damper_scan::walk::{Limits, Skipped};

use crate::args::{Format, ScanArgs};
use crate::progress::Progress;
use crate::{convert, exit, interrupt, print};
use baseline::Baseline;
use roots::Group;
use settings::Settings;

pub(crate) fn run(args: &ScanArgs) -> anyhow::Result<u8> {
    if args.study {
        return count(args);
    }
    let groups = roots::groups(args)?;
    let first = groups.first().and_then(|group| group.roots.first());
    let settings = Settings::of(args, first.map(std::path::PathBuf::as_path))?;
    // Before the work: a baseline that cannot be read is an error of the command line.
    let known = settings.baseline.as_deref().map(Baseline::read).transpose()?;

    if amplification::asked(args) {
        return multiply(args, &groups, &settings);
    }
    let stop = interrupt::flag();
    let nothing = Found::default();
    let mut result = convert::scan::scan(&nothing, Vec::new(), &settings.scopes, str::to_owned);
    let progress = Progress::new(args.quiet);
    for group in &groups {
        let found = one(args, group, &settings, &settings.scopes, &stop, &progress)?;
        convert::scan::join(&mut result, found);
    }
    drop(progress);
    // The tables count in their own way, also what is not listed.
    let tables = args.html.as_ref().map(|_| {
        let name = result.roots.join(" ");
        study::study(&result.version, &[(name, &result)])
    });
    convert::scan::narrow(&mut result, args.implicit);
    if let Some(known) = &known {
        known.mark(&mut result, |path| groups.iter().any(|group| group.covers(path)));
    }
    if let Some(file) = &args.write_baseline {
        if result.partial {
            print::note("interrupted: no baseline is written");
        } else {
            let count = baseline::write(file, &result)?;
            let findings = print::count(count, "finding");
            print::note(&format!("baseline: {findings} in {}", file.display()));
            Baseline::read(file)?.mark(&mut result, |_| true);
        }
    }
    if args.html.is_some() || matches!(format(args), Format::Text | Format::Json) {
        frame::add(&mut result, &limits(args));
    }
    show(args, &printed(&result, args)?)?;
    // People read it in the text; other formats have no word for it.
    if nothing_read(&result) && (args.output.is_some() || format(args) != Format::Text) {
        print::note(&print::nothing_scanned(&result));
    }
    if let (Some(file), Some(tables)) = (&args.html, &tables) {
        report(file, &html::page(&result, tables))?;
    }
    Ok(ending(&result, settings.fail_on))
}

/// `--amplification`, `--graph`.
fn multiply(args: &ScanArgs, groups: &[Group], settings: &Settings) -> anyhow::Result<u8> {
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let mut scans = Vec::new();
    for group in groups {
        scans.push((group, raw(args, group, settings, &stop, &progress)?));
    }
    drop(progress);
    let partial = scans.iter().any(|(_, scan)| scan.partial);
    let answer = amplification::of(args, &scans, &settings.scopes)?;
    let code = amplification::show(args, &answer)?;
    Ok(if partial { exit::INTERRUPTED } else { code })
}

/// `--study`.
fn count(args: &ScanArgs) -> anyhow::Result<u8> {
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let mut scans = Vec::new();
    for group in roots::projects(args)? {
        let settings = Settings::of(args, group.roots.first().map(std::path::PathBuf::as_path))?;
        let name = group.roots.iter().map(|root| root.display().to_string()).collect();
        let found = one(args, &group, &settings, &[Scope::Production], &stop, &progress)?;
        scans.push((name, found));
    }
    drop(progress);
    let scans: Vec<(String, &Scan)> =
        scans.iter().map(|(name, scan): &(String, Scan)| (name.clone(), scan)).collect();
    let tables = study::study(env!("CARGO_PKG_VERSION"), &scans);
    let text = match format(args) {
        Format::Text => print::study(&tables),
        Format::Json => serde_json::to_string_pretty(&tables)?,
        Format::Markdown => markdown::study(&tables),
        Format::Sarif | Format::Github => {
            anyhow::bail!("a study has no findings: its formats are text, json and markdown")
        }
    };
    show(args, &text)?;
    if let Some(file) = &args.html {
        report(file, &html::study_page(&tables))?;
    }
    Ok(if tables.partial { exit::INTERRUPTED } else { exit::OK })
}

/// Scans one group, with its paths as one would type them.
fn one(
    args: &ScanArgs,
    group: &Group,
    settings: &Settings,
    scopes: &[Scope],
    stop: &AtomicBool,
    progress: &Progress,
) -> anyhow::Result<Scan> {
    let found = raw(args, group, settings, stop, progress)?;
    let roots = group.roots.iter().map(|path| path.display().to_string()).collect();
    Ok(convert::scan::scan(&found, roots, scopes, |path| group.shown(path)))
}

/// Scans one group.
fn raw(
    args: &ScanArgs,
    group: &Group,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &Progress,
) -> anyhow::Result<Found> {
    let options = Options {
        roots: group.roots.clone(),
        limits: limits(args),
        threads: args.threads,
        config: settings.config_for(group.roots.first().map_or(Path::new("."), |root| root)),
        calls: amplification::asked(args) && args.graph.is_none(),
    };
    let show = |done, total| progress.show("reading", done, total);
    Ok(damper_scan::scan::scan(&options, Control { stop, progress: &show })?)
}

fn limits(args: &ScanArgs) -> Limits {
    Limits { file_bytes: args.max_file_mib << 20, ..Limits::default() }
}

fn format(args: &ScanArgs) -> Format {
    if args.json { Format::Json } else { args.format }
}

fn printed(result: &Scan, args: &ScanArgs) -> anyhow::Result<String> {
    Ok(match format(args) {
        Format::Text => print::scan(result, args.policies),
        Format::Json => serde_json::to_string_pretty(result)?,
        Format::Sarif => {
            serde_json::to_string_pretty(&sarif::log(result, &convert::scan::rule_texts()))?
        }
        Format::Github => github::annotations(result),
        Format::Markdown => markdown::page(result),
    })
}

/// Prints, or writes a file without colours.
fn show(args: &ScanArgs, text: &str) -> anyhow::Result<()> {
    let text = text.trim_end();
    let Some(file) = &args.output else {
        if !text.is_empty() {
            print::line(text);
        }
        return Ok(());
    };
    let plain = format!("{}\n", anstream::adapter::strip_str(text));
    fs::write(file, plain).with_context(|| format!("cannot write {}", file.display()))?;
    print::note(&format!("written: {}", file.display()));
    Ok(())
}

fn report(file: &Path, page: &str) -> anyhow::Result<()> {
    fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))?;
    print::note(&format!("report: {}", file.display()));
    Ok(())
}

/// How a scan ends.
fn ending(result: &Scan, fail_on: Option<Severity>) -> u8 {
    match fail_on {
        _ if result.partial => exit::INTERRUPTED,
        _ if nothing_read(result) && failed(result) => exit::ERROR,
        Some(from) if fails(result, from) => exit::GATE,
        _ => exit::OK,
    }
}

fn nothing_read(result: &Scan) -> bool {
    result.coverage.files == 0 && !result.partial
}

/// Whether something could not be read that should have been.
fn failed(result: &Scan) -> bool {
    let errors = [Skipped::Unreadable, Skipped::Unparsed];
    errors.iter().any(|why| result.coverage.skipped.contains_key(why.name()))
}

fn fails(result: &Scan, from: Severity) -> bool {
    let counting = result.findings.iter().filter(|finding| finding.counts());
    counting.into_iter().any(|finding| rank(&finding.severity) <= rank(from.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(files: u64, why: Skipped) -> Scan {
        let mut scan = Scan::default();
        scan.coverage.files = files;
        scan.coverage.skipped.insert(why.name().to_owned(), 1);
        scan
    }

    /// What could not be read is no good news; what was left out on purpose is no bad one.
    #[test]
    fn a_scan_that_read_nothing_ends_by_the_reason() {
        for why in [Skipped::Unreadable, Skipped::Unparsed] {
            assert_eq!(ending(&left_out(0, why), None), exit::ERROR, "{why:?}");
            assert_eq!(ending(&left_out(1, why), None), exit::OK, "{why:?}");
        }
        for why in [Skipped::Vendored, Skipped::TooLarge, Skipped::Binary, Skipped::Link] {
            assert_eq!(ending(&left_out(0, why), None), exit::OK, "{why:?}");
        }
        let partial = Scan { partial: true, ..left_out(0, Skipped::Unreadable) };
        assert_eq!(ending(&partial, None), exit::INTERRUPTED);
    }
}
