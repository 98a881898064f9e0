//! Outages that are on public record, as system files that can be run.

pub(crate) mod catalogue;

/// One outage.
pub(crate) struct Incident {
    pub(crate) id: &'static str,
    pub(crate) who: &'static str,
    /// When it began.
    pub(crate) date: &'static str,
    /// How long it lasted, as the source says it.
    pub(crate) lasted: &'static str,
    pub(crate) trigger: &'static str,
    /// What kept it going.
    pub(crate) sustained: &'static str,
    /// What ended it.
    pub(crate) ended: &'static str,
    pub(crate) source: &'static str,
    /// The assignment that makes the load one from which it heals by itself.
    pub(crate) below: &'static str,
    /// The assignments that stand for what ended it.
    pub(crate) fix: &'static [&'static str],
    pub(crate) path: &'static str,
    pub(crate) file: &'static str,
}

macro_rules! incident {
    ($id:literal, { $($field:ident: $value:expr),* $(,)? }) => {
        Incident {
            id: $id,
            path: concat!("examples/incidents/", $id, ".yaml"),
            file: include_str!(concat!("../../../examples/incidents/", $id, ".yaml")),
            $($field: $value),*
        }
    };
}

/// All that can be run, the oldest first.
pub(crate) const INCIDENTS: &[Incident] = &[
    incident!("facebook-2010-cache", {
        who: "Facebook",
        date: "2010-09-23",
        lasted: "2.5 h",
        trigger: "a configuration value that every client took for invalid",
        sustained: "errors of the databases leave keys out of the cache, which makes more queries",
        ended: "all traffic stopped, then let back slowly",
        source: "Robert Johnson, \"More Details on Today's Outage\", Facebook Engineering",
        below: "load=80/s",
        fix: &["services.site.lever=[{pause: all, after: 30s}, {ramp: all, from: 5%, to: 100%, over: 300s, after: 60s}]"],
    }),
    incident!("spotify-2013-popcount", {
        who: "Spotify",
        date: "2013-06-04",
        lasted: "a few hours",
        trigger: "load from a dependency that nobody expected",
        sustained: "clients that retry without backoff, and failures that are logged at length",
        ended: "load shed, clients and services changed",
        source: "https://engineering.atspotify.com/2013/06/incident-management-at-spotify/",
        below: "load=70/s",
        fix: &[
            "policies.\"client -> accesspoint\".retry.limit=0",
            "services.accesspoint.error_log.lines=1",
        ],
    }),
    incident!("facebook-2014-links", {
        who: "Facebook",
        date: "2014-11-14",
        lasted: "again and again for two years",
        trigger: "one cable of an aggregated link congested for a moment",
        sustained: "a pool that takes the connection first that came back last: the slow one",
        ended: "least recently used in place of most recently used",
        source: "Nathan Bronson, \"Solving the Mystery of Link Imbalance\", Facebook Engineering",
        below: "load=60/s",
        fix: &["services.links.pool.order=lru"],
    }),
    incident!("circleci-2015-queue", {
        who: "CircleCI",
        date: "2015-07-07",
        lasted: "18.33 h",
        trigger: "an hour's hooks of GitHub all at once",
        sustained: "contention: the more queries at a time, the fewer are done",
        ended: "no more queueing again, queues cleared",
        source: "https://status.circleci.com/incidents/hr0mm9xmm3x6",
        below: "load=60/s",
        fix: &["services.database.lever=[{pause: all, after: 90s}, {open: all, after: 400s}]"],
    }),
    incident!("aws-2015-dynamodb", {
        who: "Amazon DynamoDB",
        date: "2015-09-20",
        lasted: "4.55 h",
        trigger: "a brief disruption of the network",
        sustained: "storage servers that ask for their membership until an answer is in time",
        ended: "requests to the metadata service paused, capacity added",
        source: "https://aws.amazon.com/message/5467D2/",
        below: "load.customers=30/s",
        fix: &["services.metadata.lever=[{pause: customers, after: 90s}, {open: customers, after: 270s}]"],
    }),
    incident!("elastic-2019-zookeeper", {
        who: "Elastic Cloud",
        date: "2019-01-18",
        lasted: "about 3 h",
        trigger: "heavy load on the leader of a ZooKeeper ensemble",
        sustained: "a leader that is late because of what piled up while there was none",
        ended: "a leader elected by hand, the ensemble steadied, more proxies",
        source: "https://www.elastic.co/blog/elastic-cloud-january-18-2019-incident-report",
        below: "load=40/s",
        fix: &["services.zookeeper.lever=[{pause: all, after: 60s}, {ramp: all, from: 10%, to: 100%, over: 60s, after: 120s}]"],
    }),
    incident!("google-2019-blob", {
        who: "Google blob storage",
        date: "2019-03-12",
        lasted: "4.17 h",
        trigger: "a change of configuration that overloaded lookups",
        sustained: "tasks that crash under the load as soon as they have started",
        ended: "traffic reduced by hand until tasks could start",
        source: "https://status.cloud.google.com/incident/storage/19002",
        below: "load=150/s",
        fix: &["services.lookup.lever=[{throttle: all, rate: 20%, after: 120s}, {ramp: all, from: 20%, to: 100%, over: 120s, after: 240s}]"],
    }),
    incident!("aws-2020-kinesis", {
        who: "Amazon Kinesis",
        date: "2020-11-25",
        lasted: "17 h",
        trigger: "capacity added, and with it threads beyond a limit",
        sustained: "servers that are cold when they come back, and taken for unhealthy",
        ended: "a restart at a limited rate, with state from the metadata store",
        source: "https://aws.amazon.com/message/11201/",
        below: "load=150/s",
        fix: &["services.frontend.start.cold=1x"],
    }),
    incident!("slack-2021-transit", {
        who: "Slack",
        date: "2021-01-04",
        lasted: "about 5 h",
        trigger: "gateways that dropped packets on the first day of the year",
        sustained: "servers that are provisioned over the network that is missing",
        ended: "more capacity of the gateways, panic mode of the load balancers",
        source: "https://slack.engineering/slacks-outage-on-january-4th-2021/",
        below: "load=60/s",
        fix: &["services.network.workers=40"],
    }),
    incident!("aws-2021-network", {
        who: "AWS internal network",
        date: "2021-12-07",
        lasted: "9.3 h",
        trigger: "an automated activity that made many clients connect at once",
        sustained: "retries without backoff into congested devices",
        ended: "DNS and other traffic moved away, devices added",
        source: "https://aws.amazon.com/message/12721/",
        below: "load={other: 80/s, dns: 40/s}",
        fix: &["services.devices.lever=[{pause: dns, after: 60s}, {open: dns, after: 180s}]"],
    }),
    incident!("slack-2022-cache", {
        who: "Slack",
        date: "2022-02-22",
        lasted: "about 5 h",
        trigger: "an upgrade that replaced cache nodes by empty ones",
        sustained: "misses that ask every shard, and answers too late to fill the cache",
        ended: "boots throttled, the query mended, boots let back step by step",
        source: "https://slack.engineering/slacks-incident-on-2-22-22/",
        below: "load=80/s",
        fix: &["services.api.lever=[{throttle: all, rate: 10%, after: 60s}, {ramp: all, from: 10%, to: 100%, over: 240s, after: 90s}]"],
    }),
    incident!("aws-2025-leases", {
        who: "Amazon EC2",
        date: "2025-10-19",
        lasted: "14.5 h",
        trigger: "an endpoint of DynamoDB without an address",
        sustained: "hosts that ask for their leases until an answer is in time",
        ended: "launches throttled, managers restarted so that their queues were empty",
        source: "https://aws.amazon.com/message/101925/",
        below: "load.launches=3/s",
        fix: &["services.manager.lever=[{pause: launches, after: 180s}, {open: launches, after: 420s}]"],
    }),
];
