//! What to read: folders one by one, so that what is found keeps the name that the user gave it,
//! and single files together.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use crate::args::ScanArgs;

/// The longest list of files that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// Roots that are scanned together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// A folder, or several files.
    pub(crate) roots: Vec<PathBuf>,
    /// What stands before the paths that are found.
    prefix: Option<PathBuf>,
}

impl Group {
    /// A folder.
    pub(crate) fn folder(path: &Path) -> Self {
        Self { roots: vec![path.to_owned()], prefix: Some(path.to_owned()) }
    }

    fn files(roots: Vec<PathBuf>) -> Self {
        Self { roots, prefix: None }
    }

    /// A path that was found, as one would type it here.
    pub(crate) fn shown(&self, path: &str) -> String {
        let path = match &self.prefix {
            Some(prefix) => prefix.join(path),
            None => {
                PathBuf::from(path.strip_prefix('/').filter(|p| p.starts_with('/')).unwrap_or(path))
            }
        };
        let here = std::env::current_dir().unwrap_or_default();
        let path = path.strip_prefix(&here).unwrap_or(&path);
        let parts: Vec<_> = path
            .components()
            .filter(|part| !matches!(part, std::path::Component::CurDir))
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        match parts.split_first() {
            Some((first, rest)) if first == "/" => format!("/{}", rest.join("/")),
            _ => parts.join("/"),
        }
    }

    /// Whether a scan of it would find this path, as it is shown.
    pub(crate) fn covers(&self, shown: &str) -> bool {
        match &self.prefix {
            Some(_) => {
                let folder = self.shown("");
                folder.is_empty()
                    || shown.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('/'))
            }
            None => self.roots.iter().any(|root| self.shown(&root.to_string_lossy()) == shown),
        }
    }
}

/// The groups of a command line. A folder or file below another one is read once.
pub(crate) fn groups(args: &ScanArgs) -> anyhow::Result<Vec<Group>> {
    let (mut folders, mut files) = (Vec::<(PathBuf, &Path)>::new(), Vec::new());
    let listed = listed(args.files_from.as_deref())?;
    for path in &args.paths {
        let real = fs::canonicalize(path).map_err(|error| {
            missing(path).unwrap_or_else(|| anyhow::anyhow!("{}: {error}", path.display()))
        })?;
        if real.is_dir() {
            folders.push((real, path));
        } else {
            files.push((real, path.clone()));
        }
    }
    // What a change has deleted is on its list of files and no longer there.
    let there = |path: &PathBuf| Some((fs::canonicalize(path).ok()?, path.clone()));
    files.extend(listed.iter().filter_map(there).filter(|(real, _)| real.is_file()));
    let mut kept = Vec::<&(PathBuf, &Path)>::new();
    for (at, one) in folders.iter().enumerate() {
        let inside = folders.iter().enumerate().any(|(other_at, (other, _))| {
            other_at != at && one.0.starts_with(other) && (one.0 != *other || other_at < at)
        });
        if !inside {
            kept.push(one);
        }
    }
    let mut groups: Vec<_> = kept.iter().map(|(_, path)| Group::folder(path)).collect();
    files.retain(|(real, _)| !kept.iter().any(|(folder, _)| real.starts_with(folder)));
    files.sort();
    files.dedup_by(|a, b| a.0 == b.0);
    if !files.is_empty() {
        groups.push(Group::files(files.into_iter().map(|(_, path)| path).collect()));
    }
    Ok(groups)
}

/// Why a path is not there, with the nearest name that is.
fn missing(path: &Path) -> Option<anyhow::Error> {
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let name = path.file_name()?.to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let near = entries
        .take(10_000)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|entry| (strsim::damerau_levenshtein(&entry, &name), entry))
        .filter(|(distance, _)| *distance <= name.len() / 3 + 1)
        .min();
    let hint = near.map_or(String::new(), |(_, near)| {
        format!("; did you mean {}?", path.with_file_name(near).display())
    });
    Some(anyhow::anyhow!("{}: there is no such file or folder{hint}", path.display()))
}

/// A list of files, one a line (or with zero bytes between them, as `git -z` prints it).
fn listed(from: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
    let Some(from) = from else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    if from == Path::new("-") {
        std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes).context("standard input")?;
    } else {
        let file = fs::File::open(from).with_context(|| from.display().to_string())?;
        let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
        read.with_context(|| from.display().to_string())?;
    }
    ensure!(bytes.len() as u64 <= LARGEST, "{}: larger than {LARGEST} bytes", from.display());
    let separator = if bytes.contains(&0) { 0 } else { b'\n' };
    let lines = bytes.split(|byte| *byte == separator);
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty()).map(path_of).collect()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> anyhow::Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> anyhow::Result<PathBuf> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PathBuf::from(text)),
        Err(_) => bail!("a path that is not UTF-8: {}", String::from_utf8_lossy(bytes)),
    }
}

/// The projects of a study: each folder one.
pub(crate) fn projects(args: &ScanArgs) -> anyhow::Result<Vec<Group>> {
    let mut all = Vec::new();
    for path in &args.paths {
        if !path.is_dir() {
            if let Some(error) = missing(path) {
                return Err(error);
            }
            bail!("{}: a study counts folders, and this is a file", path.display());
        }
        all.push(Group::folder(path));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_as_one_would_type_them() {
        let shown = |folder: &str| Group::folder(Path::new(folder)).shown("a/b.py");
        assert_eq!(shown("."), "a/b.py");
        assert_eq!(shown("./src/"), "src/a/b.py");
        assert_eq!(shown("../x"), "../x/a/b.py");
        assert_eq!(shown("/no/such"), "/no/such/a/b.py");
        let here = std::env::current_dir().unwrap();
        assert_eq!(Group::folder(&here).shown("a.py"), "a.py");
        let files = Group::files(vec![PathBuf::from("./a.py")]);
        assert_eq!(files.shown("./a.py"), "a.py");
        assert_eq!(files.shown("//no/a.py"), "/no/a.py");
    }

    #[test]
    fn a_group_covers_what_it_would_find() {
        assert!(Group::folder(Path::new(".")).covers("a.py"));
        assert!(Group::folder(Path::new("src")).covers("src/a.py"));
        assert!(!Group::folder(Path::new("src")).covers("srcs/a.py"));
        assert!(Group::files(vec![PathBuf::from("./a.py")]).covers("a.py"));
    }
}
