//! The tree that both read: a copy of files that neither leaves out.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::process::{files, output, program};

/// Extensions of the languages that both read.
const EXTENSIONS: &[&str] =
    &["py", "go", "java", "kt", "js", "mjs", "cjs", "jsx", "ts", "tsx", "rs", "cs", "rb", "php"];
/// Larger files, and files with longer lines, are left out by one or the other.
const FILE_BYTES: usize = 1_000_000;
const LINE_BYTES: usize = 10_000;

/// What was copied.
#[derive(Debug, Default)]
pub(super) struct Copied {
    files: usize,
    bytes: u64,
    by_extension: BTreeMap<String, usize>,
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.by_extension.iter().map(|(end, n)| format!("{n} {end}")).collect();
        write!(f, "{} files, {} KiB ({})", self.files, self.bytes >> 10, parts.join(", "))
    }
}

/// Copies at most so many bytes of the folders: of each the same share, spread over its files.
pub(super) fn copy(folders: &[PathBuf], to: &Path, most: u64) -> Result<Copied> {
    let folders = if folders.is_empty() { at_hand() } else { folders.to_vec() };
    ensure!(!folders.is_empty(), "nothing to read at hand: name folders");
    if to.is_dir() {
        fs::remove_dir_all(to).with_context(|| to.display().to_string())?;
    }
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    // Without it Semgrep has a list of its own of what it ignores.
    fs::write(to.join(".semgrepignore"), "").with_context(|| to.display().to_string())?;
    let share = most / folders.len().max(1) as u64;
    let mut copied = Copied::default();
    for (n, folder) in folders.iter().enumerate() {
        one(folder, &to.join(format!("part{n}")), share, &mut copied)?;
    }
    ensure!(copied.files > 0, "no file of a language that both read");
    Ok(copied)
}

fn one(folder: &Path, to: &Path, most: u64, copied: &mut Copied) -> Result<()> {
    let mut all = Vec::new();
    for file in files(folder, "")? {
        let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default().to_owned();
        if EXTENSIONS.contains(&end.as_str())
            && let Ok(data) = fs::metadata(&file)
        {
            all.push((file, end, data.len()));
        }
    }
    let total: u64 = all.iter().map(|(_, _, size)| size).sum();
    let (mut wanted, mut taken) = (0_u64, 0_u64);
    for (file, end, size) in all {
        // Behind with the share of what was passed: this file's turn.
        wanted = wanted.saturating_add(size);
        let due = u128::from(wanted) * u128::from(most) / u128::from(total.max(1));
        if total > most && u128::from(taken) + u128::from(size) > due {
            continue;
        }
        let Ok(text) = fs::read(&file) else { continue };
        if !both_read(&text) {
            continue;
        }
        let target = to.join(renamed(file.strip_prefix(folder).unwrap_or(&file)));
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        fs::write(&target, &text).with_context(|| target.display().to_string())?;
        taken += size;
        copied.files += 1;
        copied.bytes += size;
        *copied.by_extension.entry(end).or_default() += 1;
    }
    Ok(())
}

fn both_read(text: &[u8]) -> bool {
    !text.is_empty()
        && text.len() <= FILE_BYTES
        && std::str::from_utf8(text).is_ok()
        && !text.contains(&0)
        && text.split(|byte| *byte == b'\n').all(|line| line.len() <= LINE_BYTES)
}

/// Names that mean other people's code, or hidden folders, would be left out.
fn renamed(path: &Path) -> PathBuf {
    path.iter().map(|part| format!("c-{}", part.to_string_lossy().replace(".min.", "."))).collect()
}

/// Folders of source code that a machine for development has.
fn at_hand() -> Vec<PathBuf> {
    let mut all = Vec::new();
    let say = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    all.extend(output(program("python3").args(["-c", say])).ok().map(|path| path.trim().into()));
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    all.extend(cargo.map(|cargo| cargo.join("registry/src")));
    let say = "console.log(require('path').resolve(process.execPath, '../../lib/node_modules'))";
    all.extend(output(program("node").args(["-e", say])).ok().map(|path| path.trim().into()));
    all.retain(|folder: &PathBuf| folder.is_dir());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_of_them_leaves_out_is_left_out() {
        assert!(both_read(b"x = 1\n"));
        assert!(!both_read(b""));
        assert!(!both_read(b"a\0b"));
        assert!(!both_read(b"caf\xE9"));
        assert!(!both_read(&[b'a'; LINE_BYTES + 1]));
    }

    #[test]
    fn no_name_is_that_of_a_folder_to_leave_out() {
        let path = renamed(Path::new("node_modules/.hidden/a.min.js"));
        assert_eq!(path, Path::new("c-node_modules/c-.hidden/c-a.js"));
    }
}
