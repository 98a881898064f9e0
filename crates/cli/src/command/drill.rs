//! `damper drill`.

mod people;
mod predict;
mod target;
mod when;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use damper_drill::load::Checks;
use damper_drill::{
    Bisection, Consent, Drilling, Ended, Keeper, Ledger, Run, changes, dry_run, keep, last_of,
    lift, remember,
};
use damper_report::result::drill::Drill as Record;
use damper_system::model::System;
use damper_system::{Drill, DrillFile, PhaseKind, Problems, Size};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::{DrillArgs, DrillPart, DrilledArgs};
use crate::progress::Progress;
use crate::{command, exit, print};
use people::Terminal;

/// A runtime of one thread: what is measured must not wait for another thread's turn.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime for sockets and timers")
}

/// `damper drilled`: what `damper drill` starts.
pub(crate) fn part(args: &DrilledArgs) -> anyhow::Result<u8> {
    let DrillPart::Keep { ledger } = &args.part;
    // The end of its input is what it waits for, and nothing else: what the terminal or a
    // supervisor says is for the drill.
    let runtime = runtime()?;
    let kept = runtime.block_on(async {
        let deaf = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
        let _deaf: Vec<_> = deaf.into_iter().filter_map(|kind| signal(kind).ok()).collect();
        keep(ledger).await
    });
    match kept {
        Ok(done) => {
            done.iter().for_each(|what| print::note(&format!("after the drill's end: {what}")));
            Ok(exit::OK)
        }
        Err(why) => bail!("{why}"),
    }
}

pub(crate) fn run(args: &DrillArgs) -> anyhow::Result<u8> {
    if args.schema {
        print::json(&damper_system::drill_schema())?;
        return Ok(exit::OK);
    }
    let runtime = runtime()?;
    let result = match &args.file {
        Some(file) => runtime.block_on(drill(args, file)),
        None => runtime.block_on(lifted(args)),
    };
    // A question to a person may still wait for an answer.
    runtime.shutdown_background();
    result
}

fn ledger_path(args: &DrillArgs) -> PathBuf {
    args.keep_in.join("undo.json")
}

async fn lifted(args: &DrillArgs) -> anyhow::Result<u8> {
    match lift(&ledger_path(args)).await {
        Ok(done) if done.is_empty() => print::line("nothing was left to be undone"),
        Ok(done) => done.iter().for_each(|what| print::line(what)),
        Err(why) => bail!("{why}"),
    }
    Ok(exit::OK)
}

/// The plan, as the command line changes it, with what it probably does not mean.
fn plan(args: &DrillArgs, file: &Path) -> Result<(Drill, Problems), Problems> {
    let mut file = DrillFile::read(file)?;
    for assignment in &args.set {
        file.set(assignment)?;
    }
    // Before the file is understood: what is varied decides in which units its bounds are.
    if let Some(of) = args.of {
        file.set(&format!("headroom.of={}", of.word()))?;
    }
    file.lower_with_warnings(&Checks::default())
}

async fn drill(args: &DrillArgs, path: &Path) -> anyhow::Result<u8> {
    let (mut drill, warnings) = plan(args, path)?;
    print::problems(&warnings);
    let written = drill.clone();
    let slower = args.slower.unwrap_or(drill.slower);
    drill.slower = 1.0;
    let mut system = drill.plant.as_ref().map(|plant| plant.system.clone());
    if slower > 1.0 {
        drill.slow_down(slower);
        if let Some((_, followed)) = drill.callers.follows.as_mut().and_then(|f| f.file.as_mut()) {
            for note in damper_emulate::slow_down(followed, slower) {
                print::note(&note);
            }
        }
        if let Some(system) = &mut system {
            for note in damper_emulate::slow_down(system, slower) {
                print::note(&note);
            }
        }
    }
    let consent = Consent::of(&drill, &args.confirm)?;
    if args.dry_run {
        let places = target::named(args).await?;
        print::line(dry_run(&drill, system.as_ref(), &places).trim_end());
        return Ok(exit::OK);
    }
    let asks = drill.phases.iter().any(|phase| matches!(phase.kind, PhaseKind::Ask(_)));
    let people = Terminal::new(args.yes_as.clone());
    if asks && !args.headroom && !people.can_answer() {
        bail!("the plan asks a person, and nobody is at the terminal: --yes-as NAME says yes");
    }
    let (stop, stopped) = watch::channel(false);
    let raised = Arc::new(AtomicBool::new(false));
    let halt = stop.clone();
    listen(stop, raised.clone())?;
    let progress = Progress::new(args.quiet || args.json);
    let show = |what: &str| progress.show(what, 0, 1);
    let predicted = if args.no_prediction {
        None
    } else {
        show("simulating what it should show");
        // On a thread of its own, so that whoever stops it is heard.
        let search = args.headroom;
        let found = tokio::task::spawn_blocking(move || {
            predict::predict(&written, slower, search, &raised)
        });
        found.await??
    };
    let left_out = predicted.iter().filter(|_| !args.json).flat_map(|p| &p.model_left_out);
    left_out.for_each(|left| print::note(&left.says));
    if *stopped.borrow() {
        return Ok(exit::INTERRUPTED);
    }
    std::fs::create_dir_all(&args.keep_in)
        .with_context(|| format!("cannot make {}", args.keep_in.display()))?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let path_of_ledger = ledger_path(args);
    let kept_in = path_of_ledger.to_str().context("the name of --keep-in is not UTF-8")?;
    let keeper = Keeper::start(&program, &["drilled", "keep", kept_in]);
    let keeper = keeper.context("the keeper, which undoes what a crash leaves behind")?;
    let mut ledger = Ledger::open(&path_of_ledger, Some(keeper))?;
    let target = target::start(args, &drill, system.clone(), slower).await?;
    let history = args.keep_in.join("drills.jsonl");
    let started = when::now();
    let with = With { args, drill: &drill, system: system.as_ref(), consent: &consent };
    let work = async {
        let places = &target.places;
        if args.headroom {
            with.search(places, &mut ledger, &people, stopped, &show).await
        } else {
            with.run(places, &mut ledger, &people, stopped, &show).await
        }
    };
    let (done, died) = {
        let mut work = std::pin::pin!(work);
        match target.emulation {
            // Only borrowed: where the emulation dies, there is a way back and a record all the same.
            Some(emulation) => match emulation.run(&mut work).await {
                Ok(done) => (done, None),
                Err(error) => {
                    halt.send_replace(true);
                    (work.await, Some(error))
                }
            },
            None => (work.await, None),
        }
    };
    drop(progress);
    let (mut record, mut code) = done?;
    if let Some(error) = died {
        "failed".clone_into(&mut record.ended);
        record.ended_why = format!("the emulation: {error}; {}", record.ended_why);
        code = exit::ERROR;
    }
    record.origin.file = path.display().to_string();
    record.origin.set = args.set.iter().map(|set| without_headers(set)).collect();
    env!("CARGO_PKG_VERSION").clone_into(&mut record.origin.version);
    record.started = started;
    predict::beside(&mut record, predicted);
    let before = last_of(&history, &record.origin.system);
    if let Ok(Some(before)) = &before {
        record.changes = changes(before, &record);
    }
    // What was measured is said, whatever becomes of the history.
    let kept = if args.no_history { Ok(()) } else { remember(&history, &record) };
    say(args, &record)?;
    before.with_context(|| format!("cannot read {}", history.display()))?;
    kept.with_context(|| format!("cannot write {}", history.display()))?;
    Ok(code)
}

/// A change as it is kept: the values of headers may be secret.
fn without_headers(set: &str) -> String {
    match set.split_once('=') {
        Some((path, _)) if path.trim_start().starts_with("headers") => {
            format!("{path}=(not kept)")
        }
        _ => set.to_owned(),
    }
}

fn say(args: &DrillArgs, record: &Record) -> anyhow::Result<()> {
    if args.json {
        print::json(record)?;
    } else {
        print::drill(record);
    }
    if let Some(path) = &args.markdown {
        std::fs::write(path, damper_report::drill_markdown(record))
            .with_context(|| format!("cannot write {}", path.display()))?;
        print::note(&format!("runbook: {}", path.display()));
    }
    super::write_html(args.html.as_deref(), || damper_report::drill_html(record))
}

/// What both ways of drilling have.
struct With<'a> {
    args: &'a DrillArgs,
    drill: &'a Drill,
    system: Option<&'a System>,
    consent: &'a Consent,
}

impl With<'_> {
    async fn run(
        &self,
        places: &damper_drill::Places,
        ledger: &mut Ledger,
        people: &Terminal,
        stop: watch::Receiver<bool>,
        say: &dyn Fn(&str),
    ) -> anyhow::Result<(Record, u8)> {
        let (drill, system, consent) = (self.drill, self.system, self.consent);
        let drilling = Drilling { drill, system, places, consent, ledger, people, stop, say };
        let Run { ended, record } = damper_drill::run(drilling).await?;
        let met = record.expectations.iter().all(|e| e.met == Some(true));
        let code = match ended {
            Ended::Failed(_) => exit::ERROR,
            Ended::Interrupted => exit::INTERRUPTED,
            Ended::Aborted(_) => exit::GATE,
            Ended::Done if !met => exit::GATE,
            Ended::Done => exit::OK,
        };
        Ok((record, code))
    }

    async fn search(
        &self,
        places: &damper_drill::Places,
        ledger: &mut Ledger,
        people: &Terminal,
        stop: watch::Receiver<bool>,
        say: &dyn Fn(&str),
    ) -> anyhow::Result<(Record, u8)> {
        let (drill, system, consent) = (self.drill, self.system, self.consent);
        let checkpoint = self.checkpoint();
        let state = self.resumed(&checkpoint)?;
        let drilling = Drilling { drill, system, places, consent, ledger, people, stop, say };
        let plan = self.digest();
        let keep = |state: &Bisection| {
            let kept = Checkpoint { plan: plan.clone(), state: state.clone() };
            if let Err(error) = kept.write(&checkpoint) {
                print::note(&format!("cannot write {}: {error}", checkpoint.display()));
            }
        };
        let searched = damper_drill::search(drilling, state, &keep).await?;
        let code = match (&searched.failed, searched.interrupted, &searched.hidden.ended_early) {
            (Some(_), _, _) => exit::ERROR,
            (_, true, _) => exit::INTERRUPTED,
            (_, _, Some(_)) => exit::GATE,
            _ => exit::OK,
        };
        if code == exit::OK {
            // It is done with; there is nothing to go on from.
            let _ = std::fs::remove_file(&checkpoint);
        } else if !searched.state.tried.is_empty() {
            print::note(&format!("--resume goes on from {}", checkpoint.display()));
        }
        let ended = match code {
            exit::OK => "done",
            exit::INTERRUPTED => "interrupted",
            exit::GATE => "aborted",
            _ => "failed",
        };
        let why = searched.failed.or_else(|| searched.hidden.ended_early.clone());
        let load = drill.total_load().or(system.map(System::total_load));
        let mut record = Record {
            ended: ended.to_owned(),
            ended_why: why.unwrap_or_default(),
            target: target::words(drill, places),
            owners: consent.hosts.iter().cloned().collect(),
            load_rps: load.unwrap_or(0.0),
            slower: drill.slower,
            hidden: Some(searched.hidden),
            ..Record::default()
        };
        record.origin.system.clone_from(&drill.name);
        record.origin.seed = drill.seed;
        record.origin.partial = code != exit::OK;
        Ok((record, code))
    }

    fn checkpoint(&self) -> PathBuf {
        let fine = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.drill.name.chars().map(fine).take(60).collect();
        let of = if self.drill.search.of == Size::Load { "load" } else { "trigger" };
        self.args.keep_in.join(format!("headroom-{name}-{of}.json"))
    }

    fn resumed(&self, checkpoint: &Path) -> anyhow::Result<Option<Bisection>> {
        if !self.args.resume {
            return Ok(None);
        }
        let shown = checkpoint.display();
        let bytes = std::fs::read(checkpoint)
            .with_context(|| format!("{shown}, the checkpoint to go on from"))?;
        let kept: Checkpoint =
            serde_json::from_slice(&bytes).with_context(|| format!("{shown} is no checkpoint"))?;
        if kept.plan != self.digest() {
            bail!(
                "{shown} is of another plan, or of another system file: start anew without --resume"
            );
        }
        Ok(Some(kept.state))
    }

    /// Tells plans apart: of all that the plan and its system file say, with what the command line
    /// changes.
    fn digest(&self) -> String {
        command::fingerprint(&format!("{:?}\n{:?}", self.drill, self.system))
    }
}

/// A search that can be gone on with.
#[derive(serde::Serialize, serde::Deserialize)]
struct Checkpoint {
    /// What it is a search of.
    plan: String,
    #[serde(flatten)]
    state: Bisection,
}

impl Checkpoint {
    /// Replaces the file in one step.
    fn write(&self, path: &Path) -> std::io::Result<()> {
        let new = path.with_extension("new");
        std::fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&new, path)
    }
}

/// Ctrl-C, SIGTERM and the end of the terminal ask for the way back; Ctrl-C after that does not wait
/// for it, and leaves it to the keeper.
fn listen(stop: watch::Sender<bool>, raised: Arc<AtomicBool>) -> anyhow::Result<()> {
    let on = |kind| signal(kind).context("signals cannot be listened for");
    let mut interrupt = on(SignalKind::interrupt())?;
    let mut terminate = on(SignalKind::terminate())?;
    let mut hangup = on(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            // A terminal that ends sends what a supervisor sends again: only a person asks twice.
            let by_person = tokio::select! {
                _ = interrupt.recv() => true,
                _ = terminate.recv() => false,
                _ = hangup.recv() => false,
            };
            raised.store(true, Ordering::Relaxed);
            if stop.send_replace(true) && by_person {
                #[expect(clippy::exit, reason = "asked twice; the keeper undoes what is left")]
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
        }
    });
    Ok(())
}
