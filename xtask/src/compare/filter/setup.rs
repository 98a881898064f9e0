//! What is compared: bootstraps that differ in one filter or in their routes.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

pub(super) const LUA: &str = "Lua";

/// What stands before the router.
pub(super) enum Filter {
    /// Nothing; one route for all.
    None,
    /// Nothing; a route for each class.
    Routes,
    Lua(&'static str),
    Plugin {
        file: String,
        configuration: String,
    },
}

/// The same as the plugin does: the limit by class, the class handed on, attempts counted.
const SCRIPT: &str = r#"
local limits = {high = "5", low = "1"}
local requests, attempts = {high = 0, low = 0}, {high = 0, low = 0}
function envoy_on_request(handle)
  local headers = handle:headers()
  local class = headers:get("x-damper-class")
  if limits[class] == nil then
    class = "low"
    headers:replace("x-damper-class", class)
  end
  headers:replace("x-envoy-max-retries", limits[class])
  requests[class] = requests[class] + 1
  handle:streamInfo():dynamicMetadata():set("damper", "class", class)
end
function envoy_on_response(handle)
  local class = handle:streamInfo():dynamicMetadata():get("damper")["class"]
  local n = tonumber(handle:headers():get("x-envoy-attempt-count")) or 1
  attempts[class] = attempts[class] + n
end
"#;

/// The least that sets a limit by class, and counts nothing.
const SHORT_SCRIPT: &str = r#"
local limits = {high = "5", low = "1"}
function envoy_on_request(handle)
  local headers = handle:headers()
  headers:replace("x-envoy-max-retries", limits[headers:get("x-damper-class")] or "1")
end
"#;

/// Plugins written by hand, from nothing to the least that does the same: where the time goes that
/// no other plugin could save.
const BY_HAND: [(&str, &str); 3] = [
    ("a plugin that does nothing", include_str!("plugins/nothing.wat")),
    ("one that reads a header", include_str!("plugins/reads.wat")),
    ("the least that does the same", include_str!("plugins/least.wat")),
];

/// All that are compared, the one to compare with first.
pub(super) fn variants(plugin: &Path, folder: &Path) -> Result<Vec<(&'static str, Filter)>> {
    let ours = |budget: &str| Filter::Plugin {
        file: plugin.display().to_string(),
        configuration: format!(
            r#"{{"damper": 1, "position": "outbound", "classes": ["high", "low"],
                "retry": {{"limit": {{"high": 5, "low": 1}}{budget}}}}}"#
        ),
    };
    let mut all = vec![
        ("no filter", Filter::None),
        ("routes by class", Filter::Routes),
        (LUA, Filter::Lua(SCRIPT)),
        ("Lua that counts nothing", Filter::Lua(SHORT_SCRIPT)),
    ];
    for (name, text) in BY_HAND {
        let file = folder.join(format!("{}.wasm", name.replace(' ', "-")));
        fs::write(&file, wat::parse_str(text).with_context(|| name)?)
            .with_context(|| file.display().to_string())?;
        let file = file.display().to_string();
        all.push((name, Filter::Plugin { file, configuration: String::new() }));
    }
    all.extend([
        ("Damper", ours("")),
        ("Damper with a ratio budget", ours(r#", "budget": {"kind": "ratio"}"#)),
        ("Damper with a token bucket", ours(r#", "budget": {"kind": "token-bucket"}"#)),
    ]);
    Ok(all)
}

fn retry(limit: u32) -> Value {
    json!({"retry_on": "5xx", "num_retries": limit})
}

pub(super) fn bootstrap(filter: &Filter, server: u16) -> Value {
    let route = |limit: u32| json!({"cluster": "up", "retry_policy": retry(limit)});
    let of_class = |class: &str, limit: u32| {
        json!({"match": {"prefix": "/", "headers": [
                   {"name": "x-damper-class", "string_match": {"exact": class}}]},
               "route": route(limit)})
    };
    let all = json!({"match": {"prefix": "/"}, "route": route(1)});
    let routes = match filter {
        Filter::Routes => vec![of_class("high", 5), of_class("low", 1), all],
        _ => vec![all],
    };
    let before = match filter {
        Filter::None | Filter::Routes => None,
        Filter::Lua(script) => Some(json!({"name": "lua", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": {"inline_string": script}}})),
        Filter::Plugin { file, configuration } => Some(json!({"name": "damper", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {"name": "damper", "root_id": "damper", "failure_policy": "FAIL_OPEN",
                "vm_config": {"vm_id": "damper", "runtime": "envoy.wasm.runtime.v8",
                              "code": {"local": {"filename": file}}},
                "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue",
                                  "value": configuration}}}})),
    };
    let router = json!({"name": "router", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}});
    let filters: Vec<Value> = before.into_iter().chain([router]).collect();
    let address =
        |port: u16| json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    json!({
        "admin": {"address": address(0)},
        "static_resources": {
            "listeners": [{"name": "in", "address": address(0), "filter_chains": [{"filters": [{
                "name": "http", "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                    "stat_prefix": "in",
                    "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
                        "include_attempt_count_in_response": true, "routes": routes}]},
                    "http_filters": filters}}]}]}],
            "clusters": [{"name": "up", "connect_timeout": "1s",
                "load_assignment": {"cluster_name": "up", "endpoints": [{"lb_endpoints": [
                    {"endpoint": {"address": address(server)}}]}]}}]}})
}
