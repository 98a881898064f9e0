//! HAProxy: three retries of the connection if nobody says otherwise, of more with `retry-on`.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{Counted, around, attempts, constant};
use crate::layer::{Attempts, Delay, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};
use crate::units;

/// Files of HAProxy.
pub const FORMAT: Format = Format {
    id: "haproxy",
    title: "HAProxy",
    syntaxes: &[Syntax::Haproxy],
    is: |_, document| {
        let section = |key: &str| document.root.all(key).any(|entry| entry.value.block().is_some());
        ["defaults", "backend", "listen", "frontend"].into_iter().any(section)
    },
    read,
};

const WHO: &str = "HAProxy";

/// Sections of one file that are looked at: each asks its defaults.
const MOST_SECTIONS: usize = 2_000;

/// What is in force in a section: its own lines, then those of the defaults it takes.
struct Section<'a> {
    own: &'a Node,
    defaults: Option<&'a Node>,
}

impl<'a> Section<'a> {
    /// The last line of a keyword; the section's own before its defaults.
    fn last(&self, words: &[&str]) -> Option<&'a Entry> {
        self.own_last(words).or_else(|| last(self.defaults?, words))
    }

    fn own_last(&self, words: &[&str]) -> Option<&'a Entry> {
        last(self.own, words)
    }

    fn timeout(&self, which: &str) -> Option<Sourced<f64>> {
        let entry = self.last(&["timeout", which])?;
        let ms = units::duration_ms(entry.value.arg(1)?, 1.0)?;
        Some(Sourced::written(ms, entry.line))
    }
}

/// The last line that begins with these words; `no` in front takes it back.
fn last<'a>(block: &'a Node, words: &[&str]) -> Option<&'a Entry> {
    let (key, rest) = words.split_first()?;
    let plain = |entry: &Entry| &*entry.key == *key && entry.value.args().starts_with(rest);
    let taken = |entry: &Entry| {
        &*entry.key == "no"
            && entry.value.arg(0) == Some(key)
            && entry.value.args().get(1..) == Some(rest)
    };
    let entry = block.entries().iter().rev().find(|entry| plain(entry) || taken(entry))?;
    plain(entry).then_some(entry)
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let sections: Vec<_> = document
        .root
        .entries()
        .iter()
        .filter_map(|entry| Some((entry, entry.value.block()?)))
        .take(MOST_SECTIONS)
        .collect();
    if sections.len() >= MOST_SECTIONS {
        reading.open.push((1, format!("more than {MOST_SECTIONS} sections: the rest is left out")));
    }
    // Defaults count until the next ones; `from` names others.
    let mut defaults: Option<(usize, &Node)> = None;
    let mut inherited_by = vec![0_usize; sections.len()];
    let mut found: Vec<(usize, Option<usize>, Layer)> = Vec::new();
    for (at, (entry, own)) in sections.iter().enumerate() {
        let args = entry.value.args();
        let from = args.iter().position(|word| *word == "from").and_then(|at| args.get(at + 1));
        let named = from.and_then(|from| {
            let named = |(section, _): &(&Entry, &Node)| {
                &*section.key == "defaults" && section.value.arg(0) == Some(from)
            };
            sections.iter().position(named).map(|at| (at, sections[at].1))
        });
        let taken = named.or(defaults);
        let section = Section { own, defaults: taken.map(|(_, node)| node) };
        match &*entry.key {
            "defaults" => defaults = Some((at, own)),
            "backend" | "listen" => {
                let taken = taken.map(|(at, _)| at);
                if let Some(layer) = backend(entry, &section, reading) {
                    if let Some(taken) = taken.and_then(|taken| inherited_by.get_mut(taken)) {
                        *taken += 1;
                    }
                    found.push((at, taken, layer));
                }
                facts(entry, &section, reading);
            }
            _ => {}
        }
    }
    // Defaults that nothing here takes are read as they stand: other files may take them.
    for (at, (entry, own)) in sections.iter().enumerate() {
        let unused = inherited_by.get(at) == Some(&0);
        let section = Section { own, defaults: None };
        let spoken = section.own_last(&["retries"]).or(section.own_last(&["retry-on"])).is_some();
        if &*entry.key == "defaults" && unused && spoken {
            let mut layer = layer(entry, &section);
            layer.reach = Reach::Everything;
            layer.callee = None;
            reading.layers.push(layer);
        }
    }
    reading.layers.extend(found.into_iter().map(|(_, _, layer)| layer));
    reading.layers.sort_by_key(|layer| layer.lines);
}

fn layer(entry: &Entry, section: &Section<'_>) -> Layer {
    let count = section.last(&["retries"]);
    let on = section.last(&["retry-on"]);
    let redispatch = section.last(&["option", "redispatch"]);
    let own = [&["retries"][..], &["retry-on"], &["option", "redispatch"]];
    // Where the section itself says something, that is the place; else its defaults, else itself.
    let place = around(own.iter().filter_map(|words| section.own_last(words)))
        .or_else(|| around([count, on].into_iter().flatten()))
        .unwrap_or([entry.line, entry.line]);
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, place);
    layer.callee = entry.value.arg(0).map(|name| Name::new(name, None));
    layer.implicit = count.is_none() && on.is_none();
    layer.attempts = match count.and_then(|entry| Some((entry.value.items().first()?, entry.line)))
    {
        Some((value, line)) => Sourced::written(attempts(value, Counted::Retries), line),
        None => Sourced::default_of(Attempts::Count(4), WHO),
    };
    (layer.on, layer.words) = conditions(on);
    let connect = section.timeout("connect");
    let server = section.timeout("server");
    layer.delay = match (&layer.attempts.value, redispatch) {
        (Attempts::Count(1), _) => Delay::none(),
        // After a failed connection the same server is asked again after a second at most.
        (_, _) => {
            let pause = connect.as_ref().map_or(1000.0, |connect| connect.value.min(1000.0));
            constant(Some(Sourced::default_of(pause, WHO)))
        }
    };
    if redispatch.is_some() {
        layer.notes.push("`option redispatch`: the last retry goes to another server".into());
    }
    layer.attempt_timeout_ms = match (connect, server) {
        (Some(connect), Some(server)) => {
            Some(Sourced { value: connect.value + server.value, from: server.from })
        }
        (connect, server) => server.or(connect),
    };
    layer.methods = Methods::All;
    let disabled = |block: &Node| {
        block.all("http-request").any(|entry| entry.value.arg(0) == Some("disable-l7-retry"))
    };
    if disabled(section.own) {
        layer.methods = Methods::Idempotent;
        layer
            .notes
            .push("`disable-l7-retry`: some requests are retried only while connecting".into());
    } else if on
        .is_some_and(|on| on.value.args() != ["conn-failure"] && on.value.args() != ["none"])
    {
        layer.notes.push("`retry-on` holds for any method, also for POST".into());
    }
    layer
}

fn backend(entry: &Entry, section: &Section<'_>, reading: &mut Reading) -> Option<Layer> {
    let servers: Vec<_> = section
        .own
        .entries()
        .iter()
        .filter(|entry| matches!(&*entry.key, "server" | "server-template"))
        .collect();
    for server in &servers {
        let at = if &*server.key == "server" { 1 } else { 2 };
        let address = server.value.arg(at).and_then(|address| Name::of_host(address, None));
        if let Some(callee) = address {
            reading.calls.push(Call {
                caller: entry.value.arg(0).map(|name| Name::new(name, None)),
                callee,
                line: server.line,
                evidence: "server".into(),
                count: None,
                protocol: None,
            });
        }
    }
    let spoken = section.own_last(&["retries"]).or(section.own_last(&["retry-on"])).is_some();
    // A section without servers connects to nobody, unless a mode of old finds them in requests.
    let elsewhere = ["dispatch", "http_proxy", "transparent"]
        .into_iter()
        .any(|word| section.own_last(&[word]).or(section.own_last(&["option", word])).is_some());
    (spoken || !servers.is_empty() || elsewhere).then(|| layer(entry, section))
}

/// `retry-on`: the last line wins.
fn conditions(on: Option<&Entry>) -> (Sourced<Failures>, Vec<String>) {
    let Some(on) = on else {
        let kinds = Failures::of(&[Failure::Connect]);
        return (Sourced::default_of(kinds, WHO), vec!["conn-failure".into()]);
    };
    let words: Vec<String> = on.value.args().into_iter().map(str::to_owned).collect();
    let mut kinds = Failures::NONE;
    for word in &words {
        match word.as_str() {
            "none" => {}
            "conn-failure" => kinds.insert(Failure::Connect),
            "empty-response" | "junk-response" => kinds.insert(Failure::Reset),
            "response-timeout" => kinds.insert(Failure::AttemptTimeout),
            "0rtt-rejected" => kinds.insert(Failure::Refused),
            "all-retryable-errors" => {
                kinds.add(Failures::SERVER);
                kinds.add(Failures::BEFORE);
                kinds.add(Failures::of(&[Failure::Reset, Failure::AttemptTimeout]));
            }
            status => kinds.extend_word(Some(status)),
        }
    }
    (Sourced::written(kinds, on.line), words)
}

fn facts(entry: &Entry, section: &Section<'_>, reading: &mut Reading) {
    let about = entry.value.arg(0).map(|name| Name::new(name, None));
    let queue = section.timeout("queue");
    let server_timeout = section.timeout("server").map(|timeout| timeout.value);
    let mut limited = false;
    for server in section.own.all("server") {
        let args = server.value.args();
        let option = |key: &str| {
            let at = args.iter().position(|word| *word == key)?;
            args.get(at + 1)?.parse::<u64>().ok().filter(|value| *value > 0)
        };
        if let Some(active) = option("maxconn") {
            limited = true;
            let what = What::Requests { active: Some(active), waiting: option("maxqueue") };
            reading.facts.push(Fact { lines: span(server), about: about.clone(), what });
        }
    }
    if limited {
        // Without a time of its own one waits as long as for a connection.
        let wait = queue.or_else(|| section.timeout("connect"));
        let lines = match wait.as_ref().map(|wait| &wait.from) {
            Some(crate::layer::Origin::Written(line)) => [*line, *line],
            _ => [entry.line, entry.line],
        };
        let wait_ms = wait.map(|wait| wait.value);
        let what = What::Queue { places: None, wait_ms, timeout_ms: server_timeout };
        reading.facts.push(Fact { lines, about: about.clone(), what });
    }
    let tcp = section.last(&["mode"]).is_some_and(|mode| mode.value.arg(0) == Some("tcp"));
    if let Some(on) = section.own_last(&["retry-on"]).filter(|_| tcp) {
        let why = "`retry-on` acts only in `mode http`".to_owned();
        reading.facts.push(Fact { lines: span(on), about, what: What::Inert { why } });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    #[test]
    fn defaults_are_inherited_until_the_next_ones() {
        let text = "defaults\n  retries 1\n  retry-on conn-failure 503\n  timeout connect 250ms\n  timeout server 1s\n  timeout queue 200ms\nbackend a\n  server a1 orders:80 maxconn 100 maxqueue 20\nbackend b\n  retries 2\n  option redispatch\n  retry-on none\n  retry-on all-retryable-errors\n  http-request disable-l7-retry if METH_POST\n  server b1 10.0.0.1:80\ndefaults\nbackend c\n  server c1 10.0.0.1:80\n";
        let reading = reading("haproxy.cfg", Syntax::Haproxy, text);
        let [a, b, c] = reading.layers.as_slice() else { panic!("{reading:#?}") };
        assert_eq!(a.attempts, Sourced::written(Attempts::Count(2), 2));
        assert_eq!(a.lines, [2, 3]);
        assert_eq!(a.on.value, Failures::of(&[Failure::Connect, Failure::Unavailable]));
        assert_eq!(a.attempt_timeout_ms, Some(Sourced::written(1250.0, 5)));
        assert_eq!(a.delay.base_ms, Some(Sourced::default_of(250.0, WHO)));
        assert_eq!(b.attempts, Sourced::written(Attempts::Count(3), 10));
        assert_eq!((b.lines, &b.methods), ([10, 13], &Methods::Idempotent));
        assert!(b.on.value.contains(Failure::AttemptTimeout));
        // Three retries make four attempts to connect, of nothing else.
        assert_eq!(c.attempts, Sourced::default_of(Attempts::Count(4), WHO));
        assert_eq!((c.on.value, c.implicit), (Failures::of(&[Failure::Connect]), true));
        assert_eq!(c.lines, [17, 17]);
        assert!(reading.facts.iter().any(|fact| fact.what
            == What::Queue { places: None, wait_ms: Some(200.0), timeout_ms: Some(1000.0) }));
        assert!(
            reading
                .facts
                .iter()
                .any(|fact| fact.what == What::Requests { active: Some(100), waiting: Some(20) })
        );
        assert_eq!(reading.calls.len(), 1);
    }

    #[test]
    fn sections_take_named_defaults() {
        let text = "defaults one\n retries 0\ndefaults two\n retries 5\nbackend a from one\n server s 1.1.1.1:1\n";
        let found = layers("haproxy", "x.cfg", Syntax::Haproxy, text);
        assert_eq!(found[0].attempts.value, Attempts::Count(1));
        // Nobody takes the second ones here, but somebody wrote them.
        assert_eq!(found[1].attempts.value, Attempts::Count(6));
    }

    #[test]
    fn what_acts_on_nothing_is_told() {
        let text =
            "listen a\n mode tcp\n retry-on 503\n no option redispatch\n server s 1.1.1.1:1\n";
        let reading = reading("x.cfg", Syntax::Haproxy, text);
        assert!(matches!(reading.facts[0].what, What::Inert { .. }));
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(4));
    }
}
