//! Where measurements come from: files, folders, standard input; compressed or not.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

/// Files of a folder; what is more is an error.
const MOST_FILES: usize = 100_000;
/// Levels of folders.
const MOST_LEVELS: usize = 16;
/// Enough for a disk, and for the first look at what a file is.
const BUFFER: usize = 1 << 16;

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Standard,
}

impl Source {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Standard => "standard input".to_owned(),
        }
    }
}

/// The files behind paths: those of folders in the order of their names. `-` is standard input.
///
/// # Errors
/// A path that cannot be read, with its name; too many files.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, (String, io::Error)> {
    let mut found = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            found.push(Source::Standard);
            continue;
        }
        let about = |error| (path.display().to_string(), error);
        if std::fs::metadata(path).map_err(about)?.is_dir() {
            walk(path, 0, &mut found).map_err(about)?;
        } else {
            found.push(Source::File(path.clone()));
        }
    }
    Ok(found)
}

fn walk(folder: &Path, level: usize, found: &mut Vec<Source>) -> io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // Links are not followed: they may lead round in a circle.
        if kind.is_dir() && level < MOST_LEVELS {
            walk(&entry.path(), level + 1, found)?;
        } else if kind.is_file() {
            if found.len() >= MOST_FILES {
                return Err(io::Error::other("more than 100,000 files"));
            }
            found.push(Source::File(entry.path()));
        }
    }
    Ok(())
}

/// Bytes on disk of all files.
pub(crate) fn total(sources: &[Source]) -> u64 {
    let size = |source: &Source| match source {
        Source::File(path) => std::fs::metadata(path).map_or(0, |m| m.len()),
        Source::Standard => 0,
    };
    sources.iter().map(size).sum()
}

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    /// Metrics as Prometheus scrapes them, or Envoy's `/stats`.
    Metrics,
    Empty,
    /// Neither: pictures, archives.
    Unknown,
}

/// An input with its beginning still in it.
pub(crate) struct Input {
    pub(crate) form: Form,
    reader: Box<dyn Read>,
    head: Vec<u8>,
    at: usize,
}

impl Input {
    /// Opens a source. `read` counts its bytes as they are on disk.
    ///
    /// # Errors
    /// It cannot be opened, or not be decompressed.
    pub(crate) fn open(source: &Source, read: &Arc<AtomicU64>) -> io::Result<Self> {
        let raw: Box<dyn Read> = match source {
            Source::File(path) => Box::new(File::open(path)?),
            Source::Standard => Box::new(io::stdin()),
        };
        Self::new(Box::new(Counted { inner: raw, read: Arc::clone(read) }))
    }

    /// The same of any bytes.
    pub(crate) fn new(mut raw: Box<dyn Read>) -> io::Result<Self> {
        let mut head = fill(&mut raw, BUFFER)?;
        let mut reader = raw;
        if head.starts_with(&[0x1f, 0x8b]) {
            let whole = io::Cursor::new(head).chain(reader);
            let mut unpacked: Box<dyn Read> =
                Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole)));
            head = fill(&mut unpacked, BUFFER)?;
            reader = unpacked;
        }
        // A mark of the byte order is no content.
        let at = if head.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        Ok(Self { form: form(&head[at..]), reader, head, at })
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = &self.head[self.at.min(self.head.len())..];
        if left.is_empty() {
            return self.reader.read(into);
        }
        let n = left.len().min(into.len());
        into[..n].copy_from_slice(&left[..n]);
        self.at += n;
        Ok(n)
    }
}

fn fill(from: &mut dyn Read, most: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    from.take(most as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn form(head: &[u8]) -> Form {
    let Some(first) = head.iter().find(|b| !b.is_ascii_whitespace()) else { return Form::Empty };
    match first {
        b'{' | b'[' => Form::Json,
        b'#' | b'_' => Form::Metrics,
        letter if letter.is_ascii_alphabetic() => {
            // A metric has its value behind its name on the first line.
            let line = head.split(|b| *b == b'\n').find(|line| !line.is_empty());
            let is_metric = line.is_some_and(|line| {
                let text = String::from_utf8_lossy(line);
                let last = text.split_whitespace().last().unwrap_or_default();
                last.parse::<f64>().is_ok() || text.contains('{') || text.contains(": ")
            });
            if is_metric { Form::Metrics } else { Form::Unknown }
        }
        _ => Form::Unknown,
    }
}

struct Counted {
    inner: Box<dyn Read>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn open(bytes: &[u8]) -> (Form, String) {
        let mut input = Input::new(Box::new(io::Cursor::new(bytes.to_vec()))).unwrap();
        let form = input.form;
        let mut text = String::new();
        input.read_to_string(&mut text).unwrap();
        (form, text)
    }

    #[test]
    fn forms_are_told_by_their_content() {
        for (text, form) in [
            ("  {\"data\": []}", Form::Json),
            ("[]", Form::Json),
            ("# HELP x\nx 1\n", Form::Metrics),
            ("istio_requests_total{a=\"b\"} 12\n", Form::Metrics),
            ("cluster.orders.upstream_rq_total: 12\n", Form::Metrics),
            ("hello world\n", Form::Unknown),
            ("\x7fELF", Form::Unknown),
            (" \n", Form::Empty),
        ] {
            assert_eq!(open(text.as_bytes()), (form, text.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_by_its_content() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"[1]").unwrap();
        assert_eq!(open(&packed.finish().unwrap()), (Form::Json, "[1]".to_owned()));
    }

    #[test]
    fn a_mark_of_the_byte_order_is_passed_over() {
        assert_eq!(open(b"\xEF\xBB\xBF[]"), (Form::Json, "[]".to_owned()));
    }
}
