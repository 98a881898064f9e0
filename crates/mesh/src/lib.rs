//! Damper in a service mesh: the logic of the Envoy filter.
//!
//! Nothing here does I/O or knows proxy-wasm: headers, time, chance and what workers share come in
//! through the trait [`filter::Host`]. `damper-filter` is the thin shell that is loaded by Envoy.

pub mod filter;
