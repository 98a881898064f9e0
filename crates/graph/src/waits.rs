//! How many attempts fit into a time, by the waits between them.

/// The waits between attempts, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// The first, in milliseconds.
    pub base_ms: f64,
    /// By what each is longer than the one before; 1: they are all the same.
    pub factor: f64,
    /// The longest, in milliseconds.
    pub cap_ms: Option<f64>,
    /// Whether chance makes them shorter, down to nothing.
    pub jitter: bool,
}

/// Attempts that are counted one by one; more are taken for no end.
const MOST: u32 = 10_000;

impl Waits {
    /// The wait after so many attempts, before chance.
    fn after(&self, attempts: u32) -> f64 {
        let exponent = i32::try_from(attempts.saturating_sub(1)).unwrap_or(i32::MAX);
        let wait = self.base_ms * self.factor.max(1.0).powi(exponent);
        wait.min(self.cap_ms.unwrap_or(f64::INFINITY).max(self.base_ms))
    }

    /// At most so many attempts begin within a time, if each takes at least so long. Waits that chance
    /// may shorten take no time here. It is counted up to what is `enough` for the caller: beyond it
    /// there is no end.
    #[must_use]
    pub fn most_within(&self, time_ms: f64, attempt_ms: f64, enough: f64) -> f64 {
        let wait = |attempts| if self.jitter { 0.0 } else { self.after(attempts) };
        begun(time_ms, attempt_ms, enough, wait)
    }

    /// At least so many attempts begin within a time, if each takes at most so long and waits take as
    /// long as they may; counted as [`Waits::most_within`] does.
    #[must_use]
    pub fn least_within(&self, time_ms: f64, attempt_ms: f64, enough: f64) -> f64 {
        begun(time_ms, attempt_ms, enough, |attempts| self.after(attempts))
    }

    /// The longest that so many attempts take.
    #[must_use]
    pub fn longest(&self, attempts: f64, attempt_ms: f64) -> f64 {
        if attempts > f64::from(MOST) {
            return f64::INFINITY;
        }
        let (mut time, mut made) = (attempt_ms, 1_u32);
        while f64::from(made) < attempts {
            time += self.after(made) + attempt_ms;
            made += 1;
        }
        time
    }
}

/// Attempts that begin before a time has passed: the first at once.
fn begun(time_ms: f64, attempt_ms: f64, enough: f64, wait: impl Fn(u32) -> f64) -> f64 {
    let (mut now, mut made) = (0.0, 1_u32);
    while made < MOST && f64::from(made) < enough {
        let step = attempt_ms + wait(made);
        // Waits never shrink to nothing again: what takes no time now has no end.
        if step <= 0.0 {
            return f64::INFINITY;
        }
        now += step;
        if now >= time_ms {
            return f64::from(made);
        }
        made += 1;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_fit_into_a_time() {
        let constant = Waits { base_ms: 100.0, factor: 1.0, cap_ms: None, jitter: false };
        assert_eq!(constant.most_within(250.0, 0.0, f64::INFINITY), 3.0);
        assert_eq!(constant.most_within(250.0, 50.0, f64::INFINITY), 2.0);
        let doubling = Waits { factor: 2.0, cap_ms: Some(300.0), ..constant };
        // At 0, 100, 300, 600, 900.
        assert_eq!(doubling.most_within(700.0, 0.0, f64::INFINITY), 4.0);
        assert_eq!(doubling.longest(4.0, 10.0), 640.0);
        let spread = Waits { jitter: true, ..doubling };
        assert_eq!(
            spread.most_within(700.0, 0.0, f64::INFINITY),
            f64::INFINITY,
            "chance may make them nothing"
        );
        assert_eq!(spread.least_within(700.0, 0.0, f64::INFINITY), 4.0);
        assert_eq!(Waits::default().most_within(1.0, 0.0, f64::INFINITY), f64::INFINITY);
        // Two are enough to know that a limit of two is what bounds.
        assert_eq!(constant.most_within(250.0, 0.0, 2.0), f64::INFINITY);
        assert_eq!(constant.most_within(250.0, 0.0, 4.0), 3.0);
    }
}
