//! The only place that reads files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A regular file of at most `limit` bytes of UTF-8, without its byte-order mark.
pub(crate) fn read(path: &Path, limit: u64) -> Result<String, String> {
    let say = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    };
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let metadata = std::fs::metadata(path).map_err(say)?;
    if metadata.is_dir() {
        return Err("this is a folder".into());
    }
    if !metadata.is_file() {
        return Err("this is not a regular file".into());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(say)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(say)?;
    if bytes.len() as u64 > limit {
        return Err(format!("it is larger than {} MiB", limit >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        format!("line {line} is not UTF-8")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
