//! Load: when requests are sent, what is sent, what callers do when it goes wrong, and how it ended.

mod caller;
mod client;
mod clock;
mod end;
mod engine;
mod file;
mod grpc;
mod http1;
mod import;
mod request;
mod run;
mod schedule;
mod send;
mod tally;
mod target;
mod text;
mod timeline;
mod tls;

pub use caller::{Caller, Matched};
pub use end::AttemptEnd;
pub use file::{BadKind, Checks, NoDescriptors};
pub use grpc::{BadCall, BadDescriptors, Methods, NoReflection, Received, Takes, reflect};
pub(crate) use import::is_secret;
pub use import::{BadImport, Imported, Recorded, from_curl, from_har};
pub use request::{Request, header};
pub use run::{Job, Live, Snapshot, start, start_observed};
pub use schedule::{Arrival, Pattern, Schedule, Stream, Tuning};
pub use send::{Ask, Bounds, Error, Observe, Sending, send, send_observed};
pub use tally::{End, Row, Summary, Tally};
pub use target::{Named, NotOurs, Permit, Protocol, Refused, Target};
pub use text::{BadText, PLACEHOLDERS, Text};
pub use timeline::{Interval, Timeline};
pub use tls::{Tls, TlsError, Trust};
