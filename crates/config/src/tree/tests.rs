use super::*;
use crate::layer::{Attempts, Origin, Sourced};

fn read(files: &[(&str, &str)]) -> Vec<(String, Reading)> {
    let owned: Vec<_> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    read_tree(&owned)
}

fn of<'a>(readings: &'a [(String, Reading)], path: &str) -> &'a Reading {
    &readings.iter().find(|(known, _)| known == path).expect("a reading of the file").1
}

const ROUTE: &str = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders}\nspec:\n  hosts: [orders]\n  http:\n  - route: [{destination: {host: orders}}]\n    retries:\n      attempts: 2\n      retryOn: 5xx\n";

#[test]
fn a_chart_is_filled_from_its_values() {
    let template = ROUTE.replace("attempts: 2", "attempts: {{ .Values.retries }}");
    let readings = read(&[
        ("chart/Chart.yaml", "name: shop\n"),
        ("chart/values.yaml", "retries: 4\n"),
        ("chart/templates/_helpers.tpl", "{{ define \"x\" }}{{ end }}"),
        ("chart/templates/orders.yaml", &template),
        ("chart/templates/open.yaml", &template.replace(".retries", ".none")),
    ]);
    let layers = &of(&readings, "chart/templates/orders.yaml").layers;
    assert_eq!(layers[0].attempts, Sourced::written(Attempts::Count(5), 9));
    let open = of(&readings, "chart/templates/open.yaml");
    assert!(matches!(&open.layers[0].attempts.value,
        Attempts::Open { expression, .. } if expression == "{{ .Values.none }}"));
    assert_eq!(open.open[0].0, 9);
}

#[test]
fn a_patch_says_what_it_changes_and_no_more() {
    let patch = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders}\nspec:\n  http:\n  - route: [{destination: {host: orders}}]\n    retries: {attempts: 7, retryOn: 5xx}\n";
    let readings = read(&[
        ("base/kustomization.yaml", "resources: [orders.yaml]\n"),
        ("base/orders.yaml", ROUTE),
        (
            "live/kustomization.yaml",
            "resources: [../base]\npatches: [{path: patch.yaml}]\ncomponents: [../c]\n",
        ),
        ("live/patch.yaml", patch),
    ]);
    assert_eq!(of(&readings, "base/orders.yaml").layers[0].attempts.value, Attempts::Count(3));
    let live = of(&readings, "live/kustomization.yaml");
    assert_eq!(live.open[0].0, 3);
    let patched = of(&readings, "live/patch.yaml");
    assert_eq!(patched.layers.len(), 1);
    assert_eq!(patched.layers[0].attempts, Sourced::written(Attempts::Count(8), 7));
}

#[test]
fn an_operation_changes_one_value_and_the_rest_is_elsewhere() {
    let readings = read(&[
        ("orders.yaml", ROUTE),
        (
            "kustomization.yaml",
            "resources: [orders.yaml]\npatches:\n- target: {kind: VirtualService, name: orders}\n  patch: |\n    - op: replace\n      path: /spec/http/0/retries/attempts\n      value: 5\n",
        ),
    ]);
    let layer = &of(&readings, "kustomization.yaml").layers[0];
    assert_eq!(layer.attempts, Sourced::written(Attempts::Count(6), 5));
    let elsewhere = Origin::Elsewhere { path: "orders.yaml".to_owned(), line: 10 };
    assert_eq!(layer.on.from, elsewhere);
    assert_eq!(layer.lines, [5, 5]);
}

#[test]
fn variables_come_from_a_config_map_beside() {
    let workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        envFrom: [{configMapRef: {name: c}}]\n        env:\n        - {name: PAY_URL, valueFrom: {configMapKeyRef: {name: c, key: pay}}}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {ORDERS_URL: 'http://orders', pay: 'http://pay:80'}\n";
    let readings = read(&[("a/web.yaml", workload), ("a/c.yaml", map), ("b/web.yaml", workload)]);
    let calls: Vec<_> = of(&readings, "a/web.yaml")
        .calls
        .iter()
        .map(|call| (call.callee.service.as_str(), call.line))
        .collect();
    assert_eq!(calls, [("pay", 11), ("orders", 9)]);
    assert!(of(&readings, "b/web.yaml").calls.is_empty());
}

#[test]
fn a_chart_in_a_chart_takes_what_its_parent_says() {
    let template = ROUTE
        .replace("attempts: 2", "attempts: {{ .Values.retries }}")
        .replace("retryOn: 5xx", "retryOn: {{ .Values.global.on }}");
    let readings = read(&[
        ("shop/Chart.yaml", "name: shop\n"),
        ("shop/values.yaml", "global: {on: reset}\norders: {retries: 6}\n"),
        ("shop/charts/orders/Chart.yaml", "name: orders\n"),
        ("shop/charts/orders/values.yaml", "retries: 1\nother: 2\n"),
        ("shop/charts/orders/templates/route.yaml", &template),
    ]);
    let layer = &of(&readings, "shop/charts/orders/templates/route.yaml").layers[0];
    assert_eq!(layer.attempts, Sourced::written(Attempts::Count(7), 9));
    assert_eq!(layer.words, ["reset"]);
}

#[test]
fn a_delegate_is_for_the_hosts_of_its_root() {
    let root = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: root, namespace: a}\nspec:\n  hosts: [shop.example.com]\n  gateways: [edge]\n  http: [{match: [{uri: {prefix: /o}}], delegate: {name: orders, namespace: b}}]\n";
    let delegate = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders, namespace: b}\nspec:\n  http:\n  - route: [{destination: {host: orders}}]\n    retries: {attempts: 2, retryOn: 5xx}\n";
    let readings = read(&[("root.yaml", root), ("orders.yaml", delegate)]);
    let reading = of(&readings, "orders.yaml");
    assert_eq!(reading.layers.len(), 1);
    assert_eq!(reading.layers[0].seat, crate::layer::Seat::Gateway);
    assert_eq!(reading.layers[0].lines, [7, 7]);
    assert_eq!(reading.calls[0].callee.to_string(), "orders.b", "it comes in by the gateway");
}

#[test]
fn a_filter_of_consul_is_for_the_routes_that_name_it() {
    let route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: n}\nspec:\n  rules:\n  - backendRefs: [{name: orders}]\n    filters: [{type: ExtensionRef, extensionRef: {group: consul.hashicorp.com, kind: RouteRetryFilter, name: f}}]\n";
    let filter = "apiVersion: consul.hashicorp.com/v1alpha1\nkind: RouteRetryFilter\nmetadata: {name: f, namespace: n}\nspec:\n  numRetries: 4\n  retryOn: [5xx]\n  retryOnConnectFailure: true\n";
    let readings = read(&[("route.yaml", route), ("filter.yaml", filter)]);
    let layers = &of(&readings, "filter.yaml").layers;
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].callee.as_ref().map(ToString::to_string).as_deref(), Some("orders.n"));
    assert_eq!(layers[0].attempts, Sourced::written(Attempts::Count(5), 5));
    let alone = read(&[("filter.yaml", filter)]);
    assert_eq!(of(&alone, "filter.yaml").layers[0].callee, None);
}

#[test]
fn a_policy_of_kuma_for_a_route_is_for_whom_the_route_is_for() {
    let route = "apiVersion: kuma.io/v1alpha1\nkind: MeshHTTPRoute\nmetadata: {name: r}\nspec:\n  targetRef: {kind: MeshSubset, tags: {app: web}}\n  to:\n  - targetRef: {kind: MeshService, name: orders}\n    rules: [{default: {backendRefs: [{kind: MeshService, name: orders, weight: 1}, {kind: MeshService, name: orders-next, weight: 3}]}}]\n";
    let retry = "apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {name: p}\nspec:\n  targetRef: {kind: Mesh}\n  to:\n  - targetRef: {kind: MeshHTTPRoute, name: r}\n    default: {http: {numRetries: 2}}\n";
    let readings = read(&[("route.yaml", route), ("retry.yaml", retry)]);
    let calls = &of(&readings, "route.yaml").calls;
    assert_eq!((calls.len(), calls[1].count), (2, Some(0.75)));
    let layer = &of(&readings, "retry.yaml").layers[0];
    assert_eq!(layer.callee.as_ref().map(ToString::to_string).as_deref(), Some("orders"));
    assert_eq!((layer.reach, layer.lines), (crate::layer::Reach::Route, [8, 8]));
}

#[test]
fn a_kustomization_calls_objects_anew() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: orders}\nspec: {selector: {app: orders}}\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\nspec: {defaultBackend: {service: {name: orders}}}\n";
    let base = ("base/kustomization.yaml", "resources: [s.yaml]\nnameSuffix: -v1\n");
    let live =
        ("live/kustomization.yaml", "resources: [../base]\nnamePrefix: live-\nnamespace: shop\n");
    let readings = read(&[base, live, ("base/s.yaml", service)]);
    let reading = of(&readings, "base/s.yaml");
    assert_eq!(reading.services[0].name.to_string(), "live-orders-v1.shop");
    assert_eq!(reading.calls[0].callee.to_string(), "live-orders-v1.shop");
    // Two that differ: nobody knows which of them is meant.
    let test = ("test/kustomization.yaml", "resources: [../base]\nnamespace: test\n");
    let readings = read(&[base, live, test, ("base/s.yaml", service)]);
    assert_eq!(of(&readings, "base/s.yaml").services[0].name.to_string(), "orders");
    assert_eq!(of(&readings, "test/kustomization.yaml").open[0].0, 2);
}

#[test]
fn a_broken_file_is_told_from_one_that_is_nothing_of_ours() {
    let readings = read(&[
        ("route.yaml", &ROUTE.replace("attempts: 2", "attempts: [2")),
        ("sample.yaml", "a: [1\n"),
        ("whole.yaml", ROUTE),
        ("service.json", "{\"methodConfig\": [}"),
    ]);
    let broken = |path: &str| of(&readings, path).broken.as_ref().map(|broken| broken.ours);
    assert_eq!(broken("route.yaml"), Some(true));
    assert_eq!(broken("sample.yaml"), Some(false));
    assert_eq!(broken("whole.yaml"), None);
    assert_eq!(broken("service.json"), Some(true));
    let mistakes = &of(&readings, "route.yaml").broken.as_ref().expect("broken").mistakes;
    assert!(mistakes[0].0 >= 9 && mistakes[0].1.contains("YAML"), "{mistakes:?}");
}
