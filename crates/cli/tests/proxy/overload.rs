//! Three times what a service can do, half of it unimportant: the important half hardly notices.

use std::time::Duration;

use damper_drill::load::{End, Summary};

use crate::backend::{Backend, Capacity};
use crate::caller::{Wanted, good, load};
use crate::side::{Hop, Sidecar};

const WORKERS: usize = 20;
const SERVICE_TIME: Duration = Duration::from_millis(50);

/// SERVICE_TIME is put in.
const SYSTEM: &str = "
damper: 1
classes: [high, low]
services: {back: {workers: 20, service_time: SERVICE_TIME, queue: 80, order: priority, admission: priority-by-queue}}
load: {high: 200/s, low: 200/s}
requests: {query: {calls: [back]}}
";

#[test]
#[ignore = "slow: sends load for ten seconds"]
fn at_three_times_the_capacity_the_important_are_served() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let slower = crate::slower();
        let capacity =
            Capacity { workers: WORKERS, service_time: SERVICE_TIME * slower, queue: None };
        let system =
            SYSTEM.replace("SERVICE_TIME", &format!("{}ms", capacity.service_time.as_millis()));
        let backend = Backend::start(capacity).await;
        let hop = Hop { what: "service: back".into(), upstream: backend.port };
        let sidecar = Sidecar::start(&system, &[hop]);
        // A nominal load is all that it can do, half of it important.
        let nominal = capacity.per_second() / 2.0;
        let half = 1.5 * capacity.per_second();
        let (warmup, seconds) = (2 * slower as usize, 10 * slower);
        let tally = load(Wanted {
            port: sidecar.port(0),
            rates: vec![("high", half), ("low", half)],
            seconds,
            patience: Duration::from_secs(1) * slower,
            seed: 17,
        })
        .await;
        let per_second = |class: usize| {
            let served = good(&tally, class, warmup, seconds as usize);
            served * half
        };
        let (high, low) = (per_second(0), per_second(1));
        let refused = Summary::of(&tally.class(1).all_us);
        println!("good: high {high:.0}/s, low {low:.0}/s; low is answered in {refused:?}");
        assert!(high >= 0.8 * nominal, "high-priority goodput fell to {high:.0}/s");
        // More than that: with half of the load gone there is room for as many important requests
        // as the service can do, and they are four fifths of it at least.
        assert!(high >= 0.8 * capacity.per_second(), "only {high:.0}/s of high");
        let low = tally.class(1);
        assert!(low.count(End::Rejected) > low.total() / 2, "{:?}", low.ends);
        assert_eq!(low.count(End::Connection), 0, "{:?}", low.ends);
        // In milliseconds: a tenth of what the work takes, with room for a busy machine.
        assert!(refused.p50_ms < 5.0, "{refused:?}");
        assert!(tally.class(0).count(End::Connection) == 0);
    });
}
