//! The incidents of table 1 of Huang et al., "Metastable Failures in the Wild" (OSDI '22), each with
//! the mechanism of the simulator that reproduces its sustaining effect.
//!
//! The table has 21 rows; the paper counts 22, with the case of Twitter that its text describes. The
//! table was read from its picture. `~`: the authors only take it for a metastable failure.

/// One row.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) date: &'static str,
    /// Hours; `None`: not known.
    pub(crate) hours: Option<f64>,
    pub(crate) trigger: &'static str,
    pub(crate) sustained: &'static str,
    pub(crate) mitigation: &'static str,
    /// Keys of the system file that reproduce it.
    pub(crate) mechanism: &'static str,
    /// The incident that can be run, or else the example of the mechanism.
    pub(crate) example: &'static str,
}

const fn row(
    head: (&'static str, &'static str, Option<f64>),
    trigger: &'static str,
    sustained: &'static str,
    mitigation: &'static str,
    mechanism: &'static str,
    example: &'static str,
) -> Row {
    let (id, date, hours) = head;
    Row { id, date, hours, trigger, sustained, mitigation, mechanism, example }
}

const RETRY: &str = "retry";
const STORM: &str = "retry-storm.yaml";

pub(crate) const CATALOGUE: &[Row] = &[
    row(
        ("GGL1~", "2019-03-12", Some(4.17)),
        "load spike, configuration",
        "cascading overload",
        "shed load, stop the deploy",
        "health (restart), start",
        "incidents/google-2019-blob.yaml",
    ),
    row(
        ("GGL2", "2019-10-31", Some(21.5)),
        "software bug",
        "retries",
        "shed load, reboot, capacity",
        RETRY,
        STORM,
    ),
    row(
        ("GGL3", "2020-04-08", Some(3.2)),
        "configuration, bug",
        "retries",
        "roll back, policy",
        RETRY,
        STORM,
    ),
    row(
        ("GGL4~", "2013-04-30", Some(1.5)),
        "configuration, latent bug",
        "queue growth, reboots",
        "roll back, reboot",
        "health (restart), start",
        "mechanisms/health.yaml",
    ),
    row(
        ("AWS1", "2011-04-21", Some(66.7)),
        "network configuration",
        "retries",
        "roll back, policy, shed load, capacity",
        RETRY,
        "five-layers.yaml",
    ),
    row(
        ("AWS2", "2014-06-13", Some(4.23)),
        "loss of power",
        "retries",
        "shed load, restart",
        RETRY,
        STORM,
    ),
    row(
        ("AWS3", "2015-09-20", Some(4.55)),
        "load spike, network disruption",
        "retries, cascading demotion",
        "shed load (pause metadata), capacity",
        "lease",
        "incidents/aws-2015-dynamodb.yaml",
    ),
    row(
        ("AWS4", "2021-12-07", Some(9.3)),
        "latent bug, load spike",
        "retries",
        "rebalance, shed load",
        RETRY,
        "incidents/aws-2021-network.yaml",
    ),
    row(
        ("AZR1", "2020-07-01", Some(2.65)),
        "load imbalance, latent bug",
        "cascading overload",
        "restart",
        "failover",
        "mechanisms/failover.yaml",
    ),
    row(
        ("AZR2", "2021-04-01", Some(1.15)),
        "bug that degraded a cache",
        "retries",
        "automation, capacity",
        "caches, retry",
        "lookaside-cache.yaml",
    ),
    row(
        ("AZR3", "2021-06-14", Some(13.25)),
        "latent bug, load spike",
        "queue growth, time-outs",
        "shed load, remove the bug, capacity",
        "queue longer than the timeout, retry",
        STORM,
    ),
    row(
        ("AZR4", "2021-07-12", Some(7.92)),
        "deployed bug, load spike",
        "retries, other",
        "rebalance, hot fix, policy",
        RETRY,
        STORM,
    ),
    row(
        ("IBM1", "2021-06-11", Some(73.53)),
        "software bug",
        "retries",
        "shed load, policy, hot fix",
        RETRY,
        STORM,
    ),
    row(
        ("SPF1", "2013-04", None),
        "load spike, failing policy",
        "retries",
        "shed load",
        RETRY,
        "incidents/spotify-2013-popcount.yaml",
    ),
    row(
        ("SPF2", "2013-06-04", Some(8.33)),
        "load from an unexpected dependency",
        "retries, excessive logging",
        "hot fix, shed load",
        "retry, error_log",
        "incidents/spotify-2013-popcount.yaml",
    ),
    row(
        ("ELC1", "2019-04-02", Some(6.67)),
        "maintenance, error",
        "ZooKeeper churn",
        "restart, shed load",
        "election",
        "incidents/elastic-2019-zookeeper.yaml",
    ),
    row(
        ("WIK1~", "2021-03-30", Some(2.25)),
        "load spike",
        "queue growth",
        "shed load, policy",
        "queue longer than the timeout",
        "mechanisms/pauses.yaml",
    ),
    row(
        ("CCI1", "2015-07-07", Some(18.33)),
        "load spike",
        "contention",
        "shed load",
        "contention",
        "incidents/circleci-2015-queue.yaml",
    ),
    row(
        ("CAS1", "2017-07-27", None),
        "rolling restart",
        "overload that sustains itself",
        "policy",
        "trigger restart, start",
        "mechanisms/start.yaml",
    ),
    row(
        ("CAS2~", "2020", Some(0.16)),
        "costly operations",
        "retries",
        "remove the trigger",
        RETRY,
        STORM,
    ),
    row(
        ("FB1", "", None),
        "load spike",
        "software bug",
        "hot fix",
        "pool",
        "incidents/facebook-2014-links.yaml",
    ),
    row(
        ("Twitter", "", None),
        "load test",
        "garbage collection",
        "capacity, headroom kept",
        "pauses",
        "mechanisms/pauses.yaml",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_row_is_another_one_and_names_a_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        assert_eq!(CATALOGUE.len(), 22);
        let mut seen = HashSet::new();
        for row in CATALOGUE {
            assert!(seen.insert(row.id), "{} twice", row.id);
            assert!(root.join(row.example).is_file(), "{}: no {}", row.id, row.example);
        }
    }
}
