//! Positions of levers over a restart: a process that dies in a storm must not open what a person
//! shut.
//!
//! What is written down is what is held back now, and until when. A ramp goes on from the level that
//! it had reached when this was last written, at most [`EVERY`] before the end: the lever is never
//! more open than it was. What a timed pull would go back to is not written down: it opens.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use damper_control::Nanos;
use damper_control::lever::{Group, Level, Ramp, Setting};
use serde::{Deserialize, Serialize};

use crate::hop::{Hop, Hops};
use crate::observe::view;

/// How often a ramp that is under way is written down.
pub(super) const EVERY: Nanos = Nanos::from_secs(5);
/// Bytes of a file that is read.
const MOST: u64 = 1 << 20;
/// Of this format.
const VERSION: u32 = 1;

/// Where positions are written down.
#[derive(Clone, Debug)]
pub(super) struct File(PathBuf);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    lever: u32,
    pub(super) held: Vec<Held>,
}

/// Classes of a hop that are held back together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) hop: String,
    /// By name; none: all.
    pub(super) classes: Vec<String>,
    /// The one caller, and what it is called if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) caller: Option<(u64, Option<String>)>,
    pub(super) position: Position,
    /// When it opens by itself, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until_s: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Position {
    Paused,
    Throttled(To),
    Ramping { from: To, to: To, over_ms: u64, steps: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum To {
    Share(f64),
    PerSecond(f64),
}

impl From<Level> for To {
    fn from(level: Level) -> Self {
        match level {
            Level::Share(share) => Self::Share(share),
            Level::Rate(rate) => Self::PerSecond(rate),
        }
    }
}

impl From<To> for Level {
    fn from(to: To) -> Self {
        match to {
            To::Share(share) => Self::Share(share),
            To::PerSecond(rate) => Self::Rate(rate),
        }
    }
}

impl From<Setting> for Position {
    fn from(setting: Setting) -> Self {
        match setting {
            Setting::Paused => Self::Paused,
            Setting::Throttled(level) => Self::Throttled(level.into()),
            Setting::Ramping(Ramp { from, to, over, steps }) => Self::Ramping {
                from: from.into(),
                to: to.into(),
                over_ms: over.0.div_ceil(1_000_000),
                steps,
            },
        }
    }
}

impl From<Position> for Setting {
    fn from(position: Position) -> Self {
        match position {
            Position::Paused => Self::Paused,
            Position::Throttled(level) => Self::Throttled(level.into()),
            Position::Ramping { from, to, over_ms, steps } => Self::Ramping(Ramp {
                from: from.into(),
                to: to.into(),
                over: Nanos::from_millis(over_ms.max(1)),
                steps,
            }),
        }
    }
}

impl Held {
    pub(super) fn of(hop: &Hop, group: &Group) -> Self {
        let all = group.classes == damper_control::lever::ClassSet::ALL;
        Self {
            hop: hop.name().to_owned(),
            classes: if all { Vec::new() } else { view::names(hop, group) },
            caller: None,
            position: group.setting.into(),
            until_s: None,
        }
    }
}

/// The hops and the names of their classes, by which positions are written down.
pub(super) fn named(hops: &Hops) -> Vec<(String, Vec<String>)> {
    let hops = hops.list();
    hops.iter().map(|hop| (hop.name().to_owned(), hop.classes().to_vec())).collect()
}

/// Whether anything changes without a pull.
pub(super) fn is_moving(hops: &Hops) -> bool {
    let moving = |groups: Vec<Group>| {
        groups.iter().any(|group| matches!(group.setting, Setting::Ramping(_)))
    };
    hops.list().iter().any(|hop| {
        let lever = hop.lever();
        moving(lever.state().groups)
            || lever.callers().into_iter().any(|flow| moving(lever.state_for(flow).groups))
    })
}

impl File {
    pub(super) fn new(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    /// What was written down. A file that is not there says that nothing is held back.
    pub(super) fn read(&self) -> io::Result<Vec<Held>> {
        use io::Read as _;
        let file = match std::fs::File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text)?;
        let state: State = serde_json::from_slice(&text)?;
        if state.lever != VERSION {
            let what = format!("version {} in place of {VERSION}", state.lever);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(state.held)
    }

    /// Writes it down, for this user alone: the names of callers are in it. Whoever reads meanwhile
    /// has all of what was before.
    pub(super) fn write(&self, held: Vec<Held>) -> io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let new = self.0.with_extension("new");
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        serde_json::to_writer(&mut file, &State { lever: VERSION, held })?;
        file.write_all(b"\n")?;
        // The disk is not waited for: in an outage it may be busy, and whoever pulls waits with it. A
        // process that dies loses nothing by that, a machine that does may.
        std::fs::rename(&new, &self.0)
    }
}

/// Seconds since 1970 in so long.
pub(super) fn seconds_in(span: Duration) -> u64 {
    (crate::observe::wall::since_1970() + span).as_secs()
}

/// How long it is until then; `None`: it is over.
pub(super) fn left(until_s: u64) -> Option<Nanos> {
    let left = Duration::from_secs(until_s).checked_sub(crate::observe::wall::since_1970())?;
    u64::try_from(left.as_nanos()).ok().filter(|left| *left > 0).map(Nanos)
}
