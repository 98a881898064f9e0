//! What an operator asks of the lever, as it comes over the admin port.

use damper_control::lever::{Action, ClassSet, Level, Ramp};
use damper_system::quantity::{level, span};
use serde::{Deserialize, Serialize};

use crate::hop::Hop;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// Lets everything in.
    Open,
    /// Lets in `to`.
    Throttle,
    /// Lets nothing in.
    Pause,
    /// Goes `from` one level `to` another, `over` some time.
    Ramp,
    /// Stops a ramp where it is.
    Hold,
}

/// A pull of the lever: the body of `POST /lever`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pull {
    /// What to do.
    pub action: Word,
    /// At which hop; `all`: at all. Nothing: at the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<String>,
    /// For which classes; none: for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// For one caller alone, by the value of the header that tells callers apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// A share such as `30%` or a rate such as `50/s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Where a ramp begins. Nothing: at what is let in now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How long a ramp takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// In how many equal steps a ramp goes; nothing: evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u16>,
    /// After what time it reverts by itself to where it was.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<String>,
    /// Who pulls.
    pub who: String,
    /// Why.
    pub why: String,
}

impl Pull {
    /// What Damper notes that it did itself.
    pub(super) fn own(classes: Vec<String>, caller: Option<String>, why: String) -> Self {
        Self {
            action: Word::Open,
            hop: None,
            classes,
            caller,
            to: None,
            from: None,
            over: None,
            steps: None,
            lasts: None,
            who: "damper".to_owned(),
            why,
        }
    }

    /// The classes of a hop that it names.
    ///
    /// # Errors
    /// The hop has no such class.
    pub(super) fn classes(&self, hop: &Hop) -> Result<ClassSet, String> {
        if self.classes.is_empty() || self.classes == ["all"] {
            return Ok(ClassSet::ALL);
        }
        let mut set = ClassSet::NONE;
        for class in &self.classes {
            let at = hop.classes().iter().position(|name| name == class);
            let Some(at) = at.and_then(|at| u8::try_from(at).ok()) else {
                let known = hop.classes().join(", ");
                return Err(format!("`{}` has no class `{class}`; it has {known}", hop.name()));
            };
            set = set.with(ClassSet::of(at));
        }
        // Who names them all means all: what is beyond the last class is taken for the last.
        let all = (0u8..).zip(hop.classes()).all(|(at, _)| set.contains(at));
        Ok(if all { ClassSet::ALL } else { set })
    }

    /// What is to be done, where `now` is let in now.
    ///
    /// # Errors
    /// Something is missing, too much, or no quantity.
    pub(super) fn action(&self, now: Level) -> Result<Action, String> {
        let wants = |given: bool, key: &str, wanted: bool| match (given, wanted) {
            (true, false) => Err(format!("{} takes no `{key}`", self.verb())),
            _ => Ok(()),
        };
        let ramp = self.action == Word::Ramp;
        wants(self.to.is_some(), "to", ramp || self.action == Word::Throttle)?;
        wants(self.from.is_some(), "from", ramp)?;
        wants(self.over.is_some(), "over", ramp)?;
        wants(self.steps.is_some(), "steps", ramp)?;
        let needs = |value: &Option<String>, key: &str, like: &str| {
            value.clone().ok_or_else(|| format!("{} needs `{key}`, such as {like}", self.verb()))
        };
        Ok(match self.action {
            Word::Open => Action::Open,
            Word::Pause => Action::Pause,
            Word::Hold => Action::Hold,
            Word::Throttle => match level(&needs(&self.to, "to", "30% or 50/s")?)? {
                Level::Share(0.0) | Level::Rate(0.0) => {
                    return Err("to let nothing in, say `pause`".to_owned());
                }
                level => Action::Throttle(level),
            },
            Word::Ramp => {
                let to = level(&needs(&self.to, "to", "100%")?)?;
                let over = span(&needs(&self.over, "over", "5min")?)?;
                let from = self.from.as_deref().map_or(Ok(now), level)?;
                if std::mem::discriminant(&from) != std::mem::discriminant(&to) {
                    return Err(format!(
                        "a ramp goes from a share to a share or from a rate to a rate; it would \
                         begin at {}: say `from`",
                        crate::observe::view::level(from)
                    ));
                }
                Action::Ramp(Ramp { from, to, over, steps: self.steps.unwrap_or(0) })
            }
        })
    }

    const fn verb(&self) -> &'static str {
        match self.action {
            Word::Open => "open",
            Word::Throttle => "throttle",
            Word::Pause => "pause",
            Word::Ramp => "ramp",
            Word::Hold => "hold",
        }
    }

    /// In words: `throttle to 30%`.
    pub(super) fn words(&self, action: Action) -> String {
        use crate::observe::view::level;
        match action {
            Action::Throttle(to) => format!("throttle to {}", level(to)),
            Action::Ramp(ramp) => {
                let (from, to) = (level(ramp.from), level(ramp.to));
                let over = self.over.as_deref().unwrap_or_default();
                format!("ramp from {from} to {to} over {over}")
            }
            _ => self.verb().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Direction;
    use damper_control::Nanos;

    pub(in crate::admin) fn pull(json: serde_json::Value) -> Pull {
        let mut json = json;
        json["who"] = "ann".into();
        json["why"] = "test".into();
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn actions_from_json() {
        let open = Level::Share(1.0);
        let action = |json| pull(json).action(open);
        assert_eq!(action(serde_json::json!({"action": "open"})), Ok(Action::Open));
        assert_eq!(
            action(serde_json::json!({"action": "throttle", "to": "30%"})),
            Ok(Action::Throttle(Level::Share(0.3)))
        );
        let ramp = |from, to, over, steps| Action::Ramp(Ramp { from, to, over, steps });
        assert_eq!(
            action(serde_json::json!({"action": "ramp", "to": "10%", "over": "5m"})),
            Ok(ramp(open, Level::Share(0.1), Nanos::from_secs(300), 0))
        );
        assert_eq!(
            action(serde_json::json!(
                {"action": "ramp", "from": "5/s", "to": "50/s", "over": "60s", "steps": 3}
            )),
            Ok(ramp(Level::Rate(5.0), Level::Rate(50.0), Nanos::from_secs(60), 3))
        );
        for (json, part) in [
            (serde_json::json!({"action": "throttle"}), "throttle needs `to`"),
            (serde_json::json!({"action": "throttle", "to": "0%"}), "say `pause`"),
            (serde_json::json!({"action": "throttle", "to": "50"}), "neither a share"),
            (serde_json::json!({"action": "throttle", "to": "50/x"}), "not a rate"),
            (serde_json::json!({"action": "pause", "to": "50/s"}), "pause takes no `to`"),
            (serde_json::json!({"action": "ramp", "to": "50/s", "over": "1m"}), "say `from`"),
            (serde_json::json!({"action": "ramp", "to": "50%", "over": "0s"}), "longer than 0"),
            (serde_json::json!({"action": "ramp", "to": "50%", "over": "9000h"}), "10_000_000s"),
        ] {
            let error = pull(json.clone()).action(open).unwrap_err();
            assert!(error.contains(part), "{json}: {error}");
        }
        let more = serde_json::json!({"action": "open", "who": "a", "why": "b", "x": 1});
        assert!(serde_json::from_value::<Pull>(more).is_err(), "unknown keys are refused");
    }

    #[test]
    fn classes_by_name() {
        let hop = Hop::new("db", Direction::Inbound, vec!["high".into(), "low".into()]);
        let classes = |names: &[&str]| {
            pull(serde_json::json!({"action": "open", "classes": names})).classes(&hop)
        };
        assert_eq!(classes(&[]), Ok(ClassSet::ALL));
        assert_eq!(classes(&["all"]), Ok(ClassSet::ALL));
        assert_eq!(classes(&["low"]), Ok(ClassSet::of(1)));
        assert_eq!(classes(&["low", "high"]), Ok(ClassSet::ALL), "and nothing stays pending");
        assert_eq!(
            classes(&["middle"]).unwrap_err(),
            "`db` has no class `middle`; it has high, low"
        );
    }
}
