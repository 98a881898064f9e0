use super::*;
use crate::hop::Direction;
use damper_control::Outcome;
use damper_tower::clock;
use serde_json::json;
use std::time::Duration;

struct Bench {
    hops: Hops,
    watch: Watch,
    levers: Levers,
}

impl Bench {
    fn new(names: &[&str]) -> Self {
        let hops = Hops::default();
        let classes = || vec!["high".to_owned(), "low".to_owned()];
        let hop = |name: &&str| Hop::new(*name, Direction::Inbound, classes());
        hops.install(names.iter().map(hop).collect()).unwrap();
        let watch = Watch::new(hops.clone());
        let levers = Levers::new(hops.clone(), watch.clone(), None);
        Self { hops, watch, levers }
    }

    fn pull(&self, mut pull: serde_json::Value) -> Result<Done, Problem> {
        pull["who"] = "ann".into();
        pull["why"] = "the database is slow".into();
        self.levers.pull(clock::now(), &serde_json::from_value(pull).unwrap())
    }

    fn held(&self) -> Vec<String> {
        let hop = self.hops.find("db").unwrap();
        let held = self.levers.view(&hop).held.into_iter().map(|held| {
            let caller = held.caller.map_or(String::new(), |caller| format!(" of {caller}"));
            format!("{}{caller}: {}", held.classes.join("+"), held.position)
        });
        held.collect()
    }

    /// Seconds in which so many requests succeed in time.
    async fn seconds(&self, seconds: u64, good: usize) {
        for _ in 0..seconds {
            tokio::time::advance(Duration::from_secs(1)).await;
            let now = clock::now();
            for hop in &*self.hops.list() {
                for i in 0..100 {
                    let outcome = if i < good { Outcome::Success } else { Outcome::TimedOut };
                    hop.meters().request(now, 0, false).end(now, outcome, None);
                }
            }
            self.watch.tick(now);
            self.levers.tick(now);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pull_for_a_time_goes_back_to_where_it_was() {
    let bench = Bench::new(&["db"]);
    bench.pull(json!({"action": "throttle", "to": "50/s", "classes": ["low"]})).unwrap();
    bench.pull(json!({"action": "pause", "for": "5m"})).unwrap();
    assert_eq!(bench.held(), ["high+low: paused"]);
    bench.seconds(299, 10).await;
    assert_eq!(bench.held(), ["high+low: paused"]);
    bench.seconds(1, 10).await;
    assert_eq!(bench.held(), ["low: throttled to 50/s"]);
    let journal = bench.levers.journal();
    assert_eq!(journal.len(), 3);
    assert!(journal[1].reverted && !journal[0].reverted);
    assert_eq!(
        (journal[2].who.as_str(), journal[2].why.as_str()),
        ("damper", "the time of pull 2 is over")
    );
    assert!(journal[1].reverts_at.is_some());
    assert_eq!(bench.levers.next_due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_pull_over_one_that_has_time_left_hands_its_end_on() {
    let bench = Bench::new(&["db"]);
    let low = json!(["low"]);
    bench.pull(json!({"action": "throttle", "to": "50%", "classes": low, "for": "30m"})).unwrap();
    bench.pull(json!({"action": "pause", "classes": low, "for": "2m"})).unwrap();
    bench.seconds(120, 10).await;
    assert_eq!(bench.held(), ["low: throttled to 50%"]);
    bench.seconds(28 * 60, 10).await;
    assert!(bench.held().is_empty(), "{:?}", bench.held());
    // One that ends meanwhile does not come back, and whoever goes on pulling piles nothing up.
    for n in 0..600 {
        let to = format!("{}/s", n % 7 + 1);
        bench.pull(json!({"action": "throttle", "to": to, "for": "1m"})).unwrap();
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    bench.pull(json!({"action": "pause", "classes": low, "for": "5m"})).unwrap();
    bench.seconds(60, 10).await;
    assert_eq!(bench.held(), ["low: paused"]);
    bench.seconds(240, 10).await;
    assert!(bench.held().is_empty(), "{:?}", bench.held());
    assert_eq!(bench.levers.next_due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_reload_with_other_classes_takes_positions_and_ends_along_by_name() {
    let bench = Bench::new(&["db"]);
    bench.pull(json!({"action": "pause", "classes": ["low"], "for": "1m"})).unwrap();
    bench.pull(json!({"action": "throttle", "to": "50/s", "classes": ["high"]})).unwrap();
    let classes = ["top", "mid", "low"].map(str::to_owned).to_vec();
    let hop = bench.hops.begin("db", Direction::Inbound, classes);
    bench.hops.install(vec![hop]).unwrap();
    assert_eq!(bench.held(), ["low: paused"]);
    bench.seconds(60, 10).await;
    assert!(bench.held().is_empty(), "{:?}", bench.held());
    let journal = bench.levers.journal();
    let words: Vec<_> = journal.iter().map(|e| (e.classes.join("+"), e.action.as_str())).collect();
    assert_eq!(words[2], ("high".to_owned(), "open"), "{}", journal[2].why);
    assert_eq!(words[3], ("low".to_owned(), "back to where it was"));
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_held_back_at_all_hops_or_at_none() {
    let bench = Bench::new(&["db", "web"]);
    for n in 0..64 {
        bench.pull(json!({"action": "pause", "hop": "web", "caller": format!("c{n}")})).unwrap();
    }
    let more = json!({"action": "pause", "hop": "all", "caller": "more"});
    assert!(matches!(bench.pull(more), Err(Problem::Full(_))));
    assert!(bench.held().is_empty(), "{:?}", bench.held());
}

#[tokio::test(start_paused = true)]
async fn who_shared_a_rate_shares_it_again() {
    let bench = Bench::new(&["db"]);
    bench.pull(json!({"action": "throttle", "to": "50/s"})).unwrap();
    bench.pull(json!({"action": "open", "classes": ["high"], "for": "10s"})).unwrap();
    assert_eq!(bench.held(), ["low: throttled to 50/s"]);
    bench.seconds(10, 10).await;
    assert_eq!(bench.held(), ["high+low: throttled to 50/s"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_word_of_a_person_is_not_undone() {
    let bench = Bench::new(&["db"]);
    bench.pull(json!({"action": "pause", "for": "10s"})).unwrap();
    bench.pull(json!({"action": "throttle", "to": "1%", "classes": ["low"]})).unwrap();
    bench.seconds(10, 10).await;
    assert_eq!(bench.held(), ["low: throttled to 1%"], "high was undone, low was pulled since");
    // The same again without a time means that it stays.
    bench.pull(json!({"action": "pause", "for": "10s"})).unwrap();
    let again = bench.pull(json!({"action": "pause"})).unwrap();
    assert_eq!((again.changed.len(), again.already), (0, vec!["db".to_owned()]));
    bench.seconds(20, 10).await;
    assert_eq!(bench.held(), ["high+low: paused"]);
    // And with one, that it then ends.
    bench.pull(json!({"action": "pause", "for": "10s"})).unwrap();
    bench.seconds(10, 10).await;
    assert!(bench.held().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_ramp_that_was_interrupted_goes_on() {
    let bench = Bench::new(&["db"]);
    bench.pull(json!({"action": "ramp", "from": "0%", "to": "100%", "over": "100s"})).unwrap();
    bench.seconds(40, 10).await;
    bench.pull(json!({"action": "pause", "for": "10s"})).unwrap();
    bench.seconds(10, 10).await;
    assert_eq!(bench.held(), ["high+low: ramping from 40% to 100%, 60s left"]);
    bench.pull(json!({"action": "hold"})).unwrap();
    assert_eq!(bench.held(), ["high+low: throttled to 40%"]);
}

#[tokio::test(start_paused = true)]
async fn one_caller_and_its_time() {
    let bench = Bench::new(&["db"]);
    let pull = json!({"action": "throttle", "to": "10%", "caller": "batch", "for": "1m"});
    let done = bench.pull(pull).unwrap();
    assert_eq!(done.changed[0].caller.as_deref(), Some("batch"));
    assert_eq!(bench.held(), ["high+low of batch: throttled to 10%"]);
    bench.pull(json!({"action": "open"})).unwrap();
    assert_eq!(bench.held().len(), 1, "opening for all opens nobody's own");
    bench.seconds(60, 10).await;
    assert!(bench.held().is_empty());
    assert_eq!(bench.levers.journal().last().unwrap().caller.as_deref(), Some("batch"));
    for n in 0..64 {
        bench.pull(json!({"action": "pause", "caller": format!("c{n}")})).unwrap();
    }
    let full = bench.pull(json!({"action": "pause", "caller": "more"})).unwrap_err();
    assert!(matches!(full, Problem::Full(_)), "{full:?}");
}

#[tokio::test(start_paused = true)]
async fn the_journal_says_how_goodput_answered() {
    let bench = Bench::new(&["db"]);
    bench.seconds(15, 5).await;
    bench.pull(json!({"action": "throttle", "to": "30%"})).unwrap();
    bench.seconds(40, 80).await;
    bench.pull(json!({"action": "open"})).unwrap();
    bench.seconds(5, 90).await;
    let journal = bench.levers.journal();
    let answer = |at: usize| {
        let entry = &journal[at];
        (entry.goodput_before_rps, entry.goodput_after_rps, entry.after_s)
    };
    assert_eq!(answer(0), (Some(5.0), Some(80.0), 30.0));
    assert_eq!(answer(1), (Some(80.0), Some(90.0), 5.0));
    assert_eq!(journal[0].action, "throttle to 30%");
    assert_eq!(journal[0].state_before, "stable");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_pulled_where_something_is_wrong() {
    let bench = Bench::new(&["db", "web"]);
    for (pull, part) in [
        (json!({"action": "pause"}), "say which hop"),
        (json!({"action": "pause", "hop": "dbx"}), "there is no hop `dbx`; there are db, web"),
        (json!({"action": "pause", "hop": "db", "classes": ["middle"]}), "no class `middle`"),
        (json!({"action": "hold", "hop": "db", "for": "5m"}), "hold takes no `for`"),
        (json!({"action": "pause", "hop": "db", "for": "five"}), "not a quantity"),
        (json!({"action": "pause", "hop": "db", "caller": ""}), "1 to 256 bytes"),
    ] {
        let error = bench.pull(pull.clone()).unwrap_err().to_string();
        assert!(error.contains(part), "{pull}: {error}");
    }
    let nobody = json!({"action": "pause", "hop": "all", "who": " ", "why": "x"});
    let nobody = serde_json::from_value(nobody).unwrap();
    assert!(bench.levers.pull(clock::now(), &nobody).is_err());
    assert!(bench.held().is_empty() && bench.levers.journal().is_empty());
    let all = bench.pull(json!({"action": "pause", "hop": "all"})).unwrap();
    assert_eq!(all.changed.len(), 2);
    // A hold where nothing ramps changes nothing.
    assert_eq!(bench.pull(json!({"action": "hold", "hop": "db"})).unwrap().already, ["db"]);
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded() {
    let bench = Bench::new(&["db"]);
    for n in 0..300 {
        let caller = if n % 2 == 0 { "a" } else { "b" };
        let to = format!("{}/s", n + 1);
        bench.pull(json!({"action": "throttle", "to": to, "caller": caller})).unwrap();
    }
    let journal = bench.levers.journal();
    assert_eq!((journal.len(), journal[0].id, journal[255].id), (256, 45, 300));
    let long = "x".repeat(5000);
    let pull = json!({"action": "pause", "who": long, "why": long});
    let done = bench.levers.pull(clock::now(), &serde_json::from_value(pull).unwrap()).unwrap();
    assert_eq!((done.changed[0].who.len(), done.changed[0].why.len()), (64, 256));
}
