//! gRPC: a service config for the channel of each caller to each service. JSON has no comments, so
//! losses stand in a list that no client looks at.

use damper_config::failure::{Failure, Failures};
use damper_control::Nanos;
use damper_control::backoff::Jitter;

use super::Format;
use super::shared::{
    Can, LONGEST, Vocabulary, conditions, ms_words, no_budget, one_limit, seconds, seconds_of_ms,
    unsaid,
};
use crate::Options;
use crate::asked::{Asked, Edge};
use crate::loss::{Change, Draft, Side, instead};
use crate::share::{self, Share};
use crate::signal::Word;
use crate::tree::{Map, json};
use crate::wait;

/// Service configs.
pub(super) const FORMAT: Format = Format {
    id: "grpc",
    title: "gRPC service config",
    summary: "a service config for the channel of each caller to each callee",
    per_callee: false,
    filter: false,
    write,
};

/// Attempts that a client makes at most, whatever the config says.
const MOST_ATTEMPTS: u32 = 5;
/// The largest bucket.
const MOST_TOKENS: f64 = 1000.0;

/// A status is what a client sees of several ends. A connection that broke is UNAVAILABLE, and so
/// are 429, 502, 503 and 504 of HTTP by gRPC's own table. DEADLINE_EXCEEDED is never written: what a
/// client sees of it is the end of its own time.
const WORDS: &[Word] = &[
    Word { text: "RESOURCE_EXHAUSTED", retries: &[Failure::TooMany] },
    Word {
        text: "UNAVAILABLE",
        retries: &[
            Failure::Connect,
            Failure::Refused,
            Failure::Reset,
            Failure::TooMany,
            Failure::BadGateway,
            Failure::Unavailable,
            Failure::GatewayTimeout,
        ],
    },
    Word { text: "INTERNAL", retries: &[Failure::ServerError] },
];

fn write(asked: &Asked<'_>, _: &Options) -> Draft {
    let mut draft = Draft::default();
    for edge in &asked.edges {
        let text = config(edge, &mut draft);
        let path = format!("{}-{}.json", edge.caller, edge.server.name);
        draft.claim(path.clone(), edge.name());
        draft.file(path, text);
    }
    draft.note(
        "each file is the service config of one channel: a client default, or the answer of a name \
         resolver",
    );
    draft.note("retries of what never left the client are not counted and cannot be switched off");
    draft
}

fn config(edge: &Edge<'_>, draft: &mut Draft) -> String {
    let hint = "With a channel for each class, export each with --class.";
    let (asked_limit, mut marks) = one_limit(edge, hint, draft);
    let limit = asked_limit.min(MOST_ATTEMPTS - 1);
    let at = edge.name();
    if limit < asked_limit {
        let why = "A client makes 5 attempts at most.";
        let what = instead(Side::Fewer, format!("{asked_limit} retries"), format!("{limit}"), why)
            .so(edge.at, Change::Limits(vec![limit; edge.classes.len()]));
        marks.push(draft.lose(&at, "limit", what));
    }
    let vocabulary = Vocabulary {
        words: WORDS,
        statuses: &[],
        never: Failures::of(&[Failure::AttemptTimeout]),
        stops: true,
        always: Failures::NONE,
        times_out: false,
    };
    let conditions = conditions(edge, &vocabulary, draft);
    marks.extend(conditions.marks.clone());
    let retries = limit > 0 && !conditions.is_empty();
    let times = edge.times(if retries { limit } else { 0 });
    let mut overall = times.overall;
    if let Some(attempt) = times.attempt {
        // As long as all attempts with their waits may take together.
        let waits = (1..=limit).map(|n| edge.policy.retry.backoff.longest(n).0);
        let sum = waits.fold(attempt.0.saturating_mul(u64::from(limit) + 1), u64::saturating_add);
        let all = overall.map_or(Nanos(sum), |overall| overall.min(Nanos(sum)));
        let why = "gRPC has no timeout of one attempt: a slow one is waited for and never retried.";
        let asked = format!("{} for one attempt", ms_words(attempt));
        let written = format!("none for one attempt, {} for all", ms_words(all));
        let what = instead(Side::Fewer, asked, written, why).so(edge.at, Change::Timeout(None));
        marks.push(draft.lose(&at, "timeout", what));
        if overall != Some(all) {
            let why = "So long all attempts with their waits may take together.";
            let asked = overall.map_or_else(|| "no bound".to_owned(), ms_words);
            let what =
                instead(Side::Fewer, format!("{asked} for all attempts"), ms_words(all), why)
                    .so(edge.at, Change::Deadline(Some(all)));
            marks.push(draft.lose(&at, "deadline", what));
        }
        overall = Some(all);
    }
    let mut method = Map::new().with("name", vec![Map::new()]);
    if let Some(time) = overall {
        method.put("timeout", seconds(time.min(LONGEST)));
    }
    let mut throttling = None;
    if retries {
        let mut codes = conditions.words.clone();
        if codes.contains(&"INTERNAL") {
            codes.push("UNKNOWN");
        }
        let wait = wait::around(&edge.policy.retry.backoff, limit, 20);
        if let Some(written) = wait.differs.clone() {
            let asked = wait::words(&edge.policy.retry.backoff);
            let why = "gRPC has one kind of backoff; the mean of the first wait is kept.";
            let what = instead(Side::Other, asked, written, why)
                .so(edge.at, Change::Backoff(wait.backoff(Jitter::Around(20))));
            marks.push(draft.lose(&at, "backoff", what));
        }
        let policy = Map::new()
            .with("maxAttempts", limit + 1)
            .with("initialBackoff", seconds_of_ms(wait.base_ms))
            .with("maxBackoff", seconds_of_ms(wait.cap_ms))
            .with("backoffMultiplier", wait.factor.clamp(1.0, 1000.0))
            .with("retryableStatusCodes", codes);
        method.put("retryPolicy", policy);
        let (tokens, mine) = tokens(edge, draft);
        (throttling, marks) = (tokens, [marks, mine].concat());
    }
    let can = Can { travels: true, heeds: true, ..Can::default() };
    marks.extend(unsaid(edge, can, draft));
    let mut document = Map::new();
    if !marks.is_empty() {
        document.put("$comment", marks);
    }
    json(&document.with("methodConfig", vec![method]).with_some("retryThrottling", throttling))
}

/// The throttle of a channel.
fn tokens(edge: &Edge<'_>, draft: &mut Draft) -> (Option<Map>, Vec<String>) {
    let asked = &edge.policy.budget;
    let throttle = |max: f64, ratio: f64| {
        // Three digits after the point count.
        let ratio = (ratio * 1e3 + 1e-9).floor().max(1.0) / 1e3;
        (max, ratio, Map::new().with("maxTokens", max).with("tokenRatio", ratio))
    };
    let (max, ratio, exact) = match share::of(asked) {
        Share::None => return (None, Vec::new()),
        Share::Tokens { max, ratio } => (max, ratio, true),
        Share::Active { percent, .. } | Share::Rate { percent, .. } => {
            (10.0, percent / 100.0, false)
        }
        Share::Adaptive { least, .. } => (10.0, least / 100.0, false),
        Share::Fixed { .. } | Share::Other => {
            let why = "gRPC's throttle follows successes; nothing like this can be said.";
            return (None, no_budget(edge, why, draft));
        }
    };
    let (max, ratio, map) = throttle(max.clamp(1.0, MOST_TOKENS), ratio);
    let same = share::of(asked) == Share::Tokens { max, ratio };
    if exact && same {
        return (Some(map), Vec::new());
    }
    let why = if exact {
        "A bucket has at most 1000 tokens and three digits of a ratio."
    } else {
        "gRPC's throttle stops all retries once failures are more than that share of successes."
    };
    let entry = damper_control::registry::find("token-bucket");
    let change = entry.and_then(|entry| damper_system::model::Spec::new(entry, vec![max, ratio]));
    let written = format!("{max} tokens, {ratio} for a success");
    let what = instead(Side::Fewer, share::words(asked), written, why);
    let what = match change {
        Some(budget) => what.so(edge.at, Change::Budget(budget)),
        None => what,
    };
    (Some(map), vec![draft.lose(&edge.name(), "budget", what)])
}
