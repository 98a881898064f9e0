//! How likely an attempt is to be late.

use super::Storm;

impl Storm {
    /// The probability that an attempt that finds `queue` others is late.
    ///
    /// With c workers it waits for queue - c + 1 services of the pool, and is then served. For
    /// one worker and exponential services that is an Erlang time, exactly; otherwise a gamma
    /// time with the mean and the variance of the sum. Workers with constant services finish at
    /// scattered moments: a sixth of a service each, as in a superposition of clocks.
    #[must_use]
    pub fn late(&self, queue: f64) -> f64 {
        let workers = self.workers as f64;
        let (each, pool) = (1.0 / self.service_rate, 1.0 / self.capacity());
        let ahead = (queue - workers + 1.0).max(0.0);
        let mean = ahead * pool + each;
        let scattered = if self.workers > 1 {
            (1.0 - self.spread).max(0.0) * ahead.min(workers) / 6.0
        } else {
            0.0
        };
        let variance = (ahead * self.spread + scattered) * pool * pool + self.spread * each * each;
        if variance <= 1e-12 * mean * mean {
            return if mean > self.timeout { 1.0 } else { 0.0 };
        }
        upper_gamma(mean * mean / variance, self.timeout * mean / variance)
    }

    /// The queue at which an attempt is late with this probability.
    pub(super) fn queue_at(&self, late: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.workers as f64 + 1.0);
        while self.late(high) < late && high < 1e12 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.late(middle) < late { low = middle } else { high = middle }
        }
        high
    }
}

/// The regularised upper incomplete gamma function Q(a, x): the series of P below x = a + 1, the
/// continued fraction of Q above (Lentz), as in Abramowitz and Stegun 6.5.29 and 6.5.31.
pub(super) fn upper_gamma(a: f64, x: f64) -> f64 {
    const MOST: usize = 100_000;
    if x <= 0.0 {
        return 1.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for i in 1..MOST {
            term *= x / (a + i as f64);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut h = d;
    for i in 1..MOST {
        let i = i as f64;
        let an = -i * (i - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / if d.abs() < tiny { tiny } else { d };
        c = b + an / c;
        c = if c.abs() < tiny { tiny } else { c };
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}
