//! Which broken files are worth a word: those that look like configuration that is read here.
//! Repositories also hold broken files on purpose, such as samples for the tests of a parser.

use crate::document::Syntax;

/// Where a word has to stand.
#[derive(Clone, Copy)]
enum At {
    /// At the beginning of a line: a key of the root.
    Root(&'static str),
    /// Anywhere.
    Any(&'static str),
}

use At::{Any, Root};

/// Words that a file of a syntax has all of, if it is of the format that they stand for.
const MARKS: &[(&[Syntax], &[At])] = &[
    // Kubernetes and whoever writes its resources as it does.
    (&[Syntax::Yaml], &[Root("apiVersion:"), Root("kind:")]),
    (&[Syntax::Json], &[Any("\"apiVersion\""), Any("\"kind\"")]),
    // Envoy.
    (&[Syntax::Yaml, Syntax::Json], &[Any("static_resources")]),
    (&[Syntax::Yaml, Syntax::Json], &[Any("type.googleapis.com/envoy")]),
    // gRPC, Step Functions, KrakenD.
    (&[Syntax::Json], &[Any("\"methodConfig\"")]),
    (&[Syntax::Json, Syntax::Yaml], &[Any("StartAt"), Any("States"), Any("Type")]),
    (&[Syntax::Json], &[Any("\"endpoints\""), Any("krakend")]),
    // Spring and the libraries beside it.
    (&[Syntax::Yaml], &[Root("spring:")]),
    (&[Syntax::Yaml], &[Root("resilience4j:")]),
    (&[Syntax::Yaml, Syntax::Json], &[Root("quarkus:")]),
    // Compose.
    (&[Syntax::Yaml], &[Root("services:"), Any("image:")]),
    (&[Syntax::Yaml], &[Root("services:"), Any("build:")]),
    // Traefik, Kong, APISIX.
    (&[Syntax::Yaml], &[Any("routers:"), Any("loadBalancer:")]),
    (&[Syntax::Yaml], &[Root("_format_version:")]),
    (&[Syntax::Toml], &[Any("[http.")]),
    (&[Syntax::Toml], &[Any("[entryPoints")]),
    // Terraform, Consul.
    (&[Syntax::Hcl], &[Root("resource ")]),
    (&[Syntax::Hcl], &[Any("Kind"), Any("service-")]),
    (&[Syntax::Nginx], &[Any("proxy_pass")]),
    (&[Syntax::Nginx], &[Any("upstream ")]),
    (&[Syntax::Caddyfile], &[Any("reverse_proxy")]),
    (&[Syntax::Haproxy], &[Root("backend ")]),
];

/// Whether a text that could not be parsed whole looks like configuration that is read here.
pub(crate) fn looks_ours(syntax: Syntax, text: &str) -> bool {
    let stands = |at: &At| match at {
        Any(word) => text.contains(word),
        Root(word) => text.lines().any(|line| line.starts_with(word)),
    };
    MARKS.iter().any(|(of, marks)| of.contains(&syntax) && marks.iter().all(stands))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_ours_and_a_sample_of_a_parser_is_not() {
        let ours = |text| looks_ours(Syntax::Yaml, text);
        assert!(ours("apiVersion: v1\nkind: Service\nmetadata: {name: [a\n"));
        assert!(ours("services:\n  web:\n    image: [web\n"));
        assert!(!ours("a: [1\n"));
        assert!(!ours("x:\n  apiVersion: v1\n  kind: Service\n"));
        assert!(looks_ours(Syntax::Json, "{\"methodConfig\": ["));
    }
}
