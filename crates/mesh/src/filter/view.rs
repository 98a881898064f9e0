//! The headers of a request, fetched one by one or all at once, whichever is cheaper.

use super::host::Host;

/// After so many single headers all are fetched: a header costs two changes of the virtual machine,
/// all of them cost two and a copy.
const MOST_SINGLE: u32 = 2;

/// The headers of a request.
pub(super) struct View<'a, H> {
    pub(super) host: &'a mut H,
    all: Option<Vec<(String, Vec<u8>)>>,
    single: u32,
}

impl<'a, H: Host> View<'a, H> {
    pub(super) fn new(host: &'a mut H) -> Self {
        Self { host, all: None, single: 0 }
    }

    /// All headers.
    pub(super) fn all(&mut self) -> &[(String, Vec<u8>)] {
        self.all.get_or_insert_with(|| self.host.request_headers())
    }

    /// A header.
    pub(super) fn get(&mut self, name: &str) -> Option<Vec<u8>> {
        if self.all.is_none() && self.single < MOST_SINGLE {
            self.single += 1;
            return self.host.request_header(name);
        }
        self.all().iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
    }

    /// A header that is a list: all of its values, separated by commas. Envoy gives only the first of
    /// several headers of a name, and sets one in place of them all.
    pub(super) fn list(&mut self, name: &str) -> Option<Vec<u8>> {
        let mut values = self.all().iter().filter(|(n, _)| n == name).map(|(_, value)| value);
        let mut list = values.next()?.clone();
        for value in values {
            list.push(b',');
            list.extend_from_slice(value);
        }
        Some(list)
    }

    /// Sets a header.
    pub(super) fn set(&mut self, name: &str, value: &[u8]) {
        self.host.set_request_header(name, value);
        if let Some(all) = &mut self.all {
            all.retain(|(n, _)| n != name);
            all.push((name.to_owned(), value.to_vec()));
        }
    }

    /// Takes a header out.
    pub(super) fn remove(&mut self, name: &str) {
        self.host.remove_request_header(name);
        if let Some(all) = &mut self.all {
            all.retain(|(n, _)| n != name);
        }
    }
}
