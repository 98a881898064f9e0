//! What each rung runs.

use super::stage::{Figure, Seen, Stage};
use crate::print::{percent, rate};

pub(super) fn figure(name: &'static str, value: f64, shown: String) -> Figure {
    Figure { name, value, shown }
}

/// Goodput after the trigger below this share of what is offered is "near zero".
const NEAR_ZERO: f64 = 0.05;

pub(crate) fn collapse(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let run = stage.run(&[])?;
    (stage.show)("270/s at a database of 300/s, silent for 2 s", &run.chart());
    let (offered, good) = run.rates(10.0, 70.0);
    let share = good / offered.max(1e-9);
    Ok(Seen {
        sentence: "The trigger has gone and the load is what it was; nothing good comes out for a \
                   minute, and would not for an hour."
            .to_owned(),
        figures: vec![
            figure("offered_rps", offered, format!("{} offered", rate(offered))),
            figure("good_rps", good, format!("{} good", rate(good))),
            figure("good_share", share, format!("{} from 10 s to 70 s after it", percent(share))),
        ],
        holds: (offered / run.system.total_load() - 1.0).abs() < 0.1 && share < NEAR_ZERO,
    })
}

pub(crate) fn hidden(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let mut figures = Vec::new();
    let mut holds = true;
    let names = [
        ("advertised_one_retry_rps", "hidden_one_retry_rps", "one retry", 2.0),
        ("advertised_two_retries_rps", "hidden_two_retries_rps", "two retries", 3.0),
    ];
    for (i, (advertised_name, hidden_name, words, attempts)) in names.into_iter().enumerate() {
        let limit = format!("policies.\"client -> db\".retry.limit={}", i + 1);
        let (advertised, hidden) = stage.headroom(&[&limit])?;
        let ratio = advertised / hidden.max(1e-9);
        let shown = format!("{words}: serves up to {}", rate(advertised));
        figures.push(figure(advertised_name, advertised, shown));
        let shown = format!("{words}: heals below {}, {ratio:.2} times less", rate(hidden));
        figures.push(figure(hidden_name, hidden, shown));
        holds &= (ratio / attempts - 1.0).abs() < 0.15;
    }
    Ok(Seen {
        sentence: "Two thresholds for one system. They differ by the number of attempts that a \
                   request makes when everything fails."
            .to_owned(),
        figures,
        holds,
    })
}

const WITH_BACKOFF: &str = "policies.\"client -> db\".retry.backoff={kind: exponential, base: 1s, factor: 2, max: 10s, jitter: full}";

pub(crate) fn backoff(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let without = stage.run(&[])?;
    (stage.show)("retries at once", &without.chart());
    let with = stage.run(&[WITH_BACKOFF])?;
    (stage.show)("exponential backoff from 1 s, full jitter", &with.chart());
    let mut figures = Vec::new();
    let share = |run: &super::stage::Run| {
        let (offered, good) = run.rates(10.0, 70.0);
        good / offered.max(1e-9)
    };
    let (a, b) = (share(&without), share(&with));
    figures.push(figure("good_share", a, format!("{} good without backoff", percent(a))));
    figures.push(figure("good_share_backoff", b, format!("{} good with it", percent(b))));
    let (wave, wave_backoff) = (without.attempts(2.0, 22.0), with.attempts(2.0, 22.0));
    let shown = |what: &str, (mean, cv): (f64, f64)| {
        format!("{} attempts {what}, varying by {} in a tenth of a second", rate(mean), percent(cv))
    };
    figures.push(figure("variation", wave.1, shown("without it", wave)));
    figures.push(figure("variation_backoff", wave_backoff.1, shown("with it", wave_backoff)));
    let still_down = a < NEAR_ZERO && b < NEAR_ZERO;
    Ok(Seen {
        sentence: "The same collapse. As many attempts arrive, more evenly.".to_owned(),
        figures,
        holds: still_down && wave_backoff.1 < wave.1,
    })
}

const BUCKET: &str =
    "policies.\"client -> db\".retry.budget={kind: token-bucket, max_tokens: 10, token_ratio: 0.1}";
/// Transient errors, without overload: as on a good day, and as in a bad hour.
const ERRORS: [f64; 2] = [0.01, 0.15];

pub(crate) fn bucket(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let before = stage.headroom(&[])?.1;
    let after = stage.headroom(&[BUCKET])?.1;
    let run = stage.run(&[BUCKET])?;
    (stage.show)("the collapse of rung 1 with a bucket", &run.chart());
    let mut figures = vec![
        figure("hidden_rps", before, format!("gain: heals below {} without it", rate(before))),
        figure(
            "hidden_with_bucket_rps",
            after,
            format!("      heals below {} with it", rate(after)),
        ),
    ];
    let names = ["lost_at_1_percent", "lost_at_15_percent"];
    let mut lost = [0.0; 2];
    for ((errors, name), lost) in ERRORS.into_iter().zip(names).zip(&mut lost) {
        let load = before / 2.0;
        let without = stage.success(&[], errors, load)?;
        let with = stage.success(&[BUCKET], errors, load)?;
        *lost = without - with;
        let shown = format!(
            "price at {} errors: {} succeed without it, {} with it",
            percent(errors),
            percent(without),
            percent(with)
        );
        figures.push(figure(name, *lost, shown));
    }
    Ok(Seen {
        sentence: "Two numbers: what the bucket buys in hidden capacity, and what it costs in \
                   requests that a retry would have saved. It costs next to nothing until more than \
                   one attempt in eleven fails."
            .to_owned(),
        figures,
        holds: after > 1.5 * before && lost[1] > 0.01 && lost[0].abs() < lost[1],
    })
}

pub(crate) fn shedding(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let without = stage.run(&["services.shop.admission=none"])?;
    (stage.show)("three times the capacity, everybody is taken", &without.chart());
    let with = stage.run(&[])?;
    (stage.show)("the low class is refused where there is a queue", &with.chart());
    let nominal = with.system.load[0].mean();
    let (a, b) = (without.good_of(0, 20.0, 80.0), with.good_of(0, 20.0, 80.0));
    let word = |x: f64| format!("{} of {} high requests are good", rate(x), rate(nominal));
    Ok(Seen {
        sentence: "At three times the capacity the high class has nearly all of its goodput, and \
                   the rest of the capacity goes to the low one."
            .to_owned(),
        figures: vec![
            figure("high_without_rps", a, format!("without: {}", word(a))),
            figure("high_with_rps", b, format!("with: {}", word(b))),
            figure("high_share", b / nominal, format!("{} of nominal", percent(b / nominal))),
        ],
        holds: b >= 0.8 * nominal && a < 0.8 * nominal,
    })
}
