//! Drills on systems of one's own: load, something that goes wrong, the recovery, the lever.
//!
//! A closed loop sends the next request when the last one has been answered: a server that slows
//! down slows its own load, and the worst waits are never measured. Here arrivals are drawn ahead
//! of time ([`load::Schedule`]), each request is sent at its instant whatever became of the
//! others ([`load::send`]), and its latency counts from that instant.
//!
//! A plan ([`damper_system::Drill`]) becomes acts: requests and commands that can be printed
//! before any is done ([`dry_run`]), and undone however a drill ends ([`Ledger`], [`keep`]).
//! [`run()`] goes through the phases of a plan, [`search()`] finds the load or the trigger from
//! which the system still recovers. What came of it is a
//! [record](damper_report::result::drill::Drill).
//!
//! Load is dangerous: it has bounds on everything, and goes to the loopback interface unless the
//! plan names an owner and somebody confirms the host by name ([`Consent`]).
#![allow(clippy::disallowed_types, reason = "load is sent in real time")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod act;
mod bisect;
mod changes;
mod consent;
mod dry;
mod judge;
mod lever;
mod live;
pub mod load;
mod metric;
mod outcome;
mod places;
mod run;
mod search;
mod series;
mod trigger;
mod undo;
mod words;

pub use act::{Act, ActError, Check};
pub use bisect::{Bisection, Tried};
pub use changes::{changes, last_of, remember};
pub use consent::{Consent, NotConfirmed};
pub use dry::dry_run;
pub use places::{Emulated, Places};
pub use run::{Drilling, Ended, Error, People, Run, run};
pub use search::{Searched, search};
pub use undo::{Keeper, Ledger, Undo, keep, lift};
