//! The kernel's `netem` on a device of a network namespace.
//!
//! Only in a namespace that the plan names: the machine's own network is never touched, or the way
//! back to it might be what is lost. What was the root of the device's queues before comes back
//! when `netem` is deleted only if it was the default; the check tells that `netem` is gone.

use damper_control::Nanos;

use super::Script;
use crate::act::{Act, Check, Must};

pub(super) fn script(
    namespace: &str,
    device: &str,
    delay: Option<Nanos>,
    jitter: Option<Nanos>,
    loss: Option<f64>,
) -> Script {
    let tc = |words: &[String]| {
        let inside = ["ip", "netns", "exec", namespace, "tc", "qdisc"].map(str::to_owned);
        Act::Program([&inside, words].concat())
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let mut netem = words(&format!("add dev {device} root netem"));
    let us = |t: Nanos| format!("{}us", (t.0 / 1000).max(1));
    if let Some(delay) = delay {
        netem.extend(["delay".to_owned(), us(delay)]);
        netem.extend(jitter.map(us));
    }
    if let Some(loss) = loss {
        netem.extend(["loss".to_owned(), format!("{}%", loss * 100.0)]);
    }
    Script {
        start: vec![tc(&netem)],
        stop: vec![tc(&words(&format!("del dev {device} root netem")))],
        checks: vec![Check {
            act: tc(&words(&format!("show dev {device}"))),
            must: Must::Lack("netem".to_owned()),
        }],
        is_alone: true,
    }
}
