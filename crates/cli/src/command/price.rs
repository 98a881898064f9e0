//! `damper price`.

mod csv;
mod part;

use anyhow::{Context as _, bail};
use damper_report::result::Origin;
use damper_report::result::price::{
    Exact, MeasuredPart, Price, PriceAt, PricePart, PriceQuestion, PricedBudget,
};
use damper_sim::{Control, Errors, Measured, PriceOptions, Pricing, Setting, conclude};
use damper_system::quantity;

use crate::args::{PriceArgs, SystemArgs};
use crate::{command, convert, exit, interrupt, print, progress::Progress, words};

/// What a question comes to: what was asked, and what was measured.
struct Answer {
    question: PriceQuestion,
    advertised: Option<[f64; 3]>,
    measured: Vec<Option<Measured>>,
    requests: u64,
    partial: bool,
}

pub(crate) fn run(args: &PriceArgs) -> anyhow::Result<u8> {
    let answer = if args.merge.is_empty() {
        match ask(args)? {
            Some(answer) => answer,
            None => return Ok(exit::OK),
        }
    } else {
        part::merge(&args.merge)?
    };
    let result = result(&answer);
    if args.output.json {
        print::json(&result)?;
    } else {
        print::price(&result);
    }
    if let Some(path) = &args.csv {
        command::write(path, &csv::of(&result))?;
    }
    command::write_html(args.output.html.as_deref(), || damper_report::price_html(&result))?;
    Ok(if answer.partial { exit::INTERRUPTED } else { exit::OK })
}

/// Measures, all of it or a part, which is written down. `None`: it was a part.
fn ask(args: &PriceArgs) -> anyhow::Result<Option<Answer>> {
    let file = args.file.clone().context("expected a system file, or --merge with parts")?;
    let from = SystemArgs { file, set: args.set.clone() };
    let mut loaded = command::load(&from)?;
    loaded.override_experiment(&args.output);
    let shard = args.shard.as_deref().map(part::shard).transpose()?;
    let options = options(args, loaded.system.experiment.replications)?;
    let at = share("--at", &args.at)?;
    if !options.errors.iter().any(|e| (e - at).abs() < 1e-12) {
        bail!("--at: `{}` is none of --errors ({})", args.at, args.errors.join(", "));
    }
    let pricing = Pricing::new(&loaded.file, &loaded.system, &options)?;
    let mut notes = loaded.notes();
    notes.extend(pricing.notes.iter().cloned());
    let origin = convert::origin(&loaded.system, &from.file, &from.set, notes);
    let trigger = loaded.system.experiment.trigger.and_then(|t| loaded.system.triggers.get(t));
    let trigger = trigger.map_or_else(String::new, |t| words::trigger(&loaded.system, t));
    let fingerprint = command::fingerprint(&format!("{:?}", loaded.system));
    let mut question = question(&pricing, &options, origin, trigger, fingerprint);
    (question.judged_at, question.most_lost) = (Exact(at), Exact(args.most / 100.0));

    let stop = interrupt::flag();
    let progress = Progress::new(args.output.quiet);
    let show = |what: &str, done, total| progress.show(what, done, total);
    let control = Control { stop: &stop, progress: &show };
    let places: Vec<usize> = match shard {
        Some([part, of]) => (part as usize..pricing.settings.len()).step_by(of as usize).collect(),
        None => (0..pricing.settings.len()).collect(),
    };
    let mut measured: Vec<Option<Measured>> = vec![None; pricing.settings.len()];
    let advertised = pricing.advertised(&control)?;
    if let Some((estimate, _)) = advertised {
        for (place, found) in places.iter().zip(pricing.measure(&places, estimate, &control)) {
            measured[*place] = found;
        }
    } else if !control.stop.load(std::sync::atomic::Ordering::Relaxed) {
        bail!("no load is served at 99 % even without retries and without a trigger");
    }
    drop(progress);
    let partial = stop.load(std::sync::atomic::Ordering::Relaxed);
    question.origin.partial = partial;
    let (estimate, requests) = match advertised {
        Some((e, requests)) => (Some([e.mean, e.ci95[0], e.ci95[1]]), requests),
        None => (None, 0),
    };
    let answer = Answer { question, advertised: estimate, measured, requests, partial };
    let (Some(shard), Some(path)) = (shard, &args.part) else { return Ok(Some(answer)) };
    if partial {
        bail!(
            "interrupted: an unfinished part is of no use, and {} is not written",
            path.display()
        );
    }
    command::write(path, &(serde_json::to_string_pretty(&part::written(&answer, shard))? + "\n"))?;
    print::note(&format!(
        "part {} of {}: {} of {}, {}",
        shard[0],
        shard[1],
        places.len(),
        print::count(answer.measured.len(), "setting"),
        path.display()
    ));
    Ok(None)
}

fn options(args: &PriceArgs, replications: u32) -> anyhow::Result<PriceOptions> {
    let errors: anyhow::Result<Vec<f64>> =
        args.errors.iter().map(|e| share("--errors", e)).collect();
    let burst_length = quantity::duration(&args.burst_length)
        .map_err(|e| anyhow::anyhow!("--burst-length: {e}"))?;
    if !(0.0..=100.0).contains(&args.most) {
        bail!("--most: expected percentage points from 0 to 100, such as 0.1");
    }
    for budget in args.budget.iter().filter(|b| !b.contains('{')) {
        let all = || damper_control::registry::of(damper_control::entry::Kind::Budget);
        if !all().any(|e| e.name == budget) {
            let near = words::near(budget, all().map(|e| e.name));
            bail!(
                "--budget: there is no budget `{budget}`{near}; expected a name from `damper \
                 controls`, or a setting such as '{{kind: envoy, percent: 5%}}'"
            );
        }
    }
    Ok(PriceOptions {
        // A price is a difference with an interval, and one value has none.
        replications: replications.max(2),
        errors: errors?,
        burst_length,
        burst_failure: share("--burst-failure", &args.burst_failure)?,
        requests: args.requests,
        budgets: args.budget.clone(),
    })
}

fn share(option: &str, text: &str) -> anyhow::Result<f64> {
    let share = quantity::share(text.trim()).map_err(|e| anyhow::anyhow!("{option}: {e}"))?;
    if share <= 0.0 || share > 1.0 {
        bail!("{option}: expected a share above 0% and at most 100%, such as 1%, not `{text}`");
    }
    Ok(share)
}

fn question(
    pricing: &Pricing,
    options: &PriceOptions,
    origin: Origin,
    trigger: String,
    fingerprint: String,
) -> PriceQuestion {
    let errors = pricing.errors.iter();
    let settings = pricing.settings.iter().zip(&pricing.sets);
    PriceQuestion {
        origin,
        fingerprint,
        trigger,
        load_rps: Exact(pricing.load),
        replications: options.replications,
        requests: options.requests,
        burst_length_s: Exact(options.burst_length.as_secs_f64()),
        burst_failure: Exact(options.burst_failure),
        errors: errors.map(|e| ([Exact(e.share), Exact(e.simulated)], e.bursty)).collect(),
        settings: settings
            .map(|(s, set)| (s.written.clone(), s.control.clone(), s.default, set.clone()))
            .collect(),
        ..PriceQuestion::default()
    }
}

/// The result in the form in which it is printed.
fn result(answer: &Answer) -> Price {
    let q = &answer.question;
    let settings: Vec<Setting> = q
        .settings
        .iter()
        .map(|(written, control, default, _)| Setting {
            written: written.clone(),
            control: control.clone(),
            default: *default,
            fields: Vec::new(),
        })
        .collect();
    let errors: Vec<Errors> = q
        .errors
        .iter()
        .map(|([share, simulated], bursty)| Errors {
            share: share.0,
            bursty: *bursty,
            simulated: simulated.0,
        })
        .collect();
    let judged = conclude(&settings, &errors, &answer.measured, q.judged_at.0, q.most_lost.0);
    let name = |place: usize| settings.get(place).map(|s| s.written.clone());
    let priced = judged.settings.iter().map(|p| {
        let setting = &q.settings[p.place];
        let prices = errors.iter().zip(&p.lost).map(|(e, lost)| PriceAt {
            errors: e.share,
            bursty: e.bursty,
            success: lost.success,
            price: lost.price.mean,
            price_ci95: lost.price.ci95,
            scaled: e.simulated > e.share,
        });
        PricedBudget {
            budget: setting.0.clone(),
            control: setting.1.clone(),
            default: setting.2,
            set: setting.3.clone(),
            hidden_rps: p.hidden.map(|h| h.mean),
            hidden_ci95: p.hidden.map(|h| h.ci95),
            heals_everywhere: p.heals,
            at_least: p.at_least,
            gained_rps: p.gained,
            prices: prices.collect(),
            price: p.judged.mean,
            price_ci95: p.judged.ci95,
            frontier: p.dominated_by.is_none(),
            dominated_by: p.dominated_by.and_then(name),
        }
    });
    let measured = answer.measured.iter().flatten();
    Price {
        trigger: q.trigger.clone(),
        load_rps: q.load_rps.0,
        advertised_rps: answer.advertised.map(|a| a[0]),
        advertised_ci95: answer.advertised.map(|a| [a[1], a[2]]),
        replications: q.replications,
        requests_per_replication: q.requests,
        burst_length_s: q.burst_length_s.0,
        burst_failure: q.burst_failure.0,
        judged_at: q.judged_at.0,
        most_lost: q.most_lost.0,
        settings: priced.collect(),
        recommended: judged.recommended.and_then(name),
        simulated_requests: answer.requests + measured.map(|m| m.requests).sum::<u64>(),
        origin: q.origin.clone(),
    }
}
