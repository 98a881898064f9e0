//! Envoy as the logic sees it.

use std::time::{Duration, UNIX_EPOCH};

use damper_control::Nanos;
use damper_mesh::filter::Host;
use proxy_wasm::hostcalls;
use proxy_wasm::types::MapType;

/// The stream that is being worked on.
pub(crate) struct Envoy;

// A call that Envoy refuses (a header after the answer has begun) is as if there were nothing:
// traffic goes on.
impl Host for Envoy {
    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        hostcalls::get_map_value_bytes(MapType::HttpRequestHeaders, name).ok().flatten()
    }

    fn request_headers(&mut self) -> Vec<(String, Vec<u8>)> {
        hostcalls::get_map_bytes(MapType::HttpRequestHeaders).unwrap_or_default()
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) {
        let _ = hostcalls::set_map_value_bytes(MapType::HttpRequestHeaders, name, Some(value));
    }

    fn remove_request_header(&mut self, name: &str) {
        let _ = hostcalls::remove_map_value(MapType::HttpRequestHeaders, name);
    }

    fn response_header(&mut self, name: &str) -> Option<Vec<u8>> {
        hostcalls::get_map_value_bytes(MapType::HttpResponseHeaders, name).ok().flatten()
    }

    fn set_response_header(&mut self, name: &str, value: &[u8]) {
        let _ = hostcalls::set_map_value_bytes(MapType::HttpResponseHeaders, name, Some(value));
    }

    fn attribute(&mut self, path: &[&str]) -> Option<Vec<u8>> {
        hostcalls::get_property(path.to_vec()).ok().flatten()
    }

    fn now(&mut self) -> Nanos {
        let since =
            hostcalls::get_current_time().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let nanos = since.as_ref().map_or(0, Duration::as_nanos);
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn shared(&mut self, key: &str) -> Option<Vec<u8>> {
        hostcalls::get_shared_data(key).ok().and_then(|(value, _)| value)
    }

    fn set_shared(&mut self, key: &str, value: &[u8]) {
        let _ = hostcalls::set_shared_data(key, Some(value), None);
    }
}
