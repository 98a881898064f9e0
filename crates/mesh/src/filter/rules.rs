//! A configuration made ready for requests: names are numbers, and what is sent is text already.

mod policy;

use std::net::IpAddr;

use damper_control::Nanos;
use damper_control::lever::{Action, Change, ClassSet, Level, Lever, Ramp};

use super::account::Account;
use super::check::ONLY_CLASS;
use super::config::{Config, Lever as Pull, Match, Position, Trust, TrustWord};
use super::headers;
use super::memory::{Memory, hash};
use super::trust::Source;
pub(super) use policy::Policy;

/// A configuration made ready.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) position: Position,
    pub(super) classes: Vec<String>,
    pub(super) default_class: u8,
    pub(super) header: String,
    pub(super) baggage: Option<String>,
    pub(super) memory: Option<Memory>,
    pub(super) matches: Vec<Rule>,
    pub(super) trust: Trusted,
    /// That of what no edge names is the last.
    pub(super) policies: Vec<Policy>,
    /// Destinations, in the order of `policies`.
    pub(super) edges: Vec<Destination>,
    pub(super) deadline: Option<Deadline>,
    /// Whether any policy minds what destinations say about coming back.
    pub(super) pushback: bool,
}

/// Whose word counts.
#[derive(Clone, Debug)]
pub(super) enum Trusted {
    Nobody,
    Mesh,
    /// All that comes: the service's own requests, or those of whoever reaches the lever.
    All,
    Sources(Vec<Source>),
}

/// A rule for the class.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) class: u8,
    pub(super) written: Match,
}

/// Where a request goes to.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    host: String,
    path_prefix: Option<String>,
}

/// A deadline that travels, in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    pub(super) header: String,
    pub(super) margin_ms: u64,
    pub(super) default_ms: Option<u64>,
    pub(super) max_ms: u64,
}

impl Rules {
    pub(super) fn new(config: &Config) -> Self {
        let classes = if config.classes.is_empty() {
            vec![ONLY_CLASS.to_owned()]
        } else {
            config.classes.clone()
        };
        let lowest = classes.len() - 1;
        let index = |name: &str| {
            // At most 16 classes, all of them known: the configuration was checked.
            classes.iter().position(|class| class == name).unwrap_or(lowest) as u8
        };
        let policies =
            config.edges.iter().map(|edge| Policy::new(&edge.retry, &config.retry, &classes, true));
        let policies: Vec<Policy> =
            policies.chain([Policy::new(&config.retry, &config.retry, &classes, false)]).collect();
        Self {
            position: config.position,
            default_class: config.default_class.as_deref().map_or(lowest as u8, index),
            header: config.class.header.clone().unwrap_or_else(|| headers::CLASS.to_owned()),
            baggage: config.class.baggage.clone(),
            memory: config.class.remember.as_ref().map(Memory::new),
            matches: config
                .class
                .matches
                .iter()
                .map(|rule| Rule { class: index(&rule.class), written: rule.clone() })
                .collect(),
            trust: trusted(config),
            pushback: policies.iter().any(|policy| policy.pushback),
            policies,
            edges: config
                .edges
                .iter()
                .map(|edge| Destination {
                    host: edge.host.to_ascii_lowercase(),
                    path_prefix: edge.path_prefix.clone(),
                })
                .collect(),
            deadline: config.deadline.as_ref().map(|deadline| Deadline {
                header: deadline.header.clone(),
                margin_ms: deadline.margin_ms.unwrap_or(0).into(),
                default_ms: deadline.default_ms.map(u64::from),
                max_ms: deadline.max_ms.map_or(MOST_MS, u64::from),
            }),
            classes,
        }
    }

    /// A new account for each policy that has a budget.
    pub(super) fn accounts(&self) -> Vec<Option<Account>> {
        self.policies.iter().map(|policy| policy.account.clone()).collect()
    }

    /// The class that a text names.
    pub(super) fn class(&self, name: &[u8]) -> Option<u8> {
        let index = self.classes.iter().position(|class| class.as_bytes() == name)?;
        u8::try_from(index).ok()
    }

    /// The class whose name has this hash.
    pub(super) fn hashed(&self, name: u64) -> Option<u8> {
        let index = self.classes.iter().position(|class| hash(class.as_bytes()) == name)?;
        u8::try_from(index).ok()
    }

    /// The name of a class.
    pub(super) fn name(&self, class: u8) -> &str {
        self.classes.get(usize::from(class)).map_or(ONLY_CLASS, String::as_str)
    }
}

/// Most milliseconds that a deadline may say: a day.
pub(super) const MOST_MS: u64 = 86_400_000;

fn trusted(config: &Config) -> Trusted {
    match (&config.trust, config.position) {
        (Some(Trust::Word(TrustWord::None)), _) | (None, Position::Edge) => Trusted::Nobody,
        (Some(Trust::Sources(all)), _) => {
            Trusted::Sources(all.iter().filter_map(|text| Source::parse(text)).collect())
        }
        // Only what is not written depends on the position.
        (None, Position::Outbound | Position::Lever) => Trusted::All,
        (Some(Trust::Word(TrustWord::Mesh)) | None, _) => Trusted::Mesh,
    }
}

impl Destination {
    /// Whether a request goes there.
    pub(super) fn fits(&self, host: &[u8], path: &[u8]) -> bool {
        host_fits(&self.host, host)
            && self.path_prefix.as_ref().is_none_or(|start| path.starts_with(start.as_bytes()))
    }
}

/// Whether `host`, which may have a port, is what `wanted` says.
pub(super) fn host_fits(wanted: &str, host: &[u8]) -> bool {
    let host = without_port(host);
    match wanted.strip_prefix('*') {
        // `.example`, and something before it.
        Some(end) => {
            host.len() > end.len()
                && host[host.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
        }
        None => host.eq_ignore_ascii_case(wanted.as_bytes()),
    }
}

/// A host without its port.
pub(super) fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|b| *b == b':') {
        // In `[::1]` the last colon is not that of a port.
        Some(colon) if host[colon + 1..].iter().all(u8::is_ascii_digit) => &host[..colon],
        _ => host,
    }
}

/// The lever as it is written; and which classes it can hold back, as bits.
pub(super) fn lever(
    written: &std::collections::BTreeMap<String, Pull>,
    classes: &[String],
    since: Nanos,
) -> (Lever, u16) {
    let (mut lever, mut held) = (Lever::new(), 0);
    for (n, class) in (0_u8..).zip(classes) {
        let Some(position) = written.get(class) else { continue };
        let action = match *position {
            Pull::Throttle(share) if share >= 1.0 => Action::Open,
            Pull::Throttle(share) if share > 0.0 => Action::Throttle(Level::Share(share)),
            Pull::Pause(false) => Action::Open,
            Pull::Throttle(_) | Pull::Pause(true) => Action::Pause,
            Pull::Ramp(ramp) => Action::Ramp(Ramp {
                from: Level::Share(ramp.from),
                to: Level::Share(ramp.to),
                over: Nanos::from_secs(u64::from(ramp.over_s)),
                steps: 0,
            }),
        };
        let change =
            Change { action, classes: ClassSet::of(n), who: "configuration", why: "configuration" };
        // It is valid, or as it was.
        let _ = lever.pull(since, change);
        if action != Action::Open {
            held |= 1 << n;
        }
    }
    (lever, held)
}

impl Trusted {
    /// Whether a source is among these.
    pub(super) fn has(sources: &[Source], address: Option<IpAddr>, id: Option<&str>) -> bool {
        sources.iter().any(|source| {
            address.is_some_and(|address| source.has_address(address))
                || id.is_some_and(|id| source.has_id(id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_without_ports_and_cases() {
        for (wanted, host, fits) in [
            ("shop", "shop", true),
            ("shop", "SHOP:8080", true),
            ("shop", "shopping", false),
            ("*.shop.example", "a.shop.example:80", true),
            ("*.shop.example", "shop.example", false),
            ("[::1]", "[::1]:80", true),
            ("[::1]", "[::1]", true),
        ] {
            assert_eq!(host_fits(wanted, host.as_bytes()), fits, "{wanted} {host}");
        }
    }
}
