//! The history of drills: a record a line, and what has changed since the one before.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use damper_report::result::drill::Drill as Record;

/// So much of the end of a history is looked through for the drill before.
const LOOKED_THROUGH: u64 = 64 << 20;

/// The last drill of this name in a history; `None`: there is none, or it cannot be understood.
///
/// # Errors
/// The file is there and cannot be read.
pub fn last_of(history: &Path, name: &str) -> std::io::Result<Option<Record>> {
    let mut file = match fs::File::open(history) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_THROUGH)))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_THROUGH).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let read = |line: &str| serde_json::from_str::<Record>(line).ok();
    Ok(text.lines().rev().filter_map(read).find(|record| record.origin.system == name))
}

/// Adds a record to a history.
///
/// # Errors
/// It cannot be written.
pub fn remember(history: &Path, record: &Record) -> std::io::Result<()> {
    if let Some(folder) = history.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(history)?;
    // A line that was not written to its end must not take this one with it.
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    if last != *b"\n" {
        line.insert(0, '\n');
    }
    file.write_all(line.as_bytes())
}

/// Less than this, relatively, is no change.
const SAME: f64 = 0.1;

/// What has changed since the drill before, one line each.
#[must_use]
pub fn changes(before: &Record, now: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let mut number = |what: &str, unit: &str, was: Option<f64>, is: Option<f64>| match (was, is) {
        (Some(a), Some(b))
            if (a - b).abs() > SAME * a.abs().max(b.abs()) && (a - b).abs() > 0.05 =>
        {
            found.push(format!("{what}: {a:.1}{unit} → {b:.1}{unit}"));
        }
        (Some(a), None) => found.push(format!("{what}: {a:.1}{unit} → none")),
        (None, Some(b)) => found.push(format!("{what}: none → {b:.1}{unit}")),
        _ => {}
    };
    number("load", "/s", Some(before.load_rps), Some(now.load_rps));
    if before.recovered.is_some() && now.recovered.is_some() {
        number("recovery", " s", before.recovery_s, now.recovery_s);
        number("noticed after", " s", before.detection_s, now.detection_s);
        number("lost", " %", Some(before.lost_share * 100.0), Some(now.lost_share * 100.0));
    }
    if before.amplification.is_some() && now.amplification.is_some() {
        number("amplification", "x", before.amplification, now.amplification);
    }
    if let (Some(a), Some(b)) = (&before.hidden, &now.hidden)
        && a.of == b.of
    {
        let unit = if a.of == "load" { "/s" } else { " s" };
        number("hidden capacity", unit, a.estimate, b.estimate);
    }
    for now in &now.expectations {
        let then = before.expectations.iter().find(|then| then.text == now.text);
        let word = |met: Option<bool>| match met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "not known",
        };
        if let Some(then) = then.filter(|then| then.met != now.met) {
            found.push(format!("{}: {} → {}", now.text, word(then.met), word(now.met)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use damper_report::result::drill::Expectation;

    use super::*;

    fn record(name: &str, recovery_s: Option<f64>, met: bool) -> Record {
        let text = "recovery under 30s".to_owned();
        let expectation = Expectation { text, met: Some(met), ..Expectation::default() };
        let mut record = Record {
            recovery_s,
            recovered: Some(recovery_s.is_some()),
            expectations: vec![expectation],
            ..Record::default()
        };
        record.origin.system = name.to_owned();
        record
    }

    #[test]
    fn the_drill_before_is_the_last_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/drills.jsonl");
        assert_eq!(last_of(&path, "shop").unwrap(), None);
        remember(&path, &record("shop", Some(1.0), true)).unwrap();
        remember(&path, &record("shop", Some(2.0), true)).unwrap();
        remember(&path, &record("other", Some(3.0), true)).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{broken").unwrap();
        let last = last_of(&path, "shop").unwrap().unwrap();
        assert_eq!(last.recovery_s, Some(2.0));
        remember(&path, &record("shop", Some(4.0), true)).unwrap();
        let last = last_of(&path, "shop").unwrap().unwrap();
        assert_eq!(last.recovery_s, Some(4.0), "a line that was torn takes no other with it");
    }

    #[test]
    fn what_has_changed() {
        let (calm, storm) = (record("a", Some(10.0), true), record("a", None, false));
        assert_eq!(changes(&calm, &calm), Vec::<String>::new());
        let nearly = record("a", Some(10.5), true);
        assert_eq!(changes(&calm, &nearly), Vec::<String>::new(), "within the noise");
        assert_eq!(
            changes(&calm, &storm),
            ["recovery: 10.0 s → none", "recovery under 30s: met → not met"]
        );
    }
}
