//! HAProxy: a proxy beside each caller. Host and class choose a backend.

use damper_config::failure::{Failure, Failures};
use damper_control::{Backoff, Nanos};

use super::Format;
use super::shared::{
    Can, Conditions, LONGEST, Vocabulary, conditions, line, ms_words, no_budget, no_controls,
    no_overall, unsaid, up_ms,
};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Change, Draft, Side, instead};
use crate::signal::Word;
use crate::wait;

/// Files for HAProxy.
pub(super) const FORMAT: Format = Format {
    id: "haproxy",
    title: "HAProxy",
    summary: "a configuration for the proxy beside each caller",
    per_callee: false,
    filter: false,
    write,
};

/// Without 429, which `retry-on` of 2.6 does not know.
const WORDS: &[Word] = &[
    Word { text: "conn-failure", retries: &[Failure::Connect] },
    Word { text: "empty-response", retries: &[Failure::Reset] },
    Word { text: "junk-response", retries: &[Failure::Reset] },
    Word { text: "response-timeout", retries: &[Failure::AttemptTimeout] },
    Word { text: "500", retries: &[Failure::ServerError] },
    Word { text: "502", retries: &[Failure::BadGateway] },
    Word { text: "503", retries: &[Failure::Unavailable] },
    Word { text: "504", retries: &[Failure::GatewayTimeout] },
];

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    for caller in asked.callers() {
        let text = proxy(caller, asked, options, &mut draft);
        draft.file(format!("{caller}.cfg"), text);
    }
    draft
        .note("a request is sent again only if all of it fits in one buffer (tune.bufsize, 16 kB)");
    draft
}

fn proxy(caller: &str, asked: &Asked<'_>, options: &Options, draft: &mut Draft) -> String {
    let mut out = format!(
        "# HAProxy beside {caller}, made by `damper export haproxy` from {}.\n",
        asked.name
    );
    line(&mut out, 0, "defaults");
    line(&mut out, 1, "mode http");
    // Nobody is cut off by the side that calls; each backend says its own times.
    line(&mut out, 1, &format!("timeout client {}ms", up_ms(Nanos(604_800_000_000_000))));
    line(&mut out, 1, "retries 0");
    line(&mut out, 0, "frontend outbound");
    line(&mut out, 1, &format!("bind 127.0.0.1:{}", options.listen[0]));
    for edge in asked.by(caller) {
        let host = format!("{{ req.hdr(host),field(1,:) -i -m str {} }}", edge.server.name);
        for lane in edge.lanes() {
            let class = lane.class.map_or(String::new(), |class| {
                format!(" {{ req.hdr({}) -m str {class} }}", options.class_header)
            });
            line(&mut out, 1, &format!("use_backend {} if {host}{class}", edge.beside(lane)));
        }
    }
    for edge in asked.by(caller) {
        backends(edge, options, &mut out, draft);
    }
    out
}

fn backends(edge: &Edge<'_>, options: &Options, out: &mut String, draft: &mut Draft) {
    let vocabulary = Vocabulary {
        words: WORDS,
        statuses: &[],
        // The proxy speaks HTTP/1.1 to servers: no stream is refused.
        never: Failures::of(&[Failure::Refused]),
        stops: false,
        always: Failures::NONE,
        times_out: false,
    };
    let conditions = conditions(edge, &vocabulary, draft);
    let mut marks = conditions.marks.clone();
    let at = edge.name();
    if edge.most() > 0 && edge.policy.retry.backoff != Backoff::NONE {
        let why = "HAProxy retries at once; after a failed connection it waits a second at most.";
        let asked = wait::words(&edge.policy.retry.backoff);
        let what =
            instead(Side::Other, asked, "at once", why).so(edge.at, Change::Backoff(Backoff::NONE));
        marks.push(draft.lose(&at, "backoff", what));
    }
    marks.extend(no_budget(edge, "HAProxy has no budget of retries.", draft));
    let times = edge.times(conditions.most);
    let why = "HAProxy has no bound over all attempts: slow ones add up.";
    marks.extend(no_overall(edge, conditions.most, why, draft));
    if let Some(bound) = times.attempt.or(times.overall) {
        let why = "HAProxy measures the connection apart, and then the time between two reads.";
        let asked = edge.policy.timeout.map_or_else(
            || "no bound for an attempt alone".to_owned(),
            |time| format!("{} for an attempt", ms_words(time)),
        );
        let bound = Nanos::from_millis(up_ms(bound));
        let both = Nanos(bound.0.saturating_mul(2));
        let written =
            format!("{}: {1} to connect, {1} between two reads", ms_words(both), ms_words(bound));
        let what =
            instead(Side::Other, asked, written, why).so(edge.at, Change::Timeout(Some(both)));
        marks.push(draft.lose(&at, "timeout", what));
    }
    marks.extend(unsaid(edge, Can::default(), draft));
    let why = "It belongs at the service, and this file is for its callers.";
    marks.extend(no_controls(edge.server, why, false, draft));
    let (host, port) = options.address(&edge.server.name);
    for (at, lane) in edge.lanes().into_iter().enumerate() {
        let stands = format!("backend {} in {}.cfg", edge.beside(lane), edge.caller);
        draft.claim(stands, edge.lane_name(lane));
        line(out, 0, &format!("backend {}", edge.beside(lane)));
        if at == 0 {
            marks.iter().for_each(|mark| line(out, 1, &format!("# {mark}")));
        }
        backend(edge, lane, &conditions, out);
        line(out, 1, &format!("server {} {host}:{port}", edge.server.name));
    }
}

fn backend(edge: &Edge<'_>, lane: Lane<'_>, conditions: &Conditions, out: &mut String) {
    let retries = lane.limit > 0 && !conditions.is_empty();
    let times = edge.times(if retries { lane.limit } else { 0 });
    let attempt = times.attempt.or(times.overall).unwrap_or(LONGEST).min(LONGEST);
    line(out, 1, &format!("timeout connect {}ms", up_ms(attempt)));
    line(out, 1, &format!("timeout server {}ms", up_ms(attempt)));
    if retries {
        line(out, 1, &format!("retries {}", lane.limit.min(i32::MAX as u32)));
        line(out, 1, &format!("retry-on {}", conditions.words.join(" ")));
    } else {
        line(out, 1, "retries 0");
        line(out, 1, "retry-on none");
    }
}
