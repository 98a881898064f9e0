//! Damper as a plugin of Envoy: the proxy-wasm shell around `damper_mesh::filter`.
//!
//! `cargo xtask filter` builds it. Everywhere but on wasm32 this crate is empty: what it hands on
//! is tested in `damper-mesh`, and what it is, with Envoy (`tests/`).

#[cfg(target_arch = "wasm32")]
mod counters;
#[cfg(target_arch = "wasm32")]
mod host;
#[cfg(target_arch = "wasm32")]
mod plugin;

#[cfg(target_arch = "wasm32")]
#[allow(missing_docs, reason = "the macro makes a function that Envoy calls")]
mod start {
    use crate::plugin;

    proxy_wasm::main! {{
        proxy_wasm::set_log_level(proxy_wasm::types::LogLevel::Info);
        proxy_wasm::set_root_context(|_| Box::new(plugin::Plugin::default()));
    }}
}
