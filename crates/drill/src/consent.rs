//! Who may be drilled: this machine's loopback interface, and hosts that the plan gives an owner
//! and somebody confirms by name.

use std::net::IpAddr;

use damper_system::{Drill, Url};

use crate::places::named;

/// That a plan may be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Hosts outside loopback, each with its owner.
    pub hosts: Vec<(String, String)>,
}

/// A plan goes somewhere that nobody has agreed to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConfirmed {
    /// The plan gives a host no owner.
    #[error(
        "{url} ({what}) is outside this machine's loopback interface: add its owner to the plan, \
         `owners: {{\"{host}\": WHO}}`, and confirm it with --confirm {host}"
    )]
    NoOwner {
        /// The address.
        url: String,
        /// What it is for.
        what: &'static str,
        /// Its host.
        host: String,
    },
    /// Nobody has confirmed a host.
    #[error(
        "{url} ({what}) belongs to {owner}: if they know of this drill, confirm it with \
         --confirm {host}"
    )]
    NotConfirmed {
        /// The address.
        url: String,
        /// What it is for.
        what: &'static str,
        /// Its host.
        host: String,
        /// Its owner.
        owner: String,
    },
}

impl Consent {
    /// What the plan and those who start it agree to.
    ///
    /// # Errors
    /// An address outside loopback without an owner, or without confirmation.
    pub fn of(drill: &Drill, confirmed: &[String]) -> Result<Self, NotConfirmed> {
        let mut hosts: Vec<(String, String)> = Vec::new();
        for (what, url) in named(drill) {
            if url.is_loopback() {
                continue;
            }
            let host = url.host.clone();
            let same = |name: &str| name.eq_ignore_ascii_case(&host);
            let owner = drill.owners.iter().find(|(name, _)| same(name));
            let Some((_, owner)) = owner else {
                return Err(NotConfirmed::NoOwner { url: url.to_string(), what, host });
            };
            if !confirmed.iter().any(|name| same(name)) {
                let owner = owner.clone();
                return Err(NotConfirmed::NotConfirmed { url: url.to_string(), what, host, owner });
            }
            if !hosts.iter().any(|(known, _)| *known == host) {
                hosts.push((host, owner.clone()));
            }
        }
        Ok(Self { hosts })
    }

    /// Whether load may go to an address of this host.
    pub(crate) fn covers(&self, url: &Url, address: IpAddr) -> bool {
        address.is_loopback() || self.hosts.iter().any(|(host, _)| *host == url.host)
    }
}

#[cfg(test)]
mod tests {
    use damper_system::DrillFile;

    use super::*;

    fn drill(target: &str, rest: &str) -> Drill {
        let text = format!(
            "
drill: 1
target: {target}
load: 10/s
phases: [{{load: 100%}}, {{hold: 1s}}]
{rest}
"
        );
        DrillFile::parse("t", &text).unwrap().lower().unwrap()
    }

    #[test]
    fn loopback_needs_nobody() {
        let drill = drill("http://127.0.0.1:8080/", "");
        assert_eq!(Consent::of(&drill, &[]), Ok(Consent { hosts: Vec::new() }));
    }

    #[test]
    fn others_need_an_owner_and_a_confirmation() {
        let confirmed = ["shop.example.org".to_owned()];
        let without = drill("http://shop.example.org/", "");
        let refused = Consent::of(&without, &confirmed).unwrap_err();
        assert!(matches!(refused, NotConfirmed::NoOwner { .. }), "{refused}");
        let owned = drill("http://shop.example.org/", "owners: {shop.example.org: the shop team}");
        let refused = Consent::of(&owned, &["other.example.org".to_owned()]).unwrap_err();
        assert!(refused.to_string().contains("--confirm shop.example.org"), "{refused}");
        assert_eq!(Consent::of(&owned, &confirmed).unwrap().hosts.len(), 1);
    }

    #[test]
    fn ports_of_commands_count_as_well() {
        let rest = "triggers: {t: {envoy: 'http://10.0.0.1:9901', abort: 503}}";
        let refused = Consent::of(&drill("http://localhost:80/", rest), &[]).unwrap_err();
        assert!(refused.to_string().contains("a trigger"), "{refused}");
    }
}
