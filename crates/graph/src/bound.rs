//! What layers multiply to along a path.
//!
//! Somebody at the end of the path fails in one way. The innermost layer sees that end itself;
//! those above see what it becomes on its way up: a broken connection is a 503 for whoever is
//! above the next service. *At least*: the end keeps its kind, and only layers that surely retry it
//! count. *At most*: services turn it into whatever is retried. Provable and possible are never
//! one number.

use damper_config::failure::{ALL, Failure};

use crate::factor::Factor;

/// From, to; the upper end is infinite where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

/// Attempts that the end of a path receives for each request that enters it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amplification {
    /// For one request in the worst case.
    pub worst: Interval,
    /// For the load as a whole while everything fails: budgets act.
    pub sustained: Interval,
    /// The kind of failure that gives the lower end of [`Self::worst`].
    pub kind: Failure,
}

/// A layer of a path.
#[derive(Clone, Copy, Debug)]
pub struct Step<'f> {
    /// The layer.
    pub factor: &'f Factor,
    /// On which call it stands, counted from the end of the path: on 0 it sees what the last service
    /// does, above that what comes from further down.
    pub hop: usize,
    /// What is spoken on that call, where it is known.
    pub spoken: Option<Spoken>,
}

impl Step<'_> {
    fn below(&self) -> bool {
        self.hop > 0
    }
}

/// What is spoken along a path. A status of one is none of the other's, unless somebody translates
/// it; where nobody says what is spoken, either may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Plain HTTP.
    Http,
    /// gRPC. Its clients take a status of HTTP for one of theirs.
    Grpc,
}

/// What an end is for whoever stands above the service that saw it.
#[must_use]
pub fn passes_as(kind: Failure, spoken: Spoken) -> Failure {
    match (spoken, kind) {
        (Spoken::Http, Failure::Connect | Failure::Refused | Failure::Reset) => {
            Failure::Unavailable
        }
        (Spoken::Grpc, Failure::AttemptTimeout) | (Spoken::Http, _) => kind,
        (Spoken::Grpc, _) => kind.as_grpc(),
    }
}

/// What layers multiply to, the innermost first.
#[must_use]
pub fn amplification(path: &[Step<'_>]) -> Amplification {
    let mut best = (1.0, 1.0, Failure::Unavailable);
    for kind in ALL {
        for spoken in [Spoken::Http, Spoken::Grpc] {
            let (worst, sustained) = provable(path, kind, spoken);
            if worst > best.0 {
                best = (worst, sustained, kind);
            }
        }
    }
    let (mut high, mut high_sustained) = (1.0, 1.0);
    for (at, step) in path.iter().enumerate() {
        let most = step.factor.most(step.below());
        let most = most.min(room_above(path, at, most));
        high *= most;
        high_sustained *= step.factor.sustained(most);
    }
    Amplification {
        worst: Interval { low: best.0, high: f64::max(high, best.0) },
        sustained: Interval { low: best.1, high: f64::max(high_sustained, best.1) },
        kind: best.2,
    }
}

/// What layers surely multiply to after one kind of failure: for one request, and for the load.
fn provable(path: &[Step<'_>], kind: Failure, spoken: Spoken) -> (f64, f64) {
    let (mut worst, mut sustained) = (1.0, 1.0);
    // How long one attempt of the layer takes, those below it included.
    let mut takes = path.first().map_or(0.0, |step| step.factor.takes_ms(kind));
    for (at, step) in path.iter().enumerate() {
        let factor = step.factor;
        let spoken = step.spoken.unwrap_or(spoken);
        let seen = if at == 0 { kind } else { passes_as(kind, spoken) };
        let (mut low, _) = factor.attempts(seen, step.below());
        // Over plain HTTP nobody sees a status of gRPC.
        if spoken == Spoken::Http && seen.is_grpc() {
            low = 1.0;
        }
        // Who is above waits for its own timeout, whatever the end below is called.
        if seen == Failure::AttemptTimeout && at > 0 {
            let called = match spoken {
                Spoken::Http => Failure::GatewayTimeout,
                Spoken::Grpc => Failure::GrpcDeadline,
            };
            low = low.max(factor.attempts(called, step.below()).0);
        }
        if factor.stops != Some(false) {
            // Who is above may end it before it has made all of its attempts.
            let above = path.get(at + 1..).unwrap_or_default().iter();
            let left = above.filter_map(|step| step.factor.leaves_ms()).reduce(f64::min);
            if let Some(left) = left {
                low = low.min(factor.waits.least_within(left, takes, low)).max(1.0);
            }
        }
        takes = factor.waits.longest(low, takes);
        takes = factor.timeout_ms.map_or(takes, |all| takes.min(all));
        worst *= low;
        sustained *= factor.sustained(low);
    }
    (worst, sustained)
}

/// The most attempts for which those above on the same call leave time: they end what is below when
/// they end, if that stops with its caller. Across a service nobody can promise that. Counted up to
/// what is `enough`.
fn room_above(path: &[Step<'_>], at: usize, enough: f64) -> f64 {
    let Some(step) = path.get(at).filter(|step| step.factor.stops == Some(true)) else {
        return f64::INFINITY;
    };
    let above = path.get(at + 1..).unwrap_or_default().iter();
    let same = above.take_while(|one| one.hop == step.hop);
    let left = same.filter_map(|one| one.factor.leaves_ms()).reduce(f64::min);
    left.map_or(f64::INFINITY, |left| step.factor.waits.most_within(left, 0.0, enough))
}

/// Attempts that the end of a path receives for each request, if each attempt there fails with
/// this probability independently and nothing else fails: every layer makes (1 - pⁿ) / (1 - p) of
/// the calls below it, and its call fails with pⁿ.
#[must_use]
pub fn expected(path: &[Step<'_>], failure: f64) -> Interval {
    let of = |attempts: &dyn Fn(&Step<'_>) -> f64| {
        let (mut p, mut product) = (failure.clamp(0.0, 1.0), 1.0);
        for step in path {
            let n = attempts(step);
            product *= tries(p, n);
            p = p.powf(n);
        }
        product
    };
    let any = |step: &Step<'_>| {
        let each = ALL.into_iter().map(|kind| step.factor.attempts(kind, step.below()).0);
        each.fold(1.0, f64::max)
    };
    let (low, high) = (of(&any), of(&|step| step.factor.most(step.below())));
    Interval { low, high: high.max(low) }
}

/// Attempts of a call of which each fails with probability `p` and `n` are made at most.
fn tries(p: f64, n: f64) -> f64 {
    if p >= 1.0 { n } else { (1.0 - p.powf(n)) / (1.0 - p) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::tests::factor;
    use crate::waits::Waits;
    use damper_config::Failures;
    use damper_config::layer::Budget;

    fn step(factor: &Factor, hop: usize) -> Step<'_> {
        Step { factor, hop, spoken: None }
    }

    #[test]
    fn five_layers_of_three_are_243() {
        let layers: Vec<_> = (0..5).map(|_| factor(3, Failures::EVERY)).collect();
        let path: Vec<_> =
            layers.iter().enumerate().map(|(hop, factor)| step(factor, hop)).collect();
        let all = amplification(&path);
        assert_eq!((all.worst.low, all.worst.high), (243.0, 243.0));
        // Half of the attempts fail: 1.75 attempts, of which an eighth fails for good, and so on.
        assert!(
            (expected(&path[..2], 0.5).low - 1.75 * (1.0 + 0.125 + 0.125 * 0.125)).abs() < 1e-12
        );
        assert!((expected(&path, 0.0).low - 1.0).abs() < 1e-12);
        assert!((expected(&path, 1.0).high - 243.0).abs() < 1e-9);
    }

    #[test]
    fn layers_multiply_only_over_what_both_retry() {
        let below = factor(3, Failures::of(&[Failure::Connect]));
        let above = factor(4, Failures::of(&[Failure::ServerError]));
        let all = amplification(&[step(&below, 0), step(&above, 1)]);
        assert_eq!((all.worst.low, all.worst.high), (4.0, 12.0));
        let above = factor(4, Failures::of(&[Failure::Unavailable]));
        let all = amplification(&[step(&below, 0), step(&above, 1)]);
        assert_eq!((all.worst.low, all.worst.high), (12.0, 12.0), "a refused connection is a 503");
    }

    #[test]
    fn time_bounds_slow_ends_alone() {
        let mut layer = factor(10, Failures::of(&[Failure::AttemptTimeout]));
        (layer.attempt_timeout_ms, layer.timeout_ms) = (Some(600.0), Some(1500.0));
        assert_eq!(amplification(&[step(&layer, 0)]).worst.high, 3.0);
        layer.own.insert(Failure::Unavailable);
        layer.own_maybe.insert(Failure::Unavailable);
        assert_eq!(amplification(&[step(&layer, 0)]).worst.high, 10.0);
    }

    #[test]
    fn a_caller_that_gives_up_ends_the_proxy_beside_it() {
        let mut proxy = factor(10, Failures::of(&[Failure::Unavailable]));
        proxy.waits = Waits { base_ms: 100.0, factor: 1.0, cap_ms: None, jitter: false };
        let mut client = factor(2, Failures::of(&[Failure::Unavailable]));
        client.attempt_timeout_ms = Some(250.0);
        let both = |proxy: &Factor, hop| amplification(&[step(proxy, 0), step(&client, hop)]).worst;
        assert_eq!(both(&proxy, 0).high, 20.0, "it may go on");
        assert_eq!(both(&proxy, 0).low, 6.0, "or not");
        proxy.stops = Some(true);
        assert_eq!((both(&proxy, 0).low, both(&proxy, 0).high), (6.0, 6.0));
        assert_eq!(both(&proxy, 1).high, 20.0, "a service between them may not hear of it");
        proxy.stops = Some(false);
        assert_eq!((both(&proxy, 0).low, both(&proxy, 0).high), (20.0, 20.0));
        proxy.waits.jitter = true;
        proxy.stops = Some(true);
        assert_eq!(both(&proxy, 0).high, 20.0, "waits may be none");
    }

    #[test]
    fn a_status_of_grpc_is_none_of_http() {
        let mesh = factor(3, Failures::of(&[Failure::Connect, Failure::GrpcUnavailable]));
        let http = factor(4, Failures::of(&[Failure::Unavailable]));
        let of = |above: &Factor| amplification(&[step(&mesh, 0), step(above, 1)]).worst.low;
        assert_eq!(of(&http), 12.0, "a connection that fails below is a 503 above");
        let unavailable = factor(3, Failures::of(&[Failure::GrpcUnavailable]));
        let both = amplification(&[step(&unavailable, 0), step(&http, 1)]).worst;
        assert_eq!((both.low, both.high), (4.0, 12.0), "only a service may make one of the other");
        assert_eq!(of(&unavailable), 9.0);
        let over = |spoken| {
            let over = |factor, hop| Step { factor, hop, spoken: Some(spoken) };
            amplification(&[over(&mesh, 0), over(&unavailable, 1)]).worst
        };
        assert_eq!((over(Spoken::Grpc).low, over(Spoken::Http).low), (9.0, 3.0));
        assert_eq!(over(Spoken::Http).high, 9.0, "what is spoken bounds what is provable");
    }

    #[test]
    fn budgets_bound_the_load_and_not_the_request() {
        let mut layer = factor(5, Failures::EVERY);
        layer.budget = Some(Budget::ActiveShare { percent: 20.0, min_concurrent: 3 });
        let all = amplification(&[step(&layer, 0)]);
        assert_eq!((all.worst.high, all.sustained.high), (5.0, 1.25));
        layer.budget = Some(Budget::Tokens { max: 100.0, ratio: 0.1 });
        assert_eq!(amplification(&[step(&layer, 0)]).sustained.high, 1.0);
    }

    #[test]
    fn what_is_not_known_is_possible_and_not_provable() {
        let mut layer = factor(3, Failures::NONE);
        layer.own_maybe = Failures::EVERY;
        layer.high = None;
        let all = amplification(&[step(&layer, 0)]);
        assert_eq!((all.worst.low, all.worst.high), (1.0, f64::INFINITY));
    }
}
