use super::{Command, PARTS, left_out, markdown};
use crate::schema::Section;
use crate::sections::caches::CACHE;
use crate::sections::policies::{POLICY, RETRY};
use crate::sections::root::ROOT;
use crate::sections::services::SERVICE;
use crate::{System, SystemFile};

/// Keys that need no row, and why.
const TAKEN: &[(&str, &[&str])] = &[
    ("file", &["damper", "name", "classes", "services", "requests", "routes"]),
    // Nothing but who of a class asks: only controls that have rows tell them apart.
    ("file", &["users"]),
    // Their own sections have the rows.
    ("file", &["policies", "triggers"]),
    // How a run is watched, and what is not known: not the system.
    ("file", &["experiment", "gaps"]),
    ("cache", &["store", "mode", "hit_rate", "hot_keys", "fill"]),
    ("service", &["workers", "service_time", "rate_limit", "queue"]),
    // Where instances are not one queue, their row says so.
    ("service", &["balance"]),
    // They only act through controls that have rows.
    ("service", &["shares", "overloaded"]),
    // Those who solve know no time, which is what solving means; hidden capacity knows timeouts.
    ("policy", &["timeout"]),
    ("policy", &["retry", "idempotent"]),
    ("retry", &["limit", "on"]),
    // The solution has no time between attempts.
    ("retry", &["backoff"]),
    // Acts only with a pushback, which has a row.
    ("retry", &["pushback"]),
];

#[test]
fn no_key_of_the_file_is_forgotten() {
    let places: [(&Section, &str); 5] = [
        (&ROOT, ""),
        (&CACHE, "caches.*."),
        (&SERVICE, "services.*."),
        (&POLICY, "policies.*."),
        (&RETRY, "policies.*.retry."),
    ];
    for (section, before) in places {
        for key in section.keys {
            let row = format!("{before}{}", key.name);
            let has_row = PARTS.iter().any(|part| part.key == row);
            let taken =
                TAKEN.iter().any(|(s, keys)| *s == section.name && keys.contains(&key.name));
            assert!(has_row != taken, "`{row}`: a row of the table, or a word in TAKEN, not both");
        }
    }
}

fn system(text: &str) -> System {
    SystemFile::parse("system.yaml", text).unwrap().lower().unwrap()
}

#[test]
fn says_who_has_it_and_what_it_means() {
    let text = "
damper: 1
services:
  web: {health: {interval: 5s}}
  a: {health: {interval: 5s}}
  b: {health: {interval: 5s}}
  c: {health: {interval: 5s}}
  db: {workers: 1, service_time: 10ms, drop: keep}
load: 10/s
requests: {read: {calls: [web, a, b, c, db]}}
policies: {db: {breaker: breaker}}
";
    let system = system(text);
    let said: Vec<String> =
        left_out(Command::Solve, &system).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "solve leaves out the health checks of `web`, `a`, `b` and 1 more: all instances are in rotation: what is left never gets the load of what was taken out",
            "solve leaves out the circuit breaker of `client -> db`: it never opens: the load on the callee may come out too high, hidden capacity too low",
        ]
    );
    let emulated = left_out(Command::Emulate, &system);
    assert_eq!(emulated.len(), 1, "what becomes of the breaker the emulation says itself");
    assert_eq!(emulated[0].of, ["web", "a", "b", "c"]);
}

#[test]
fn nothing_is_said_of_what_is_not_there() {
    let text = "
damper: 1
services: {db: {workers: 3, service_time: 10ms, queue: 100}}
load: 100/s
requests: {read: {calls: [db]}}
policies: {db: {timeout: 1s, retry: {limit: 2}}}
triggers: {blip: {outage: db, for: 1s}}
";
    let system = system(text);
    for command in [Command::Solve, Command::Basins, Command::Emulate, Command::Export] {
        assert_eq!(left_out(command, &system), [], "{command:?}");
    }
}

#[test]
fn the_page_has_every_row() {
    let page = markdown();
    for part in PARTS {
        assert!(page.contains(&format!("| `{}` |", part.key)), "{}", part.key);
    }
}
