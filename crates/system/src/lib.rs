//! The system file: one YAML file that describes a system, read into [`System`].
//!
//! Everything a file may say is in tables, one for each section. The reader checks against
//! them, [`json_schema`] and the reference in `docs/system-file.md` are printed from them.
//! All mistakes of a file are found in one go; each names its line and column, what stands
//! there, what could stand there, and the nearest right name.
//!
//! ```
//! use damper_system::SystemFile;
//!
//! let text = "
//! damper: 1
//! services: {db: {workers: 3, service_time: 10ms}}
//! load: 270/s
//! requests: {read: {calls: [db]}}
//! policies: {db: {timeout: 1s, retry: {limit: 1}}}
//! ";
//! let mut file = SystemFile::parse("db.yaml", text)?;
//! file.set("services.db.queue=150")?;
//! let system = file.lower()?;
//! assert_eq!(system.services[0].queue, Some(150));
//!
//! let problems = file.set("services.db.queu=1").and_then(|()| file.lower()).unwrap_err();
//! assert!(problems.to_string().contains("did you mean `queue`?"));
//! # Ok::<(), damper_system::Problems>(())
//! ```
//!
//! Limits: 4 MiB and 200,000 values in a file, 16 classes, call trees of 32 levels and
//! 100,000 calls, experiments of 10,000,000 seconds. Nothing panics on any input.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod assign;
pub mod coverage;
mod document;
mod drill;
mod file;
mod files;
pub mod model;
mod node;
mod problem;
pub mod quantity;
mod read;
mod requests;
mod schema;
mod sections;
pub mod sidecar;
mod source;
mod trust;
mod units;
mod yaml;

#[doc(hidden)]
pub use drill::rewrite_drill_tables;
pub use drill::{
    Abort, Believes, Callers, Cause, CauseKind, Ceilings, Drill, DrillFile, Follows, LeverKind,
    Limit, Manner, Metric, MetricKind, Part, Phase, PhaseKind, Place, Plant, Pull, Recovered,
    Requirement, Search, Size, Speaks, Strength, Url, Watched, WorkLever, drill_schema,
};
pub use file::SystemFile;
pub use model::System;
pub use problem::{Problem, Problems, Related, Severity};
pub use read::misspelt;
pub use requests::{BadPlaceholder, BadRequest, Knows, RequestFile, RequestKind};
pub use schema::json::{json_schema, request_schema, sidecar_schema};
#[doc(hidden)]
pub use schema::tables::{rewrite as rewrite_tables, rewrite_sidecar as rewrite_sidecar_tables};
pub use trust::authorities;
