//! `damper plan`.

mod changes;
mod conditions;
mod outcome;
mod targets;

use anyhow::{Context as _, bail};
use damper_model::plan::{MOST_LIMIT, Question, plan};
use damper_model::system::solve;
use damper_report::result as out;
use damper_system::coverage::Command;
use damper_system::{System, SystemFile};

use crate::args::PlanArgs;
use crate::words::near;
use crate::{command, convert, exit, interrupt, print, progress::Progress};

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<u8> {
    let loaded = command::load(&args.system)?;
    let system = &loaded.system;
    let asked = targets::of(args, system)?;
    let mut at = Vec::new();
    for text in &args.at {
        at.extend(conditions::of(&loaded.file, text)?);
    }
    let under = changed(&loaded.file, &at)?;
    let transient = targets::percentage(&args.transient).context("--transient")?;
    let keep = keep(system, &args.keep)?;
    let question = Question {
        system,
        under: &under,
        targets: asked.iter().map(|a| a.target).collect(),
        transient,
        max_limit: args.max_limit,
        any_order: args.any_order,
        keep: keep.clone(),
    };
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet);
    let found = plan(&question, &mut |done, most| {
        // Each takes microseconds; the terminal need not see every one.
        if done % 64 == 0 {
            progress.show("settings", done, most);
        }
        !stop.load(std::sync::atomic::Ordering::Relaxed)
    })?;
    drop(progress);
    let writer = outcome::Writer {
        file: &loaded.file,
        system,
        targets: &asked,
        free: keep.iter().map(|keep| !keep).collect(),
    };
    let mut result = writer.result(&found)?;
    let mut notes = loaded.notes();
    notes.extend(remarks(&question, &asked, &found));
    confirm(&loaded.file, &result, &at, &mut notes)?;
    let origin = convert::origin(system, &args.system.file, &args.system.set, notes);
    let left_out = convert::left_out(Command::Plan, system);
    result.origin = out::Origin { partial: found.partial, left_out, ..origin };
    (result.at, result.transient, result.max_limit) = (at, transient, args.max_limit);
    if args.json {
        print::json(&result)?;
    } else {
        print::plan(&result);
        print::left_out(&result.origin);
    }
    Ok(match (found.partial, found.met) {
        (true, _) => exit::INTERRUPTED,
        (false, true) => exit::OK,
        (false, false) => exit::GATE,
    })
}

fn changed(file: &SystemFile, assignments: &[String]) -> anyhow::Result<System> {
    let mut file = file.clone();
    for assignment in assignments {
        file.set(assignment)?;
    }
    Ok(file.lower()?)
}

/// Which calls stay as they are.
fn keep(system: &System, names: &[String]) -> anyhow::Result<Vec<bool>> {
    let edges = 0..system.policies.edges.len();
    let calls: Vec<String> = edges.clone().map(|i| changes::call(system, i)).collect();
    let mut keep = vec![false; calls.len()];
    for name in names {
        let wanted: Vec<&str> = name.split("->").map(str::trim).collect();
        let wanted = wanted.join(" -> ");
        let callee = |call: &str| call.rsplit(" -> ").next().map(str::to_owned);
        let mut known = false;
        for (keep, call) in keep.iter_mut().zip(&calls) {
            if *call == wanted || callee(call).as_ref() == Some(&wanted) {
                (*keep, known) = (true, true);
            }
        }
        if !known {
            let callees = calls.iter().filter_map(|c| callee(c)).collect::<Vec<_>>();
            let names = calls.iter().chain(&callees).map(String::as_str);
            let hint = near(&wanted, names);
            bail!(
                "--keep: there is no call `{wanted}`; expected `caller -> callee` or a callee{hint}"
            );
        }
    }
    Ok(keep)
}

/// What a reader has to know about the answer.
fn remarks(
    question: &Question<'_>,
    asked: &[targets::Asked],
    found: &damper_model::plan::Planned,
) -> Vec<String> {
    use damper_control::Outcome;
    use damper_model::plan::Target;
    let mut notes = Vec::new();
    let edges = &question.system.policies.edges;
    let hides = asked.iter().any(|a| matches!(a.target, Target::Hidden(_)));
    let overload = |t: &Target| matches!(t, Target::Rejection { .. } | Target::Amplification(_));
    let overload = asked.iter().any(|a| overload(&a.target));
    let deaf: Vec<String> = edges
        .iter()
        .enumerate()
        .filter(|(_, e)| !e.policy.idempotent || !e.policy.retry.on.contains(Outcome::Failed))
        .map(|(i, _)| format!("`{}`", changes::call(question.system, i)))
        .collect();
    if hides && !deaf.is_empty() {
        notes.push(format!(
            "no limit hides a transient fault at {}: they do not retry `failed` (`on`, `idempotent`)",
            some(&deaf)
        ));
    }
    if overload && edges.iter().any(|e| e.policy.budget.kind != "none") {
        notes.push("budgets are not in the model of an overload: they refuse retries that it counts on; simulate it".to_owned());
    }
    if !overload
        && !std::ptr::eq(question.system, question.under)
        && question.system != question.under
    {
        notes.push("`--at` changes no target: it is for --reject and --amplified".to_owned());
    }
    let limits = found.best.setting.limits.iter().flatten();
    if !found.met && question.max_limit > 0 && limits.max() >= Some(&question.max_limit) {
        notes.push(format!(
            "limits above {} were not tried: --max-limit, at most {MOST_LIMIT}",
            question.max_limit
        ));
    }
    let classes = &found.best.setting.limits;
    let hurried = edges.iter().zip(classes).any(|(e, limits)| {
        limits.windows(2).any(|w| w[0] != w[1])
            && e.policy.retry.backoff == damper_control::Backoff::NONE
    });
    if hurried {
        notes.push("class limits need retry delays that are long against 1/capacity: without a `backoff` a limit that is reached now is reached at once again, and the priority disappears".to_owned());
    }
    notes
}

/// Makes the changes as a user would and solves again: what is printed is what one gets.
fn confirm(
    file: &SystemFile,
    result: &out::Plan,
    at: &[String],
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    let asis = solve(&changed(file, &result.changes)?)?;
    let both: Vec<String> = result.changes.iter().chain(at).cloned().collect();
    let system = changed(file, &both)?;
    let under = solve(&system)?;
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(1.0);
    let worst = asis.services.iter().map(|s| s.worst_amplification).fold(1.0, f64::max);
    let rejections = system.classes.iter().zip(&under.classes);
    let same = near(worst, result.after.worst_amplification)
        && asis.hidden_rps.is_some() == result.after.hidden_rps.is_some()
        && near(asis.hidden_rps.unwrap_or(0.0), result.after.hidden_rps.unwrap_or(0.0))
        && rejections.into_iter().all(|(name, c)| {
            near(c.rejection, result.after.rejection.get(name).copied().unwrap_or(-1.0))
        });
    if !same {
        bail!("solving the changed file gives other numbers than the plan; please report this one");
    }
    for note in asis.notes.into_iter().chain(under.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(())
}

/// The first three of a list.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let rest = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if rest > 0 { format!("{shown} and {rest} more") } else { shown }
}
