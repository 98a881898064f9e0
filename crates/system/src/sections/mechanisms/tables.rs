//! The keys of the mechanisms.

use crate::schema::{Kind, Names, Section, optional, otherwise, required};

const SERVICE: Kind = Kind::Name(Names::Service);
const TIME: Kind = Kind::Duration { zero: false };
const ANY_TIME: Kind = Kind::Duration { zero: true };
const MANY: Kind = Kind::Count { min: 1, max: 1_000_000 };
const FEW: Kind = Kind::Count { min: 1, max: 10_000 };

/// The row of a mechanism among the keys of a service.
macro_rules! mechanism {
    ($name:literal, $section:expr, $doc:literal) => {
        optional(
            $name,
            Kind::Either(&[Kind::Word(&["none"]), Kind::Section($section)]),
            "none",
            $doc,
        )
    };
}
pub(crate) use mechanism;

pub(crate) static HEALTH: Section = Section {
    name: "health-check",
    doc: "Health checks. An instance passes when a request that came now would be answered within `timeout`; checks of different instances are spread over the interval. Without a healthy instance attempts are rejected.",
    keys: &[
        optional("interval", TIME, "5s", "between two checks of an instance"),
        optional("timeout", TIME, "1s", "a check that takes longer has failed"),
        optional("unhealthy", FEW, "2", "failures in a row that take an instance out"),
        optional("healthy", FEW, "2", "successes in a row that bring it back"),
        optional("removed_for", ANY_TIME, "0s", "how long it stays out at least"),
        optional(
            "panic",
            Kind::Share { zero: true },
            "0%",
            "with fewer healthy instances than this share, all are used (Envoy: 50%)",
        ),
        optional("restart", Kind::Flag, "false", "whether an instance taken out is restarted"),
    ],
};

pub(crate) static AUTOSCALE: Section = Section {
    name: "autoscaler",
    doc: "Instances in proportion to utilisation, as Kubernetes' Horizontal Pod Autoscaler has it and with its defaults: desired = instances that serve × their utilisation / target, rounded up; instances that start count as idle when more are wanted. `instances` is where it begins.",
    keys: &[
        optional("min", FEW, "1", "the fewest instances"),
        required("max", FEW, "the most instances"),
        optional(
            "target",
            Kind::Share { zero: false },
            "60%",
            "share of the workers that should be busy",
        ),
        optional(
            "tolerance",
            Kind::Share { zero: true },
            "10%",
            "nothing is changed while utilisation is this close to its target, as a share of it",
        ),
        optional("interval", TIME, "15s", "between two decisions"),
        optional("provision", ANY_TIME, "60s", "from a decision to an instance that starts"),
        otherwise(
            "at_once",
            FEW,
            "no bound",
            "how many are provisioned at a time at the most: a quota",
        ),
        optional(
            "starting",
            Kind::Word(&["idle", "busy"]),
            "idle",
            "how busy instances that start are taken to be; as busy as the others is not damped",
        ),
        optional(
            "up_after",
            ANY_TIME,
            "0s",
            "stabilisation on the way up: no more come than the least that was wanted over so long",
        ),
        optional(
            "down_after",
            ANY_TIME,
            "300s",
            "stabilisation on the way down: no fewer stay than the most that was wanted over so long",
        ),
        optional(
            "up_times",
            Kind::Factor { min: 1.0, max: 1e6 },
            "2",
            "how fast more may come: so many times as many over `up_every`, or `up_by` more if that is more",
        ),
        optional("up_by", FEW, "4", "see `up_times`"),
        optional("up_every", ANY_TIME, "15s", "see `up_times`; 0s: no bound"),
    ],
};

pub(crate) static PAUSES: Section = Section {
    name: "garbage-collection",
    doc: "Stops of the whole instance to collect garbage. One comes when what was taken up since the last one, together with what waits or is worked on, fills the heap.",
    keys: &[
        required("heap", MANY, "attempts whose memory fills the heap"),
        optional("base", ANY_TIME, "0s", "length of a pause when nothing is alive"),
        required("per_live", ANY_TIME, "more for each attempt that waits or is worked on"),
    ],
};

pub(crate) static START: Section = Section {
    name: "start",
    doc: "What an instance does before it serves, after a restart or when it was added, and how it is at first. Its calls have the policy of `\"SERVICE -> FROM\"` and the highest class.",
    keys: &[
        optional("takes", ANY_TIME, "0s", "how long it takes without the calls"),
        otherwise("from", SERVICE, "it calls nobody", "whom it calls before it serves"),
        optional("calls", MANY, "1", "how often, one after another; a failure begins them anew"),
        optional("again", TIME, "1s", "how long after a failure it begins anew"),
        optional("cold_for", ANY_TIME, "0s", "how long it is cold"),
        optional(
            "cold",
            Kind::Factor { min: 1.0, max: 1e6 },
            "1x",
            "its service times while it is cold",
        ),
    ],
};

pub(crate) static LEASE: Section = Section {
    name: "lease",
    doc: "A lease or a membership that each instance renews with a service. Without it the instance is not in rotation. Its calls have the policy of `\"SERVICE -> FROM\"` and the highest class.",
    keys: &[
        required("from", SERVICE, "with whom it is renewed"),
        required("every", TIME, "how often"),
        required("lasts", TIME, "how long it is good for"),
        optional("again", TIME, "1s", "how long after a failure it asks again"),
    ],
};

pub(crate) static ELECTION: Section = Section {
    name: "election",
    doc: "A leader whose heartbeats wait in the same queue as requests. When one is late there is no leader for a while; attempts wait for the next one, those that waited for the last one fail.",
    keys: &[
        optional("heartbeat", TIME, "1s", "between two heartbeats"),
        optional("timeout", TIME, "3s", "a heartbeat later than this deposes the leader"),
        required("takes", TIME, "how long there is no leader then"),
    ],
};

pub(crate) static FAILOVER: Section = Section {
    name: "failover",
    doc: "Where the attempts of callers go while this service fails: another region. Calls below are those of the same call tree.",
    keys: &[
        required("to", SERVICE, "the service that gets them"),
        optional(
            "below",
            Kind::Share { zero: false },
            "50%",
            "fails: fewer than this share of its attempts ended well",
        ),
        optional("window", TIME, "10s", "over so long"),
        optional("back_after", TIME, "60s", "how long it then gets nothing"),
    ],
};

pub(crate) static POOL: Section = Section {
    name: "pool",
    doc: "Connections that callers keep, each to one instance, drawn evenly when it is opened. It is closed when its attempt is given up. The pool chooses the instance in place of `balance`.",
    keys: &[
        required(
            "order",
            Kind::Word(&["mru", "lru"]),
            "which idle connection is next: the one that came back last, or the one idle longest",
        ),
        otherwise("max_age", TIME, "no bound", "an older one is closed in place of used"),
    ],
};

pub(crate) static ERROR_LOG: Section = Section {
    name: "error-log",
    doc: "What an attempt that fails writes before it replies; logs must not lead back to themselves. The lines are calls with the policy of `\"SERVICE -> TO\"`, and a worker that blocks waits for them.",
    keys: &[
        required("to", SERVICE, "the service that takes the lines: a disk, a collector"),
        optional("lines", FEW, "1", "how many lines"),
        optional(
            "abandoned",
            Kind::Flag,
            "false",
            "whether a reply to a caller that has gone is written, too: a broken pipe",
        ),
    ],
};
