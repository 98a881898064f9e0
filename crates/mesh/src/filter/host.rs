//! What the filter needs from where it runs.

use damper_control::Nanos;

/// Envoy, as the logic sees it. Each method costs a change between the virtual machine and Envoy, so
/// none is called without need.
pub trait Host {
    /// A header of the request.
    fn request_header(&mut self, name: &str) -> Option<Vec<u8>>;
    /// All headers of the request, with their names in lower case.
    fn request_headers(&mut self) -> Vec<(String, Vec<u8>)>;
    /// Sets a header of the request, in place of all of its name.
    fn set_request_header(&mut self, name: &str, value: &[u8]);
    /// Takes a header out of the request.
    fn remove_request_header(&mut self, name: &str);
    /// A header of the answer.
    fn response_header(&mut self, name: &str) -> Option<Vec<u8>>;
    /// Sets a header of the answer.
    fn set_response_header(&mut self, name: &str, value: &[u8]);
    /// An attribute of Envoy, such as `connection.mtls`, as the bytes that Envoy gives.
    fn attribute(&mut self, path: &[&str]) -> Option<Vec<u8>>;
    /// The time since 1970.
    fn now(&mut self) -> Nanos;
    /// What workers share under a key.
    fn shared(&mut self, key: &str) -> Option<Vec<u8>>;
    /// Shares something under a key; the last that is written stays.
    fn set_shared(&mut self, key: &str, value: &[u8]);
}
