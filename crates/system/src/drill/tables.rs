//! The tables of the drill file.

pub(super) mod load;

use load::{FOLLOWS, PART};

use super::tls::{ca, insecure};
use crate::schema::{Kind, Names, Section, Tagged, Variant, optional, otherwise, required};

const TIME: Kind = Kind::Duration { zero: true };
const SPAN: Kind = Kind::Duration { zero: false };
const SHARE: Kind = Kind::Share { zero: false };
pub(super) const RATE: Kind = Kind::Rate { zero: true };
const VALUE: Kind = Kind::Number { min: -1e15, max: 1e15 };
const CLASS: Kind = Kind::Name(Names::ClassOrAll);
pub(super) const LEVEL: Kind = Kind::Either(&[RATE, Kind::Share { zero: true }]);

pub(super) static ROOT: Section = Section {
    name: "drill",
    doc: "The file as a whole.",
    keys: &[
        required("drill", Kind::Count { min: 1, max: 1 }, "version of this format"),
        optional("name", Kind::Text, "drill", "what reports call it"),
        otherwise(
            "system",
            Kind::Text,
            "there is none, and `load` must be there",
            "a system file, from the folder of this one: load, classes, requests, and what is predicted",
        ),
        optional("set", Kind::List(&Kind::Text), "", "changes to the system file, `path=value`"),
        optional(
            "slower",
            Kind::Factor { min: 1.0, max: 1000.0 },
            "1x",
            "everything this many times as slow, for a machine that is too small: rates are divided by it, times multiplied",
        ),
        required(
            "target",
            Kind::Text,
            "where load goes: `http://HOST:PORT/PATH`, the same with `https://`, or `emulation`, which is the system file as real processes",
        ),
        optional(
            "protocol",
            Kind::Word(&["http1", "http2", "grpc"]),
            "http1",
            "what is spoken there",
        ),
        ca("the authorities of this system are believed"),
        insecure("`false`"),
        optional(
            "owners",
            Kind::Map(Names::Host, &Kind::Text),
            "{}",
            "every host outside loopback that this file names, and who owns it; each must also be confirmed with `--confirm HOST`",
        ),
        otherwise(
            "load",
            Kind::Either(&[
                RATE,
                Kind::Map(Names::Class, &RATE),
                Kind::List(&Kind::Section(&PART)),
            ]),
            "that of the system file",
            "requests per second; by class, the highest first; or several parts, each with a target or with requests of its own",
        ),
        otherwise(
            "requests",
            Kind::Text,
            "GET of the path of the target; of an emulation the requests of the system file",
            "a request file (docs/load.md), from the folder of this one",
        ),
        otherwise(
            "arrivals",
            Kind::Word(&["poisson", "even"]),
            "as the system file says, else `poisson`",
            "how requests follow each other",
        ),
        optional(
            "headers",
            Kind::Map(Names::Header, &Kind::Text),
            "{}",
            "headers of every request; `{{env NAME}}` is a variable of the environment, for what is secret",
        ),
        optional("class_header", Kind::Text, "x-damper-class", "the header that names the class"),
        optional(
            "callers",
            Kind::Either(&[Kind::Word(&["none", "naive", "standard"]), Kind::Section(&FOLLOWS)]),
            "none",
            "what those who send do after an attempt that did not end well: nothing, `retries` at once, `retries` with exponential backoff and full jitter, or what a policy of a system file says",
        ),
        optional(
            "retries",
            Kind::Count { min: 0, max: 20 },
            "3",
            "callers: retries after the first attempt",
        ),
        otherwise("timeout", SPAN, "`patience`", "callers: how long one attempt is waited for"),
        optional("patience", SPAN, "10s", "how long a reply is waited for"),
        otherwise("good_within", SPAN, "`patience`", "a reply later than this is not good"),
        optional("interval", SPAN, "1s", "width of a point of the series"),
        optional("seed", Kind::Count { min: 0, max: u64::MAX }, "1", "seed of everything random"),
        optional("bounds", Kind::Section(&BOUNDS), "{}", "what nothing exceeds"),
        optional("recovered", Kind::Section(&RECOVERED), "{}", "when it is well again"),
        optional(
            "metrics",
            Kind::Map(Names::Metric, &Kind::Keyed(&METRICS)),
            "{}",
            "what is looked at besides replies, once in each interval",
        ),
        optional(
            "triggers",
            Kind::Map(Names::Trigger, &Kind::Keyed(&TRIGGERS)),
            "{}",
            "what goes wrong on command; what was started is stopped however the drill ends",
        ),
        optional(
            "levers",
            Kind::Map(Names::Lever, &Kind::Keyed(&LEVERS)),
            "{}",
            "what takes load off",
        ),
        required("phases", Kind::List(&Kind::Keyed(&PHASES)), "what happens, one after another"),
        optional("expect", Kind::List(&Kind::Keyed(&EXPECT)), "", "what must come of it"),
        optional("abort", Kind::List(&Kind::Keyed(&ABORT)), "", "when to stop at once"),
        optional("headroom", Kind::Section(&SEARCH), "{}", "how `--headroom` searches"),
    ],
};

pub(super) static BOUNDS: Section = Section {
    name: "bounds",
    doc: "What nothing exceeds. A plan whose load would is refused before anything is sent.",
    keys: &[
        optional("rate", Kind::Rate { zero: false }, "500/s", "requests per second"),
        optional(
            "requests",
            Kind::Count { min: 1, max: 1_000_000_000 },
            "200_000",
            "requests in all",
        ),
        optional("time", SPAN, "30min", "how long all of it may take"),
        optional(
            "in_flight",
            Kind::Count { min: 1, max: 65_536 },
            "4096",
            "requests under way at the same time; more are not sent, and counted",
        ),
    ],
};

pub(super) static RECOVERED: Section = Section {
    name: "recovered",
    doc: "When it is well again: goodput, as the client sees it, and a metric if one is named.",
    keys: &[
        optional("goodput", SHARE, "95%", "at least this share of what is offered"),
        optional("hold", SPAN, "5s", "for this long"),
        otherwise("metric", Kind::Name(Names::Metric), "goodput decides alone", "and this metric"),
        otherwise("below", VALUE, "", "is below this"),
        otherwise("above", VALUE, "", "is above this"),
    ],
};

static METRIC: Section = Section {
    name: "metric",
    doc: "Something to look at: exactly one of the first four keys.",
    keys: &[
        otherwise("prometheus", Kind::Text, "", "address of a Prometheus"),
        otherwise("envoy", Kind::Text, "", "address of the admin port of an Envoy"),
        otherwise(
            "scrape",
            Kind::Text,
            "",
            "address of a page in the text format of Prometheus, such as `/metrics` of `damper proxy`",
        ),
        otherwise(
            "emulate",
            Kind::Word(&["attempts", "retries", "rejected", "shed", "abandoned"]),
            "",
            "what an emulation counts",
        ),
        otherwise(
            "query",
            Kind::Text,
            "",
            "prometheus: the query; values of several series are added up",
        ),
        otherwise(
            "stat",
            Kind::Text,
            "",
            "envoy: a regular expression for names of statistics; those found are added up",
        ),
        otherwise(
            "series",
            Kind::Text,
            "",
            "scrape: a name with labels that must be there, `name{label=\"x\"}`; those found are added up",
        ),
        otherwise("of", Kind::Text, "all with a capacity", "emulate: which service"),
        otherwise(
            "admin",
            Kind::Text,
            "the emulation that is the target",
            "emulate: address of its admin port",
        ),
    ],
};

pub(super) static METRICS: Tagged = Tagged {
    section: &METRIC,
    partial: false,
    variants: &[
        variant("prometheus", &["query"], &[]),
        variant("envoy", &["stat"], &[]),
        variant("scrape", &["series"], &[]),
        variant("emulate", &[], &["of", "admin"]),
    ],
};

static TRIGGER: Section = Section {
    name: "trigger",
    doc: "Something that goes wrong on command: exactly one of the first six keys.",
    keys: &[
        otherwise("emulate", Kind::Text, "", "a trigger of the system file of an emulation"),
        otherwise("lever", Kind::Name(Names::Lever), "", "a pull of one of `levers`"),
        otherwise(
            "envoy",
            Kind::Text,
            "",
            "address of the admin port of an Envoy with the fault filter",
        ),
        otherwise("toxiproxy", Kind::Text, "", "address of the API of a Toxiproxy"),
        otherwise(
            "netem",
            Kind::Text,
            "",
            "a network namespace of yours; `tc` of this machine, which needs the right to it",
        ),
        otherwise("start", Kind::Text, "", "a command of a shell that starts it"),
        otherwise(
            "admin",
            Kind::Text,
            "the emulation that is the target",
            "emulate: address of its admin port",
        ),
        otherwise("pull", Kind::Word(PULLS), "", "lever: what is done"),
        otherwise("class", CLASS, "all", "lever: for which class"),
        otherwise("to", LEVEL, "", "lever: to which rate or share"),
        otherwise("from", LEVEL, "nothing", "lever: where a ramp begins"),
        otherwise("over", SPAN, "", "lever: how long a ramp takes"),
        otherwise(
            "abort",
            Kind::Count { min: 200, max: 599 },
            "",
            "envoy: the status with which requests are aborted",
        ),
        otherwise("delay", SPAN, "", "envoy, netem: by how much requests or packets are delayed"),
        optional("share", SHARE, "100%", "envoy: how many requests"),
        otherwise("proxy", Kind::Text, "", "toxiproxy: which proxy"),
        otherwise(
            "toxic",
            Kind::Word(&[
                "latency",
                "bandwidth",
                "slow_close",
                "timeout",
                "reset_peer",
                "slicer",
                "limit_data",
            ]),
            "the proxy is disabled",
            "toxiproxy: the type of the toxic",
        ),
        optional(
            "stream",
            Kind::Word(&["downstream", "upstream"]),
            "downstream",
            "toxiproxy: which way",
        ),
        optional(
            "attributes",
            Kind::Map(Names::Attribute, &VALUE),
            "{}",
            "toxiproxy: of the toxic",
        ),
        otherwise("device", Kind::Text, "", "netem: the device in the namespace"),
        otherwise("jitter", SPAN, "", "netem: more or less"),
        otherwise("loss", SHARE, "", "netem: share of packets that are lost"),
        otherwise("stop", Kind::Text, "", "a command that ends what `start` started"),
        otherwise(
            "check",
            Kind::Text,
            "`stop` succeeded",
            "a command that succeeds when it has ended",
        ),
    ],
};

const PULLS: &[&str] = &["open", "pause", "throttle", "ramp"];

pub(super) static TRIGGERS: Tagged = Tagged {
    section: &TRIGGER,
    partial: false,
    variants: &[
        variant("emulate", &[], &["admin"]),
        variant("lever", &["pull"], &["class", "to", "from", "over"]),
        variant("envoy", &[], &["abort", "delay", "share"]),
        variant("toxiproxy", &["proxy"], &["toxic", "stream", "attributes"]),
        variant("netem", &["device"], &["delay", "jitter", "loss"]),
        variant("start", &["stop"], &["check"]),
    ],
};

static LEVER: Section = Section {
    name: "lever",
    doc: "Something that takes load off: exactly one of the first three keys.",
    keys: &[
        otherwise(
            "emulate",
            Kind::Text,
            "",
            "the lever at the door of a service of an emulation; `client`: of those who make the requests",
        ),
        otherwise("proxy", Kind::Text, "", "address of the admin port of a `damper proxy`"),
        otherwise(
            "open",
            Kind::Text,
            "",
            "a command of a shell that lets everything in; `{class}`, `{to}` and `{over}` are filled in",
        ),
        otherwise(
            "admin",
            Kind::Text,
            "the emulation that is the target",
            "emulate: address of its admin port",
        ),
        otherwise("hop", Kind::Text, "all", "proxy: which hop"),
        otherwise("caller", Kind::Text, "all", "proxy: for which caller"),
        otherwise(
            "token_env",
            Kind::Text,
            "no token is sent",
            "proxy: the environment variable that has the token",
        ),
        otherwise("pause", Kind::Text, "it cannot", "a command that lets nothing in"),
        otherwise("throttle", Kind::Text, "it cannot", "a command that lets some in"),
        otherwise("ramp", Kind::Text, "it cannot", "a command that lets more and more in"),
        optional(
            "reopen",
            SPAN,
            "30s",
            "how long the ramp takes with which it is opened when a drill ends while it is pulled",
        ),
    ],
};

pub(super) static LEVERS: Tagged = Tagged {
    section: &LEVER,
    partial: false,
    variants: &[
        variant("emulate", &[], &["admin", "reopen"]),
        variant("proxy", &[], &["hop", "caller", "token_env", "reopen"]),
        variant("open", &[], &["pause", "throttle", "ramp", "reopen"]),
    ],
};

static PHASE: Section = Section {
    name: "phase",
    doc: "Something that happens: exactly one of the first eight keys.",
    keys: &[
        otherwise(
            "load",
            Kind::Percent { max: 1000.0 },
            "",
            "brings the load to this share of itself",
        ),
        otherwise("hold", SPAN, "", "goes on as it is for this long"),
        otherwise("start", Kind::Name(Names::Trigger), "", "starts a trigger"),
        otherwise("stop", Kind::Name(Names::Trigger), "", "stops a trigger"),
        otherwise("recover", SPAN, "", "waits until it has recovered, at most this long"),
        otherwise(
            "healthy",
            SPAN,
            "",
            "waits until what a lever lets in is served well, at most this long: the gate before it is opened",
        ),
        otherwise("lever", Kind::Name(Names::Lever), "", "pulls a lever"),
        otherwise("ask", Kind::Text, "", "asks a person, and records who answered"),
        optional("over", TIME, "5s", "load, lever: how long the way there takes; `0s` is a step"),
        otherwise("for", SPAN, "until it is stopped", "start: how long it lasts"),
        otherwise("pull", Kind::Word(PULLS), "", "lever: what is done"),
        otherwise("class", CLASS, "all", "lever: for which class"),
        otherwise("to", LEVEL, "", "lever: throttle and ramp, to which rate or share"),
        otherwise("from", LEVEL, "nothing", "lever: where a ramp begins"),
        otherwise("name", Kind::Text, "what it does", "what reports and `during` call it"),
    ],
};

pub(super) static PHASES: Tagged = Tagged {
    section: &PHASE,
    partial: false,
    variants: &[
        variant("load", &[], &["over", "name"]),
        variant("hold", &[], &["name"]),
        variant("start", &[], &["for", "name"]),
        variant("stop", &[], &["name"]),
        variant("recover", &[], &["name"]),
        variant("healthy", &[], &["name"]),
        variant("lever", &["pull"], &["class", "to", "from", "over", "name"]),
        variant("ask", &[], &["name"]),
    ],
};

static EXPECTATION: Section = Section {
    name: "expectation",
    doc: "Something that must come of it: exactly one of the first six keys.",
    keys: &[
        otherwise(
            "recovery",
            SPAN,
            "",
            "it recovers within this time after the last trigger has ended",
        ),
        otherwise("detection", SPAN, "", "a trigger shows in goodput within this time"),
        otherwise("goodput", SHARE, "", "goodput is at least this share of what is offered"),
        otherwise(
            "amplification",
            Kind::Factor { min: 1.0, max: 1e6 },
            "",
            "attempts per request grow at most so many times",
        ),
        otherwise(
            "lost",
            Kind::Share { zero: true },
            "",
            "at most this share of what is offered from the first trigger on is not served well",
        ),
        otherwise(
            "moved",
            Kind::Name(Names::Metric),
            "",
            "this counter is larger at the end than at the beginning",
        ),
        otherwise("of", CLASS, "all", "goodput: of which class"),
        otherwise(
            "during",
            Kind::Text,
            "throughout: in every stretch as long as `recovered.hold`",
            "goodput: in the phase of this name, as a whole",
        ),
    ],
};

pub(super) static EXPECT: Tagged = Tagged {
    section: &EXPECTATION,
    partial: false,
    variants: &[
        variant("recovery", &[], &[]),
        variant("detection", &[], &[]),
        variant("goodput", &[], &["of", "during"]),
        variant("amplification", &[], &[]),
        variant("lost", &[], &[]),
        variant("moved", &[], &[]),
    ],
};

static ABORT_SECTION: Section = Section {
    name: "abort",
    doc: "When to stop at once: load off, triggers stopped, levers opened by a ramp. Exactly one of the first two keys.",
    keys: &[
        otherwise("goodput", SHARE, "", "goodput is below this share of what is offered"),
        otherwise("metric", Kind::Name(Names::Metric), "", "this metric"),
        otherwise("of", CLASS, "all", "goodput: of which class"),
        otherwise("below", VALUE, "", "is below this"),
        otherwise("above", VALUE, "", "is above this"),
        otherwise("for", SPAN, "", "for this long"),
    ],
};

pub(super) static ABORT: Tagged = Tagged {
    section: &ABORT_SECTION,
    partial: false,
    variants: &[
        variant("goodput", &["for"], &["of"]),
        variant("metric", &["for"], &["below", "above"]),
    ],
};

pub(super) static SEARCH: Section = Section {
    name: "headroom",
    doc: "How `--headroom` searches for the load, or the length of the trigger, from which it still recovers.",
    keys: &[
        optional(
            "of",
            Kind::Word(&["load", "trigger"]),
            "load",
            "what is varied; the other stays as it is",
        ),
        otherwise(
            "trigger",
            Kind::Name(Names::Trigger),
            "the first",
            "what goes wrong in each probe",
        ),
        optional("for", SPAN, "2s", "how long it lasts while the load is searched"),
        otherwise(
            "from",
            Kind::Either(&[RATE, SPAN]),
            "a tenth of `to`",
            "where to begin: believed to recover",
        ),
        otherwise("to", Kind::Either(&[RATE, SPAN]), "the load; 30s", "never exceeded"),
        optional("resolution", SHARE, "5%", "how near"),
        optional(
            "repeats",
            Kind::Count { min: 1, max: 100 },
            "3",
            "how often the two ends of the interval are tried",
        ),
        optional("ramp", TIME, "3s", "how long the load is brought up"),
        optional(
            "steady",
            SPAN,
            "5s",
            "how long it must be well before the trigger; if it is not, it cannot serve this load at all",
        ),
        optional("watch", SPAN, "60s", "how long a recovery is waited for"),
        optional(
            "drain",
            SPAN,
            "2min",
            "how long it may take to become healthy again between two probes, without load",
        ),
        optional(
            "light",
            SHARE,
            "5%",
            "the load that checks whether it is healthy, as a share of `to` or of the load",
        ),
        otherwise(
            "lever",
            Kind::Name(Names::Lever),
            "by taking off the load",
            "the lever by which it is drained",
        ),
    ],
};

const fn variant(
    name: &'static str,
    needs: &'static [&'static str],
    may: &'static [&'static str],
) -> Variant {
    Variant { name, needs, may }
}
