//! Prints what the formats read in folders: one JSON line for each file that says anything.
//!
//!     cargo run -p damper-config --example formats -- FOLDER...
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};

use damper_config::document::{Syntax, parse};
use damper_config::format;

/// Larger files are not configuration.
const MOST_BYTES: u64 = 4_000_000;

fn main() {
    let mut texts = 0_usize;
    for folder in std::env::args_os().skip(1).map(PathBuf::from) {
        let mut open = vec![folder.clone()];
        while let Some(path) = open.pop() {
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if about.is_dir() && path.file_name().is_none_or(|name| name != ".git") {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()));
            } else if about.is_file() && about.len() <= MOST_BYTES {
                texts += usize::from(print(&folder, &path));
            }
        }
    }
    eprintln!("{texts} files read");
}

/// Whether the file is of a syntax that is read.
fn print(folder: &Path, path: &Path) -> bool {
    let within = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
    let syntaxes = Syntax::of_path(&within);
    let Some(text) = (!syntaxes.is_empty()).then(|| fs::read_to_string(path).ok()).flatten() else {
        return false;
    };
    for syntax in syntaxes {
        let reading = format::read(&within, &parse(*syntax, &text).0);
        if !reading.formats.is_empty() {
            let line = serde_json::json!({ "path": within, "reading": reading });
            println!("{line}");
            break;
        }
    }
    true
}
