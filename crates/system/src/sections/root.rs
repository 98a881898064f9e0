//! The top of the file: version, name, classes, and the order in which the rest is read.

use std::collections::HashMap;

use super::{
    caches, calls, experiment, gaps, load, merge, policies, routes, services, triggers, users,
    warnings,
};
use crate::model::{System, Work};
use crate::node::{Name, Node, Value, quoted};
use crate::problem::Draft;
use crate::read::{Fields, NameList, Reader};
use crate::schema::{Kind, Names, Section, optional, otherwise, required};
use crate::source::Span;

pub(crate) static ROOT: Section = Section {
    name: "file",
    doc: "The file as a whole.",
    keys: &[
        required("damper", Kind::Count { min: 1, max: 1 }, "version of this format"),
        optional("name", Kind::Text, "system", "what reports call it"),
        optional(
            "classes",
            Kind::List(&Kind::Text),
            "[default]",
            "priority classes, the highest first; at most 16",
        ),
        required(
            "services",
            Kind::Map(Names::Service, &Kind::Optional(&services::SERVICE)),
            "what does the work",
        ),
        optional(
            "caches",
            Kind::Map(Names::Cache, &Kind::Section(&caches::CACHE)),
            "{}",
            "caches in front of services; a call may name one like a service",
        ),
        required(
            "load",
            Kind::Either(&[load::SHAPE, Kind::Map(Names::Class, &load::SHAPE)]),
            "requests per second, by class",
        ),
        optional(
            "users",
            users::USERS,
            "1000",
            "from how many users the requests come, for each class or by class; controls that are fair to users or shed them by cohorts tell them apart",
        ),
        optional("arrivals", load::ARRIVALS, "poisson", "how requests arrive"),
        otherwise(
            "requests",
            Kind::Map(Names::Request, &Kind::Section(&calls::REQUEST)),
            "`routes` must be there",
            "request types and their call trees",
        ),
        otherwise(
            "routes",
            Kind::Map(Names::ClassOrAll, &routes::MATRIX),
            "`requests` must be there",
            "a routing matrix in place of call trees",
        ),
        optional(
            "policies",
            Kind::Map(Names::Policy, &Kind::Section(&policies::POLICY)),
            "{}",
            "how calls are made: the most specific wins, field by field",
        ),
        optional(
            "triggers",
            Kind::Map(Names::Trigger, &Kind::OneOrMany(&triggers::ACTIONS)),
            "{}",
            "what can go wrong; the actions of one trigger may overlap",
        ),
        optional(
            "experiment",
            Kind::Section(&experiment::EXPERIMENT),
            "{}",
            "how a run is watched",
        ),
        optional(
            "gaps",
            Kind::List(&Kind::Section(&gaps::GAP)),
            "",
            "what is not known; `damper learn` writes them",
        ),
    ],
};

/// Where things stand that later sections and warnings point to.
pub(crate) struct Places {
    pub(crate) services: Vec<Span>,
    pub(crate) caches: Vec<Span>,
}

/// Lowers the whole file. `None` if anything is wrong with it.
pub(crate) fn lower(
    reader: &mut Reader<'_>,
    root: &Node,
    base: &std::path::Path,
) -> Option<System> {
    let at = root.span;
    if matches!(root.value, Value::Null) {
        reader.error(
            Draft::new(at, "the file is empty")
                .found("nothing")
                .expected("`damper: 1` and the description of a system"),
        );
        return None;
    }
    let fields = reader.section(root, &ROOT, at)?;
    version(reader, &fields);
    let name = match reader.value(&fields, "name") {
        Some(crate::read::Val::Text(name)) => name,
        _ => "system".to_owned(),
    };
    reader.names.classes = NameList::new(classes(reader, &fields));
    let service_names = names(reader, &fields, "services", &[]);
    let cache_names = names(reader, &fields, "caches", &service_names);
    let trigger_names = names(reader, &fields, "triggers", &[]);
    reader.names.services = texts(&service_names);
    reader.names.caches = texts(&cache_names);
    reader.names.triggers = texts(&trigger_names);
    if let Some(entry) = fields.entry("services").filter(|_| service_names.is_empty()) {
        reader.error(
            Draft::new(entry.key.span, "there are no services")
                .found(entry.value.found())
                .expected("at least one service"),
        );
    }

    let services = services::lower(reader, &fields);
    let caches = caches::lower(reader, &fields);
    let load = load::lower(reader, &fields, base);
    let arrivals = load::arrivals(reader, &fields);
    let users = users::lower(reader, &fields);
    let work = work(reader, &fields);
    let partial = policies::read(reader, &fields, &caches);
    let places = Places {
        services: service_names.iter().map(|n| n.span).collect(),
        caches: cache_names.iter().map(|n| n.span).collect(),
    };
    let edges = match &work {
        Some(work) => merge::edges(reader, work, &services, &caches, &partial),
        None => Vec::new(),
    };
    let triggers = triggers::lower(reader, &fields, &services);
    let experiment = experiment::lower(reader, &fields, &triggers, &load);
    gaps::check(reader, &fields, root);
    if reader.sink.has_errors() {
        return None;
    }
    let (policies, origins) = merge::split(edges);
    let system = System {
        name,
        classes: reader.names.classes.to_vec(),
        services,
        caches,
        load,
        arrivals,
        users,
        work: work?,
        policies,
        triggers,
        experiment,
    };
    warnings::check(reader, &system, &places, &origins);
    Some(system)
}

fn version(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    let Some(node) = fields.node("damper") else {
        return;
    };
    if node.scalar() != Some("1") {
        reader.error(
            Draft::new(node.span, "this version of the format is not known")
                .found(node.found())
                .expected("`1`, the only version so far"),
        );
    }
}

/// Words that cannot be names because they mean something where names stand.
const RESERVED: [&str; 6] = ["client", "default", "all", "none", "parallel", "entry"];
/// Shapes of a load, which stand where classes stand.
const SHAPES: [&str; 4] = ["steps", "ramp", "burst", "trace"];

const MAX_CLASSES: usize = 16;

fn classes(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<String> {
    let fallback = || vec!["default".to_owned()];
    let Some(node) = fields.node("classes") else {
        return fallback();
    };
    let Value::Seq(items) = &node.value else {
        reader.error(
            Draft::new(node.span, "this must be a list")
                .found(node.found())
                .expected("a list of class names such as `[high, low]`, the highest first"),
        );
        return fallback();
    };
    let mut names: Vec<String> = Vec::new();
    for item in items.iter().take(MAX_CLASSES) {
        let Some(text) = item.scalar() else {
            reader.error(
                Draft::new(item.span, "this is not a name")
                    .found(item.found())
                    .expected("the name of a class"),
            );
            continue;
        };
        let name = Name { text: text.to_owned(), span: item.span };
        if names.contains(&name.text) {
            reader.error(
                Draft::new(item.span, format!("the class {} stands here twice", quoted(text)))
                    .expected("each class once"),
            );
        } else if text == "default" || valid(reader, &name, "class", &SHAPES) {
            names.push(name.text);
        }
    }
    if items.is_empty() || items.len() > MAX_CLASSES {
        reader.error(
            Draft::new(node.span, "there must be 1 to 16 classes")
                .found(format!("{} classes", items.len()))
                .expected("1 to 16 names"),
        );
    }
    if names.is_empty() { fallback() } else { names }
}

/// The names that a section defines; `taken` are those it shares its namespace with.
pub(crate) fn names(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
    taken: &[Name],
) -> Vec<Name> {
    let Some(node) = fields.node(key) else {
        return Vec::new();
    };
    let Some(entries) = node.entries() else {
        reader.error(
            Draft::new(node.span, format!("`{key}` must be a mapping"))
                .found(node.found())
                .expected("names, each with its description"),
        );
        return Vec::new();
    };
    let noun = key.trim_end_matches('s');
    let taken: HashMap<&str, Span> = taken.iter().map(|t| (t.text.as_str(), t.span)).collect();
    for entry in entries {
        valid(reader, &entry.key, noun, &[]);
        if let Some(first) = taken.get(entry.key.text.as_str()) {
            reader.error(
                Draft::new(
                    entry.key.span,
                    format!("{} is also the name of a service", quoted(&entry.key.text)),
                )
                .expected("a name that neither a service nor another cache has")
                .also(*first, "the service"),
            );
        }
    }
    entries.iter().map(|e| e.key.clone()).collect()
}

fn valid(reader: &mut Reader<'_>, name: &Name, noun: &str, more: &[&str]) -> bool {
    let text = name.text.as_str();
    let message = if RESERVED.contains(&text) || more.contains(&text) {
        format!("`{text}` has a meaning of its own and cannot name a {noun}")
    } else if well_formed(text) {
        return true;
    } else {
        format!("{} cannot name a {noun}", quoted(text))
    };
    reader
        .error(Draft::new(name.span, message).expected(
            "another name, of letters, digits, `-`, `_` and `.`, at most 100 characters",
        ));
    false
}

/// Letters, digits, `-`, `_`, `.`; starts with a letter or digit.
pub(crate) const NAME_PATTERN: &str = "[A-Za-z0-9][A-Za-z0-9_.-]{0,99}";

fn well_formed(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 100
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

pub(crate) fn texts(names: &[Name]) -> NameList {
    NameList::new(names.iter().map(|n| n.text.clone()).collect())
}

fn work(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Work> {
    match (fields.entry("requests"), fields.entry("routes")) {
        (Some(requests), None) => calls::lower(reader, requests).map(Work::Requests),
        (None, Some(routes)) => routes::lower(reader, routes).map(Work::Routes),
        (Some(requests), Some(routes)) => {
            reader.error(
                Draft::new(routes.key.span, "`routes` and `requests` exclude each other")
                    .expected("one of the two")
                    .also(requests.key.span, "requests"),
            );
            None
        }
        (None, None) => {
            reader.error(
                Draft::new(fields.at, "the file does not say what a request does")
                    .found("neither `requests` nor `routes`")
                    .expected("`requests:` with call trees, or `routes:` with a matrix"),
            );
            None
        }
    }
}
