//! The formats: one file here, one line in [`FORMATS`], one page or paragraph, tests beside it.

pub mod airflow;
pub mod apisix;
pub mod app_mesh;
pub mod argo;
pub mod aws_eventbridge;
pub mod aws_lambda;
pub mod aws_sdk;
pub mod aws_sqs;
pub mod azure_apim;
pub mod caddy;
pub mod cilium;
mod cloud;
pub mod compose;
pub mod config_map;
pub mod consul;
pub mod contour;
pub mod dapr;
pub mod emissary;
mod environment;
pub mod envoy;
pub mod envoy_gateway;
pub mod gateway_api;
pub mod github_actions;
pub mod google_cloud;
pub mod google_workflows;
pub mod grpc;
pub mod haproxy;
pub mod ingress_nginx;
pub mod isotope;
pub mod istio;
mod jvm;
pub mod kong;
pub mod krakend;
pub mod kubernetes;
pub mod kubernetes_job;
pub mod kuma;
pub mod linkerd;
pub mod micronaut;
pub mod microprofile;
pub mod netflix;
pub mod nginx;
mod nginx_facts;
pub mod openfeign;
pub mod osm;
pub(crate) mod parts;
pub(crate) mod peers;
pub mod resilience4j;
mod shared;
pub mod skaffold;
pub mod spring_boot;
pub mod spring_cloud_gateway;
pub mod spring_cloud_loadbalancer;
pub mod step_functions;
pub mod taskcluster;
pub mod tekton;
pub mod temporal;
pub mod traefik;

use std::borrow::Cow;

use crate::document::{Document, Node, Syntax};
use crate::reading::Reading;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Its id, such as `istio-virtualservice`.
    pub id: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// How it is written.
    pub syntaxes: &'static [Syntax],
    /// Whether a document is of it. The path is from the root of the scan, with `/`.
    pub is: fn(&str, &Document) -> bool,
    /// What such a document says.
    pub read: fn(&str, &Document, &mut Reading),
}

/// All formats. A document may be of several: a ConfigMap is a manifest and may hold a mesh's
/// configuration.
pub const FORMATS: &[&Format] = &[
    &kubernetes::FORMAT,
    &kubernetes_job::FORMAT,
    &compose::FORMAT,
    &skaffold::FORMAT,
    &isotope::FORMAT,
    &envoy::FORMAT,
    &istio::virtual_service::FORMAT,
    &istio::destination_rule::FORMAT,
    &istio::mesh_config::FORMAT,
    &istio::envoy_filter::FORMAT,
    &istio::resources::FORMAT,
    &linkerd::annotations::FORMAT,
    &linkerd::service_profile::FORMAT,
    &gateway_api::FORMAT,
    &envoy_gateway::FORMAT,
    &contour::FORMAT,
    &cilium::FORMAT,
    &consul::FORMAT,
    &kuma::FORMAT,
    &emissary::FORMAT,
    &app_mesh::FORMAT,
    &osm::FORMAT,
    &dapr::FORMAT,
    &grpc::FORMAT,
    &nginx::FORMAT,
    &ingress_nginx::FORMAT,
    &haproxy::FORMAT,
    &traefik::FORMAT,
    &kong::FORMAT,
    &apisix::FORMAT,
    &caddy::FORMAT,
    &spring_cloud_gateway::FORMAT,
    &spring_cloud_loadbalancer::FORMAT,
    &openfeign::FORMAT,
    &spring_boot::FORMAT,
    &netflix::FORMAT,
    &resilience4j::FORMAT,
    &microprofile::FORMAT,
    &micronaut::FORMAT,
    &aws_sdk::FORMAT,
    &step_functions::FORMAT,
    &aws_lambda::FORMAT,
    &aws_eventbridge::FORMAT,
    &aws_sqs::FORMAT,
    &google_cloud::TASKS,
    &google_cloud::SCHEDULER,
    &google_cloud::PUBSUB,
    &google_workflows::FORMAT,
    &azure_apim::FORMAT,
    &argo::WORKFLOWS,
    &argo::CD,
    &tekton::FORMAT,
    &airflow::FORMAT,
    &temporal::FORMAT,
    &github_actions::FORMAT,
    &krakend::FORMAT,
    &taskcluster::FORMAT,
    &config_map::FORMAT,
];

/// What the documents of one file say.
#[must_use]
pub fn read(path: &str, documents: &[Document]) -> Reading {
    let mut reading = Reading::default();
    for document in &flat(documents) {
        for format in FORMATS {
            if format.syntaxes.contains(&document.syntax) && (format.is)(path, document) {
                if !reading.formats.contains(&format.id) {
                    reading.formats.push(format.id);
                }
                (format.read)(path, document, &mut reading);
            }
        }
    }
    reading
}

/// The documents, with the items of `kind: List` in its place.
fn flat(documents: &[Document]) -> Vec<Cow<'_, Document>> {
    let mut all = Vec::new();
    for document in documents {
        let root = &document.root;
        let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
        let items = root.get("items").map_or(&[][..], Node::items);
        if kind.ends_with("List") && root.get("apiVersion").is_some() {
            let syntax = document.syntax;
            let item = |root: &Node| Cow::Owned(Document { syntax, root: root.clone() });
            all.extend(items.iter().map(item));
        } else {
            all.push(Cow::Borrowed(document));
        }
    }
    all
}

/// Whether a document is a Kubernetes object of a kind and an API group: `batch` for `batch/v1`,
/// the empty group for `v1`.
pub(crate) fn is_object(document: &Document, group: &str, kinds: &[&str]) -> bool {
    let text = |key| document.root.get(key).and_then(Node::text);
    let of_group = text("apiVersion")
        .is_some_and(|version| version.rsplit_once('/').map_or("", |(group, _)| group) == group);
    of_group && text("kind").is_some_and(|kind| kinds.contains(&kind))
}
