//! How busy the machine was: a generator on a machine without rest measures the machine.

/// Time that all cores together have spent, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    idle: u64,
    total: u64,
}

/// Now, where the system tells (Linux).
pub(super) fn now() -> Option<Ticks> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

fn parse(text: &str) -> Option<Ticks> {
    let numbers = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u64> = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are within user.
    let total = ticks.iter().take(8).sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some(Ticks { idle, total })
}

/// The share of the time between two instants in which cores were busy.
pub(super) fn busy(from: Option<Ticks>, to: Option<Ticks>) -> Option<f64> {
    let (from, to) = (from?, to?);
    let total = to.total.checked_sub(from.total).filter(|ticks| *ticks > 0)?;
    let idle = to.idle.saturating_sub(from.idle);
    Some(1.0 - idle as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_is_busy() {
        let at = |text: &str| parse(text);
        let from = at("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 2 3");
        let to = at("cpu  40 0 20 80 60 0 0 0 0 0");
        assert_eq!(busy(from, to), Some(0.4));
        assert_eq!(busy(from, from), None);
        assert_eq!(at("intr 1 2"), None);
    }
}
