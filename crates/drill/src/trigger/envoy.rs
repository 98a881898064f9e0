//! The fault filter of an Envoy, by its runtime.
//!
//! Rule: `POST /runtime_modify?key=value` overrides a key of the runtime, an empty value takes the
//! override back, `GET /runtime` tells what is in force (Envoy's administration interface). The
//! filter reads `fault.http.abort.http_status`, `fault.http.abort.abort_percent`,
//! `fault.http.delay.fixed_duration_ms` and `fault.http.delay.fixed_delay_percent` (its page).
//! It must be in the chain of filters, and Envoy needs a layer of the runtime for its admin port.

use damper_control::Nanos;
use damper_system::Url;

use super::Script;
use crate::act::{Act, Check, Must};

const ABORT: [&str; 2] = ["fault.http.abort.http_status", "fault.http.abort.abort_percent"];
const DELAY: [&str; 2] =
    ["fault.http.delay.fixed_duration_ms", "fault.http.delay.fixed_delay_percent"];

pub(super) fn script(admin: &Url, abort: Option<u16>, delay: Option<Nanos>, share: f64) -> Script {
    // Envoy takes whole percents here.
    let percent = (share * 100.0).round().clamp(1.0, 100.0) as u32;
    let mut keys: Vec<(&str, u64)> = Vec::new();
    if let Some(status) = abort {
        keys.extend([(ABORT[0], u64::from(status)), (ABORT[1], u64::from(percent))]);
    }
    if let Some(delay) = delay {
        let ms = (delay.as_secs_f64() * 1e3).round().max(1.0) as u64;
        keys.extend([(DELAY[0], ms), (DELAY[1], u64::from(percent))]);
    }
    let modify = |value: &dyn Fn(u64) -> String| {
        let pairs: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={}", value(*v))).collect();
        Act::post(admin.at(&format!("/runtime_modify?{}", pairs.join("&"))), None)
    };
    let check = |key: &str| Check {
        act: Act::get(admin.at("/runtime")),
        must: Must::Empty { pointer: format!("/entries/{key}/final_value") },
    };
    Script {
        start: vec![modify(&|value| value.to_string())],
        stop: vec![modify(&|_| String::new())],
        checks: keys.iter().map(|(key, _)| check(key)).collect(),
        is_alone: true,
    }
}
