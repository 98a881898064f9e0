//! Bootstraps of Envoy.

use serde_json::{Value, json};

use crate::Upstream;

/// A listener with the plugin in it.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    /// Where its requests go to.
    pub(crate) cluster: &'static str,
    /// The configuration of the plugin. None: no plugin.
    pub(crate) plugin: Option<String>,
    /// The retry policy of the route.
    pub(crate) retry: Option<Value>,
    pub(crate) timeout: &'static str,
    pub(crate) closed: bool,
    /// Whether peers in the loopback network are internal to Envoy.
    pub(crate) internal: bool,
    /// Whether it leaves `x-forwarded-for` as it is, as an outbound listener does.
    pub(crate) plain: bool,
}

impl Listener {
    /// With the plugin, for `cluster`, on a port that Envoy chooses.
    pub(crate) fn new(name: &'static str, cluster: &'static str, plugin: &str) -> Self {
        let plugin = (!plugin.is_empty()).then(|| plugin.to_owned());
        Self {
            name,
            port: 0,
            cluster,
            plugin,
            retry: None,
            timeout: "15s",
            closed: false,
            internal: false,
            plain: false,
        }
    }

    /// The same with a retry policy of the route.
    pub(crate) fn retry(self, retry: Value) -> Self {
        Self { retry: Some(retry), ..self }
    }

    pub(crate) fn value(&self, plugin: &str) -> Value {
        let mut filters = Vec::new();
        if let Some(configuration) = &self.plugin {
            filters.push(json!({"name": "damper", "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
                "config": {
                    "name": self.name,
                    "root_id": self.name,
                    "failure_policy": if self.closed { "FAIL_CLOSED" } else { "FAIL_OPEN" },
                    "vm_config": {"vm_id": "damper", "runtime": "envoy.wasm.runtime.v8",
                                  "code": {"local": {"filename": plugin}}},
                    "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue",
                                      "value": configuration}}}}));
        }
        filters.push(json!({"name": "router", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}));
        let mut route = json!({"cluster": self.cluster, "timeout": self.timeout});
        if let Some(retry) = &self.retry {
            route["retry_policy"] = retry.clone();
        }
        let mut manager = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": self.name,
            "use_remote_address": !self.plain,
            "route_config": {"virtual_hosts": [{
                "name": "all", "domains": ["*"], "include_attempt_count_in_response": true,
                "include_request_attempt_count": true,
                "routes": [{"match": {"prefix": "/"}, "route": route}]}]},
            "http_filters": filters});
        if self.internal {
            manager["internal_address_config"] =
                json!({"cidr_ranges": [{"address_prefix": "127.0.0.0", "prefix_len": 8}]});
        }
        json!({"name": self.name,
               "address": {"socket_address": {"address": "127.0.0.1", "port_value": self.port}},
               "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}]})
    }
}

/// A bootstrap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub(crate) listeners: Vec<Listener>,
    clusters: Vec<Value>,
    /// A file that Envoy watches for its listeners, in place of the bootstrap.
    pub(crate) watched: Option<std::path::PathBuf>,
}

impl Setup {
    /// With a cluster `up` for this server.
    pub(crate) fn new(upstream: &Upstream, listener: Listener) -> Self {
        Self::default()
            .cluster("up", upstream.port, upstream.protocol.is_http2(), None)
            .listener(listener)
    }

    pub(crate) fn listener(mut self, listener: Listener) -> Self {
        self.listeners.push(listener);
        self
    }

    pub(crate) fn cluster(
        mut self,
        name: &str,
        port: u16,
        http2: bool,
        budget: Option<Value>,
    ) -> Self {
        let mut threshold = json!({"max_connections": 10_000, "max_pending_requests": 10_000,
                                   "max_requests": 10_000, "max_retries": 10_000});
        if let Some(budget) = budget {
            threshold["retry_budget"] = budget;
        }
        let mut cluster = json!({"name": name, "connect_timeout": "1s",
            "circuit_breakers": {"thresholds": [threshold]},
            "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {
                "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}}]}]}});
        if http2 {
            cluster["typed_extension_protocol_options"] = json!({
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": {"http2_protocol_options": {}}}});
        }
        self.clusters.push(cluster);
        self
    }

    /// The listeners as a file that Envoy watches.
    pub(crate) fn watched_listeners(&self, plugin: &str, version: &str) -> Value {
        let listeners = self.listeners.iter().map(|listener| {
            let mut value = listener.value(plugin);
            value["@type"] = json!("type.googleapis.com/envoy.config.listener.v3.Listener");
            value
        });
        json!({"version_info": version, "resources": listeners.collect::<Vec<_>>()})
    }

    pub(crate) fn bootstrap(&self, plugin: &str) -> Value {
        let mut out = json!({
            "node": {"id": "test", "cluster": "test"},
            "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
            "static_resources": {"clusters": self.clusters}});
        match &self.watched {
            Some(file) => {
                out["dynamic_resources"] =
                    json!({"lds_config": {"path_config_source": {"path": file}}});
            }
            None => {
                let listeners = self.listeners.iter().map(|listener| listener.value(plugin));
                out["static_resources"]["listeners"] = listeners.collect();
            }
        }
        out
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
