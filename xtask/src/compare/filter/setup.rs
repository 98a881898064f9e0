//! What is compared: bootstraps that differ in one filter or in their routes.

use std::path::Path;

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

/// All that are compared, the one to compare with first.
pub(super) fn variants(plugin: &Path, empty: &Path) -> Vec<(&'static str, Filter)> {
    let ours = |budget: &str| Filter::Plugin {
        file: plugin.display().to_string(),
        configuration: format!(
            r#"{{"damper": 1, "position": "outbound", "classes": ["high", "low"],
                "retry": {{"limit": {{"high": 5, "low": 1}}{budget}}}}}"#
        ),
    };
    vec![
        ("no filter", Filter::None),
        ("routes by class", Filter::Routes),
        (LUA, Filter::Lua(SCRIPT)),
        ("Lua that counts nothing", Filter::Lua(SHORT_SCRIPT)),
        (
            "a plugin that does nothing",
            Filter::Plugin { file: empty.display().to_string(), configuration: String::new() },
        ),
        ("Damper", ours("")),
        ("Damper with a ratio budget", ours(r#", "budget": {"kind": "ratio"}"#)),
        ("Damper with a token bucket", ours(r#", "budget": {"kind": "token-bucket"}"#)),
    ]
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

/// A plugin that is called as ours is, and returns at once: what it costs is Envoy's own share.
pub(super) fn empty_plugin() -> Vec<u8> {
    // Contents are short: their lengths take one byte, but that of the exports takes two.
    let section = |id: u8, content: &[u8]| [&[id, content.len() as u8], content].concat();
    let export = |name: &str, kind: u8, index: u8| {
        [&[name.len() as u8], name.as_bytes(), &[kind, index]].concat()
    };
    let types = [
        &[6u8][..],
        &[0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f],
        &[0x60, 2, 0x7f, 0x7f, 1, 0x7f],
        &[0x60, 2, 0x7f, 0x7f, 0],
        &[0x60, 0, 0],
        &[0x60, 1, 0x7f, 1, 0x7f],
        &[0x60, 1, 0x7f, 0],
    ]
    .concat();
    let exports = [
        export("memory", 2, 0),
        export("proxy_on_request_headers", 0, 0),
        export("proxy_on_response_headers", 0, 0),
        export("proxy_on_vm_start", 0, 1),
        export("proxy_on_configure", 0, 1),
        export("proxy_on_context_create", 0, 2),
        export("proxy_abi_version_0_2_1", 0, 3),
        export("malloc", 0, 4),
        export("proxy_on_delete", 0, 5),
    ];
    // The constants 0 and 1, nothing twice, the constant 16, nothing.
    let code: [&[u8]; 6] = [
        &[0, 0x41, 0, 0x0b],
        &[0, 0x41, 1, 0x0b],
        &[0, 0x0b],
        &[0, 0x0b],
        &[0, 0x41, 16, 0x0b],
        &[0, 0x0b],
    ];
    let bodies: Vec<u8> =
        code.iter().flat_map(|body| [&[body.len() as u8], *body].concat()).collect();
    let listed = [&[exports.len() as u8][..], &exports.concat()].concat();
    let length = [(listed.len() & 0x7f) as u8 | 0x80, (listed.len() >> 7) as u8];
    [
        &b"\0asm\x01\0\0\0"[..],
        &section(1, &types),
        &section(3, &[6, 0, 1, 2, 3, 4, 5]),
        &section(5, &[1, 0, 1]),
        &[7],
        &length,
        &listed,
        &section(10, &[&[6u8][..], &bodies].concat()),
    ]
    .concat()
}
