//! Orders and drop rules together: a server in overload.

use std::collections::VecDeque;
use std::vec::Vec;

use super::*;
use crate::entry::Build;
use crate::registry::find;

/// What came of a second of overload and another to get over it.
#[derive(Debug, Default, PartialEq)]
struct Told {
    served: u32,
    dropped: u32,
    /// The longest wait of one that was served, in milliseconds.
    longest: u64,
}

/// For a second one attempt comes each millisecond and finds room for a hundred; one is served
/// every two, also in the second after that.
fn overload(mut order: Order, mut rule: DropRule) -> Told {
    let mut list: VecDeque<u64> = VecDeque::new();
    let mut told = Told::default();
    for ms in 0..2000 {
        let now = Nanos::from_millis(ms);
        let waiting = list.len() as u32;
        if ms < 1000 && order.join(now, Who::of(0), waiting, 100).is_ok() {
            rule.joined(now, waiting);
            list.push_back(ms);
        }
        if ms % 2 == 1 {
            while let Some((_, side)) = order.next(now) {
                let joined = match side {
                    Side::Oldest => list.pop_front(),
                    Side::Newest => list.pop_back(),
                };
                let waited = ms - joined.unwrap();
                if !rule.drops(now, Nanos::from_millis(waited), list.len() as u32) {
                    told.served += 1;
                    told.longest = told.longest.max(waited);
                    break;
                }
                told.dropped += 1;
            }
        }
    }
    told
}

fn order(name: &str) -> Order {
    let entry = find(name).unwrap();
    match entry.build {
        Build::Order(build) => build(&entry.defaults().collect::<Vec<_>>()).unwrap(),
        _ => unreachable!(),
    }
}

fn rule(name: &str) -> DropRule {
    let entry = find(name).unwrap();
    match entry.build {
        Build::Drop(build) => build(&entry.defaults().collect::<Vec<_>>()).unwrap(),
        _ => unreachable!(),
    }
}

/// Oldest first, the rules hold the wait: 100 places are 200 ms without one.
#[test]
fn oldest_first_the_rules_shorten_the_queue() {
    for (name, longest) in
        [("keep", 199), ("codel-timeout", 100), ("codel-min-delay", 104), ("codel", 193)]
    {
        assert_eq!(overload(order("fifo"), rule(name)).longest, longest, "{name}");
    }
}

/// Newest first, a rule that looks at the wait of those who are taken sees 0 or 1 ms as long as
/// the overload lasts. When it is over, it is shown those who have waited for a second, and lets
/// 63 of the 99 be worked on. The rule of "Fail at Scale" knows that the queue did not get empty
/// after they joined: it drops all of them, and who is served has waited for 1 ms.
#[test]
fn newest_first_hides_the_overload_from_rules_that_look_at_the_wait() {
    for name in ["codel-min-delay", "hbase-codel"] {
        let told = overload(order("lifo"), rule(name));
        assert_eq!(told, Told { served: 563, dropped: 36, longest: 1053 }, "{name}");
    }
    let told = overload(order("lifo"), rule("codel"));
    assert_eq!(told, Told { served: 598, dropped: 1, longest: 1195 });
    let told = overload(order("lifo"), rule("codel-timeout"));
    assert_eq!(told, Told { served: 500, dropped: 99, longest: 1 });
}

/// The same with the pairs as published: Facebook's, and HBase's with its target of 100 ms.
#[test]
fn adaptive_lifo_needs_the_rule_that_it_was_published_with() {
    let told = overload(order("adaptive-lifo"), rule("hbase-codel"));
    assert_eq!(told, Told { served: 563, dropped: 36, longest: 1003 });
    let told = overload(order("adaptive-lifo"), rule("codel-timeout"));
    assert_eq!(told, Told { served: 500, dropped: 99, longest: 79 });
}
