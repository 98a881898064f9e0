//! Cilium: messages of Envoy in an object of Kubernetes.

use crate::document::{Document, Syntax};
use crate::format::Format;
use crate::format::envoy::route::Place;
use crate::format::envoy::walk::{self, Scene};
use crate::format::parts::group;
use crate::reading::Reading;

/// CiliumEnvoyConfig and CiliumClusterwideEnvoyConfig.
pub const FORMAT: Format = Format {
    id: "cilium-envoyconfig",
    title: "CiliumEnvoyConfig",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| group(document) == Some("cilium.io"),
    read,
};

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let Some(resources) = document.root.below("spec.resources") else { return };
    let place = Place { format: FORMAT.id, ..Place::default() };
    walk::read(resources, Scene { place, ..Scene::default() }, reading);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::{Attempts, Name, format};

    #[test]
    fn its_resources_are_envoys() {
        let text = "apiVersion: cilium.io/v2\nkind: CiliumEnvoyConfig\nmetadata: {name: c, namespace: shop}\nspec:\n  services: [{name: cart, namespace: shop}]\n  resources:\n  - '@type': type.googleapis.com/envoy.config.route.v3.RouteConfiguration\n    name: r\n    virtual_hosts:\n    - name: cart\n      domains: ['*']\n      routes:\n      - match: {prefix: /}\n        route: {cluster: shop/cart, timeout: 2s, retry_policy: {retry_on: connect-failure}}\n      - match: {prefix: /}\n        route: {cluster: shop/cart}\n";
        let reading = format::read("c.yaml", &parse(Syntax::Yaml, text).0);
        assert_eq!(reading.formats, ["cilium-envoyconfig"]);
        assert_eq!(reading.layers.len(), 1);
        assert_eq!(reading.layers[0].attempts.value, Attempts::Count(2));
        assert_eq!(reading.layers[0].callee, Some(Name::new("cart", Some("shop"))));
    }

    #[test]
    fn a_policy_of_the_network_says_nothing_of_retries() {
        let text = "apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: c}\nspec: {endpointSelector: {}}\n";
        assert!(format::read("c.yaml", &parse(Syntax::Yaml, text).0).layers.is_empty());
    }
}
