//! The keys of the configuration.

use crate::schema::{Kind, Names, Section, optional, otherwise, required};

const PORT: &str = "address and port";
const FOREVER: u64 = 1 << 40;

pub(crate) static SIDECAR: Section = Section {
    name: "file",
    doc: "The file as a whole. At least one of `inbound` and `outbound` must be there.",
    keys: &[
        required("proxy", Kind::Count { min: 1, max: 1 }, "version of this format"),
        required("system", Kind::Text, "the system file, from the folder of this one"),
        otherwise(
            "inbound",
            Kind::List(&Kind::Section(&INBOUND)),
            "it protects no service",
            "the services beside it: their requests pass the door of the system file",
        ),
        otherwise(
            "outbound",
            Kind::List(&Kind::Section(&OUTBOUND)),
            "it makes no calls",
            "the calls that it makes by the policies of the system file",
        ),
        otherwise(
            "workers",
            Kind::Count { min: 1, max: 64 },
            "as many as there are cores, up to 4",
            "threads that serve, each with its own sockets and pools",
        ),
        otherwise("admin", Kind::Section(&ADMIN), "there is none", "the admin port"),
        optional("drain", Kind::Section(&DRAIN), "{}", "how it ends on SIGTERM"),
        optional(
            "limits",
            Kind::Section(&LIMITS),
            "{}",
            "what strangers may use of each listener; a listener may say otherwise",
        ),
    ],
};

pub(crate) static ADMIN: Section = Section {
    name: "admin",
    doc: "The port for the lever, metrics and probes. It has its own thread, so that it answers while the rest is saturated.",
    keys: &[
        optional("listen", Kind::Text, "127.0.0.1:9901", PORT),
        otherwise(
            "token_file",
            Kind::Text,
            "`listen` must be loopback",
            "a file with the token that callers show as `Authorization: Bearer`",
        ),
        otherwise(
            "state_file",
            Kind::Text,
            "a restart opens the levers",
            "a file, written by the proxy, in which the positions of levers outlive a restart",
        ),
    ],
};

pub(crate) static DRAIN: Section = Section {
    name: "drain",
    doc: "SIGTERM: `/readyz` fails; after `delay` nothing is accepted any more; what is under way has `timeout`.",
    keys: &[
        optional("delay", Kind::Duration { zero: true }, "0s", "so long it still accepts"),
        optional("timeout", Kind::Duration { zero: true }, "30s", "so long it then waits"),
    ],
};

pub(crate) static INBOUND: Section = Section {
    name: "inbound",
    doc: "One service beside the sidecar, protected by its door: rate limit, admission, concurrency limit, queue, lever.",
    keys: &[
        required("service", Kind::Name(Names::Service), "whose door it is"),
        required("listen", Kind::Text, PORT),
        required("upstream", UPSTREAM, "where the service listens"),
        optional(
            "trust",
            TRUST,
            "none",
            "whose class, deadline and attempt headers are believed; those of others are dropped",
        ),
        otherwise(
            "timeout",
            Kind::Duration { zero: false },
            "as long as the caller's deadline lets it",
            "a request that takes longer is answered with 504",
        ),
        otherwise(
            "flow",
            Kind::Text,
            "all requests are of one flow",
            "the header that tells users apart, for queues and rules that are fair to them",
        ),
        otherwise(
            "rank",
            Kind::Text,
            "a user's rank is that of its flow, and is told to nobody",
            RANK,
        ),
        otherwise("tls", Kind::Section(&TLS), "plain", "TLS towards callers"),
        otherwise("limits", Kind::Section(&LIMITS), "those of the file", "its own limits"),
    ],
};

pub(crate) static OUTBOUND: Section = Section {
    name: "outbound",
    doc: "The calls of one edge, made by its policy: retries, budget, breaker, throttle, timeouts, deadline.",
    keys: &[
        required("call", Kind::Text, "the edge, as `caller -> callee`"),
        required("listen", Kind::Text, PORT),
        required("upstream", UPSTREAM, "where the callee is"),
        optional(
            "trust",
            TRUST,
            "loopback",
            "whose class, deadline and attempt headers are believed; those of others are dropped",
        ),
        optional(
            "repeat",
            Kind::Word(&["by-method", "by-policy"]),
            "by-method",
            "which calls may be sent again after work may have been done: those whose method is idempotent or that carry `Idempotency-Key`, or those whose policy is `idempotent` (gRPC needs that)",
        ),
        otherwise("rank", Kind::Text, "users are not told apart", RANK),
        otherwise("tls", Kind::Section(&TLS), "plain", "TLS towards the caller"),
        otherwise("limits", Kind::Section(&LIMITS), "those of the file", "its own limits"),
    ],
};

const RANK: &str = "the header with a user's rank among those of its class, 0 (the most important) to 127, for rules that compare ranks; believed as the class is, and passed on";

const TRUST: Kind =
    Kind::Either(&[Kind::Word(&["none", "loopback", "all"]), Kind::List(&Kind::Text)]);

const UPSTREAM: Kind =
    Kind::Either(&[Kind::OneOrMany(&Kind::Text), Kind::Section(&UPSTREAM_SECTION)]);

pub(crate) static UPSTREAM_SECTION: Section = Section {
    name: "upstream",
    doc: "Where requests go. `upstream: 127.0.0.1:8080`, or a list, is `to` with everything else left out.",
    keys: &[
        required(
            "to",
            Kind::OneOrMany(&Kind::Text),
            "`address:port` or `name:port`; each address of a name is an endpoint",
        ),
        optional(
            "protocol",
            Kind::Word(&["as-caller", "http1", "http2"]),
            "as-caller",
            "what it speaks",
        ),
        optional(
            "balance",
            Kind::Word(&["round-robin", "least-request", "p2c"]),
            "p2c",
            "which endpoint is next: the next one, the one with the fewest requests under way, or the better of two by chance (peak EWMA of latency × requests under way)",
        ),
        otherwise("tls", Kind::Section(&CLIENT_TLS), "plain", "TLS towards it"),
        optional(
            "connect_timeout",
            Kind::Duration { zero: false },
            "1s",
            "how long a connection may take to be made",
        ),
        optional(
            "refresh",
            Kind::Duration { zero: false },
            "30s",
            "after what time names are looked up again",
        ),
        optional(
            "connections",
            Kind::Count { min: 1, max: 1_000_000 },
            "1024",
            "to one endpoint, of each worker; a request that finds no place is refused",
        ),
        optional(
            "order",
            Kind::Word(&["lru", "mru"]),
            "lru",
            "which idle connection is next: the one used the longest ago, or last (which concentrates load on a link that is slow)",
        ),
        optional(
            "max_age",
            Kind::Duration { zero: false },
            "5min",
            "no connection is used longer, so that load finds new endpoints and links",
        ),
        optional(
            "idle",
            Kind::Duration { zero: false },
            "60s",
            "a connection that was idle for so long is closed",
        ),
    ],
};

pub(crate) static TLS: Section = Section {
    name: "tls",
    doc: "TLS 1.3 and 1.2 towards callers, as PEM files from the folder of this file.",
    keys: &[
        required("certificate", Kind::Text, "the chain, its own certificate first"),
        required("key", Kind::Text, "its private key"),
        otherwise(
            "client_ca",
            Kind::Text,
            "callers need no certificate",
            "who must have signed the callers' certificates",
        ),
    ],
};

pub(crate) static CLIENT_TLS: Section = Section {
    name: "upstream-tls",
    doc: "TLS 1.3 and 1.2 towards the upstream.",
    keys: &[
        required("ca", Kind::Text, "who may have signed its certificate, as a PEM file"),
        required("name", Kind::Text, "the name that its certificate must have"),
        otherwise("certificate", Kind::Text, "none is shown", "the certificate shown to it"),
        otherwise("key", Kind::Text, "none", "its private key"),
    ],
};

pub(crate) static LIMITS: Section = Section {
    name: "limits",
    doc: "What strangers may use of a listener. What exceeds a limit is refused, or its connection closed.",
    keys: &[
        optional(
            "connections",
            Kind::Count { min: 1, max: 1_000_000 },
            "8192",
            "at the same time; more are closed at once",
        ),
        optional(
            "requests",
            Kind::Count { min: 1, max: 1_000_000 },
            "16384",
            "at the same time, of all connections: those that wait, that are worked on, and whose reply is under way; more are refused with 503",
        ),
        optional("headers", Kind::Count { min: 1, max: 10_000 }, "100", "of a request"),
        optional(
            "head",
            Kind::Size { min: 8 << 10, max: 1 << 20 },
            "64KiB",
            "bytes of a request's head",
        ),
        otherwise(
            "body",
            Kind::Size { min: 0, max: FOREVER },
            "no limit",
            "bytes of a request's body",
        ),
        optional(
            "head_timeout",
            Kind::Duration { zero: false },
            "10s",
            "how long the head of a request may take, and TLS before it",
        ),
        optional(
            "body_timeout",
            Kind::Duration { zero: false },
            "30s",
            "how long a body may stand still: a request that does not come, or a caller that does not read its reply",
        ),
        optional(
            "idle",
            Kind::Duration { zero: false },
            "5min",
            "how long a connection may have no request",
        ),
        optional(
            "streams",
            Kind::Count { min: 1, max: 100_000 },
            "256",
            "requests at the same time of one HTTP/2 connection",
        ),
    ],
};
