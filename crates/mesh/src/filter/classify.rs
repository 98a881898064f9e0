//! Whose word counts, and which class a request has.

use super::baggage;
use super::config::Match;
use super::counters::{Counters, Overall};
use super::headers;
use super::host::Host;
use super::rules::{Rules, Trusted, host_fits};
use super::trust;
use super::view::View;

/// How the class was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The header said so.
    Header,
    /// Something else did.
    Otherwise,
}

/// Longest value of a header that is compared.
const MOST_VALUE: usize = 1024;

/// Whether the word of whoever sent this counts.
pub(super) fn trusted(rules: &Rules, host: &mut impl Host) -> bool {
    match &rules.trust {
        Trusted::All => true,
        Trusted::Nobody => false,
        Trusted::Mesh => {
            host.request_header(headers::INTERNAL).is_some_and(|value| value == b"true")
                || host
                    .attribute(&["connection", "mtls"])
                    .is_some_and(|flag| flag.first() == Some(&1))
        }
        Trusted::Sources(sources) => {
            let text = |bytes: Option<Vec<u8>>| bytes.and_then(|b| String::from_utf8(b).ok());
            let address = text(host.attribute(&["source", "address"]));
            let address = address.as_deref().and_then(trust::address);
            if Trusted::has(sources, address, None) {
                return true;
            }
            let id = text(host.attribute(&["connection", "uri_san_peer_certificate"]));
            Trusted::has(sources, None, id.as_deref())
        }
    }
}

/// Takes out what a stranger may not say.
pub(super) fn distrust<H: Host>(rules: &Rules, view: &mut View<'_, H>, counters: &mut Counters) {
    let own = [Some(rules.header.as_str()), rules.deadline.as_ref().map(|d| d.header.as_str())];
    let protected = |name: &str| {
        headers::PROTECTED.contains(&name) || own.iter().flatten().any(|own| *own == name)
    };
    let mut found: Vec<String> =
        view.all().iter().map(|(name, _)| name.clone()).filter(|name| protected(name)).collect();
    found.sort_unstable();
    found.dedup();
    let mut removed = found.len() as u64;
    for name in &found {
        view.remove(name);
    }
    if let Some(key) = &rules.baggage
        && let Some(header) = view.list(headers::BAGGAGE)
        && (header.len() > baggage::MOST_BYTES || baggage::get(&header, key).is_some())
    {
        removed += 1;
        match baggage::with(&header, key, None) {
            Some(rest) if !rest.is_empty() => view.set(headers::BAGGAGE, &rest),
            _ => view.remove(headers::BAGGAGE),
        }
    }
    if removed > 0 {
        counters.add_overall(Overall::DistrustedRequests, 1);
        counters.add_overall(Overall::DistrustedHeaders, removed);
    }
}

/// The class that the request carries.
pub(super) fn carried<H: Host>(rules: &Rules, view: &mut View<'_, H>) -> Option<(u8, Found)> {
    if let Some(value) = view.get(&rules.header)
        && let Some(class) = rules.class(value.trim_ascii())
    {
        return Some((class, Found::Header));
    }
    let key = rules.baggage.as_ref()?;
    let header = view.list(headers::BAGGAGE)?;
    let class = rules.class(baggage::get(&header, key)?)?;
    Some((class, Found::Otherwise))
}

/// The class that the rules give.
pub(super) fn matched<H: Host>(rules: &Rules, view: &mut View<'_, H>) -> u8 {
    let found = rules.matches.iter().find(|rule| fits(&rule.written, view));
    found.map_or(rules.default_class, |rule| rule.class)
}

fn fits<H: Host>(rule: &Match, view: &mut View<'_, H>) -> bool {
    let mut value = |name: &str| view.get(name).filter(|value| value.len() <= MOST_VALUE * 8);
    rule.path_prefix
        .as_ref()
        .is_none_or(|start| value(":path").is_some_and(|path| path.starts_with(start.as_bytes())))
        && rule
            .method
            .as_ref()
            .is_none_or(|method| value(":method").is_some_and(|found| found == method.as_bytes()))
        && rule
            .host
            .as_ref()
            .is_none_or(|host| value(":authority").is_some_and(|found| host_fits(host, &found)))
        && rule.header.as_ref().is_none_or(|header| {
            value(&header.name).filter(|value| value.len() <= MOST_VALUE).is_some_and(|found| {
                header.exact.as_ref().is_none_or(|exact| found == exact.as_bytes())
                    && header
                        .prefix
                        .as_ref()
                        .is_none_or(|start| found.starts_with(start.as_bytes()))
            })
        })
        && rule.baggage.as_ref().is_none_or(|wanted| {
            view.list(headers::BAGGAGE).is_some_and(|found| {
                baggage::get(&found, &wanted.key) == Some(wanted.exact.as_bytes())
            })
        })
}
