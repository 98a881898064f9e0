//! Whatever stands at whatever place of a document: nothing panics, and lines are of the file.

use damper_config::document::{Document, Node, Syntax, Value, parse};
use damper_config::effective::{Versions, effective};
use damper_config::{Origin, Reading, format, tree};
use proptest::prelude::*;

/// Documents of many formats, each with much in it.
const SAMPLES: [&str; 13] = [
    "static_resources:\n  listeners:\n  - address: {socket_address: {address: 0.0.0.0}}\n    traffic_direction: OUTBOUND\n    filter_chains:\n    - filters:\n      - typed_config:\n          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager\n          route_config:\n            virtual_hosts:\n            - name: a\n              retry_policy: {retry_on: 5xx}\n              routes:\n              - match: {prefix: /}\n                route:\n                  cluster: orders\n                  timeout: 2s\n                  hedge_policy: {hedge_on_per_try_timeout: true}\n                  retry_policy: {retry_on: 'reset,503', retriable_status_codes: [503], num_retries: 2, per_try_timeout: 1s, retry_back_off: {base_interval: 1s}, retriable_request_headers: [{name: ':method', string_match: {exact: GET}}]}\n              - route: {weighted_clusters: {clusters: [{name: a, weight: 1}, {name: b, weight: 2}]}, request_mirror_policies: [{cluster: c}]}\n  clusters:\n  - name: orders\n    outlier_detection: {}\n    circuit_breakers: {thresholds: [{max_retries: 1, max_requests: 2}]}\n    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: orders}}}}]}]}\n",
    "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a, namespace: n}\nspec:\n  hosts: [a]\n  gateways: [mesh, edge]\n  http:\n  - match: [{uri: {prefix: /}}]\n    route: [{destination: {host: a, subset: v1}, weight: 1}, {destination: {host: b}, weight: 2}]\n    mirror: {host: c}\n    timeout: 1s\n    retries: {attempts: 3, perTryTimeout: 2s, retryOn: '5xx,503,x'}\n",
    "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a, namespace: n}\nspec:\n  host: a\n  trafficPolicy: {connectionPool: {http: {maxRetries: 1, http2MaxRequests: 3}}, retryBudget: {percent: 3}, outlierDetection: {}, portLevelSettings: [{port: {number: 80}, retryBudget: {}}]}\n  subsets: [{name: v1, trafficPolicy: {retryBudget: {percent: 3}}}]\n",
    "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: a}\nspec:\n  workloadSelector: {labels: {app: web}}\n  configPatches:\n  - {applyTo: CLUSTER, match: {cluster: {service: a}}, patch: {value: {circuit_breakers: {thresholds: [{max_retries: 1}]}}}}\n  - {applyTo: HTTP_ROUTE, match: {context: GATEWAY}, patch: {value: {route: {retry_policy: {retry_on: 5xx}}}}}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata:\n  mesh: |\n    defaultHttpRetryPolicy: {attempts: 3}\n",
    "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {name: a.n.svc.cluster.local}\nspec:\n  retryBudget: {retryRatio: 0.1, ttl: 10s}\n  routes: [{name: a, condition: {method: GET}, isRetryable: true, timeout: 1s, responseClasses: [{condition: {status: {min: 500, max: 599}}, isFailure: true}]}]\n",
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations: {retry.linkerd.io/http: '500-599', retry.linkerd.io/limit: '2', retry.linkerd.io/timeout: 1s, projectcontour.io/max-retries: '3'}\nspec: {selector: {app: a}}\n",
    "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, namespace: n}\nspec:\n  parentRefs: [{name: g}]\n  rules: [{matches: [{path: {value: /}}], timeouts: {request: 1s, backendRequest: 2s}, retry: {codes: [503], attempts: 2, backoff: 1s}, backendRefs: [{name: a, weight: 1}, {name: b}]}]\n---\napiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {name: p, namespace: n}\nspec:\n  targetRefs: [{kind: HTTPRoute, name: a}]\n  retry: {numRetries: 3, retryOn: {triggers: [5xx, x], httpStatusCodes: [503]}, perRetry: {timeout: 1s}}\n  circuitBreaker: {maxParallelRetries: 3, retryBudget: {percent: {numerator: 3}}}\n",
    "apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {name: a}\nspec:\n  targetRef: {kind: MeshSubset, tags: {app: a}}\n  to: [{targetRef: {kind: MeshService, name: a_n_svc_80}, default: {http: {numRetries: 2, retryOn: [5xx, HttpMethodGet, '503']}, grpc: {retryOn: [Canceled]}, tcp: {maxConnectAttempt: 3}}}]\n",
    "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata: {name: a}\nspec:\n  policies: {timeouts: {t: 1s}, retries: {r: {policy: exponential, maxRetries: 3, matching: {httpStatusCodes: '500-599', gRPCStatusCodes: '1-16'}}, DefaultRetryPolicy: {maxRetries: -1}}}\n  targets: {apps: {a: {timeout: t, retry: r, circuitBreaker: c}}, components: {s: {inbound: {retry: r}}}}\n",
    "apiVersion: consul.hashicorp.com/v1alpha1\nkind: ServiceRouter\nmetadata: {name: a}\nspec: {routes: [{match: {http: {pathPrefix: /}}, destination: {service: b, numRetries: 2, retryOn: [5xx], retryOnStatusCodes: [503], requestTimeout: 1s}}]}\n",
    "methodConfig: [{name: [{service: a, method: b}], timeout: 1s, retryPolicy: {maxAttempts: 3, initialBackoff: 1s, maxBackoff: 2s, backoffMultiplier: 2, retryableStatusCodes: [UNAVAILABLE]}}]\nretryThrottling: {maxTokens: 10, tokenRatio: 0.1}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: n}\nspec:\n  replicas: 2\n  template:\n    metadata: {labels: {app: a}, annotations: {dapr.io/enabled: 'true', dapr.io/app-id: a}}\n    spec: {containers: [{name: a, args: ['--b=http://b'], env: [{name: B_URL, value: 'http://b'}], readinessProbe: {timeoutSeconds: 3}}]}\n",
];

fn strange(kind: usize) -> Value {
    let scalar = |text: &str| Value::Scalar { text: text.into(), quoted: false };
    match kind {
        0 => Value::Null,
        1 => scalar("x"),
        2 => scalar("-7"),
        3 => scalar("1e308"),
        4 => scalar("99999999999999999999s"),
        5 => Value::List(Vec::new()),
        6 => Value::Map(Vec::new()),
        _ => Value::Open("{{ .Values.x }}".into()),
    }
}

/// Puts a value at the place of a number, counted from the root.
fn put(node: &mut Node, left: &mut usize, value: &Value) -> bool {
    if *left == 0 {
        node.value = value.clone();
        return true;
    }
    *left -= 1;
    match &mut node.value {
        Value::List(items) => items.iter_mut().any(|item| put(item, left, value)),
        Value::Map(entries) => entries.iter_mut().any(|one| put(&mut one.value, left, value)),
        _ => false,
    }
}

fn check(documents: &[Document], lines: u32) {
    let reading = format::read("a/compose.yaml", documents);
    let inside = |line: u32| line >= 1 && line <= lines;
    for layer in &reading.layers {
        assert!(layer.lines.iter().all(|line| inside(*line)), "{layer:?}");
        assert!(layer.lines[0] <= layer.lines[1], "{layer:?}");
        let origins = [&layer.attempts.from, &layer.on.from];
        for origin in origins {
            assert!(!matches!(origin, Origin::Written(line) if !inside(*line)), "{layer:?}");
        }
    }
    let all: Vec<(String, Reading)> = vec![("a".to_owned(), reading)];
    let applied = effective(&all, Versions { istio: Some((1, 20)) });
    assert!(applied.hops.iter().all(|hop| !hop.callee.service.is_empty()));
}

#[test]
fn every_sample_says_something() {
    for sample in SAMPLES {
        let reading = format::read("a.yaml", &parse(Syntax::Yaml, sample).0);
        assert!(!reading.formats.is_empty(), "{sample}");
    }
}

#[test]
fn any_value_may_stand_anywhere() {
    for sample in SAMPLES {
        let lines = u32::try_from(sample.lines().count()).expect("few lines");
        let documents = parse(Syntax::Yaml, sample).0;
        for at in 0.. {
            let mut left = at;
            let mut changed = documents.clone();
            let found =
                changed.iter_mut().position(|one| put(&mut one.root, &mut left, &Value::Null));
            let Some(document) = found else { break };
            for kind in 0..8 {
                let mut changed = documents.clone();
                let before: usize =
                    documents.iter().take(document).map(|one| nodes(&one.root)).sum();
                put(&mut changed[document].root, &mut (at - before), &strange(kind));
                check(&changed, lines);
            }
        }
    }
}

fn nodes(node: &Node) -> usize {
    let below: usize = node.items().iter().map(nodes).sum();
    1 + below + node.entries().iter().map(|one| nodes(&one.value)).sum::<usize>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_part_of_a_file_may_be_missing(sample in 0..SAMPLES.len(), from in 0.0..1.0, to in 0.0..1.0) {
        let text = SAMPLES[sample];
        let at = |share: f64| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let at = (share * text.len() as f64) as usize;
            (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
        };
        let (from, to) = (at(f64::min(from, to)), at(f64::max(from, to)));
        let cut = format!("{}{}", &text[..from], &text[to..]);
        let files = [
            ("c/Chart.yaml".to_owned(), "name: c".to_owned()),
            ("c/templates/a.yaml".to_owned(), cut.replace('{', "{{")),
            ("k/a.yaml".to_owned(), cut.clone()),
            ("k/kustomization.yaml".to_owned(), format!("resources: [a.yaml]\npatches: [{{path: b.yaml}}]\n{cut}")),
            ("k/b.yaml".to_owned(), text.to_owned()),
        ];
        let _ = effective(&tree::read_tree(&files), Versions::default());
    }
}
