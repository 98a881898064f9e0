//! docker-compose: services, and whom their environment names.

use crate::document::{Document, Entry, Node, Syntax};
use crate::format::parts::{fact, ms_at, span};
use crate::format::{Format, peers};
use crate::name::Name;
use crate::reading::{Build, Call, Reading, Service, What, image_name};

/// Compose files.
pub const FORMAT: Format = Format {
    id: "compose",
    title: "Docker Compose",
    syntaxes: &[Syntax::Yaml],
    is: |path, document| {
        let file = path.rsplit('/').next().unwrap_or(path);
        (file.starts_with("docker-compose") || file.starts_with("compose"))
            && document.root.get("services").is_some_and(|all| !all.entries().is_empty())
    },
    read,
};

fn read(path: &str, document: &Document, reading: &mut Reading) {
    let services = document.root.get("services").map_or(&[][..], Node::entries);
    for entry in services {
        let replicas = entry.value.below("deploy.replicas").and_then(Node::integer);
        reading.services.push(Service {
            name: Name::new(&entry.key, None),
            line: entry.line,
            labels: Vec::new(),
            replicas: replicas.and_then(|count| u32::try_from(count).ok()),
            images: entry.value.text_at("image").and_then(image_name).into_iter().collect(),
        });
        reading.builds.extend(build(path, entry));
        if let Some(check) = entry.value.entry("healthcheck") {
            let timeout_ms = ms_at(&check.value, "timeout", 0.0).map(|ms| ms.value);
            let what = What::HealthCheck { kind: "readiness", timeout_ms };
            fact(reading, span(check), Some(Name::new(&entry.key, None)), what);
        }
    }
    for entry in services {
        calls(entry, services, reading);
    }
}

/// Where a service is built from: `build` as a folder, or as a map with one.
fn build(path: &str, entry: &Entry) -> Option<Build> {
    let build = entry.value.get("build")?;
    let context = build.text().or_else(|| build.text_at("context"))?;
    // With a context of the whole repository the Dockerfile says where the code is.
    let file = build.text_at("dockerfile").and_then(|file| Some(file.rsplit_once('/')?.0));
    let folder = filled(&match file {
        Some(folder) => format!("{context}/{folder}"),
        None => context.to_owned(),
    });
    let around = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    (!folder.contains("://") && !folder.contains('$')).then(|| Build {
        folder: crate::tree::join(around, &folder),
        service: Some(Name::new(&entry.key, None)),
        image: None,
    })
}

fn calls(entry: &Entry, services: &[Entry], reading: &mut Reading) {
    let service = &entry.value;
    let mut found: Vec<(String, u32, String, Option<&'static str>)> = Vec::new();
    for (key, value, line) in variables(service) {
        if let Some(peer) = peers::of_variable_among_known(&key, &filled(&value)) {
            found.push((peer.name.service, line, format!("environment {key}"), peer.protocol));
        }
    }
    for key in ["command", "entrypoint"] {
        for part in service.get(key).map_or(&[][..], Node::one_or_more) {
            for word in part.text().unwrap_or_default().split_whitespace() {
                if let Some(peer) = peers::of_argument(&filled(word), None) {
                    let evidence = format!("argument {}", word.split('=').next().unwrap_or(word));
                    found.push((peer.name.service, part.lines[0], evidence, peer.protocol));
                }
            }
        }
    }
    for key in ["links", "depends_on"] {
        let Some(node) = service.get(key) else { continue };
        let listed = node.items().iter().filter_map(|one| Some((one.text()?, one.lines[0])));
        let mapped = node.entries().iter().map(|one| (&*one.key, one.line));
        for (name, line) in listed.chain(mapped) {
            let name = name.split(':').next().unwrap_or(name);
            found.push((name.to_owned(), line, key.to_owned(), None));
        }
    }
    let mut known = Vec::new();
    for (host, line, evidence, protocol) in found {
        // Only what the file itself runs: everything else may be any string with a colon.
        let Some(callee) = services.iter().find(|one| answers_to(one, &host)) else { continue };
        let image = callee.value.get("image").and_then(Node::text).unwrap_or_default();
        let aside = peers::is_aside(&callee.key) || peers::is_aside(image);
        if aside || callee.key == entry.key || known.contains(&&callee.key) {
            continue;
        }
        known.push(&callee.key);
        reading.calls.push(Call {
            caller: Some(Name::new(&entry.key, None)),
            callee: Name::new(&callee.key, None),
            line,
            evidence,
            count: None,
            protocol: protocol.or(peers::protocol_of(image)),
        });
    }
}

/// Variables as a map or as a list of `KEY=value`.
fn variables(service: &Node) -> Vec<(String, String, u32)> {
    let Some(node) = service.get("environment") else { return Vec::new() };
    let mapped = node
        .entries()
        .iter()
        .filter_map(|one| Some((one.key.to_string(), one.value.text()?.to_owned(), one.line)));
    let listed = node.items().iter().filter_map(|one| {
        let (key, value) = one.text()?.split_once('=')?;
        Some((key.to_owned(), value.to_owned(), one.lines[0]))
    });
    mapped.chain(listed).collect()
}

/// Puts the defaults of `${VARIABLE:-default}` in; what has none stays.
fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match inside.split_once(":-").or_else(|| inside.split_once('-')) {
            Some((_, unsaid)) => out.push_str(unsaid),
            None => {
                out.push_str("${");
                out.push_str(inside);
                out.push('}');
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn answers_to(service: &Entry, host: &str) -> bool {
    let texts =
        ["container_name", "hostname"].map(|key| service.value.get(key).and_then(Node::text));
    let networks = service.value.get("networks").map_or(&[][..], Node::entries);
    let aliases = networks.iter().filter_map(|network| network.value.get("aliases"));
    &*service.key == host
        || texts.into_iter().flatten().any(|name| name == host)
        || aliases.flat_map(Node::items).any(|alias| alias.text() == Some(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Vec<(String, String, String, Option<&'static str>)> {
        let reading = format::read("docker-compose.yml", &parse(Syntax::Yaml, text).0);
        let call = |call: Call| {
            let caller = call.caller.expect("caller").service;
            (caller, call.callee.service, call.evidence, call.protocol)
        };
        reading.calls.into_iter().map(call).collect()
    }

    #[test]
    fn variables_outweigh_the_order_of_starting() {
        let calls = of(
            "services:\n  web:\n    image: shop/web\n    environment: {ORDERS_URL: 'http://${HOST:-orders}:8080', CACHE_HOST: redis}\n    depends_on: [orders, collector, mail]\n  orders:\n    environment: ['DB_URL=postgres://u@db:5432/o']\n  db: {image: 'postgres:16', hostname: store}\n  redis: {image: 'redis:7'}\n  collector: {image: otel/opentelemetry-collector}\n  mail: {image: shop/mail, command: --db=store:5432}\n",
        );
        let call = |a: &str, b: &str, c: &str, d| (a.to_owned(), b.to_owned(), c.to_owned(), d);
        assert_eq!(
            calls,
            [
                call("web", "orders", "environment ORDERS_URL", Some("http")),
                call("web", "redis", "environment CACHE_HOST", Some("cache")),
                call("web", "mail", "depends_on", None),
                call("orders", "db", "environment DB_URL", Some("sql")),
                call("mail", "db", "argument --db", Some("sql")),
            ]
        );
    }

    #[test]
    fn services_without_anything_call_nobody() {
        assert!(of("services:\n  a: {image: a}\n  b: {image: b}\n").is_empty());
    }
}
