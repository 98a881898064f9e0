//! A backoff in the shapes that formats have.

use damper_control::backoff::{Growth, Jitter};
use damper_control::{Backoff, Nanos};

/// A wait that grows by a factor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    /// The first one, in milliseconds.
    pub(crate) base_ms: f64,
    /// By what it grows.
    pub(crate) factor: f64,
    /// The longest, in milliseconds, before jitter.
    pub(crate) cap_ms: f64,
    /// How it differs from what was asked; `None`: not at all.
    pub(crate) differs: Option<String>,
}

impl Wait {
    /// As Envoy has it: uniform below a bound that doubles.
    pub(crate) fn doubles(&self) -> Backoff {
        self.backoff(Jitter::Full)
    }

    /// As a backoff with this jitter.
    pub(crate) fn backoff(&self, jitter: Jitter) -> Backoff {
        let time = |ms: f64| Nanos::from_secs_f64(ms / 1e3);
        Backoff::exponential(time(self.base_ms), self.factor, time(self.cap_ms), jitter)
    }
}

fn ms(time: Nanos) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A number of milliseconds with as many digits as matter.
pub(crate) fn of_ms(ms: f64) -> String {
    if ms >= 1000.0 { format!("{}s", short(ms / 1e3)) } else { format!("{}ms", short(ms)) }
}

fn short(number: f64) -> String {
    ((number * 1e3).round() / 1e3).to_string()
}

/// The mean of a delay over its nominal value.
fn mean(jitter: Jitter) -> f64 {
    match jitter {
        Jitter::Equal => 0.75,
        Jitter::Full | Jitter::WholeMillis => 0.5,
        Jitter::Above(percent) => 1.0 + f64::from(percent) / 200.0,
        Jitter::Decorrelated => 2.0,
        _ => 1.0,
    }
}

/// What was asked, in words.
pub(crate) fn words(backoff: &Backoff) -> String {
    let base = of_ms(ms(backoff.base));
    let growth = match backoff.growth {
        Growth::None => return "at once".to_owned(),
        Growth::Constant => format!("{base} each time"),
        Growth::Linear => format!("{base} more each time"),
        Growth::Exponential(factor) | Growth::MillisExponential(factor) => {
            format!("from {base} times {factor} each time")
        }
        Growth::ByCause { factor, .. } => {
            format!("from {base} times {factor} each time, longer after a refusal")
        }
        Growth::MillisDoubling => format!("from {base}, doubling"),
        _ => format!("from {base}"),
    };
    let cap = if backoff.cap == Nanos::MAX {
        String::new()
    } else {
        format!(" up to {}", of_ms(ms(backoff.cap)))
    };
    let jitter = match backoff.jitter {
        Jitter::None => ", without jitter",
        Jitter::Equal => ", equal jitter",
        Jitter::Full | Jitter::WholeMillis => ", full jitter",
        Jitter::Exponential => ", exponential jitter",
        Jitter::Decorrelated => ", decorrelated jitter",
        Jitter::Around(_) | Jitter::AroundMillis(_) => ", around it",
        Jitter::Above(_) => ", jitter on top",
        _ => ", along a curve",
    };
    format!("{growth}{cap}{jitter}")
}

/// The nominal delays of so many retries, in milliseconds.
fn nominal(backoff: &Backoff, retry: u32) -> f64 {
    ms(backoff.nominal(retry))
}

/// Full jitter below a bound that doubles, as Envoy has it. The mean of the first delay is kept.
pub(crate) fn doubling(backoff: &Backoff, limit: u32) -> Wait {
    let twice = 2.0 * mean(backoff.jitter);
    let last = nominal(backoff, limit.max(1)) * twice;
    let bounded = backoff.cap != Nanos::MAX;
    let wanted = nominal(backoff, 1) * twice;
    // Envoy takes nothing below a millisecond.
    let base_ms = wanted.max(1.0);
    let full = matches!(backoff.jitter, Jitter::Full | Jitter::WholeMillis);
    let doubles = match backoff.growth {
        Growth::Exponential(factor) => factor == 2.0,
        Growth::MillisDoubling => true,
        _ => limit <= 1,
    };
    let cap_ms = if bounded && full { ms(backoff.cap) } else { last }.max(base_ms);
    let exact = full && doubles && wanted >= 1.0;
    let differs = (!exact)
        .then(|| format!("uniform below {}, doubling up to {}", of_ms(base_ms), of_ms(cap_ms)));
    Wait { base_ms, factor: 2.0, cap_ms, differs }
}

/// A nominal delay within some percent, as gRPC and resilience4j have it. The mean is kept.
pub(crate) fn around(backoff: &Backoff, limit: u32, percent: u16) -> Wait {
    let scale = mean(backoff.jitter);
    let factor = match backoff.growth {
        Growth::Exponential(factor) | Growth::MillisExponential(factor) => factor,
        Growth::ByCause { factor, .. } => factor,
        Growth::MillisDoubling => 2.0,
        Growth::Linear => 2.0,
        _ => 1.0,
    };
    let wanted = nominal(backoff, 1) * scale;
    let base_ms = wanted.max(1.0);
    let last = nominal(backoff, limit.max(1)) * scale;
    let bounded = backoff.cap != Nanos::MAX;
    let cap_ms = if bounded { ms(backoff.cap) * scale } else { last }.max(base_ms);
    let spread = match backoff.jitter {
        Jitter::Around(p) | Jitter::AroundMillis(p) => p == percent,
        Jitter::None => percent == 0,
        _ => false,
    };
    let grows = matches!(
        backoff.growth,
        Growth::Exponential(_) | Growth::MillisExponential(_) | Growth::Constant
    ) || limit <= 1;
    let exact = spread && grows && wanted >= 1.0;
    let differs = (!exact).then(|| {
        let spread = if percent == 0 { String::new() } else { format!(", within {percent} %") };
        format!("from {} times {factor} up to {}{spread}", of_ms(base_ms), of_ms(cap_ms))
    });
    Wait { base_ms, factor, cap_ms, differs }
}

/// The mean of the first delay, in seconds.
pub(crate) fn first_mean_s(backoff: &Backoff) -> f64 {
    backoff.nominal(1).as_secs_f64() * mean(backoff.jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envoys_own_backoff_is_written_as_it_is() {
        let asked = Backoff::exponential(
            Nanos::from_millis(50),
            2.0,
            Nanos::from_millis(400),
            Jitter::Full,
        );
        let wait = doubling(&asked, 4);
        assert_eq!((wait.base_ms, wait.cap_ms, wait.differs), (50.0, 400.0, None));
        let free = Backoff { cap: Nanos::MAX, ..asked };
        assert_eq!(doubling(&free, 3).cap_ms, 200.0);
    }

    #[test]
    fn another_backoff_keeps_its_mean() {
        let asked = Backoff::constant(Nanos::from_millis(100), Jitter::None);
        let wait = doubling(&asked, 3);
        assert_eq!((wait.base_ms, wait.cap_ms), (200.0, 200.0));
        assert!(wait.differs.is_some());
        assert_eq!(around(&asked, 3, 0).differs, None);
        let full = Backoff { jitter: Jitter::Full, ..asked };
        assert_eq!(around(&full, 3, 20).base_ms, 50.0);
        assert_eq!(doubling(&Backoff::NONE, 3).base_ms, 1.0);
    }
}
