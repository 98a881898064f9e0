//! Amplification over any graph of calls without loops.

use super::tier;

/// One service calls another while it works on an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// The calling service.
    pub from: usize,
    /// The service called.
    pub to: usize,
    /// Calls for each attempt at the caller, on average; retries not counted.
    pub per_attempt: f64,
    /// Retries of one call after its first attempt.
    pub limit: u32,
}

/// Why calls cannot be taken as a graph.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// A call names a service that is not there.
    #[error("call {call} names a service that is not there; there are {services}, from 0")]
    UnknownService {
        /// The call's place in the list.
        call: usize,
        /// Services there are.
        services: usize,
    },
    /// A number of calls that is none.
    #[error("call {call} is made {found} times for each attempt; expected a finite number from 0")]
    BadCount {
        /// The call's place in the list.
        call: usize,
        /// What it has.
        found: f64,
    },
    /// Services that call one another.
    #[error(
        "service {service} ends up calling itself; a loop multiplies without end when it fails, \
         so amplification is defined without loops: simulate it instead"
    )]
    Loop {
        /// A service on the loop.
        service: usize,
    },
}

/// A graph of calls in which every attempt at a service makes its calls, whether or not an
/// earlier one of them failed (the upper end: a caller that stops at the first failure makes
/// fewer).
#[derive(Debug, Clone, PartialEq)]
pub struct Calls {
    calls: Vec<Call>,
    /// The calls in an order in which every caller's own callers come before it.
    order: Vec<usize>,
    services: usize,
}

/// What comes to each service.
#[derive(Debug, Clone, PartialEq)]
pub struct Amplified {
    /// Attempts per second at each service.
    pub attempts: Vec<f64>,
    /// Requests per second at each service if nobody retried.
    pub requests: Vec<f64>,
}

impl Amplified {
    /// RAF of a service: attempts over requests without retries; 1 where nothing comes.
    #[must_use]
    pub fn factor(&self, service: usize) -> f64 {
        let requests = self.requests[service];
        if requests > 0.0 { self.attempts[service] / requests } else { 1.0 }
    }
}

impl Calls {
    /// A graph of `services` services.
    ///
    /// # Errors
    /// A call that names no service or is made no number of times, and calls in a loop.
    pub fn try_new(services: usize, calls: Vec<Call>) -> Result<Self, CallError> {
        let mut callers = vec![0_usize; services];
        let mut leaving = vec![Vec::new(); services];
        for (n, call) in calls.iter().enumerate() {
            if call.from >= services || call.to >= services {
                return Err(CallError::UnknownService { call: n, services });
            }
            if !(call.per_attempt >= 0.0 && call.per_attempt.is_finite()) {
                return Err(CallError::BadCount { call: n, found: call.per_attempt });
            }
            callers[call.to] += 1;
            leaving[call.from].push(n);
        }
        let mut ready: Vec<usize> = (0..services).filter(|&s| callers[s] == 0).collect();
        let mut order = Vec::with_capacity(calls.len());
        while let Some(service) = ready.pop() {
            for &n in &leaving[service] {
                order.push(n);
                let to = calls[n].to;
                callers[to] -= 1;
                if callers[to] == 0 {
                    ready.push(to);
                }
            }
        }
        if order.len() == calls.len() {
            return Ok(Self { calls, order, services });
        }
        // From any service that was left over, callers lead back into the loop.
        let left = |s: &usize| callers[*s] > 0;
        let mut service = (0..services).find(left).unwrap_or_default();
        for _ in 0..services {
            let above = calls.iter().find(|call| call.to == service && left(&call.from));
            service = above.map_or(service, |call| call.from);
        }
        Err(CallError::Loop { service })
    }

    /// The probability that an attempt at each service fails, when the service itself fails with
    /// `own` and an attempt fails when any of its calls has failed with all its retries:
    /// P_i = 1 - (1 - f_i) Π_e (1 - P_e^(k_e+1))^(calls per attempt).
    ///
    /// Failures are taken as independent. A service beyond the end of `own` does not fail itself.
    #[must_use]
    pub fn failures(&self, own: &[f64]) -> Vec<f64> {
        let given = |s| own.get(s).map_or(0.0, |f: &f64| if *f > 0.0 { f.min(1.0) } else { 0.0 });
        let mut succeeds: Vec<f64> = (0..self.services).map(|s| 1.0 - given(s)).collect();
        for call in self.order.iter().rev().map(|&n| &self.calls[n]) {
            // The callee's own calls come later in the order, so it is complete.
            let at = crate::node::Rejection::from_accepted(succeeds[call.to]);
            succeeds[call.from] *= libm::pow(at.served(call.limit), call.per_attempt);
        }
        succeeds.into_iter().map(|s| 1.0 - s).collect()
    }

    /// Attempts at each service for `entry` requests per second from outside, when an attempt at
    /// service i fails with `failure[i]`, whatever the reason: the sum over incoming calls of
    /// (attempts at the caller) × (calls per attempt) × (RAF of the call).
    ///
    /// What is beyond the end of a list is 0.
    #[must_use]
    pub fn expected(&self, entry: &[f64], failure: &[f64]) -> Amplified {
        let of = |call: &Call| tier(failure.get(call.to).copied().unwrap_or_default(), call.limit);
        self.amplify(entry, of)
    }

    /// The same when every attempt fails: what the limits permit.
    #[must_use]
    pub fn worst(&self, entry: &[f64]) -> Amplified {
        self.amplify(entry, |call| f64::from(call.limit) + 1.0)
    }

    /// RAF along one path, given as places in the list of calls, each from the service that the
    /// one before calls: attempts at its end for each request at its start that takes it. `None`
    /// when the calls are no path.
    #[must_use]
    pub fn path(&self, path: &[usize], failure: &[f64]) -> Option<f64> {
        let calls = self.along(path)?;
        let of = |call: &Call| tier(failure.get(call.to).copied().unwrap_or_default(), call.limit);
        Some(calls.iter().map(|call| of(call)).product())
    }

    /// The same when every attempt fails.
    #[must_use]
    pub fn worst_path(&self, path: &[usize]) -> Option<f64> {
        Some(super::worst(self.along(path)?.iter().map(|call| call.limit)))
    }

    fn along(&self, path: &[usize]) -> Option<Vec<&Call>> {
        let calls: Vec<&Call> = path.iter().map(|&n| self.calls.get(n)).collect::<Option<_>>()?;
        calls.windows(2).all(|pair| pair[0].to == pair[1].from).then_some(calls)
    }

    fn amplify(&self, entry: &[f64], factor: impl Fn(&Call) -> f64) -> Amplified {
        let given = |s| entry.get(s).map_or(0.0, |rate: &f64| rate.max(0.0));
        let mut attempts: Vec<f64> = (0..self.services).map(given).collect();
        let mut requests = attempts.clone();
        for call in self.order.iter().map(|&n| &self.calls[n]) {
            attempts[call.to] += attempts[call.from] * call.per_attempt * factor(call);
            requests[call.to] += requests[call.from] * call.per_attempt;
        }
        Amplified { attempts, requests }
    }
}
