//! What it takes to run below hidden capacity, in capacity.
//!
//! A system with f times the capacity has f times the hidden capacity: it is capacity over a
//! product of attempts (see the closed form in `worst.rs`), and in a simulation the number of
//! workers and the load can be scaled together. So a load is stable where there is load / hidden
//! times what there is.

use crate::estimate::Estimate;

/// Capacity that lets a load heal by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Provision {
    /// Times the capacity that there is.
    pub scale: Estimate,
    /// Capacity, in requests per second of the system as it is.
    pub capacity: Estimate,
}

/// What `load` takes where the system as it is serves `advertised`, and with some change recovers
/// from `hidden`. `None` unless all are positive and finite.
#[must_use]
pub fn provision(load: f64, advertised: f64, hidden: Estimate) -> Option<Provision> {
    let valid = |x: f64| x > 0.0 && x.is_finite();
    if ![load, advertised, hidden.mean, hidden.ci95[0], hidden.ci95[1]].into_iter().all(valid) {
        return None;
    }
    // The less is hidden the more it takes: the ends change places.
    let of = |factor: f64| Estimate {
        mean: factor * load / hidden.mean,
        ci95: [factor * load / hidden.ci95[1], factor * load / hidden.ci95[0]],
    };
    Some(Provision { scale: of(1.0), capacity: of(advertised) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(mean: f64, half: f64) -> Estimate {
        Estimate { mean, ci95: [mean - half, mean + half] }
    }

    /// 270/s on a service of 300/s that heals below 150/s: 1.8 times as much, 540/s.
    #[test]
    fn capacity_by_hand() {
        let p = provision(270.0, 300.0, hidden(150.0, 15.0)).unwrap();
        assert!((p.scale.mean - 1.8).abs() < 1e-12);
        assert!((p.capacity.mean - 540.0).abs() < 1e-9);
        // 270 / 165 and 270 / 135.
        assert!((p.scale.ci95[0] - 270.0 / 165.0).abs() < 1e-12);
        assert!((p.scale.ci95[1] - 2.0).abs() < 1e-12);
        // A change that lets it heal everywhere leaves 270 of 300 in use.
        let healed = provision(270.0, 300.0, hidden(300.0, 0.0)).unwrap();
        assert!((healed.capacity.mean - 270.0).abs() < 1e-9);
    }

    #[test]
    fn what_never_heals_cannot_be_provisioned() {
        assert_eq!(provision(270.0, 300.0, hidden(0.0, 0.0)), None);
        assert_eq!(provision(270.0, 300.0, hidden(10.0, 10.0)), None);
        assert_eq!(provision(f64::NAN, 300.0, hidden(150.0, 1.0)), None);
    }
}
