//! `cargo xtask ci`: what a change must pass.

use anyhow::{Context as _, Result, bail};

use crate::process::{cargo, cargo_tool, files, metadata, program, root, run};
use crate::steps::{Done, Steps};
use crate::{book, rules, test};

/// Quick checks first, then every test.
pub(crate) fn run_task() -> Result<()> {
    let mut steps = Steps::default();
    steps.run("formatting", formatting);
    steps.run("rules of the house", house_rules);
    steps.run("licences", || {
        let installed = cargo_tool("deny")?;
        run(&mut cargo("deny --log-level error --locked check bans licenses sources"))?;
        Ok(if installed { Done::Noted("installed cargo-deny".into()) } else { Done::Passed })
    });
    steps.run("clippy", || {
        run(&mut cargo("clippy --workspace --all-targets --all-features --locked -- -D warnings"))?;
        Ok(Done::Passed)
    });
    steps.run("documentation", || {
        let mut doc = cargo("doc --workspace --no-deps --locked");
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
        Ok(Done::Passed)
    });
    test::run_all(&mut steps);
    steps.finish()
}

fn formatting() -> Result<Done> {
    run(&mut cargo("fmt --all --check"))?;
    // The peers are workspaces of their own.
    let mut rustfmt = program("rustfmt");
    rustfmt.args(["--check", "--edition", "2024"]).args(files(&root().join("compare"), ".rs")?);
    run(&mut rustfmt)?;
    Ok(Done::Passed)
}

fn house_rules() -> Result<Done> {
    let mut offences = rules::dependencies(&metadata()?).context("cargo metadata")?;
    let root = root();
    for folder in ["crates", "xtask"] {
        for file in files(&root.join(folder), ".rs")? {
            let text = std::fs::read_to_string(&file)?;
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            offences.extend(rules::length(&name, &text));
        }
    }
    offences.extend(book::offences(&root.join("docs"))?);
    if offences.is_empty() {
        return Ok(Done::Passed);
    }
    bail!("{}", offences.join("\n"))
}
