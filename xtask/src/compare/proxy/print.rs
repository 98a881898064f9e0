//! What was measured, as a table and as JSON.

use std::fmt;

use serde::Serialize;

use super::{ENVOY, NONE, Protocol, Turns};
use crate::compare::processor::median;

/// All that was measured.
#[derive(Serialize)]
pub(super) struct Table {
    protocols: Vec<Section>,
}

#[derive(Serialize)]
struct Section {
    protocol: Protocol,
    rows: Vec<Row>,
}

/// One proxy under one protocol. What is not known, as with no proxy, is left out of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    /// Requests per second, as many as could be answered.
    requests_per_s: f64,
    /// Processor time of the proxy for one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_us: Option<f64>,
    /// Requests per second of its own processor time: what a core of its own would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_core_s: Option<f64>,
    /// Latencies at the fixed rate.
    p50_us: f64,
    p99_us: f64,
    /// What it adds to those without a proxy, round by round.
    #[serde(skip_serializing_if = "Option::is_none")]
    added_p50_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_p99_us: Option<f64>,
    /// Memory of an idle connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_bytes: Option<f64>,
    /// Requests per second of its processor time beside Envoy's.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_envoy: Option<f64>,
}

impl Table {
    pub(super) fn of(
        names: &[&'static str],
        measured: &[(Protocol, Vec<Turns>)],
        memory: &[Option<f64>],
    ) -> Self {
        let section = |(protocol, turns): &(Protocol, Vec<Turns>)| {
            let per_core = |turns: &Turns| 1e6 / median(turns.cpu_us.clone());
            let none = names.iter().position(|name| *name == NONE).and_then(|n| turns.get(n));
            let envoy = names.iter().position(|name| *name == ENVOY).and_then(|n| turns.get(n));
            let row = |(n, name): (usize, &&'static str)| {
                let turns = turns.get(n)?;
                let proxy = *name != NONE;
                let over = |of: fn(&Turns) -> &Vec<f64>| {
                    let pairs = of(turns).iter().zip(of(none?));
                    Some(median(pairs.map(|(with, without)| with - without).collect()))
                };
                Some(Row {
                    name,
                    requests_per_s: median(turns.per_second.clone()),
                    cpu_us: proxy.then(|| median(turns.cpu_us.clone())),
                    requests_per_core_s: proxy.then(|| per_core(turns)),
                    p50_us: median(turns.p50_us.clone()),
                    p99_us: median(turns.p99_us.clone()),
                    added_p50_us: over(|turns| &turns.p50_us).filter(|_| proxy),
                    added_p99_us: over(|turns| &turns.p99_us).filter(|_| proxy),
                    connection_bytes: memory.get(n).copied().flatten(),
                    of_envoy: envoy
                        .filter(|_| proxy)
                        .map(|envoy| per_core(turns) / per_core(envoy)),
                })
            };
            Section {
                protocol: *protocol,
                rows: names.iter().enumerate().filter_map(row).collect(),
            }
        };
        Self { protocols: measured.iter().map(section).collect() }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.protocols {
            let name = match section.protocol {
                Protocol::H1 => "HTTP/1.1",
                Protocol::H2c => "HTTP/2",
            };
            writeln!(
                f,
                "\n  {name:<16}{:>12}{:>13}{:>10}{:>10}{:>10}{:>14}{:>10}",
                "requests/s",
                "CPU µs each",
                "of Envoy",
                "+p50 µs",
                "+p99 µs",
                "B/connection",
                "p99 µs"
            )?;
            for row in &section.rows {
                let number = |value: Option<f64>, digits: usize| {
                    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
                };
                writeln!(
                    f,
                    "  {:<16}{:>12.0}{:>13}{:>10}{:>10}{:>10}{:>14}{:>10.0}",
                    row.name,
                    row.requests_per_s,
                    number(row.cpu_us, 1),
                    number(row.of_envoy, 2),
                    number(row.added_p50_us, 0),
                    number(row.added_p99_us, 0),
                    number(row.connection_bytes, 0),
                    row.p99_us,
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_compared_within_a_round() {
        let turns = |p50: [f64; 3], cpu: f64| Turns {
            per_second: vec![100.0; 3],
            cpu_us: vec![cpu; 3],
            p50_us: p50.to_vec(),
            p99_us: p50.to_vec(),
        };
        // A busy second round meets both.
        let measured = [(
            Protocol::H1,
            vec![
                turns([10.0, 500.0, 20.0], f64::NAN),
                turns([40.0, 540.0, 50.0], 60.0),
                turns([30.0, 520.0, 40.0], 20.0),
            ],
        )];
        let table = Table::of(&[NONE, ENVOY, "other"], &measured, &[None, Some(9.0), None]);
        let [none, envoy, other] = &table.protocols[0].rows[..] else { panic!("three rows") };
        assert_eq!((none.added_p50_us, none.of_envoy), (None, None));
        assert_eq!((envoy.added_p50_us, envoy.connection_bytes), (Some(30.0), Some(9.0)));
        assert_eq!(other.added_p99_us, Some(20.0));
        assert!((other.of_envoy.unwrap() - 3.0).abs() < 1e-9);
        assert!(table.to_string().contains("other"));
    }
}
