//! What the system says of this process, under the names that every Prometheus client has.

/// A reading: name, kind, meaning, value.
type Reading = (&'static str, &'static str, &'static str, f64);

/// The readings that there are: on Linux from `/proc`, elsewhere none. One that cannot be read,
/// since there is no file descriptor left, is left out.
#[must_use]
pub fn readings() -> Vec<Reading> {
    let mut found = Vec::new();
    let mut add = |name, kind, help, value: Option<f64>| {
        if let Some(value) = value {
            found.push((name, kind, help, value));
        }
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    add(
        "process_resident_memory_bytes",
        "gauge",
        "Resident memory.",
        kibibytes("VmRSS:").map(|kibibytes| kibibytes * 1024.0),
    );
    // The one that reads is not counted.
    let open = std::fs::read_dir("/proc/self/fd").map(|files| files.count().saturating_sub(1));
    add("process_open_fds", "gauge", "Open file descriptors.", open.ok().map(|n| n as f64));
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most = limits.lines().find_map(|line| {
        line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok()
    });
    add("process_max_fds", "gauge", "File descriptors that may be open.", most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_says_all_of_it() {
        let found = readings();
        let value = |name| found.iter().find(|reading| reading.0 == name).unwrap().3;
        assert!(value("process_resident_memory_bytes") > 1e5);
        let before = value("process_open_fds");
        let files: Vec<_> = (0..20).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let after = readings().into_iter().find(|r| r.0 == "process_open_fds").unwrap().3;
        // Other tests of this process open and close files, too.
        assert!(after > before, "{before} {after}");
        assert!(value("process_max_fds") >= after);
        drop(files);
    }
}
