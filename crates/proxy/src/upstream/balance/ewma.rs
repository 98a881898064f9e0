//! Peak EWMA: a moving average of latencies that jumps to each new peak and decays slowly
//! (Finagle's `PeakEwma`). The value fades with time as well, so that an endpoint that nobody uses
//! any more is tried again.
//!
//! Finagle's fault is kept out: there a refusal, which comes in no time, makes an endpoint look
//! fast and draws load to it. Here a refusal counts as [`PeakEwma::PENALTY`].

use damper_control::Nanos;

/// A moving average in seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeakEwma {
    value: f64,
    at: Nanos,
}

impl PeakEwma {
    /// After this time a value has fallen to 37 %.
    const TAU: f64 = 10.0;
    /// What a refusal counts as.
    pub(crate) const PENALTY: Nanos = Nanos::from_secs(1);
    /// The least an endpoint costs, so that requests under way count where latencies are zero.
    const FLOOR: f64 = 1e-6;

    fn faded(&self, now: Nanos) -> f64 {
        if self.value == 0.0 {
            return 0.0;
        }
        self.value * (-now.since(self.at).as_secs_f64() / Self::TAU).exp()
    }

    /// A reply took this long.
    pub(crate) fn saw(&mut self, now: Nanos, latency: Nanos) {
        let latency = latency.as_secs_f64();
        let weight = (-now.since(self.at).as_secs_f64() / Self::TAU).exp();
        let average = self.value * weight + latency * (1.0 - weight);
        self.value = average.max(latency);
        self.at = now;
    }

    /// The endpoint refused, or could not be reached, after this time.
    pub(crate) fn refused(&mut self, now: Nanos, after: Nanos) {
        self.saw(now, after.max(Self::PENALTY));
    }

    /// What one more request costs there.
    pub(crate) fn cost(&self, now: Nanos, open: u32) -> f64 {
        (self.faded(now) + Self::FLOOR) * (f64::from(open) + 1.0)
    }
}
