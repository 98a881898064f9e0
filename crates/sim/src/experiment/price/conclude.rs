//! What measurements say: gains and prices with intervals, the frontier, a recommendation.
//!
//! Arithmetic over what was measured and nothing else, so that measurements from several machines
//! give what one machine gives.

use super::{Counted, Errors, Measured, RESOLUTION, Setting};
use crate::estimate::Estimate;

/// What one kind of errors costs with a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    /// Share of requests that succeed.
    pub success: f64,
    /// Success with unlimited retries minus success with the setting, as a share of requests.
    pub price: Estimate,
}

/// A setting with what it gains and costs.
#[derive(Clone, Debug, PartialEq)]
pub struct PricedSetting {
    /// Its place among the settings.
    pub place: usize,
    /// Hidden capacity.
    pub hidden: Option<Estimate>,
    /// It recovers from every load that was tried.
    pub heals: bool,
    /// Hidden capacity may be higher.
    pub at_least: bool,
    /// Hidden capacity beyond that with unlimited retries.
    pub gained: f64,
    /// By [`Errors`].
    pub lost: Vec<Lost>,
    /// The price that it is judged by: the worse of independent errors and bursts, at one share.
    pub judged: Estimate,
    /// The place of a setting that gains no less for no more, and one of the two strictly; the
    /// cheapest of them. `None`: it is on the frontier.
    pub dominated_by: Option<usize>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Those that were measured, in their order.
    pub settings: Vec<PricedSetting>,
    /// The place of the setting with the most hidden capacity among those whose price, at the
    /// upper end of its interval, is at most what was allowed.
    pub recommended: Option<usize>,
}

/// Draws the conclusions. `at`: the share of errors by which settings are judged; `most`: the most
/// that a recommended setting may lose, as a share of requests.
#[must_use]
pub fn conclude(
    settings: &[Setting],
    errors: &[Errors],
    measured: &[Option<Measured>],
    at: f64,
    most: f64,
) -> Judged {
    let base = measured.first().and_then(Option::as_ref);
    let base_hidden = base.and_then(|b| b.hidden).map_or(0.0, |h| h.mean);
    let mut priced: Vec<PricedSetting> = measured
        .iter()
        .enumerate()
        .filter_map(|(place, m)| Some((place, m.as_ref()?)))
        .map(|(place, m)| {
            let lost: Vec<Lost> = errors
                .iter()
                .enumerate()
                .map(|(way, errors)| lost(base, m, way, *errors))
                .collect();
            let at_share = errors.iter().zip(&lost).filter(|(e, _)| same(e.share, at));
            let judged = at_share.map(|(_, l)| l.price).reduce(worse);
            PricedSetting {
                place,
                hidden: m.hidden,
                heals: m.heals,
                at_least: m.at_least,
                gained: m.hidden.map_or(0.0, |h| h.mean) - base_hidden,
                lost,
                judged: judged.unwrap_or(Estimate { mean: 0.0, ci95: [0.0; 2] }),
                dominated_by: None,
            }
        })
        .collect();
    let points: Vec<(f64, f64)> = priced.iter().map(|p| (p.gained, p.judged.mean)).collect();
    for (setting, dominator) in priced.iter_mut().zip(dominators(&points)) {
        setting.dominated_by = dominator.and_then(|i| measured_place(measured, i));
    }
    let recommended = recommended(settings, &priced, most);
    Judged { settings: priced, recommended }
}

/// The place of the n-th setting that was measured.
fn measured_place(measured: &[Option<Measured>], nth: usize) -> Option<usize> {
    (0..measured.len()).filter(|i| measured[*i].is_some()).nth(nth)
}

/// What the worse of two is, as far as is known: either may be it.
fn worse(a: Estimate, b: Estimate) -> Estimate {
    let end = |i: usize| a.ci95[i].max(b.ci95[i]);
    Estimate { mean: a.mean.max(b.mean), ci95: [end(0), end(1)] }
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

fn lost(base: Option<&Measured>, m: &Measured, way: usize, errors: Errors) -> Lost {
    let none: &[Counted] = &[];
    let of = |m: &Measured| m.success.get(way).map_or(none, |s| s.as_slice()).to_vec();
    let (before, after) = (base.map(of).unwrap_or_default(), of(m));
    let scale = errors.scale();
    let differences: Vec<f64> =
        before.iter().zip(&after).map(|(b, a)| (b.share() - a.share()) * scale).collect();
    let mut price = Estimate::of(&differences);
    // Where no replication differs, the t interval is a point. The rule of three: of what was not
    // seen in n requests there may be 3 in n.
    if differences.iter().all(|d| *d == 0.0) {
        let ended: u64 = after.iter().map(|c| c.ended).sum();
        let unseen = 3.0 / ended.max(1) as f64 * scale;
        price.ci95 = [-unseen, unseen];
    }
    let shares: Vec<f64> = after.iter().map(|c| c.share()).collect();
    // Scaled like the price: bursts that are not there fail nobody.
    let success = 1.0 - (1.0 - Estimate::of(&shares).mean) * scale;
    Lost { success, price }
}

/// For each point (gain, price) the index of one that is as good in both and better in one: of
/// those the cheapest, then the one with the largest gain, then the first.
fn dominators(points: &[(f64, f64)]) -> Vec<Option<usize>> {
    let beats = |a: &(f64, f64), b: &(f64, f64)| a.0 >= b.0 && a.1 <= b.1 && a != b;
    let of = |point: &(f64, f64)| {
        let better = points.iter().enumerate().filter(|(_, other)| beats(other, point));
        let first = better
            .min_by(|(i, a), (j, b)| a.1.total_cmp(&b.1).then(b.0.total_cmp(&a.0)).then(i.cmp(j)));
        first.map(|(i, _)| i)
    };
    points.iter().map(of).collect()
}

/// The setting with the most hidden capacity that costs no more than `most`. Gains that no search
/// tells apart are equal; then the cheaper one, then one that somebody ships, then the first.
fn recommended(settings: &[Setting], priced: &[PricedSetting], most: f64) -> Option<usize> {
    let hidden = |p: &PricedSetting| p.hidden.map_or(0.0, |h| h.mean);
    let affordable: Vec<&PricedSetting> =
        priced.iter().filter(|p| p.judged.ci95[1] <= most && p.hidden.is_some()).collect();
    let top = affordable.iter().map(|p| hidden(p)).fold(0.0, f64::max);
    let best = affordable.iter().filter(|p| hidden(p) >= top * (1.0 - RESOLUTION));
    let shipped = |p: &PricedSetting| settings.get(p.place).is_some_and(|s| s.default);
    let first = best.min_by(|a, b| {
        let price = a.judged.mean.total_cmp(&b.judged.mean);
        price.then(shipped(b).cmp(&shipped(a))).then(a.place.cmp(&b.place))
    });
    first.map(|p| p.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a is cheap and gains little, b gains more for more, c gains less than b for the
    /// same, d is as b, e is worse than a in both.
    #[test]
    fn the_frontier_by_hand() {
        let a = (10.0, 0.1);
        let b = (20.0, 0.5);
        let c = (15.0, 0.5);
        let d = (20.0, 0.5);
        let e = (5.0, 0.2);
        assert_eq!(dominators(&[a, b, c, d, e]), [None, None, Some(1), None, Some(0)]);
        assert_eq!(dominators(&[c, e]), [None, None], "neither is better in both");
        assert_eq!(dominators(&[]), []);
    }

    #[test]
    fn the_worse_price_is_as_unsure_as_either() {
        let price = |mean, low, high| Estimate { mean, ci95: [low, high] };
        let [seen, wide] = [price(0.002, 0.001, 0.003), price(0.0, -0.01, 0.01)];
        assert_eq!(worse(seen, wide), price(0.002, 0.001, 0.01));
        assert_eq!(worse(wide, seen), worse(seen, wide));
    }

    /// What takes the same money for more is told, the cheapest first.
    #[test]
    fn the_cheapest_dominator_is_named() {
        let points = [(5.0, 0.9), (10.0, 0.5), (7.0, 0.1), (9.0, 0.1)];
        assert_eq!(dominators(&points), [Some(3), None, Some(3), None]);
    }

    fn setting(name: &str, default: bool) -> Setting {
        Setting { written: name.into(), control: name.into(), default, fields: Vec::new() }
    }

    fn measured(hidden: f64, good: [u64; 2]) -> Option<Measured> {
        let counted = |good| Counted { good, ended: 1000 };
        Some(Measured {
            hidden: Some(Estimate { mean: hidden, ci95: [hidden - 1.0, hidden + 1.0] }),
            heals: false,
            at_least: false,
            success: vec![good.map(counted).to_vec(), good.map(counted).to_vec()],
            requests: 0,
        })
    }

    const ERRORS: [Errors; 2] = [
        Errors { share: 0.01, bursty: false, simulated: 0.01 },
        Errors { share: 0.001, bursty: true, simulated: 0.01 },
    ];

    #[test]
    fn prices_by_hand() {
        let settings = [setting("none", false), setting("a", false)];
        let all = [measured(100.0, [999, 997]), measured(150.0, [989, 985])];
        let judged = conclude(&settings, &ERRORS, &all, 0.01, 0.02);
        let a = &judged.settings[1];
        assert!((a.gained - 50.0).abs() < 1e-9);
        // 10 and 12 of a thousand: mean 1.1 %, half width 12.706 × 0.1 %.
        let independent = a.lost[0].price;
        assert!((independent.mean - 0.011).abs() < 1e-12);
        assert!((independent.ci95[1] - 0.011 - 12.706 * 0.001).abs() < 1e-9);
        assert!((a.lost[0].success - 0.987).abs() < 1e-12);
        // Bursts a tenth as often: a tenth of it.
        assert!((a.lost[1].price.mean - 0.0011).abs() < 1e-12);
        assert!((a.lost[1].success - 0.9987).abs() < 1e-12);
        // Judged at 1 %, where only the independent errors are.
        assert_eq!(a.judged, independent);
        // Nothing lost in 2000 requests: up to 3 in 2000 may be.
        assert_eq!(judged.settings[0].judged.ci95, [-0.0015, 0.0015]);
    }

    #[test]
    fn the_most_that_one_can_afford_is_recommended() {
        let settings = ["none", "dear", "fair", "same", "shipped"];
        let settings = settings.map(|s| setting(s, s == "shipped"));
        let all = [
            measured(100.0, [1000, 1000]),
            measured(300.0, [900, 900]),
            measured(200.0, [995, 995]),
            // Half a percent more is no more; it is dearer.
            measured(201.0, [994, 994]),
            measured(200.0, [995, 995]),
        ];
        let pick = |most| conclude(&settings, &ERRORS, &all, 0.01, most).recommended;
        assert_eq!(pick(0.5), Some(1));
        assert_eq!(pick(0.008), Some(4), "of equals the one that somebody ships");
        assert_eq!(pick(0.0055), Some(4), "the dearer one is out of reach");
        assert_eq!(pick(0.002), Some(0));
        assert_eq!(pick(0.0), None, "not even nothing: it was seen in 2000 requests only");
    }

    #[test]
    fn what_is_missing_is_left_out() {
        let settings = ["none", "a", "b"].map(|s| setting(s, false));
        let all = [measured(100.0, [1000, 1000]), None, measured(90.0, [990, 990])];
        let judged = conclude(&settings, &ERRORS, &all, 0.01, 1.0);
        let places: Vec<usize> = judged.settings.iter().map(|p| p.place).collect();
        assert_eq!(places, [0, 2]);
        assert_eq!(judged.settings[1].dominated_by, Some(0));
    }
}
