//! Whose request it is: its class, its flow, its deadline.

use std::sync::Arc;

use damper_control::{Nanos, Who};
use http::header::{HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::clock;
use crate::headers;
use crate::propagate::context;

/// The priority class of a request, as an extension; 0 is the highest. It wins over the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(pub u8);

/// Whom a request comes from (a user, a tenant, a client), as an extension: equal for all
/// requests of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow(pub u64);

impl Flow {
    /// The flow of requests whose [header](ByHeader::with_flow) has this value.
    #[must_use]
    pub fn named(value: &[u8]) -> Self {
        Self(hash(value))
    }
}

/// When nobody waits for the reply any more, as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Instant);

/// Whether doing the call twice is like doing it once, as an extension. Without it the method
/// decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotent(pub bool);

/// Tells whose request it is.
pub trait Identify<Req> {
    /// Its class and flow.
    fn who(&self, request: &Req) -> Who;

    /// Its deadline, as the controls count time.
    fn deadline(&self, request: &Req) -> Option<Nanos>;

    /// How a class is written for the next hop: its name where names are known, otherwise its
    /// number.
    fn class_value(&self, class: u8) -> HeaderValue {
        HeaderValue::from(u16::from(class))
    }
}

/// The same class for every request, of whatever type, and no deadline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everyone(pub u8);

impl<Req> Identify<Req> for Everyone {
    fn who(&self, _: &Req) -> Who {
        Who::of(self.0)
    }

    fn deadline(&self, _: &Req) -> Option<Nanos> {
        None
    }
}

/// The name of a class.
#[derive(Clone, Debug)]
struct Name {
    text: Box<str>,
    /// As a header has it; `None`: whoever reads it would not find this class.
    value: Option<HeaderValue>,
}

/// Reads an HTTP request: its extensions first, then its headers, then the [`context`] of the
/// request that is being served.
#[derive(Clone, Debug)]
pub struct ByHeader {
    default: u8,
    names: Arc<[Name]>,
    flow: Option<HeaderName>,
    rank: Option<HeaderName>,
    trusted: bool,
}

impl Default for ByHeader {
    fn default() -> Self {
        Self { default: 0, names: Arc::from([]), flow: None, rank: None, trusted: true }
    }
}

impl ByHeader {
    /// The class of a request that does not say one, or not one that can be read.
    #[must_use]
    pub fn with_default(self, class: u8) -> Self {
        Self { default: class, ..self }
    }

    /// Names of the classes, the highest first. A name or a number is read, a name is written. (A
    /// class without one, or whose name would be read as another class, is written as its number.)
    #[must_use]
    pub fn with_names<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(|text| Name { text: text.into(), value: None });
        let mut by = Self { names: names.collect(), ..self };
        let values = by.names.iter().enumerate().map(|(at, name)| {
            let value = HeaderValue::from_str(&name.text).ok();
            let value = value.filter(|value| by.class(value).map(usize::from) == Some(at));
            Name { text: name.text.clone(), value }
        });
        by.names = values.collect();
        by
    }

    /// The header whose value tells the flows apart.
    #[must_use]
    pub fn with_flow(self, header: HeaderName) -> Self {
        Self { flow: Some(header), ..self }
    }

    /// The header with a user's rank among those of its class, as [`headers::user`] reads it.
    #[must_use]
    pub fn with_rank(self, header: HeaderName) -> Self {
        Self { rank: Some(header), ..self }
    }

    /// Does not look at headers: for callers who could give themselves the highest class.
    #[must_use]
    pub fn untrusted(self) -> Self {
        Self { trusted: false, ..self }
    }

    fn class(&self, value: &HeaderValue) -> Option<u8> {
        let text = value.as_bytes().trim_ascii();
        match headers::number(text) {
            Some(number) => u8::try_from(number).ok(),
            None => {
                let named = self.names.iter().position(|name| name.text.as_bytes() == text);
                named.and_then(|at| u8::try_from(at).ok())
            }
        }
    }
}

/// FNV-1a, bounded by the header limits of whatever server there is.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl<B> Identify<http::Request<B>> for ByHeader {
    fn who(&self, request: &http::Request<B>) -> Who {
        let (extensions, map) = (request.extensions(), request.headers());
        let by_header = || {
            let value = map.get(headers::CLASS).filter(|_| self.trusted);
            value.and_then(|value| self.class(value))
        };
        let class = extensions
            .get::<Class>()
            .map(|class| class.0)
            .or_else(by_header)
            .or_else(|| context().and_then(|c| c.class))
            .unwrap_or(self.default);
        let flow = extensions.get::<Flow>().map(|flow| flow.0);
        let by_header = || self.flow.as_ref().and_then(|name| map.get(name));
        let flow = flow.or_else(|| by_header().map(|v| hash(v.as_bytes()))).unwrap_or(0);
        let rank = self.rank.as_ref().filter(|_| self.trusted).and_then(|name| map.get(name));
        Who { class, flow, user: rank.and_then(|value| headers::user(value.as_bytes())) }
    }

    fn deadline(&self, request: &http::Request<B>) -> Option<Nanos> {
        let set = request.extensions().get::<Deadline>().map(|d| clock::nanos(d.0));
        let told = headers::time_left(request.headers()).map(|left| clock::now() + left);
        // Every hop keeps to the earlier one: an attempt may have less time than its call.
        match (set, told) {
            (Some(set), Some(told)) => Some(set.min(told)),
            (set, told) => set.or(told).or_else(|| context().and_then(|c| c.deadline)),
        }
    }

    fn class_value(&self, class: u8) -> HeaderValue {
        let name = self.names.get(usize::from(class)).and_then(|name| name.value.clone());
        name.unwrap_or_else(|| HeaderValue::from(u16::from(class)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn with(name: HeaderName, value: &'static str) -> http::Request<()> {
        let mut request = http::Request::new(());
        request.headers_mut().insert(name, HeaderValue::from_static(value));
        request
    }

    #[test]
    fn classes_are_numbers_or_names_and_anything_else_is_the_default() {
        let by = ByHeader::default().with_default(3).with_names(["high", "low"]);
        for (value, class) in [
            ("0", 0),
            ("2", 2),
            (" low ", 1),
            ("high", 0),
            ("none", 3),
            ("256", 3),
            ("-1", 3),
            ("99999999999999999999999", 3),
        ] {
            assert_eq!(by.who(&with(headers::CLASS, value)).class, class, "{value}");
        }
        let forged = with(headers::CLASS, "0");
        assert_eq!(by.clone().untrusted().who(&forged).class, 3);
        let mut set = forged;
        set.extensions_mut().insert(Class(5));
        assert_eq!(by.untrusted().who(&set).class, 5);
    }

    #[test]
    fn a_class_is_written_as_the_name_that_is_read_as_it() {
        let write = |by: &ByHeader, class| Identify::<http::Request<()>>::class_value(by, class);
        // The third is the number of another class, the fourth was there before, the fifth is
        // none that a header can have.
        let by = ByHeader::default().with_names(["high", "low", "0", "low", "a\nb"]);
        for (class, value) in [(0, "high"), (1, "low"), (2, "2"), (3, "3"), (4, "4"), (9, "9")] {
            let written = write(&by, class);
            assert_eq!(written, value);
            assert_eq!(by.class(&written), Some(class), "it is read as it was meant");
        }
        assert_eq!(write(&ByHeader::default(), 0), "0", "no names are known");
    }

    #[test]
    fn flows_come_from_their_header() {
        let by = ByHeader::default().with_flow(HeaderName::from_static("x-tenant"));
        let who = |v| Identify::who(&by, &with(HeaderName::from_static("x-tenant"), v)).flow;
        assert_eq!(who("a"), who("a"));
        assert_eq!(Flow(who("a")), Flow::named(b"a"));
        assert_ne!(who("a"), who("b"));
    }

    #[test]
    fn ranks_are_bounded_and_of_those_that_are_believed() {
        let rank = HeaderName::from_static("x-rank");
        let by = ByHeader::default().with_rank(rank.clone());
        for (value, user) in [
            ("0", Some(0)),
            (" 127 ", Some(127)),
            ("128", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(by.who(&with(rank.clone(), value)).user, user, "{value:?}");
        }
        assert_eq!(by.untrusted().who(&with(rank.clone(), "0")).user, None);
        assert_eq!(ByHeader::default().who(&with(rank, "0")).user, None, "it is not looked for");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_deadline_counts() {
        let by = ByHeader::default();
        let mut request = with(headers::DEADLINE, "100");
        assert_eq!(by.deadline(&request), Some(clock::now() + Nanos::from_millis(100)));
        for (left, earlier) in [(30, 30), (300, 100)] {
            let at = |left| Instant::now() + Duration::from_millis(left);
            request.extensions_mut().insert(Deadline(at(left)));
            assert_eq!(by.deadline(&request), Some(clock::nanos(at(earlier))));
        }
    }
}
