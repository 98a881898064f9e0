//! `damper lab`.

use anyhow::bail;
use serde_json::{Value, json};

use crate::args::LabArgs;
use crate::lab::stage::Stage;
use crate::lab::{RUNGS, Rung};
use crate::print::chart::Chart;
use crate::{exit, interrupt, print, progress::Progress};

const HEIGHT: usize = 7;

pub(crate) fn run(args: &LabArgs) -> anyhow::Result<u8> {
    let Some(number) = args.rung else {
        list(args.json)?;
        return Ok(exit::OK);
    };
    let Some(rung) = RUNGS.iter().find(|r| r.number == number) else {
        bail!("there is no rung {number} (`damper lab` lists them)");
    };
    if args.file {
        print::line(rung.file.trim_end());
        return Ok(exit::OK);
    }
    climb(rung, args)
}

fn climb(rung: &Rung, args: &LabArgs) -> anyhow::Result<u8> {
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet || args.json);
    if !args.json {
        let title = format!("Rung {}: {}", rung.number, rung.title);
        print::line(&print::paint(print::BOLD, &title));
        print::paragraph(rung.about);
    }
    let show = |heading: &str, chart: &Chart| {
        if !args.json {
            progress.apart(|| {
                print::line("");
                print::line(&format!("  {heading}"));
                chart.draw(HEIGHT, !args.quiet);
            });
        }
    };
    let report = |what: &str, done, total| progress.show(what, done, total);
    let stage =
        Stage { name: rung.path, text: rung.file, stop: &stop, progress: &report, show: &show };
    let seen = (rung.run)(&stage)?;
    drop(progress);
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        print::note("interrupted: there is nothing to see yet");
        return Ok(exit::INTERRUPTED);
    }
    if args.json {
        let mut all = seen.to_json();
        all["rung"] = json!(rung.number);
        all["title"] = json!(rung.title);
        print::json(&all)?;
    } else {
        print::line("");
        print::line(&print::paint(print::BOLD, "What was to be seen"));
        print::paragraph(&seen.sentence);
        for figure in &seen.figures {
            print::line(&format!("    {}", figure.shown));
        }
        if args.explain {
            print::line("");
            print::line(&print::paint(print::BOLD, "Why"));
            print::paragraph(rung.why);
        }
        print::line("");
        print::line(&format!("  Its file: {} (`damper lab {} --file`)", rung.path, rung.number));
        if !seen.holds {
            print::note("the figures do not show it: the file or the program has changed");
        }
    }
    Ok(if seen.holds { exit::OK } else { exit::GATE })
}

fn list(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let rung = |r: &Rung| json!({"rung": r.number, "title": r.title, "file": r.path});
        return print::json(&Value::from_iter(RUNGS.iter().map(rung)));
    }
    for rung in RUNGS {
        print::line(&format!("  {}  {}", rung.number, rung.title));
    }
    print::line("");
    print::line("damper lab NUMBER climbs one; --explain says why; --file prints its file.");
    Ok(())
}
