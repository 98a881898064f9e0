//! Prints what files say, one JSON object for each file in which something was recognised.
//!
//!     cargo run -p damper-config --example read -- [--effective] FOLDER…
//!
//! With `--effective` it prints what applies to each call instead, one object for each.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use damper_config::effective::{Versions, effective};
use damper_config::tree;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    let (options, roots): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    for root in roots {
        let root = Path::new(&root);
        collect(root, root, &mut files)?;
    }
    let mut out = std::io::stdout().lock();
    let readings = tree::read_tree(&files);
    if options.iter().any(|option| option == "--effective") {
        for hop in effective(&readings, Versions::default()).hops {
            writeln!(out, "{}", serde_json::to_string(&hop)?)?;
        }
        return Ok(());
    }
    for (path, reading) in readings {
        if !reading.formats.is_empty() {
            let line = serde_json::json!({ "path": path, "reading": reading });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Files with their texts, links left out.
fn collect(root: &Path, path: &Path, files: &mut Vec<(String, String)>) -> std::io::Result<()> {
    if path.is_symlink() {
        return Ok(());
    }
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::path);
        return entries.iter().try_for_each(|entry| collect(root, &entry.path(), files));
    }
    let name = path.strip_prefix(root).unwrap_or(path);
    let name = if name.as_os_str().is_empty() { path } else { name }.to_string_lossy().into_owned();
    if !damper_config::Syntax::of_path(&name).is_empty()
        && let Ok(text) = fs::read_to_string(path)
    {
        files.push((name, text));
    }
    Ok(())
}
