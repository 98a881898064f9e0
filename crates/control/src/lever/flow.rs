//! What one change of the lever lets in.

use super::{Action, Level, Ramp};
use crate::Nanos;

/// Credits are sums of many small parts; what is missing for this little is rounding.
const GRAIN: f64 = 1e-9;

/// What a flow does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Open,
    Paused,
    Throttled(Level),
    Ramping { ramp: Ramp, elapsed: Nanos },
}

/// The attempts of the classes that one change named.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) mode: Mode,
    /// The change that made it, to know it again.
    pub(super) cause: Action,
    credit: f64,
    last: Nanos,
}

impl Ramp {
    /// Steps taken after `elapsed`; nothing if it is even.
    pub(super) fn taken(&self, elapsed: Nanos) -> u16 {
        let steps = u128::from(elapsed.min(self.over).0) * u128::from(self.steps);
        // At most `steps`, which is a u16.
        (steps / u128::from(self.over.0.max(1))) as u16
    }

    pub(super) fn level(&self, elapsed: Nanos) -> Level {
        if elapsed >= self.over {
            return self.to;
        }
        let way = if self.steps == 0 {
            elapsed.0 as f64 / self.over.0 as f64
        } else {
            f64::from(self.taken(elapsed)) / f64::from(self.steps)
        };
        let (from, to) = (self.from.amount(), self.to.amount());
        let amount = from + (to - from) * way;
        match self.from {
            Level::Share(_) => Level::Share(amount),
            Level::Rate(_) => Level::Rate(amount),
        }
    }
}

impl Mode {
    /// A level as a position of the lever.
    pub(super) fn at(level: Level) -> Self {
        match level {
            Level::Share(share) if share >= 1.0 => Self::Open,
            _ if level.amount() <= 0.0 => Self::Paused,
            _ => Self::Throttled(level),
        }
    }

    /// The same after more time.
    fn after(self, more: Nanos) -> Self {
        match self {
            Self::Ramping { ramp, elapsed } if elapsed + more >= ramp.over => Self::at(ramp.to),
            Self::Ramping { ramp, elapsed } => Self::Ramping { ramp, elapsed: elapsed + more },
            other => other,
        }
    }

    fn level(self) -> Level {
        match self {
            Self::Open => Level::Share(1.0),
            Self::Paused => Level::Share(0.0),
            Self::Throttled(level) => level,
            Self::Ramping { ramp, elapsed } => ramp.level(elapsed),
        }
    }
}

impl Flow {
    pub(super) const OPEN: Self =
        Self { mode: Mode::Open, cause: Action::Open, credit: 0.0, last: Nanos::ZERO };

    pub(super) fn new(now: Nanos, action: Action) -> Self {
        let mode = match action {
            Action::Open => Mode::Open,
            Action::Pause | Action::Hold => Mode::Paused,
            Action::Throttle(level) => Mode::Throttled(level),
            Action::Ramp(ramp) => Mode::Ramping { ramp, elapsed: Nanos::ZERO },
        };
        Self { mode, cause: action, credit: 0.0, last: now }
    }

    /// A flow in this position for this cause.
    pub(super) fn resumed(now: Nanos, mode: Mode, cause: Action) -> Self {
        Self { mode, cause, credit: 0.0, last: now }
    }

    /// When it was last asked.
    pub(super) fn seen(&self) -> Nanos {
        self.last
    }

    /// What it does at `now`.
    pub(super) fn mode_at(&self, now: Nanos) -> Mode {
        self.mode.after(now.since(self.last))
    }

    pub(super) fn level(&self, now: Nanos) -> Level {
        self.mode_at(now).level()
    }

    /// Stops a ramp where it is; whether there was one.
    pub(super) fn hold(&mut self, now: Nanos) -> bool {
        let mode = self.mode_at(now);
        let ramping = matches!(mode, Mode::Ramping { .. });
        if ramping {
            self.mode = Mode::at(mode.level());
            self.cause = Action::Hold;
        }
        ramping
    }

    /// Lets one in, or says when there will be credit for one.
    #[inline]
    pub(super) fn admit(&mut self, now: Nanos, burst: Nanos) -> Result<(), Option<Nanos>> {
        match self.mode {
            Mode::Open => return Ok(()),
            Mode::Paused => return Err(None),
            Mode::Throttled(_) | Mode::Ramping { .. } => {}
        }
        let passed = now.since(self.last);
        self.last = now;
        self.mode = self.mode.after(passed);
        let earned = match self.mode.level() {
            Level::Share(share) => share,
            Level::Rate(rate) => {
                let most = (rate * burst.as_secs_f64()).max(1.0);
                let credit = self.credit + rate * passed.as_secs_f64();
                self.credit = credit.min(most);
                0.0
            }
        };
        self.credit += earned;
        if self.credit >= 1.0 - GRAIN {
            self.credit = (self.credit - 1.0).max(0.0);
            return Ok(());
        }
        match self.mode.level() {
            Level::Rate(rate) if rate > 0.0 => {
                let wait = libm::ceil((1.0 - self.credit) / rate * 1e9);
                Err(Some(now + Nanos(wait as u64)))
            }
            _ => Err(None),
        }
    }
}
