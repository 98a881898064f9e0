//! What systemd wants to know of a service of `Type=notify` or `notify-reload`: sd_notify(3).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A step of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ready,
    Reloading,
    Stopping,
}

impl Step {
    fn words(self) -> String {
        match self {
            Self::Ready => "READY=1".to_owned(),
            // Without the time systemd takes the next word READY for one from before the reload,
            // and waits for another until it gives up.
            Self::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_usec()),
            Self::Stopping => "STOPPING=1".to_owned(),
        }
    }
}

/// Tells systemd, if it wants to know.
pub(crate) fn tell(step: Step) {
    if let Some(path) = std::env::var_os("NOTIFY_SOCKET") {
        // Whoever does not listen does not mind.
        let _ = send(&path, &step.words());
    }
}

/// To a socket in a folder, or to an abstract one (`@name`).
fn send(path: &OsStr, words: &str) -> io::Result<usize> {
    let socket = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = path.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        let to = SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(words.as_bytes(), &to);
    }
    socket.send_to_addr(words.as_bytes(), &SocketAddr::from_pathname(path)?)
}

/// The clock by which systemd orders what it is told, in microseconds.
fn monotonic_usec() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UnixDatagram) -> String {
        let mut buf = [0; 256];
        let size = socket.recv(&mut buf).unwrap();
        String::from_utf8(buf[..size].to_vec()).unwrap()
    }

    #[test]
    fn a_reload_says_when() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let before = monotonic_usec();
        send(path.as_os_str(), &Step::Reloading.words()).unwrap();
        let text = heard(&socket);
        let at = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        assert!((before..=monotonic_usec()).contains(&at.parse().unwrap()), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_without_a_folder_is_reached() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("damper-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        send(format!("@{name}").as_ref(), &Step::Ready.words()).unwrap();
        assert_eq!(heard(&socket), "READY=1");
    }
}
