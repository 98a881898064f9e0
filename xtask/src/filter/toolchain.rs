//! A compiler for wasm32: the target of rustup, installed if that works, or else Debian's compiler
//! for the web, which is unpacked beside the checkout. It is never installed, since its `rustc` would
//! be in the way of rustup's.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::{cargo, files, output, program, run, tools, works};

/// What we compile for.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages: the compiler, its libraries, the source of the standard library, which is
/// compiled with the plugin, and the linker.
const PACKAGES: [&str; 6] = [
    "rustc-web",
    "rust-web-src",
    "libstd-rust-web-dev",
    "libstd-rust-web-1.96",
    "libllvm22",
    "lld-22",
];

/// How the plugin is compiled.
pub(super) enum Toolchain {
    /// By the compiler that compiles the rest.
    Usual,
    /// By Debian's, in this folder.
    Debian(PathBuf),
}

/// Finds one, or installs one. `debian`: that one.
pub(super) fn find(debian: bool) -> Result<Toolchain> {
    // Rustup answers at once where the target cannot be had.
    let usual = !debian
        && (has_target()
            || works(program("rustup").args(["target", "add", TARGET])) && has_target());
    if usual {
        return Ok(Toolchain::Usual);
    }
    let folder = tools().join("rust-web");
    if !folder.join("usr/bin/rustc").is_file() {
        unpack(&folder).with_context(|| {
            format!(
                "there is no compiler for {TARGET}: `rustup target add {TARGET}` does not work here, \
                 and neither do Debian's packages ({})",
                PACKAGES.join(", ")
            )
        })?;
    }
    Ok(Toolchain::Debian(folder))
}

/// Whether the usual compiler has the standard library for wasm32.
fn has_target() -> bool {
    let mut ask = program("rustc");
    ask.args(["--print", "target-libdir", "--target", TARGET]);
    let folder = output(&mut ask).map(|path| PathBuf::from(path.trim()));
    folder.is_ok_and(|folder| files(&folder, ".rlib").is_ok_and(|found| !found.is_empty()))
}

/// Downloads the packages and unpacks them.
fn unpack(folder: &PathBuf) -> Result<()> {
    let packages = tools().join("rust-web-packages");
    fs::create_dir_all(&packages).with_context(|| packages.display().to_string())?;
    let fetch = |words: &[&str]| {
        let mut apt = program("apt-get");
        run(apt.current_dir(&packages).args(words))
    };
    let download = [&["download"][..], &PACKAGES[..]].concat();
    if fetch(&download).is_err() {
        // A machine that has never asked does not know what there is.
        fetch(&["update"])?;
        fetch(&download)?;
    }
    // What is there is whole, or it is not there.
    let part = folder.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    for package in files(&packages, ".deb")? {
        run(program("dpkg").arg("-x").arg(&package).arg(&part))?;
    }
    fs::rename(&part, folder).with_context(|| folder.display().to_string())?;
    fs::remove_dir_all(&packages)?;
    Ok(())
}

impl Toolchain {
    /// What it is, in a few words.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Usual => "the usual compiler",
            Self::Debian(_) => "Debian's rustc-web",
        }
    }

    /// Where it builds to, in the folder of the plugin.
    pub(super) fn folder(&self) -> &'static str {
        match self {
            Self::Usual => "build",
            Self::Debian(_) => "build-debian",
        }
    }

    /// Cargo, set up for it.
    pub(super) fn cargo(&self) -> Command {
        let mut command = cargo("");
        let Self::Debian(folder) = self else { return command };
        let path = env::var_os("PATH").unwrap_or_default();
        let linker = folder.join("usr/lib/llvm-22/bin");
        if let Ok(path) = env::join_paths([linker].into_iter().chain(env::split_paths(&path))) {
            command.env("PATH", path);
        }
        let libraries =
            ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib/llvm-22/lib"];
        let libraries = libraries.map(|library| folder.join(library));
        if let Ok(libraries) = env::join_paths(libraries) {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
            .env("RUSTC", folder.join("usr/bin/rustc"))
            .env_remove("RUSTC_WRAPPER")
            // It has the source of the standard library and not the library for this target.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld")
            .args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_that_of_the_compiler() {
        assert!(PACKAGES.iter().any(|name| name.starts_with("libstd-rust-web-1.")));
        assert!(Toolchain::Usual.cargo().get_envs().all(|(name, _)| name != "RUSTC"));
    }
}
