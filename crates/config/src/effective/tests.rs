use super::*;
use crate::layer::{Attempts, Budget, Origin, Seat, Sourced};
use crate::reading::What;
use crate::tree;
use crate::{Failure, format};

fn of(files: &[(&str, &str)]) -> Effective {
    with(files, Versions::default())
}

fn with(files: &[(&str, &str)], versions: Versions) -> Effective {
    let owned: Vec<_> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    effective(&tree::read_tree(&owned), versions)
}

fn hop<'a>(effective: &'a Effective, caller: &str, callee: &str) -> &'a Hop {
    let same = |hop: &&Hop| {
        let by = match &hop.caller {
            Caller::Outside => "outside".to_owned(),
            Caller::Anyone => "anyone".to_owned(),
            Caller::Service(name) => name.service.clone(),
        };
        by == caller && hop.callee.service == callee
    };
    effective.hops.iter().find(same).expect("a hop")
}

fn seat(hop: &Hop, seat: Seat) -> Vec<&Layer> {
    hop.layers.iter().map(|applied| &applied.layer).filter(|layer| layer.seat == seat).collect()
}

const SHOP: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-v1, namespace: shop}\nspec:\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n        env:\n        - {name: ORDERS_URL, value: 'http://orders:80'}\n        - {name: CACHE_URL, value: 'redis://cache:6379'}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {app: web}}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: orders, namespace: shop}\nspec: {selector: {app: orders}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

fn route(retries: &str, gateways: &str) -> String {
    format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: orders, namespace: shop}}\nspec:\n  hosts: [orders]\n{gateways}  http:\n  - route: [{{destination: {{host: orders, subset: v2}}}}]\n{retries}"
    )
}

#[test]
fn every_hop_of_an_istio_mesh_is_tried_three_times() {
    let effective = of(&[("shop.yaml", SHOP)]);
    let found = hop(&effective, "web", "orders");
    assert_eq!(seat(found, Seat::Sidecar).len(), 1);
    let layer = seat(found, Seat::Sidecar)[0];
    let three = Sourced::default_of(Attempts::Count(3), format::istio::WHO);
    assert_eq!(layer.attempts, three);
    assert!(layer.implicit && found.layers[0].path.is_none());
    assert_eq!(layer.budget, Some(format::istio::default_budget()));
    // What is no request is not retried by a proxy.
    assert!(hop(&effective, "web", "cache").layers.is_empty());
    assert_eq!(seat(hop(&effective, "anyone", "web"), Seat::Sidecar).len(), 1);
}

#[test]
fn a_route_outweighs_the_mesh_and_the_mesh_what_is_built_in() {
    let mesh = "meshConfig:\n  defaultHttpRetryPolicy: {attempts: 4, retryOn: reset}\n";
    let effective = of(&[("shop.yaml", SHOP), ("values.yaml", mesh)]);
    let layer = seat(hop(&effective, "web", "orders"), Seat::Sidecar)[0];
    assert_eq!(layer.attempts, Sourced::written(Attempts::Count(5), 2));
    let own = route("    retries: {attempts: 1}\n", "");
    let effective = of(&[("shop.yaml", SHOP), ("values.yaml", mesh), ("orders.yaml", &own)]);
    let layers = seat(hop(&effective, "web", "orders"), Seat::Sidecar);
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].attempts, Sourced::written(Attempts::Count(2), 8));
    // The words come from the mesh, as the route says none.
    let elsewhere = Origin::Elsewhere { path: "values.yaml".to_owned(), line: 2 };
    assert_eq!(layers[0].on.from, elsewhere);
}

#[test]
fn a_route_of_a_gateway_does_not_bind_sidecars() {
    let own = route("    retries: {attempts: 0}\n", "  gateways: [edge]\n");
    let effective = of(&[("shop.yaml", SHOP), ("orders.yaml", &own)]);
    let inside = seat(hop(&effective, "web", "orders"), Seat::Sidecar);
    assert_eq!(inside[0].attempts.value, Attempts::Count(3));
    let outside = hop(&effective, "outside", "orders");
    assert!(seat(outside, Seat::Sidecar).is_empty());
    assert_eq!(seat(outside, Seat::Gateway)[0].attempts.value, Attempts::Count(1));
}

#[test]
fn a_switch_that_is_off_is_told() {
    let own = route("    retries: {attempts: 0}\n", "");
    let effective = of(&[("shop.yaml", SHOP), ("orders.yaml", &own)]);
    let hop = hop(&effective, "web", "orders");
    let layers = seat(hop, Seat::Sidecar);
    assert_eq!(layers.len(), 1);
    assert!(!layers[0].retries());
    assert_eq!(hop.layers[0].path.as_deref(), Some("orders.yaml"));
}

#[test]
fn a_destination_rule_limits_what_a_route_retries() {
    let rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: r, namespace: shop}\nspec:\n  host: orders\n  trafficPolicy:\n    connectionPool: {http: {maxRetries: 9}}\n    outlierDetection: {}\n  subsets:\n  - name: v2\n    trafficPolicy:\n      retryBudget: {percent: 5}\n";
    let own = route("    retries: {attempts: 1}\n", "");
    let effective = of(&[("shop.yaml", SHOP), ("orders.yaml", &own), ("rule.yaml", rule)]);
    let found = hop(&effective, "web", "orders");
    let budget = seat(found, Seat::Sidecar)[0].budget.as_ref().expect("budget");
    assert_eq!(budget.value, Budget::ActiveShare { percent: 5.0, min_concurrent: 3 });
    assert_eq!(budget.from, Origin::Elsewhere { path: "rule.yaml".to_owned(), line: 12 });
    assert!(found.facts.iter().any(|one| matches!(one.fact.what, What::Ejection { .. })));
    let plain = of(&[("shop.yaml", SHOP), ("rule.yaml", rule)]);
    let built_in = seat(hop(&plain, "web", "orders"), Seat::Sidecar)[0];
    let nine = Budget::Concurrent { limit: Some(9) };
    assert_eq!(built_in.budget.as_ref().map(|budget| &budget.value), Some(&nine));
}

#[test]
fn an_old_istio_retries_503() {
    let new = of(&[("shop.yaml", SHOP)]);
    let old = with(&[("shop.yaml", SHOP)], Versions { istio: Some((1, 23)) });
    let words = |effective: &Effective| {
        seat(hop(effective, "web", "orders"), Seat::Sidecar)[0].words.contains(&"503".to_owned())
    };
    assert!(!words(&new) && words(&old));
    let layer = seat(hop(&old, "web", "orders"), Seat::Sidecar)[0];
    assert!(layer.on.value.contains(Failure::Unavailable));
    assert!(seat(hop(&old, "web", "orders"), Seat::Inbound).is_empty());
    assert_eq!(seat(hop(&new, "web", "orders"), Seat::Inbound).len(), 1);
}

#[test]
fn a_profile_switches_annotations_off() {
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: orders\n  namespace: shop\n  annotations: {retry.linkerd.io/http: 5xx}\n";
    let profile = |retryable: &str| {
        format!(
            "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {{name: orders.shop.svc.cluster.local}}\nspec:\n  routes: [{{name: a, isRetryable: {retryable}}}]\n"
        )
    };
    let without = of(&[("s.yaml", service)]);
    assert_eq!(seat(hop(&without, "anyone", "orders"), Seat::Sidecar).len(), 1);
    let off = of(&[("s.yaml", service), ("p.yaml", &profile("false"))]);
    assert!(hop(&off, "anyone", "orders").layers.is_empty());
    let on = of(&[("s.yaml", service), ("p.yaml", &profile("true"))]);
    let layers = seat(hop(&on, "anyone", "orders"), Seat::Sidecar);
    assert_eq!(layers[0].attempts.value, Attempts::Unbounded);
}

#[test]
fn a_route_of_linkerd_outweighs_its_service() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: orders, annotations: {retry.linkerd.io/limit: '9'}}\n---\napiVersion: policy.linkerd.io/v1beta3\nkind: HTTPRoute\nmetadata: {name: r, annotations: {retry.linkerd.io/limit: '2'}}\nspec: {parentRefs: [{kind: Service, name: orders}]}\n";
    let effective = of(&[("s.yaml", service)]);
    let layers = seat(hop(&effective, "anyone", "orders"), Seat::Sidecar);
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].attempts.value, Attempts::Count(3));
}

fn gateway_route(retry: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: cart, namespace: shop}}\nspec:\n  parentRefs: [{{name: edge}}]\n  rules:\n  - backendRefs: [{{name: cart}}]\n{retry}"
    )
}

#[test]
fn a_route_outweighs_a_policy_of_envoy_gateway() {
    let policy = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {name: p, namespace: shop}\nspec:\n  targetRefs: [{kind: HTTPRoute, name: cart}]\n  retry: {numRetries: 6}\n";
    let effective = of(&[("r.yaml", &gateway_route("")), ("p.yaml", policy)]);
    let layers = seat(hop(&effective, "outside", "cart"), Seat::Gateway);
    assert_eq!(layers[0].attempts.value, Attempts::Count(7));
    let own = gateway_route("    retry: {attempts: 1}\n");
    let effective = of(&[("r.yaml", &own), ("p.yaml", policy)]);
    let layers = seat(hop(&effective, "outside", "cart"), Seat::Gateway);
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].attempts.value, Attempts::Count(2));
    let limits = policy.replace("name: cart", "name: other").replace(
        "retry: {numRetries: 6}",
        "circuitBreaker: {maxParallelRetries: 2}\n  timeout: {http: {requestTimeout: 7s}}",
    );
    let effective = of(&[("r.yaml", &gateway_route("")), ("p.yaml", policy), ("l.yaml", &limits)]);
    let layer = seat(hop(&effective, "outside", "cart"), Seat::Gateway)[0];
    // What is for another route is not for this one.
    assert_eq!(layer.timeout_ms, Some(Sourced::default_of(15_000.0, "Envoy")));
    let most = Budget::Concurrent { limit: Some(1024) };
    assert_eq!(layer.budget.as_ref().map(|budget| &budget.value), Some(&most));
    let open = gateway_route("    retry: {codes: [503]}\n");
    let effective = of(&[("r.yaml", &open), ("p.yaml", policy)]);
    let layers = seat(hop(&effective, "outside", "cart"), Seat::Gateway);
    assert_eq!(layers[0].attempts, Sourced::default_of(Attempts::Count(3), "Envoy Gateway"));
    let other = policy.replace("name: cart", "name: other");
    let effective = of(&[("r.yaml", &gateway_route("")), ("p.yaml", &other)]);
    assert!(hop(&effective, "outside", "cart").layers.is_empty());
}

#[test]
fn kuma_takes_the_most_specific_target() {
    let retry = |to: &str, count: u32| {
        format!(
            "type: MeshRetry\nmesh: default\nname: r{count}\nspec:\n  to: [{{targetRef: {to}, default: {{http: {{numRetries: {count}}}}}}}]\n"
        )
    };
    let all = retry("{kind: Mesh}", 2);
    let one = retry("{kind: MeshService, name: orders}", 7);
    let compose = "services: {orders: {image: a}, web: {image: b, environment: {ORDERS_URL: 'http://orders'}}}\n";
    let files = [("compose.yaml", compose), ("all.yaml", all.as_str()), ("one.yaml", one.as_str())];
    let attempts = |files: &[(&str, &str)]| {
        seat(hop(&of(files), "web", "orders"), Seat::Sidecar)[0].attempts.value.clone()
    };
    assert_eq!(attempts(&files), Attempts::Count(8));
    assert_eq!(attempts(&files[..2]), Attempts::Count(3));
    let mesh = [("compose.yaml", compose), ("mesh.yaml", "type: Mesh\nname: default\n")];
    assert_eq!(attempts(&mesh), Attempts::Count(6));
    let first = of(&mesh);
    let layer = seat(hop(&first, "web", "orders"), Seat::Sidecar)[0];
    assert_eq!(layer.attempt_timeout_ms, None);
    let off = [
        ("compose.yaml", compose),
        ("mesh.yaml", "type: Mesh\nname: default\nskipCreatingInitialPolicies: ['*']\n"),
    ];
    assert_eq!(attempts(&off), Attempts::Count(1));
}

#[test]
fn any_target_of_dapr_removes_what_is_built_in() {
    let app = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: orders}\nspec: {template: {metadata: {annotations: {dapr.io/enabled: 'true', dapr.io/app-id: orders}}}}\n";
    let plain = of(&[("app.yaml", app)]);
    let layers = seat(hop(&plain, "anyone", "orders"), Seat::Sidecar);
    assert_eq!(layers[0].attempts, Sourced::default_of(Attempts::Count(4), format::dapr::WHO));
    let head = "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata: {name: r}\nspec:\n";
    let target = format!("{head}  targets: {{apps: {{orders: {{}}}}}}\n");
    let effective = of(&[("app.yaml", app), ("r.yaml", &target)]);
    let layers = seat(hop(&effective, "anyone", "orders"), Seat::Sidecar);
    assert_eq!(layers.len(), 1);
    assert!(!layers[0].retries());
    let default =
        format!("{head}  policies: {{retries: {{DefaultAppRetryPolicy: {{maxRetries: 2}}}}}}\n");
    let effective = of(&[("app.yaml", app), ("r.yaml", &default)]);
    let counts: Vec<_> = seat(hop(&effective, "anyone", "orders"), Seat::Sidecar)
        .iter()
        .map(|layer| layer.attempts.value.clone())
        .collect();
    assert_eq!(counts, [Attempts::Count(3), Attempts::Count(4)]);
    let instead = format!(
        "{head}  policies: {{retries: {{DaprBuiltInServiceRetries: {{maxRetries: 9}}}}}}\n"
    );
    let effective = of(&[("app.yaml", app), ("r.yaml", &instead)]);
    let layers = seat(hop(&effective, "anyone", "orders"), Seat::Sidecar);
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].attempts.value, Attempts::Count(10));
}

#[test]
fn a_module_of_emissary_speaks_for_mappings_without_a_policy() {
    let module = "apiVersion: getambassador.io/v3alpha1\nkind: Module\nmetadata: {name: ambassador}\nspec: {config: {retry_policy: {retry_on: 5xx, num_retries: 4}}}\n";
    let mapping = |name: &str, policy: &str| {
        format!(
            "apiVersion: getambassador.io/v3alpha1\nkind: Mapping\nmetadata: {{name: {name}}}\nspec: {{prefix: /, service: {name}{policy}}}\n"
        )
    };
    let a = mapping("a", "");
    let b = mapping("b", ", retry_policy: {retry_on: reset}");
    let effective = of(&[("m.yaml", module), ("a.yaml", &a), ("b.yaml", &b)]);
    let attempts = |callee: &str| {
        seat(hop(&effective, "outside", callee), Seat::Gateway)[0].attempts.value.clone()
    };
    assert_eq!(attempts("a"), Attempts::Count(5));
    assert_eq!(attempts("b"), Attempts::Count(2));
}

#[test]
fn a_patch_outweighs_the_route_that_it_patches() {
    let own = route("    retries: {attempts: 1}\n", "");
    let patch = "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: f, namespace: shop}\nspec:\n  configPatches:\n  - applyTo: HTTP_ROUTE\n    match: {context: SIDECAR_OUTBOUND, routeConfiguration: {vhost: {name: 'orders.shop.svc.cluster.local:80'}}}\n    patch: {operation: MERGE, value: {route: {retry_policy: {retry_on: 5xx, num_retries: 7}}}}\n";
    let effective = of(&[("shop.yaml", SHOP), ("orders.yaml", &own), ("patch.yaml", patch)]);
    let layers = seat(hop(&effective, "web", "orders"), Seat::Sidecar);
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].attempts.value, Attempts::Count(8));
}

#[test]
fn gateways_of_a_mesh_have_its_default() {
    let own = route("", "  gateways: [edge]\n");
    let mesh = "meshConfig:\n  defaultHttpRetryPolicy: {attempts: 6}\n";
    let plain = of(&[("orders.yaml", &own)]);
    let layers = seat(hop(&plain, "outside", "orders"), Seat::Gateway);
    assert_eq!(layers[0].attempts.value, Attempts::Count(3));
    let effective = of(&[("orders.yaml", &own), ("values.yaml", mesh)]);
    let layers = seat(hop(&effective, "outside", "orders"), Seat::Gateway);
    assert_eq!(layers[0].attempts.value, Attempts::Count(7));
}

#[test]
fn a_gateway_is_on_the_way_from_outside_only() {
    let proxy = "apiVersion: getambassador.io/v3alpha1\nkind: Mapping\nmetadata: {name: o, namespace: shop}\nspec: {prefix: /, service: orders, retry_policy: {retry_on: 5xx}}\n";
    let effective = of(&[("shop.yaml", SHOP), ("m.yaml", proxy)]);
    assert!(seat(hop(&effective, "web", "orders"), Seat::Gateway).is_empty());
    let outside = hop(&effective, "outside", "orders");
    let layer = seat(outside, Seat::Gateway)[0];
    assert_eq!(layer.attempts.value, Attempts::Count(2));
    let three = Budget::Concurrent { limit: Some(3) };
    assert_eq!(layer.budget.as_ref().map(|budget| &budget.value), Some(&three));
}

/// In the ambient mesh nobody retries but a waypoint, and that only what a route says.
#[test]
fn a_waypoint_retries_for_the_ambient_mesh() {
    let namespace = |more: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{istio.io/dataplane-mode: ambient{more}}}}}\n"
        )
    };
    let workloads = "apiVersion: v1\nkind: Service\nmetadata: {name: orders, namespace: shop}\nspec: {selector: {app: orders}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: {containers: [{name: web, env: [{name: ORDERS_URL, value: 'http://orders'}]}]}}}\n";
    let route = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders, namespace: shop}\nspec:\n  hosts: [orders]\n  http: [{route: [{destination: {host: orders}}], retries: {attempts: 4, retryOn: 5xx}}]\n";
    let attempts = |more: &str, route: &str| {
        let text = namespace(more);
        let files = [("n.yaml", text.as_str()), ("w.yaml", workloads), ("r.yaml", route)];
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let all = effective(&tree::read_tree(&files), Versions::default());
        let hop =
            all.hops.iter().find(|hop| hop.callee.service == "orders").expect("a hop").clone();
        hop.layers
            .iter()
            .map(|one| (one.layer.seat, one.layer.attempts.value.low()))
            .collect::<Vec<_>>()
    };
    assert_eq!(attempts("", route), [], "a route without a waypoint does nothing");
    let waypoint = ", istio.io/use-waypoint: w";
    assert_eq!(attempts(waypoint, route), [(Seat::Sidecar, 5), (Seat::Inbound, 3)]);
    assert_eq!(attempts(waypoint, "a: retries"), [(Seat::Inbound, 3)]);
}

/// What a gateway does and what the proxies of a mesh do is for different calls, also where nobody says
/// who calls inside of it.
#[test]
fn a_gateway_of_a_mesh_is_not_before_its_proxies() {
    let istio = |name: &str, gateway: &str, attempts: u32| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  hosts: [orders]\n  gateways: [{gateway}]\n  http: [{{route: [{{destination: {{host: orders}}}}], retries: {{attempts: {attempts}, retryOn: reset}}}}]\n"
        )
    };
    let routes = |name: &str, parent: &str, attempts: u32| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  parentRefs: [{parent}]\n  rules: [{{retry: {{attempts: {attempts}, codes: [503]}}, backendRefs: [{{name: orders}}]}}]\n"
        )
    };
    for [inside, outside] in [
        [istio("orders", "mesh", 3), istio("orders-client", "edge", 1)],
        [
            routes("orders", "{group: '', kind: Service, name: orders}", 3),
            routes("orders-client", "{name: edge}", 1),
        ],
    ] {
        let effective = of(&[("in.yaml", &inside), ("out.yaml", &outside)]);
        let attempts = |caller: &str| -> Vec<(Seat, u32)> {
            let layers = hop(&effective, caller, "orders").layers.iter().map(|one| &one.layer);
            let proxies = layers.filter(|layer| layer.seat != Seat::Inbound);
            proxies.map(|layer| (layer.seat, layer.attempts.value.low())).collect()
        };
        assert_eq!(attempts("anyone"), [(Seat::Sidecar, 4)], "{inside}");
        assert_eq!(attempts("outside"), [(Seat::Gateway, 2)], "{outside}");
    }
}
