//! What operators see: rates over a window, the state of a hop, the text that Prometheus scrapes,
//! and the log.

mod collect;
pub mod gain;
pub mod log;
pub mod otlp;
pub mod process;
pub mod prometheus;
pub mod span;
pub mod state;
pub mod totals;
pub mod view;
pub mod wall;
pub mod watch;

pub use collect::{FAMILIES, Family};
pub use log::{Format, Kind, Line, Log};
pub use state::State;
pub use view::{ClassView, HopView, LeverView};
pub use watch::Watch;
