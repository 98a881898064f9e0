//! The operator's lever at the door of a server: what is said to it, in the form that the admin
//! port of the sidecar takes, too.

use damper_control::Nanos;
use damper_control::lever::{Action, ClassSet, Level, Ramp};
use damper_system::quantity::{level, span};
use serde::{Deserialize, Serialize};

/// One pull, as the body of `POST /lever` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pull {
    /// `open`, `pause`, `throttle` or `ramp`.
    pub action: String,
    /// At whose door: a service, or `client`. Left out: at that of every server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<String>,
    /// For which classes; none: for all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Throttle and ramp: the share `30%` or the rate `50/s` that is let in, in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Ramp: where it begins; left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Ramp: how long it takes, `60s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Opens again by itself after this long.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<String>,
    /// Who pulls.
    pub who: String,
    /// Why.
    pub why: String,
}

/// The same, understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Understood {
    pub(crate) action: Action,
    pub(crate) classes: ClassSet,
    /// Opens again by itself after this long.
    pub(crate) lasts: Option<Nanos>,
}

impl Pull {
    /// What is meant, for a system of these classes.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn understand(&self, classes: &[String]) -> Result<Understood, String> {
        if self.who.trim().is_empty() || self.why.trim().is_empty() {
            return Err("`who` and `why` must say who pulls it and why".to_owned());
        }
        let mut set = if self.classes.is_empty() { ClassSet::ALL } else { ClassSet::NONE };
        for name in &self.classes {
            let Some(at) = classes.iter().position(|class| class == name) else {
                let known = classes.join(", ");
                return Err(format!("no class is called `{name}`: there are {known}"));
            };
            set = set.with(ClassSet::of(at as u8));
        }
        let to = self.to.as_deref();
        let needed = |key: &str| format!("`{}` needs `{key}`", self.action);
        let action = match self.action.as_str() {
            "open" => Action::Open,
            "pause" => Action::Pause,
            "hold" => Action::Hold,
            "throttle" => Action::Throttle(level(to.ok_or_else(|| needed("to"))?)?),
            "ramp" => {
                let to = level(to.ok_or_else(|| needed("to"))?)?;
                let from = match (&self.from, to) {
                    (Some(from), _) => level(from)?,
                    (None, Level::Share(_)) => Level::Share(0.0),
                    (None, Level::Rate(_)) => Level::Rate(0.0),
                };
                let over = time(self.over.as_deref().ok_or_else(|| needed("over"))?)?;
                Action::Ramp(Ramp { from, to, over, steps: 0 })
            }
            other => {
                return Err(format!(
                    "`{other}` is no action: there are open, pause, throttle, ramp and hold"
                ));
            }
        };
        let lasts = self.lasts.as_deref().map(time).transpose()?;
        Ok(Understood { action, classes: set, lasts })
    }
}

/// At most a day: an emulation does not last longer.
fn time(text: &str) -> Result<Nanos, String> {
    let time = span(text)?;
    if time > Nanos::from_secs(86_400) {
        return Err(format!("`{text}`: the time ends at a day"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understand(json: &str) -> Result<Understood, String> {
        let pull: Pull = serde_json::from_str(json).map_err(|e| e.to_string())?;
        pull.understand(&["high".to_owned(), "low".to_owned()])
    }

    #[test]
    fn pulls() {
        let of = |rest: &str| understand(&format!("{{\"who\": \"a\", \"why\": \"b\", {rest}}}"));
        assert_eq!(of("\"action\": \"pause\"").unwrap().action, Action::Pause);
        let low = of("\"action\": \"throttle\", \"classes\": [\"low\"], \"to\": \"30%\"").unwrap();
        assert_eq!(
            (low.action, low.classes),
            (Action::Throttle(Level::Share(0.3)), ClassSet::of(1))
        );
        let ramp =
            of("\"action\": \"ramp\", \"to\": \"50/s\", \"over\": \"1min\", \"for\": \"5m\"");
        let ramp = ramp.unwrap();
        let over = Nanos::from_secs(60);
        let (from, to) = (Level::Rate(0.0), Level::Rate(50.0));
        assert_eq!(ramp.action, Action::Ramp(Ramp { from, to, over, steps: 0 }));
        assert_eq!(ramp.lasts, Some(Nanos::from_secs(300)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (json, word) in [
            ("{\"action\": \"pause\", \"who\": \"\", \"why\": \"x\"}", "who"),
            ("{\"action\": \"throttle\", \"who\": \"a\", \"why\": \"x\"}", "needs `to`"),
            ("{\"action\": \"throttle\", \"to\": \"200%\", \"who\": \"a\", \"why\": \"x\"}", "30%"),
            ("{\"action\": \"jump\", \"who\": \"a\", \"why\": \"x\"}", "no action"),
            (
                "{\"action\": \"open\", \"classes\": [\"hihg\"], \"who\": \"a\", \"why\": \"x\"}",
                "high, low",
            ),
            ("{\"action\": \"open\", \"too\": \"1%\", \"who\": \"a\", \"why\": \"x\"}", "too"),
        ] {
            let why = understand(json).unwrap_err();
            assert!(why.contains(word), "{json}: {why}");
        }
    }
}
