//! What a file says: layers, facts, services and calls.

use serde::Serialize;

use crate::layer::{Budget, Layer, Seat};
use crate::name::Name;

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reading {
    /// The formats that were recognised in it, ids of [`crate::format::FORMATS`].
    pub formats: Vec<&'static str>,
    /// Layers that retry, or that switch retries off.
    pub layers: Vec<Layer>,
    /// What bears on them.
    pub facts: Vec<Fact>,
    /// Services that it names as its own.
    pub services: Vec<Service>,
    /// Who calls whom.
    pub calls: Vec<Call>,
    /// Routes that match headers exactly, whether they say anything about retries or not: requests
    /// with these headers take them and no other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<HeaderRoute>,
    /// Where the code of services is built from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<Build>,
    /// What was not resolved, by line.
    pub open: Vec<(u32, String)>,
    /// What is wrong with the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// A file with mistakes in it: what stands near them was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Whether it looks like configuration that is read here. Of other files nobody wants to hear:
    /// a repository may hold broken ones on purpose.
    pub ours: bool,
    /// The mistakes, by line.
    pub mistakes: Vec<(u32, String)>,
}

/// Something that bears on retries without being one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// First and last line.
    pub lines: [u32; 2],
    /// About whom; `None`: everybody.
    pub about: Option<Name>,
    /// What.
    pub what: What,
}

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A limit or a budget of retries for calls to somebody.
    Retries(Budget),
    /// Requests at once, or waiting; `None`: no limit.
    Requests {
        /// At once.
        active: Option<u64>,
        /// Waiting.
        waiting: Option<u64>,
    },
    /// A queue in front of workers.
    Queue {
        /// Places; `None`: no limit.
        places: Option<u64>,
        /// How long one waits in it at most, in milliseconds.
        wait_ms: Option<f64>,
        /// The caller's timeout beside it, in milliseconds.
        timeout_ms: Option<f64>,
    },
    /// Instances that fail are taken out.
    Ejection {
        /// At most this share of them, in percent.
        max_percent: Option<f64>,
        /// Below this share of healthy ones all are used, in percent; 0: never.
        panic_percent: Option<f64>,
    },
    /// Instances whose health check fails are taken out or started anew.
    HealthCheck {
        /// `liveness` restarts, `readiness` takes out.
        kind: &'static str,
        /// How long an answer may take, in milliseconds.
        timeout_ms: Option<f64>,
    },
    /// Instances are added and removed by load.
    Autoscaling {
        /// What it looks at, such as `cpu`.
        metric: Option<String>,
    },
    /// A rate above which requests are refused, with the status.
    RateLimit {
        /// Requests per second.
        per_s: Option<f64>,
        /// The status of a refusal.
        status: Option<u32>,
    },
    /// A timeout of calls to somebody, in milliseconds, where no layer retries.
    Timeout {
        /// For one attempt.
        attempt_ms: Option<f64>,
        /// Over all.
        overall_ms: Option<f64>,
    },
    /// A key that is written where nothing reads it, or that can never act.
    Inert {
        /// What, and why.
        why: String,
    },
    /// It holds for a part of them only: a subset, a port.
    Part {
        /// Which part, as written.
        part: String,
        /// What holds for it.
        what: Box<What>,
    },
    /// Mesh-wide software is there, whose defaults apply to every call: its format.
    Mesh {
        /// The format whose built-in layer applies.
        format: &'static str,
    },
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Its name.
    pub name: Name,
    /// The line.
    pub line: u32,
    /// Labels that select it, or that it carries.
    pub labels: Vec<(String, String)>,
    /// Instances, where the file says so.
    pub replicas: Option<u32>,
    /// The names of the images that it runs, without registry, folder and tag.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// Where something is built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Build {
    /// The folder, from the root of the scan, with `/`.
    pub folder: String,
    /// The service that it is for, where the file says so.
    pub service: Option<Name>,
    /// The image that it makes, as in [`Service::images`].
    pub image: Option<String>,
}

/// The name of an image without registry, folder and tag; `None`: it is not written out.
#[must_use]
pub fn image_name(image: &str) -> Option<String> {
    let last = image.rsplit('/').next().unwrap_or(image);
    let name = last.split([':', '@']).next().unwrap_or(last);
    (!name.is_empty() && !name.contains(['$', '{', '}'])).then(|| name.to_owned())
}

/// A route for requests with certain headers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeaderRoute {
    /// Whose calls; `None`: everybody's.
    pub caller: Option<Name>,
    /// To whom; `None`: to everybody.
    pub callee: Option<Name>,
    /// Who asks it on the way: calls from outside do not pass the routes of a mesh, and the other way
    /// round.
    pub seat: Seat,
    /// The object it belongs to, as policies name it, such as `HTTPRoute shop/cart`.
    pub object: Option<String>,
    /// Headers with their values, in lower case.
    pub headers: Vec<(String, String)>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// Who; `None`: from outside.
    pub caller: Option<Name>,
    /// Whom.
    pub callee: Name,
    /// The line.
    pub line: u32,
    /// What says so: `environment ORDERS_URL`, `script`, `route`.
    pub evidence: String,
    /// Calls for each request to the caller; `None`: not said, taken for 1.
    pub count: Option<f64>,
    /// Over what: `http`, `grpc`, `sql`, `cache`, `queue`.
    pub protocol: Option<&'static str>,
}
