//! Every key of the configuration: one table that the reader, the JSON Schema and the reference in
//! `docs/filter.md` are made from.

use damper_control::conditions::WORDS;

/// What may stand behind a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text that a rule accepts.
    Text(&'static Text),
    /// The name of a class.
    Class,
    /// A whole number.
    Whole { min: u64, max: u64 },
    /// Any number.
    Number { min: f64, max: f64 },
    /// `true` or `false`.
    Flag,
    /// A list, with at least `least` and at most `most` items.
    List { of: &'static Kind, least: usize, most: usize },
    /// An object with these keys.
    Object(&'static Section),
    /// An object whose keys are names of classes.
    ByClass(&'static Kind),
    /// An object in which `tag` says which keys it has.
    Tagged { tag: &'static str, variants: &'static [Section] },
    /// An object with exactly one of these keys.
    One(&'static Section),
    /// One of these; the form in JSON says which.
    Either(&'static [Kind]),
}

/// A rule for a text.
#[derive(Debug)]
pub(super) struct Text {
    /// What it is, for messages.
    pub(super) what: &'static str,
    /// As a regular expression, for the schema.
    pub(super) pattern: &'static str,
    /// Most bytes.
    pub(super) most: usize,
    /// Whether it is one.
    pub(super) valid: fn(&str) -> bool,
}

/// An object with known keys.
#[derive(Debug)]
pub(super) struct Section {
    /// Its name in the schema and in the reference.
    pub(super) name: &'static str,
    pub(super) keys: &'static [Key],
}

/// A key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    /// What it means, and what holds if it is not written.
    pub(super) doc: &'static str,
}

/// What only the reference says, which nobody reads inside of Envoy.
const fn for_people(text: &'static str) -> &'static str {
    if cfg!(target_arch = "wasm32") { "" } else { text }
}

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: false, doc: for_people(doc) }
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: true, doc: for_people(doc) }
}

/// Most classes: what a control tells apart.
pub(super) const MOST_CLASSES: usize = damper_control::who::CLASSES;
/// Most rules for the class.
pub(super) const MOST_MATCHES: usize = 64;
/// Most edges.
pub(super) const MOST_EDGES: usize = 64;
/// Most sources that are trusted.
pub(super) const MOST_SOURCES: usize = 64;
/// Most retries that a limit may say.
pub(super) const MOST_RETRIES: u64 = 100;
/// Most requests that are remembered.
pub(super) const MOST_REMEMBERED: u64 = 65_536;

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

const CLASS_NAME: Text = Text {
    what: "a name of a class: letters, digits, `-` and `_`, at most 32",
    pattern: for_people("^[A-Za-z0-9_-]{1,32}$"),
    most: 32,
    valid: |t| {
        !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    },
};
const HEADER: Text = Text {
    what: "the name of a header in lower case, such as `x-tier`",
    pattern: for_people("^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$"),
    most: 64,
    valid: |t| is_token(t) && !t.bytes().any(|b| b.is_ascii_uppercase()),
};
const TOKEN: Text = Text {
    what: "a word of letters, digits and `-`",
    pattern: for_people("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$"),
    most: 64,
    valid: is_token,
};
const VALUE: Text = Text {
    what: "a text of at most 256 printable characters",
    pattern: for_people("^[ -~]{0,256}$"),
    most: 256,
    valid: |t| t.bytes().all(|b| (b' '..=b'~').contains(&b)),
};
const PATH: Text = Text {
    what: "the beginning of a path, such as `/pay`",
    pattern: for_people("^/[!-~]{0,255}$"),
    most: 256,
    valid: |t| t.starts_with('/') && t.bytes().all(|b| (b'!'..=b'~').contains(&b)),
};
const HOST: Text = Text {
    what: "a host without a port, such as `shop` or `*.shop.example`",
    pattern: for_people("^(\\*\\.)?[A-Za-z0-9._\\[\\]:-]{1,253}$"),
    most: 255,
    valid: |t| {
        let name = t.strip_prefix("*.").unwrap_or(t);
        // A colon is part of an address in brackets, and of nothing else.
        !name.is_empty()
            && (name.starts_with('[') && name.ends_with(']') || !name.contains(':'))
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-[]:".contains(&b))
    },
};
const SOURCE: Text = Text {
    what: "a network such as `10.0.0.0/8`, or the beginning of a SPIFFE id such as `spiffe://mesh/ns/shop/`",
    pattern: for_people("^(spiffe://[!-~]{1,247}|[0-9a-fA-F:.]{2,45}/[0-9]{1,3})$"),
    most: 256,
    valid: super::trust::is_source,
};

const RETRY_WORDS: [&str; 3] = ["rejected", "failed", "timeout"];
/// Our three words, then Envoy's.
const ON: [&str; RETRY_WORDS.len() + WORDS.len()] = {
    let mut all = [""; RETRY_WORDS.len() + WORDS.len()];
    let mut n = 0;
    while n < all.len() {
        all[n] =
            if n < RETRY_WORDS.len() { RETRY_WORDS[n] } else { WORDS[n - RETRY_WORDS.len()].0 };
        n += 1;
    }
    all
};

const SHARE: Kind = Kind::Number { min: 0.0, max: 1.0 };
const MILLISECONDS: Kind = Kind::Whole { min: 0, max: 86_400_000 };
const SOME_MILLISECONDS: Kind = Kind::Whole { min: 1, max: 86_400_000 };
const PERCENT: Kind = Kind::Number { min: 0.0, max: 1000.0 };
const RETRIES: Kind = Kind::Whole { min: 0, max: MOST_RETRIES };

/// The whole.
pub(super) const ROOT: Section = Section {
    name: "configuration",
    keys: &[
        required("damper", Kind::Whole { min: 1, max: 1 }, "The version of the format: 1."),
        required(
            "position",
            Kind::Word(&["inbound", "outbound", "edge", "lever"]),
            "Where the filter stands: `inbound` before the service, `outbound` behind it, `edge` facing strangers, `lever` on a listener for operators.",
        ),
        key(
            "classes",
            Kind::List { of: &Kind::Text(&CLASS_NAME), least: 1, most: MOST_CLASSES },
            "Priority classes, the highest first. One class, `default`, if it is not written.",
        ),
        key(
            "default_class",
            Kind::Class,
            "The class of what nothing else says. The lowest if it is not written.",
        ),
        key("class", Kind::Object(&CLASS), "How the class of a request is found and handed on."),
        key(
            "trust",
            Kind::Either(&[
                Kind::Word(&["none", "mesh"]),
                Kind::List { of: &Kind::Text(&SOURCE), least: 1, most: MOST_SOURCES },
            ]),
            "Whose word about classes, retries and deadlines counts: nobody's (`none`), that of requests with `x-envoy-internal` and of peers with a certificate (`mesh`), or of these networks and SPIFFE ids. If it is not written: `mesh` inbound, `none` at the edge, outbound every request, since it is the service's own, and whoever reaches the listener of a `lever`. What is written holds at every position.",
        ),
        key("retry", Kind::Object(&RETRY), "Retries to whatever no edge names."),
        key(
            "edges",
            Kind::List { of: &Kind::Object(&EDGE), least: 0, most: MOST_EDGES },
            "What differs by destination. The first edge that fits is taken.",
        ),
        key(
            "deadline",
            Kind::Object(&DEADLINE),
            "A deadline that travels. None if it is not written.",
        ),
        key(
            "lever",
            Kind::ByClass(&Kind::One(&LEVER)),
            "The operator's lever by class. Open if it is not written.",
        ),
    ],
};

const CLASS: Section = Section {
    name: "class",
    keys: &[
        key(
            "header",
            Kind::Text(&HEADER),
            "The header that carries the class from hop to hop. `x-damper-class` if it is not written.",
        ),
        key(
            "baggage",
            Kind::Text(&TOKEN),
            "The key of W3C `baggage` that carries the class, too. None if it is not written.",
        ),
        key(
            "remember",
            Kind::Object(&REMEMBER),
            "Recognise outbound requests by a header that the application forwards. Inbound and outbound must say it, with the same `vm_id`. Off if it is not written.",
        ),
        key(
            "match",
            Kind::List { of: &Kind::Object(&MATCH), least: 0, most: MOST_MATCHES },
            "Rules for requests that carry no class; the first that fits decides.",
        ),
    ],
};

const REMEMBER: Section = Section {
    name: "class.remember",
    keys: &[
        required(
            "by",
            Kind::Word(&["traceparent", "x-request-id"]),
            "The header that the application forwards.",
        ),
        key(
            "capacity",
            Kind::Whole { min: 1, max: MOST_REMEMBERED },
            "Most requests remembered at a time; a newer one takes the place of an older. 4096 if it is not written.",
        ),
        key(
            "expiry_s",
            Kind::Whole { min: 1, max: 3600 },
            "For how long, in seconds. 60 if it is not written.",
        ),
    ],
};

const MATCH: Section = Section {
    name: "class.match",
    keys: &[
        required("class", Kind::Class, "The class of what fits."),
        key("path_prefix", Kind::Text(&PATH), "What the path begins with."),
        key("method", Kind::Text(&TOKEN), "The method, such as `POST`."),
        key(
            "host",
            Kind::Text(&HOST),
            "The host, without its port; `*.` at the start stands for any subdomain.",
        ),
        key("header", Kind::Object(&HEADER_MATCH), "A header, and what it says."),
        key("baggage", Kind::Object(&BAGGAGE_MATCH), "A key of `baggage`, and what it says."),
    ],
};

const HEADER_MATCH: Section = Section {
    name: "class.match.header",
    keys: &[
        required("name", Kind::Text(&HEADER), "The name of the header."),
        key("exact", Kind::Text(&VALUE), "Its value."),
        key(
            "prefix",
            Kind::Text(&VALUE),
            "What its value begins with. With neither, the header must only be there.",
        ),
    ],
};

const BAGGAGE_MATCH: Section = Section {
    name: "class.match.baggage",
    keys: &[
        required("key", Kind::Text(&TOKEN), "The key."),
        required("exact", Kind::Text(&VALUE), "Its value."),
    ],
};

pub(super) const RETRY: Section = Section {
    name: "retry",
    keys: &[
        key(
            "limit",
            Kind::Either(&[RETRIES, Kind::ByClass(&RETRIES)]),
            "Retries after the first attempt, for all classes or by class; a class that is not named has none. What the route says if it is not written.",
        ),
        key(
            "on",
            Kind::List { of: &Kind::Word(&ON), least: 1, most: ON.len() },
            "What is retried: `rejected`, `failed`, `timeout`, or Envoy's own words. They are added to those of the route; what the route says if it is not written.",
        ),
        key(
            "status_codes",
            Kind::List { of: &Kind::Whole { min: 400, max: 599 }, least: 1, most: 16 },
            "The statuses of a rejection. 429 and 503 if it is not written.",
        ),
        key(
            "per_try_timeout_ms",
            SOME_MILLISECONDS,
            "The timeout of one attempt. What the route says if it is not written.",
        ),
        key(
            "backoff",
            Kind::Object(&BACKOFF),
            "The backoff that the route has. Envoy lets no filter set it: this is for the warning that it is too short.",
        ),
        key(
            "capacity_per_s",
            Kind::Number { min: 0.001, max: 1e9 },
            "Requests per second that the destination can do, for the same warning.",
        ),
        key(
            "budget",
            Kind::Tagged { tag: "kind", variants: &BUDGETS },
            "How many retries there are over all requests. No bound if it is not written.",
        ),
        key(
            "overloaded",
            Kind::Flag,
            "Whether OVERLOADED in its answers is believed; the budget `arb` listens to it, and tells it on to callers. `true` for destinations that an edge names, `false` for all others, if it is not written.",
        ),
        key(
            "pushback",
            Kind::Flag,
            "Whether a destination that asks for time (`retry-after`, `grpc-retry-pushback-ms`) gets no retries until then. `false` if it is not written.",
        ),
    ],
};

const BACKOFF: Section = Section {
    name: "retry.backoff",
    keys: &[
        required(
            "base_ms",
            SOME_MILLISECONDS,
            "The bound of the first delay; Envoy draws evenly below it, and doubles it for each retry. Envoy's own is 25.",
        ),
        key(
            "max_ms",
            SOME_MILLISECONDS,
            "The bound of all delays. Ten times the base if it is not written.",
        ),
    ],
};

const BUDGETS: [Section; 3] = [
    Section {
        name: "token-bucket",
        keys: &[
            key(
                "max_tokens",
                Kind::Whole { min: 1, max: 1000 },
                "Tokens when full, for each worker thread. 10 if it is not written.",
            ),
            key(
                "token_ratio",
                Kind::Number { min: 0.001, max: 1000.0 },
                "Tokens that a success adds. 0.1 if it is not written.",
            ),
        ],
    },
    Section {
        name: "ratio",
        keys: &[
            key(
                "percent",
                Kind::Number { min: 0.0, max: 1000.0 },
                "Retries as a share of requests. 20 if it is not written.",
            ),
            key(
                "min_per_s",
                Kind::Whole { min: 0, max: 1_000_000 },
                "Retries per second that each worker thread always allows. 10 if it is not written.",
            ),
        ],
    },
    Section {
        name: "arb",
        keys: &[
            key(
                "max_percent",
                PERCENT,
                "Retries as a share of requests when nothing fails. 20 if it is not written.",
            ),
            key(
                "min_percent",
                PERCENT,
                "What is left of that when everything fails, or after OVERLOADED. 1 if it is not written.",
            ),
            key(
                "memory_ms",
                SOME_MILLISECONDS,
                "Time constant of its averages. 10000 if it is not written.",
            ),
            key(
                "hold_ms",
                MILLISECONDS,
                "How long OVERLOADED from below cuts it. 5000 if it is not written.",
            ),
        ],
    },
];

const EDGE: Section = Section {
    name: "edges",
    keys: &[
        required(
            "host",
            Kind::Text(&HOST),
            "The host, without its port; `*.` at the start stands for any subdomain.",
        ),
        key("path_prefix", Kind::Text(&PATH), "What the path begins with."),
        key(
            "retry",
            Kind::Object(&RETRY),
            "What is different; keys that are not written are as above.",
        ),
    ],
};

const DEADLINE: Section = Section {
    name: "deadline",
    keys: &[
        required("header", Kind::Text(&HEADER), "The header with the milliseconds that are left."),
        key(
            "margin_ms",
            MILLISECONDS,
            "What is taken off for the way, at each hop. 0 if it is not written.",
        ),
        key(
            "default_ms",
            SOME_MILLISECONDS,
            "What a request without a deadline gets. None if it is not written.",
        ),
        key(
            "max_ms",
            SOME_MILLISECONDS,
            "The most that a request gets. Write the timeout of the route: the deadline goes in its place, and would lengthen it. No bound if it is not written.",
        ),
    ],
};

pub(super) const LEVER: Section = Section {
    name: "lever",
    keys: &[
        key("throttle", SHARE, "Lets in this share."),
        key("pause", Kind::Flag, "Lets in nothing (`true`), or everything (`false`)."),
        key("ramp", Kind::Object(&RAMP), "Goes from one share to another."),
    ],
};

const RAMP: Section = Section {
    name: "lever.ramp",
    keys: &[
        required("from", SHARE, "The share at the start."),
        required("to", SHARE, "The share at the end, which stays."),
        required(
            "over_s",
            Kind::Whole { min: 1, max: 31_536_000 },
            "How long it takes, in seconds.",
        ),
    ],
};
