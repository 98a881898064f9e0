//! The retry quota of the AWS SDK for Rust, through the strategy that its clients use.

use std::sync::Mutex;

use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime::client::retries::strategy::StandardRetryStrategy;
use aws_smithy_runtime_api::client::interceptors::context::{Input, InterceptorContext, Output};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::retries::classifiers::SharedRetryClassifier;
use aws_smithy_runtime_api::client::retries::{
    AlwaysRetry, RequestAttempts, RetryStrategy as _, ShouldAttempt,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_types::config_bag::{ConfigBag, Layer};
use aws_smithy_types::retry::{ErrorKind, RetryConfig};
use damper_control::budget::{Attempt, Budget, RetryBudget as _};
use damper_control::{Nanos, Outcome};
use rand_xoshiro::rand_core::Rng as _;

use crate::ours::{budget, rng};

/// How an attempt ends, to us and to them: they take twice as much for every transient error,
/// we (as botocore) for timeouts.
const FAILURES: [(Outcome, ErrorKind); 3] = [
    (Outcome::TimedOut, ErrorKind::TransientError),
    (Outcome::Rejected, ErrorKind::ThrottlingError),
    (Outcome::Failed, ErrorKind::ServerError),
];

const ATTEMPTS: u32 = 3;

/// A client with their quota.
struct Theirs {
    bucket: TokenBucket,
    /// What calls that failed for good leave behind. botocore never gives back what their last
    /// retry cost; they do when it is dropped, so it is not.
    failed: Mutex<Vec<StandardRetryStrategy>>,
    keep: bool,
}

impl Theirs {
    fn new(keep: bool) -> Self {
        Self { bucket: TokenBucket::new(500), failed: Mutex::default(), keep }
    }

    /// One call whose attempts end so (`None`: well); how many retries it got.
    fn call(&self, ends: &[Option<usize>]) -> u32 {
        let strategy = StandardRetryStrategy::new();
        let mut retries = 0;
        for end in ends {
            let kind = end.map(|end| FAILURES[end].1);
            let mut context = InterceptorContext::new(Input::doesnt_matter());
            context.set_output_or_error(match kind {
                None => Ok(Output::doesnt_matter()),
                Some(_) => Err(OrchestratorError::other("it failed")),
            });
            let mut components = RuntimeComponentsBuilder::for_tests();
            if let Some(kind) = kind {
                components =
                    components.with_retry_classifier(SharedRetryClassifier::new(AlwaysRetry(kind)));
            }
            let mut layer = Layer::new("test");
            layer.store_put(RequestAttempts::new(retries + 1));
            layer.store_put(RetryConfig::standard().with_max_attempts(ATTEMPTS));
            layer.store_put(self.bucket.clone());
            let (config, components) =
                (ConfigBag::of_layers(vec![layer]), components.build().unwrap());
            match strategy.should_attempt_retry(&context, &components, &config).unwrap() {
                ShouldAttempt::No => {
                    if kind.is_some() && self.keep {
                        self.failed.lock().unwrap().push(strategy);
                    }
                    return retries;
                }
                _ => retries += 1,
            }
        }
        panic!("a fourth attempt");
    }
}

/// The same call with our quota.
fn call(budget: &mut Budget, ends: &[Option<usize>]) -> u32 {
    let mut attempt = Attempt::first(0);
    for end in ends {
        let outcome = end.map_or(Outcome::Success, |end| FAILURES[end].0);
        budget.start(Nanos::ZERO, attempt);
        budget.settle(Nanos::ZERO, attempt, outcome, end.is_some(), &mut rng(0));
        if end.is_none() || attempt.retries + 1 == ATTEMPTS {
            break;
        }
        match budget.withdraw(Nanos::ZERO, attempt, outcome, &mut rng(0)) {
            Some(paid) => attempt = Attempt { retries: attempt.retries + 1, paid, ..attempt },
            None => break,
        }
    }
    attempt.retries
}

#[test]
fn standard_retry_quota() {
    let theirs = Theirs::new(true);
    let mut ours = budget("aws-standard", &[500.0, 5.0, 10.0]);
    let mut draws = rng(4);
    let mut refused = 0;
    for step in 0..20_000 {
        // Bad times and good times, so that it drains and fills.
        let bad = if step / 500 % 2 == 0 { 6 } else { 1 };
        let ends = [(); ATTEMPTS as usize].map(|()| {
            let draw = draws.next_u64();
            (draw % 10 < bad).then_some((draw >> 8) as usize % FAILURES.len())
        });
        let retries = theirs.call(&ends);
        let wanted = ends.iter().position(Option::is_none).unwrap_or(ATTEMPTS as usize - 1);
        refused += u32::from((retries as usize) < wanted);
        assert_eq!(call(&mut ours, &ends), retries, "call {step}: {ends:?}");
    }
    assert!((1_000..10_000).contains(&refused), "both answers: {refused} refused");
}

/// Where they differ from botocore, and so from ours: what the last retry of a call cost comes
/// back when the call has failed for good, as its permit is dropped with the strategy.
#[test]
fn a_call_that_fails_for_good_gives_its_last_retry_back_only_there() {
    let failing = [Some(2); ATTEMPTS as usize];
    let theirs = Theirs::new(false);
    let mut ours = budget("aws-standard", &[500.0, 5.0, 10.0]);
    let count = |call: &mut dyn FnMut() -> u32| (0..200).filter(|_| call() == 2).count();
    assert_eq!(count(&mut || call(&mut ours, &failing)), 50, "two times 5 of 500");
    assert_eq!(count(&mut || theirs.call(&failing)), 99, "5 of 500, and 5 are left at the end");
}
