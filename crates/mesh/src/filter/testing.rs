//! A host made of maps.

use std::collections::BTreeMap;

use damper_control::Nanos;

use super::host::Host;

#[derive(Clone, Debug, Default)]
pub(super) struct Fake {
    pub(super) request: Vec<(String, Vec<u8>)>,
    pub(super) response: Vec<(String, Vec<u8>)>,
    pub(super) attributes: BTreeMap<String, Vec<u8>>,
    pub(super) shared: BTreeMap<String, Vec<u8>>,
    pub(super) now: Nanos,
    /// How often the host was asked.
    pub(super) calls: usize,
}

impl Fake {
    pub(super) fn asked(headers: &[(&str, &str)]) -> Self {
        Self { request: owned(headers), ..Self::default() }
    }

    pub(super) fn answered(&mut self, headers: &[(&str, &str)]) -> &mut Self {
        self.response = owned(headers);
        self
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        find(&self.request, name).map(|value| std::str::from_utf8(value).unwrap())
    }
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

fn find<'a>(headers: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a [u8]> {
    headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_slice())
}

fn put(headers: &mut Vec<(String, Vec<u8>)>, name: &str, value: &[u8]) {
    headers.retain(|(n, _)| n != name);
    headers.push((name.to_owned(), value.to_vec()));
}

impl Host for Fake {
    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.calls += 1;
        find(&self.request, name).map(<[u8]>::to_vec)
    }

    fn request_headers(&mut self) -> Vec<(String, Vec<u8>)> {
        self.calls += 1;
        self.request.clone()
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) {
        self.calls += 1;
        put(&mut self.request, name, value);
    }

    fn remove_request_header(&mut self, name: &str) {
        self.calls += 1;
        self.request.retain(|(n, _)| n != name);
    }

    fn response_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.calls += 1;
        find(&self.response, name).map(<[u8]>::to_vec)
    }

    fn set_response_header(&mut self, name: &str, value: &[u8]) {
        self.calls += 1;
        put(&mut self.response, name, value);
    }

    fn attribute(&mut self, path: &[&str]) -> Option<Vec<u8>> {
        self.calls += 1;
        self.attributes.get(&path.join(".")).cloned()
    }

    fn now(&mut self) -> Nanos {
        self.calls += 1;
        self.now
    }

    fn shared(&mut self, key: &str) -> Option<Vec<u8>> {
        self.calls += 1;
        self.shared.get(key).cloned()
    }

    fn set_shared(&mut self, key: &str, value: &[u8]) {
        self.calls += 1;
        self.shared.insert(key.to_owned(), value.to_vec());
    }
}
