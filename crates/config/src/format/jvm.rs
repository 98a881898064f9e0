//! What the formats of the JVM's frameworks have in common: the tree of an application's
//! properties, in YAML or in properties, and names of exceptions.

use crate::document::{Document, Node, Syntax, dotted};
use crate::failure::{Failure, Failures};
use crate::layer::Sourced;

/// How applications write their properties.
pub(crate) const SYNTAXES: &[Syntax] = &[Syntax::Yaml, Syntax::Properties];

/// Whether the document has something below a dotted key that applications use.
pub(crate) fn has(document: &Document, words: &[&str]) -> bool {
    // A Kubernetes object holds properties only as a text.
    document.root.get("apiVersion").is_none()
        && words.iter().any(|word| {
            document.root.entries().iter().any(|entry| {
                let rest = entry.key.strip_prefix(word);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
        })
}

/// The properties as one tree, dotted keys written out.
pub(crate) fn tree(document: &Document) -> Node {
    if document.syntax == Syntax::Properties {
        document.root.clone()
    } else {
        dotted::expand(&document.root)
    }
}

/// What a framework retries by the names of exceptions: `None` where no name tells anything.
pub(crate) fn exceptions(names: &[String]) -> Option<Failures> {
    let io = Failures::of(&[
        Failure::Connect,
        Failure::Refused,
        Failure::Reset,
        Failure::AttemptTimeout,
    ]);
    let mut kinds = Failures::NONE;
    for name in names {
        let name = name.rsplit(['.', '$']).next().unwrap_or(name);
        kinds.add(match name {
            "Exception" | "Throwable" | "RuntimeException" => Failures::EVERY,
            "IOException"
            | "ResourceAccessException"
            | "RetryableException"
            | "UncheckedIOException"
            | "WebClientRequestException"
            | "ProcessingException" => io,
            "HttpServerErrorException" | "FeignServerException" | "ServerErrorException" => {
                Failures::SERVER
            }
            "HttpClientErrorException" | "FeignClientException" => {
                Failures::of(&[Failure::ClientError, Failure::Conflict, Failure::TooMany])
            }
            "FeignException"
            | "WebClientResponseException"
            | "RestClientException"
            | "RestClientResponseException"
            | "WebApplicationException" => {
                let mut every = Failures::EVERY;
                if name.ends_with("ResponseException") {
                    every = every.both(Failures::of(&[
                        Failure::TooMany,
                        Failure::ServerError,
                        Failure::BadGateway,
                        Failure::Unavailable,
                        Failure::GatewayTimeout,
                        Failure::Conflict,
                        Failure::ClientError,
                    ]));
                }
                every
            }
            name if name.contains("TooManyRequests") => Failures::of(&[Failure::TooMany]),
            name if name.contains("ServiceUnavailable") => Failures::of(&[Failure::Unavailable]),
            name if name.contains("GatewayTimeout") => Failures::of(&[Failure::GatewayTimeout]),
            name if name.contains("BadGateway") => Failures::of(&[Failure::BadGateway]),
            name if name.contains("InternalServerError") => Failures::of(&[Failure::ServerError]),
            name if name.contains("Timeout") => Failures::of(&[Failure::AttemptTimeout]),
            name if name.contains("Connect") => Failures::of(&[Failure::Connect, Failure::Refused]),
            name if name.contains("Socket") => io,
            _ => Failures::NONE,
        });
    }
    (!kinds.is_empty()).then_some(kinds)
}

/// As [`exceptions`] of a list that is written; every kind where its names tell nothing.
pub(crate) fn retried(
    list: Option<&crate::document::Entry>,
    default: Failures,
    who: &'static str,
) -> (Sourced<Failures>, Vec<String>) {
    let Some(entry) = list else { return (Sourced::default_of(default, who), Vec::new()) };
    let names = crate::units::words(&entry.value);
    if names.is_empty() {
        return (Sourced::default_of(default, who), names);
    }
    let kinds = exceptions(&names).unwrap_or(Failures::EVERY);
    (Sourced::written(kinds, entry.line), names)
}
