//! Layers that nobody wrote: what a mesh does where its files say nothing.

use super::Versions;
use crate::failure::Failures;
use crate::format::parts::envoy_delay;
use crate::format::{dapr, istio, kuma};
use crate::layer::{Attempts, Budget, Delay, Growth, Layer, Reach, Seat, Sourced};

/// Attempts that Istio makes, the first included.
const ISTIO: u32 = 3;
/// Attempts that Kuma's first policy makes.
const KUMA: u32 = 6;
/// Attempts that Dapr makes between applications.
const DAPR: u32 = 4;

fn built_in(format: &'static str, seat: Seat, attempts: u32, who: &'static str) -> Layer {
    let mut layer = Layer::at(format, seat, [0, 0]);
    layer.reach = Reach::BuiltIn;
    layer.implicit = true;
    layer.attempts = Sourced::default_of(Attempts::Count(attempts), who);
    layer
}

/// Whether a version of Istio retries 503.
pub(super) fn retries_503(versions: Versions) -> bool {
    versions.istio.is_some_and(|version| version < (1, 24))
}

/// Istio's own policy in the proxy beside the caller, or in a gateway.
pub(super) fn istio(seat: Seat) -> Layer {
    let mut layer = built_in(istio::MESH, seat, ISTIO, istio::WHO);
    layer.on = istio::default_on();
    layer.words = istio::DEFAULT_WORDS.map(str::to_owned).to_vec();
    layer.delay = envoy_delay(None, None, istio::WHO);
    layer.budget = Some(istio::default_budget());
    layer
}

/// What Istio does since 1.24 in the proxy beside the callee: only what never reached it.
pub(super) fn istio_inbound() -> Layer {
    let mut layer = built_in(istio::MESH, Seat::Inbound, ISTIO, istio::WHO);
    layer.on = Sourced::default_of(Failures::BEFORE, istio::WHO);
    layer.words = vec!["reset-before-request".to_owned()];
    layer.delay = envoy_delay(None, None, istio::WHO);
    layer.notes.push("the service never sees a request twice from this".to_owned());
    layer
}

/// The policies that Kuma makes with every mesh: retries, and a timeout of 15 s, so that its 16 s
/// for one attempt never pass.
pub(super) fn kuma() -> Layer {
    let mut layer = built_in(kuma::FORMAT.id, Seat::Sidecar, KUMA, kuma::WHO);
    layer.on = Sourced::default_of(kuma::default_on(), kuma::WHO);
    layer.delay = envoy_delay(None, None, kuma::WHO);
    layer.timeout_ms = Some(Sourced::default_of(15_000.0, kuma::WHO));
    layer.attempt_timeout_ms = Some(Sourced::default_of(16_000.0, kuma::WHO));
    layer.budget = Some(Sourced::default_of(Budget::Concurrent { limit: Some(3) }, kuma::WHO));
    layer
}

/// What Dapr does between its sidecars.
pub(super) fn dapr() -> Layer {
    let mut layer = built_in(dapr::FORMAT.id, Seat::Sidecar, DAPR, dapr::WHO);
    layer.on = Sourced::default_of(dapr::built_in_on(), dapr::WHO);
    layer.delay = Delay {
        growth: Growth::Constant,
        base_ms: Some(Sourced::default_of(1000.0, dapr::WHO)),
        factor: None,
        cap_ms: None,
        jitter: false,
    };
    layer
}
