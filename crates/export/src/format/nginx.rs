//! nginx: a server beside each caller. nginx tries each server of an upstream once, so a server is
//! listed as often as it is to be tried; the class chooses a location.

use damper_config::failure::{Failure, Failures};
use damper_control::{Backoff, Nanos};

use super::Format;
use super::shared::{
    Can, Conditions, LONGEST, Vocabulary, conditions, down_ms, line, ms_words, no_budget,
    no_controls, no_overall, unsaid, up_ms,
};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Change, Draft, Side, instead};
use crate::signal::Word;
use crate::wait;

/// Files for nginx.
pub(super) const FORMAT: Format = Format {
    id: "nginx",
    title: "nginx",
    summary: "a server beside each caller, to be included in `http`",
    per_callee: false,
    filter: false,
    write,
};

/// Attempts of which each is a line of an upstream.
const MOST_ATTEMPTS: u32 = 64;

const WORDS: &[Word] = &[
    Word { text: "error", retries: &[Failure::Connect, Failure::Refused, Failure::Reset] },
    Word { text: "timeout", retries: &[Failure::Connect, Failure::AttemptTimeout] },
    Word { text: "http_429", retries: &[Failure::TooMany] },
    Word { text: "http_500", retries: &[Failure::ServerError] },
    Word { text: "http_502", retries: &[Failure::BadGateway] },
    Word { text: "http_503", retries: &[Failure::Unavailable] },
    Word { text: "http_504", retries: &[Failure::GatewayTimeout] },
];

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    for caller in asked.callers() {
        let mut out = format!(
            "# nginx beside {caller}, made by `damper export nginx` from {}. Include it in `http`.\n",
            asked.name
        );
        for edge in asked.by(caller) {
            server(edge, options, &mut out, &mut draft);
        }
        draft.file(format!("{caller}.conf"), out);
    }
    draft.note(
        "since nginx 1.29.7 connections to servers are kept by default, and a failure on a kept one \
         earns one more try at the same server",
    );
    draft
}

fn server(edge: &Edge<'_>, options: &Options, out: &mut String, draft: &mut Draft) {
    let callee = edge.server.name.as_str();
    let vocabulary = Vocabulary {
        words: WORDS,
        statuses: &[],
        never: Failures::NONE,
        stops: false,
        always: Failures::NONE,
        times_out: true,
    };
    let conditions = conditions(edge, &vocabulary, draft);
    let mut marks = conditions.marks.clone();
    let at = edge.name();
    if edge.most() >= MOST_ATTEMPTS {
        let limits = edge.limits().iter().map(|limit| (*limit).min(MOST_ATTEMPTS - 1)).collect();
        let why = "Each attempt is a line of an upstream.";
        let written = (MOST_ATTEMPTS - 1).to_string();
        let what = instead(Side::Fewer, format!("{} retries", edge.most()), written, why)
            .so(edge.at, Change::Limits(limits));
        marks.push(draft.lose(&at, "limit", what));
    }
    if edge.most() > 0 && edge.policy.retry.backoff != Backoff::NONE {
        let why = "nginx does not wait between two tries.";
        let asked = wait::words(&edge.policy.retry.backoff);
        let what =
            instead(Side::Other, asked, "at once", why).so(edge.at, Change::Backoff(Backoff::NONE));
        marks.push(draft.lose(&at, "backoff", what));
    }
    marks.extend(no_budget(edge, "nginx has no budget of retries.", draft));
    marks.extend(times_lost(edge, conditions.most, draft));
    marks.extend(unsaid(edge, Can::default(), draft));
    let why = "It belongs at the service, and this file is for its callers.";
    marks.extend(no_controls(edge.server, why, false, draft));
    let (host, port) = options.address(callee);
    let lanes = edge.lanes();
    for lane in &lanes {
        let upstream = format!("upstream {} in {}.conf", edge.beside(*lane), edge.caller);
        draft.claim(upstream, edge.lane_name(*lane));
        line(out, 0, &format!("upstream {} {{", edge.beside(*lane)));
        line(out, 1, "# Each line is one try; none is taken out when it fails.");
        for _ in 0..=lane.limit.min(MOST_ATTEMPTS - 1) {
            line(out, 1, &format!("server {host}:{port} max_fails=0;"));
        }
        line(out, 0, "}");
    }
    let by_class = lanes.len() > 1;
    let variable = format!("$damper_{}", edge.at);
    if by_class {
        let header = options.class_header.to_ascii_lowercase().replace('-', "_");
        line(out, 0, &format!("map $http_{header} {variable} {{"));
        for lane in &lanes {
            let key = lane.class.unwrap_or("default");
            // A class may have the name of a parameter of the map.
            let key = if lane.class.is_some() {
                format!("\"~^{}$\"", escaped(key))
            } else {
                key.to_owned()
            };
            line(out, 1, &format!("{key} @{};", edge.beside(*lane)));
        }
        line(out, 0, "}");
    }
    line(out, 0, "server {");
    line(out, 1, &format!("listen 127.0.0.1:{};", options.listen[0]));
    line(out, 1, &format!("server_name {callee};"));
    for mark in marks {
        line(out, 1, &format!("# {mark}"));
    }
    if by_class {
        line(out, 1, "location / {");
        line(out, 2, &format!("try_files /damper-none {variable};"));
        line(out, 1, "}");
    }
    for lane in &lanes {
        let place = if by_class { format!("@{}", edge.beside(*lane)) } else { "/".to_owned() };
        line(out, 1, &format!("location {place} {{"));
        location(edge, *lane, &conditions, out);
        line(out, 1, "}");
    }
    line(out, 0, "}");
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() && c != '_' && c != '-' {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The window in which the last try may start, so that it ends in time, in whole milliseconds.
fn window(attempt: Option<Nanos>, overall: Option<Nanos>) -> Option<Nanos> {
    let overall = down_ms(overall?.min(LONGEST));
    Some(Nanos::from_millis(overall.saturating_sub(attempt.map_or(0, up_ms)).max(1)))
}

fn times_lost(edge: &Edge<'_>, most: u32, draft: &mut Draft) -> Vec<String> {
    let mut marks = Vec::new();
    let times = edge.times(most);
    let Some(bound) = times.attempt.or(times.overall) else { return marks };
    let bound = Nanos::from_millis(up_ms(bound));
    let why = "nginx measures the time between two reads: an answer that trickles takes longer.";
    let asked = edge.policy.timeout.map_or_else(
        || "no bound for an attempt alone".to_owned(),
        |time| format!("{} for an attempt", ms_words(time)),
    );
    let written = format!("{} between two reads", ms_words(bound));
    let what = instead(Side::Other, asked, written, why).so(edge.at, Change::Timeout(Some(bound)));
    marks.push(draft.lose(&edge.name(), "timeout", what));
    if most == 0 {
        marks.extend(no_overall(edge, most, "", draft));
        return marks;
    }
    if let (Some(overall), Some(window)) = (times.overall, window(times.attempt, times.overall)) {
        let asked = format!("{} for all attempts", ms_words(overall));
        let all = Nanos(window.0.saturating_add(bound.0));
        let written =
            format!("no try starts after {}: {} for all", ms_words(window), ms_words(all));
        let (side, why) = if all <= overall {
            (Side::Fewer, "nginx bounds when a try may start, which leaves time for the last one.")
        } else {
            (Side::Wider, "nginx bounds when a try may start: a call may take twice as long.")
        };
        let what = instead(side, asked, written, why).so(edge.at, Change::Deadline(Some(all)));
        marks.push(draft.lose(&edge.name(), "deadline", what));
    }
    marks
}

fn location(edge: &Edge<'_>, lane: Lane<'_>, conditions: &Conditions, out: &mut String) {
    let retries = lane.limit > 0 && !conditions.is_empty();
    let limit = lane.limit.min(MOST_ATTEMPTS - 1);
    let times = edge.times(if retries { limit } else { 0 });
    line(out, 2, &format!("proxy_pass http://{};", edge.beside(lane)));
    line(out, 2, "proxy_set_header Host $host;");
    // A try is over after this; with no bound asked for, after the longest that can be written.
    let attempt = times.attempt.or(times.overall).unwrap_or(LONGEST).min(LONGEST);
    for part in ["connect", "send", "read"] {
        line(out, 2, &format!("proxy_{part}_timeout {}ms;", up_ms(attempt)));
    }
    if !retries {
        line(out, 2, "proxy_next_upstream off;");
        return;
    }
    let mut words = conditions.words.join(" ");
    if edge.policy.idempotent {
        words.push_str(" non_idempotent");
    }
    line(out, 2, &format!("proxy_next_upstream {words};"));
    line(out, 2, &format!("proxy_next_upstream_tries {};", limit + 1));
    if let Some(window) = window(times.attempt, times.overall) {
        line(out, 2, &format!("proxy_next_upstream_timeout {}ms;", down_ms(window)));
    }
}
