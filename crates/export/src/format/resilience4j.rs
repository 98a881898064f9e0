//! resilience4j with Spring Boot: instances by the name of the callee, one for each class that
//! differs.

use damper_config::failure::{Failure, Failures};
use damper_control::Nanos;
use damper_control::backoff::Jitter;

use super::Format;
use super::shared::{
    BREAKERS, Can, Conditions, LONGEST, Vocabulary, conditions, ms_words, no_budget, no_controls,
    no_overall, unsaid, up, up_ms,
};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Change, Draft, Side, instead};
use crate::signal::Word;
use crate::tree::{Map, yaml};
use crate::wait;

/// `application.yml`.
pub(super) const FORMAT: Format = Format {
    id: "resilience4j",
    title: "resilience4j",
    summary: "instances in an application.yml for each caller",
    per_callee: false,
    filter: false,
    write,
};

/// What Spring's HTTP clients throw.
const WORDS: &[Word] = &[
    Word {
        text: "org.springframework.web.client.ResourceAccessException",
        retries: &[Failure::Connect, Failure::Reset, Failure::AttemptTimeout],
    },
    Word { text: "java.util.concurrent.TimeoutException", retries: &[Failure::AttemptTimeout] },
    Word {
        text: "org.springframework.web.client.HttpClientErrorException$TooManyRequests",
        retries: &[Failure::TooMany],
    },
    Word {
        text: "org.springframework.web.client.HttpServerErrorException$InternalServerError",
        retries: &[Failure::ServerError],
    },
    Word {
        text: "org.springframework.web.client.HttpServerErrorException$BadGateway",
        retries: &[Failure::BadGateway],
    },
    Word {
        text: "org.springframework.web.client.HttpServerErrorException$ServiceUnavailable",
        retries: &[Failure::Unavailable],
    },
    Word {
        text: "org.springframework.web.client.HttpServerErrorException$GatewayTimeout",
        retries: &[Failure::GatewayTimeout],
    },
];

/// What an open breaker throws.
const OPEN: &str = "io.github.resilience4j.circuitbreaker.CallNotPermittedException";

fn write(asked: &Asked<'_>, _: &Options) -> Draft {
    let mut draft = Draft::default();
    for caller in asked.callers() {
        let mut retry = Map::new();
        let mut limiter = Map::new();
        let mut breaker = Map::new();
        for edge in asked.by(caller) {
            instances(edge, [&mut retry, &mut limiter, &mut breaker], &mut draft);
        }
        let kinds = [("retry", retry), ("timelimiter", limiter), ("circuitbreaker", breaker)];
        let all = kinds.into_iter().fold(Map::new(), |all, (kind, instances)| {
            let instances = instances.some().map(|map| Map::new().with("instances", map));
            all.with_some(kind, instances)
        });
        let document = Map::new().with("resilience4j", all).headed([format!(
            "resilience4j in {caller}, made by `damper export resilience4j` from {}.",
            asked.name
        )]);
        draft.file(format!("application-{caller}.yml"), yaml(&[document]));
    }
    draft.note(
        "an instance does something only where code uses its name; the exceptions are those of \
         Spring's HTTP clients",
    );
    draft
}

fn instances(edge: &Edge<'_>, [retry, limiter, breaker]: [&mut Map; 3], draft: &mut Draft) {
    let vocabulary = Vocabulary {
        words: WORDS,
        statuses: &[],
        never: Failures::of(&[Failure::Refused]),
        stops: false,
        always: Failures::NONE,
        times_out: true,
    };
    for lane in edge.lanes() {
        let instance = format!("instance {} in {}", lane.named(&edge.server.name), edge.caller);
        draft.claim(instance, edge.lane_name(lane));
    }
    let conditions = conditions(edge, &vocabulary, draft);
    let mut marks = conditions.marks.clone();
    let at = edge.name();
    let (percent, wait) = spread(edge);
    if let Some(written) = wait.differs.clone().filter(|_| edge.most() > 0) {
        let asked = wait::words(&edge.policy.retry.backoff);
        let why = "The mean of the first wait is kept.";
        let jitter = if percent == 0 { Jitter::None } else { Jitter::Around(percent) };
        let what = instead(Side::Other, asked, written, why)
            .so(edge.at, Change::Backoff(wait.backoff(jitter)));
        marks.push(draft.lose(&at, "backoff", what));
    }
    marks.extend(no_budget(edge, "resilience4j has no budget of retries.", draft));
    let times = edge.times(conditions.most);
    let why = "A time limiter is for each attempt; nothing bounds all of them.";
    marks.extend(no_overall(edge, conditions.most, why, draft));
    let bound = times.attempt.or(times.overall).map(|time| Nanos::from_millis(up_ms(time)));
    if let Some(bound) = bound.filter(|_| bound != edge.policy.timeout) {
        let asked = edge.policy.timeout.map_or_else(
            || "no bound for an attempt alone".to_owned(),
            |time| format!("{} for an attempt", ms_words(time)),
        );
        let why = "A time limiter has whole milliseconds, rounded up, and is for each attempt.";
        let what = instead(Side::Other, asked, ms_words(bound), why)
            .so(edge.at, Change::Timeout(Some(bound)));
        marks.push(draft.lose(&at, "timeout", what));
    }
    let broken = circuit(edge);
    let can = Can { breaker: broken.is_some(), ..Can::default() };
    marks.extend(unsaid(edge, can, draft));
    let why = "It belongs at the service, and this file is for its callers.";
    marks.extend(no_controls(edge.server, why, false, draft));
    for (at, lane) in edge.lanes().into_iter().enumerate() {
        let name = lane.named(&edge.server.name);
        let marks = if at == 0 { marks.clone() } else { Vec::new() };
        let instance = instance(lane, &conditions, &wait, percent);
        *retry = std::mem::take(retry).with(&name, instance).noted(marks);
        let retries = lane.limit > 0 && !conditions.is_empty();
        let times = edge.times(if retries { lane.limit } else { 0 });
        if let Some(time) = times.attempt.or(times.overall) {
            let bound =
                Map::new().with("timeoutDuration", format!("{}ms", up_ms(time.min(LONGEST))));
            limiter.put(&name, bound);
        }
    }
    if let Some((map, differs)) = broken {
        let marks: Vec<String> = differs
            .into_iter()
            .map(|(asked, written)| {
                let why = "resilience4j's breaker has no such setting here.";
                let what = instead(Side::Other, asked, written, why).unmeasured(BREAKERS);
                draft.lose(&edge.name(), "breaker", what)
            })
            .collect();
        *breaker = std::mem::take(breaker).with(&edge.server.name, map).noted(marks);
    }
}

/// The nearest backoff within some percent.
fn spread(edge: &Edge<'_>) -> (u16, wait::Wait) {
    let backoff = &edge.policy.retry.backoff;
    let percent = match backoff.jitter {
        Jitter::None => 0,
        Jitter::Around(percent) | Jitter::AroundMillis(percent) => percent.min(99),
        Jitter::Equal => 33,
        _ => 99,
    };
    (percent, wait::around(backoff, edge.most(), percent))
}

fn instance(lane: Lane<'_>, conditions: &Conditions, wait: &wait::Wait, percent: u16) -> Map {
    if lane.limit == 0 || conditions.is_empty() {
        // Without it there were three attempts.
        return Map::new().with("maxAttempts", 1_u32);
    }
    let mut map = Map::new()
        .with("maxAttempts", lane.limit.saturating_add(1).min(i32::MAX as u32))
        .with("waitDuration", format!("{}ms", up(wait.base_ms)));
    if wait.factor > 1.0 {
        map = map
            .with("enableExponentialBackoff", true)
            .with("exponentialBackoffMultiplier", wait.factor)
            .with("exponentialMaxWaitDuration", format!("{}ms", up(wait.cap_ms)));
    }
    if percent > 0 {
        map = map
            .with("enableRandomizedWait", true)
            .with("randomizedWaitFactor", f64::from(percent) / 100.0);
    }
    map.with("retryExceptions", conditions.words.clone()).with("ignoreExceptions", vec![OPEN])
}

/// The breaker over a window, with what of it cannot be said.
fn circuit(edge: &Edge<'_>) -> Option<(Map, Option<(String, String)>)> {
    let breaker = edge.policy.breaker.as_ref()?;
    let window = match breaker.kind {
        "breaker" => "COUNT_BASED",
        "breaker-time" => "TIME_BASED",
        _ => return None,
    };
    let number = |at: usize| breaker.parameters.get(at).copied().unwrap_or(0.0);
    let ms = |at: usize| format!("{}ms", up(number(at) * 1e3));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |at: usize| number(at).clamp(1.0, 1e9) as u32;
    let mut map = Map::new()
        .with("slidingWindowType", window)
        .with("slidingWindowSize", whole(3))
        .with("minimumNumberOfCalls", whole(4))
        .with("failureRateThreshold", number(0))
        .with("slowCallRateThreshold", number(1))
        .with("slowCallDurationThreshold", ms(2))
        .with("permittedNumberOfCallsInHalfOpenState", whole(5))
        .with("waitDurationInOpenState", ms(6));
    if number(7) > 0.0 {
        map.put("maxWaitDurationInHalfOpenState", ms(7));
    }
    let grows = number(8) != 1.0;
    if grows {
        map = map
            .with("enableExponentialBackoff", true)
            .with("exponentialBackoffMultiplier", number(8).max(1.0));
        if number(9) > 0.0 {
            map.put("exponentialMaxWaitDurationInOpenState", ms(9));
        }
    }
    if number(10) > 0.0 {
        map = map
            .with("enableRandomizedWait", true)
            .with("randomizedWaitFactor", (number(10) / 100.0).min(0.99));
    }
    let differs = (number(11) == 0.0 || number(12) == 0.0).then(|| {
        let flags = format!("rejections: {}, late: {}", number(11) > 0.0, number(12) > 0.0);
        (flags, "every failure counts".to_owned())
    });
    Some((map, differs))
}
