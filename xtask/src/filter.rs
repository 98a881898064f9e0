//! `cargo xtask filter`: builds `damper-filter.wasm`, the plugin of Envoy, with whatever compiler for
//! wasm32 there is or can be installed.

mod exports;
mod toolchain;

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::process::{run, target};

/// Settings of the build.
#[derive(Args, Default)]
pub(crate) struct Arguments {
    /// With Debian's compiler, also where rustup's has the target
    #[arg(long)]
    debian: bool,
}

/// The largest plugin, in bytes.
const MOST_BYTES: usize = 400 * 1000;

/// Where the plugin is, once it is built.
pub(crate) fn path() -> Result<PathBuf> {
    Ok(target()?.join("filter/damper-filter.wasm"))
}

/// Builds the plugin, and says how large it is.
pub(crate) fn build(arguments: &Arguments) -> Result<String> {
    let toolchain = toolchain::find(arguments.debian)?;
    // Each has a standard library of its own.
    let folder = target()?.join("filter").join(toolchain.folder());
    let mut build = toolchain.cargo();
    build.args(["build", "--locked", "--package", "damper-filter", "--profile", "wasm"]);
    build.args(["--target", toolchain::TARGET, "--target-dir"]).arg(&folder);
    // Flags for the machine's own processor are no flags for this one.
    build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    run(&mut build)?;
    let built = folder.join(toolchain::TARGET).join("wasm/damper_filter.wasm");
    let module = fs::read(&built).with_context(|| built.display().to_string())?;
    let module = exports::keep(&module, &exports::USED)?;
    ensure!(
        module.len() <= MOST_BYTES,
        "the plugin has {} bytes, and {MOST_BYTES} is the most",
        module.len()
    );
    let path = path()?;
    // Whoever has the old one open keeps it.
    let new = path.with_extension("new");
    fs::write(&new, &module).with_context(|| new.display().to_string())?;
    fs::rename(&new, &path).with_context(|| path.display().to_string())?;
    let name = path.strip_prefix(env::current_dir()?).unwrap_or(&path).display().to_string();
    Ok(format!("{name}: {:.0} kB, by {}", module.len() as f64 / 1000.0, toolchain.name()))
}

/// `cargo xtask filter`.
pub(crate) fn run_task(arguments: &Arguments) -> Result<()> {
    println!("{}", build(arguments)?);
    Ok(())
}
