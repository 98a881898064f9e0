//! What the parent and its servers say to each other: one JSON value a line, orders on the
//! server's input and answers on its output. The end of the input is the end of the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::lever::Pull;
use crate::trigger::Condition;

/// To a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// Where callees are, by name.
    Peers(BTreeMap<String, u16>),
    /// How it fares from now on.
    Condition(Condition),
    /// Its lever is pulled.
    Lever(Pull),
    /// Asks for what it has counted.
    Counts,
}

/// From a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Said {
    /// It listens on this port.
    Ready(u16),
    /// It has done what it was told.
    Done,
    /// What it has counted.
    Counts(Counts),
}

/// A value as a line.
pub(crate) fn line<T: Serialize>(value: &T) -> std::io::Result<String> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    Ok(line)
}
