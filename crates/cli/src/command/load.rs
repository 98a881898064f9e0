//! `damper load`: requests at a rate, and what became of them.

mod mix;
mod outcome;
mod page;
mod plan;

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use damper_drill::load::{
    Imported, Job, Live, Observe, Tally, Timeline, from_curl, from_har, start_observed,
};
use tokio::sync::oneshot;

pub(crate) use outcome::{Attempts, Outcome, Replies, Times};
pub(crate) use plan::Shown;

use plan::Plan;

use crate::args::LoadArgs;
use crate::progress::Progress;
use crate::{exit, interrupt, print};

/// How often the terminal hears of it.
const BEAT: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &LoadArgs) -> anyhow::Result<u8> {
    if let Some(imported) = imported(args)? {
        print::line(imported.to_yaml().trim_end());
        return Ok(exit::OK);
    }
    let mut plan = Plan::new(args)?;
    if args.dry_run {
        if args.json {
            print::json(&plan.shown)?;
        } else {
            print::load_plan(&plan.shown);
        }
        return Ok(exit::OK);
    }
    runtime()?.block_on(plan.agree())?;
    let length = plan.warmup + args.lasts.0;
    let timeline = args.html.as_ref().map(|_| {
        Timeline::new(page::width(length), plan.shown.classes.len(), args.good_within.map(|s| s.0))
    });
    let mut senders = Vec::new();
    let mut lives = Vec::new();
    let mut stops = Vec::new();
    for mut job in plan.jobs {
        let (stop, stopped) = oneshot::channel();
        job.stop = Some(stopped);
        let (live, sender) = sender(job, timeline.as_ref().map(Timeline::observer))?;
        senders.push(sender);
        lives.push(live);
        stops.push(stop);
    }
    let interrupted = watch(args, &senders, &lives, stops);
    let mut whole: Option<Tally> = None;
    for sender in senders {
        let Ok(tally) = sender.join() else { bail!("a thread that sends has failed") };
        let tally = tally?;
        match &mut whole {
            Some(whole) => whole.absorb(&tally),
            None => whole = Some(tally),
        }
    }
    let tally = whole.context("nothing sends")?;
    let sent_s = lives.iter().map(|live| live.now().at.as_secs_f64()).fold(0.0, f64::max);
    let measured_s = if interrupted {
        (sent_s - plan.warmup.as_secs_f64()).max(0.0)
    } else {
        args.lasts.0.as_secs_f64()
    };
    let outcome = Outcome::new(&plan.shown, &tally, measured_s, interrupted);
    if args.json {
        print::json(&outcome)?;
    } else {
        print::loaded(&outcome);
    }
    if let Some(timeline) = &timeline {
        super::write_html(args.html.as_deref(), || {
            let page = page::page(args, &outcome, &tally, timeline, plan.warmup);
            damper_report::load_html(&page)
        })?;
    }
    Ok(if interrupted { exit::INTERRUPTED } else { exit::OK })
}

/// The longest recording that is read, in bytes.
const MOST_HAR: u64 = 64 << 20;

/// Requests that were recorded elsewhere, if that is what is asked for.
fn imported(args: &LoadArgs) -> anyhow::Result<Option<Imported>> {
    if let Some(path) = &args.from_har {
        let cannot = || format!("cannot read {}", path.display());
        let mut text = String::new();
        let file = File::open(path).with_context(cannot)?;
        file.take(MOST_HAR + 1).read_to_string(&mut text).with_context(cannot)?;
        let imported = from_har(text.trim_start_matches('\u{feff}'), args.keep_secrets);
        return imported.map(Some).with_context(|| path.display().to_string());
    }
    let curl = args.from_curl.as_ref();
    Ok(curl.map(|command| from_curl(command, args.keep_secrets)).transpose()?)
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime for sockets and timers")
}

type Sender = thread::JoinHandle<Result<Tally, damper_drill::load::Error>>;

/// A thread with a runtime of its own that sends a share of the load.
fn sender(job: Job, observer: Option<Arc<dyn Observe>>) -> anyhow::Result<(Live, Sender)> {
    let runtime = runtime()?;
    let (tell, told) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let tally = runtime.block_on(async {
            // Its clock starts here, where it is sent.
            let (live, sent) = start_observed(job, observer)?;
            let _ = tell.send(live);
            sent.await
        });
        // Connections may still be open.
        runtime.shutdown_background();
        tally
    });
    match told.recv() {
        Ok(live) => Ok((live, thread)),
        // It has said nothing: why, is what it ended with.
        Err(_) => match thread.join() {
            Ok(Err(error)) => Err(error.into()),
            _ => bail!("a thread that sends has failed"),
        },
    }
}

/// Shows how far it is until all have sent, and ends it at Ctrl-C. Whether it did.
fn watch(
    args: &LoadArgs,
    senders: &[Sender],
    lives: &[Live],
    stops: Vec<oneshot::Sender<()>>,
) -> bool {
    let flag: Arc<AtomicBool> = interrupt::flag();
    let progress = Progress::new(args.quiet || args.json);
    let length = (args.warmup.0 + args.lasts.0).as_millis() as u64;
    let mut stops = Some(stops);
    let mut interrupted = false;
    while !senders.iter().all(thread::JoinHandle::is_finished) {
        let now: Vec<_> = lives.iter().map(Live::now).collect();
        let at = now.iter().map(|snapshot| snapshot.at.as_millis() as u64).max().unwrap_or(0);
        let good: u64 = now.iter().flat_map(|snapshot| &snapshot.in_time).sum();
        let under_way: usize = now.iter().map(|snapshot| snapshot.under_way).sum();
        let what = format!("{} good, {under_way} under way, ms", print::thousands(good));
        progress.show(&what, at.min(length), length);
        if flag.load(Ordering::Relaxed)
            && let Some(stops) = stops.take()
        {
            interrupted = true;
            for stop in stops {
                let _ = stop.send(());
            }
        }
        thread::sleep(BEAT);
    }
    interrupted
}
