//! A headless Chromium that opens a report and tells what it saw.
//!
//! The tests of the command line include this file, too: what they open is what users get.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Width of a phone.
pub(crate) const PHONE: u32 = 360;
/// Width of a desk.
pub(crate) const DESK: u32 = 1200;

pub(crate) struct Browser {
    binary: PathBuf,
}

/// What a page did.
pub(crate) struct Seen {
    width: u32,
    /// The script ran to its end.
    pub(crate) ready: bool,
    pub(crate) console: Vec<String>,
    probes: BTreeMap<String, String>,
}

impl Seen {
    pub(crate) fn probe(&self, name: &str) -> &str {
        self.probes.get(name).map_or("missing", String::as_str)
    }

    #[track_caller]
    pub(crate) fn assert_fine(&self, name: &str) {
        let width = self.width;
        assert_eq!(self.console, Vec::<String>::new(), "{name} at {width}: console");
        assert!(self.ready, "{name} at {width}: the script did not run to its end");
        assert_eq!(self.probe("width"), width.to_string(), "{name}: width of the window");
        assert_eq!(self.probe("overflow"), "no", "{name} at {width}: the page scrolls sideways");
    }
}

impl Browser {
    pub(crate) fn find() -> Option<Self> {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from).filter(|p| p.is_file());
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = named.or_else(|| {
            std::env::split_paths(&path)
                .flat_map(|dir| names.map(|name| dir.join(name)))
                .find(|candidate| candidate.is_file())
        });
        if found.is_none() {
            let required = std::env::var("DAMPER_REQUIRE_BROWSER").is_ok_and(|v| v == "1");
            assert!(!required, "DAMPER_REQUIRE_BROWSER=1, and no chromium in PATH or $CHROMIUM");
            // Past the capture of the test runner, which would keep a passing test quiet.
            let _ = writeln!(
                std::io::stderr(),
                "\nSKIPPED: no chromium in PATH or $CHROMIUM; the reports were NOT opened"
            );
        }
        found.map(|binary| Self { binary })
    }

    /// Opens a page in a new profile, with a probe at its end. It stands in a frame, because a
    /// window of the browser is never narrower than 500 pixels.
    pub(crate) fn open(&self, page: &str, width: u32) -> Seen {
        let dir = tempfile::tempdir().expect("a directory for the profile");
        let file = dir.path().join("report.html");
        let probe = format!("<script nonce=\"damper\">{PROBE}</script></body>");
        let inner = page.replace("</body>", &probe).replace('&', "&amp;").replace('"', "&quot;");
        let outer = FRAME.replace("WIDTH", &width.to_string()).replace("PAGE", &inner);
        std::fs::write(&file, outer).expect("the page is written");
        let (dom, log) = self.run(&file, dir.path());
        Seen {
            width,
            console: log.lines().filter(|l| l.contains("CONSOLE")).map(str::to_owned).collect(),
            ready: root(&dom).contains("data-damper=\"ready\""),
            probes: probes(&dom),
        }
    }

    fn run(&self, file: &Path, dir: &Path) -> (String, String) {
        let mut child = Command::new(&self.binary)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
                "--enable-logging=stderr",
                "--v=0",
            ])
            .arg(format!("--user-data-dir={}", dir.join("profile").display()))
            .arg("--window-size=1400,1000")
            .arg("--dump-dom")
            .arg(format!("file://{}", file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let dom = drain(child.stdout.take().expect("piped"));
        let log = drain(child.stderr.take().expect("piped"));
        for _ in 0..1200 {
            if child.try_wait().expect("the browser can be waited for").is_some() {
                return (dom.join().expect("read"), log.join().expect("read"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().expect("the browser can be ended");
        panic!("the browser did not end within a minute");
    }
}

fn drain(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("the browser's output is read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The root element's tag.
fn root(dom: &str) -> &str {
    dom.split("<head").next().unwrap_or_default()
}

/// `data-probe-x="value"` of the root element.
fn probes(dom: &str) -> BTreeMap<String, String> {
    root(dom)
        .split(" data-probe-")
        .skip(1)
        .filter_map(|part| {
            let (name, rest) = part.split_once("=\"")?;
            let value = rest.split('"').next()?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// A page around the page: takes over what the root element in the frame says.
const FRAME: &str = r#"<!doctype html><html><head></head><body>
<iframe width="WIDTH" height="900" style="border:0" srcdoc="PAGE"></iframe>
<script>
addEventListener("load", function () {
  var inner = document.querySelector("iframe").contentDocument.documentElement;
  Array.from(inner.attributes).forEach(function (a) {
    document.documentElement.setAttribute(a.name, a.value);
  });
});
</script></body></html>"#;

/// Looks at the page from within: its width, labels that cover each other or are cut off,
/// and whether the arrow keys read values.
const PROBE: &str = r#"
(function () {
  var root = document.documentElement;
  function say(name, value) { root.setAttribute("data-probe-" + name, value); }
  say("width", window.innerWidth);
  say("overflow", root.scrollWidth > window.innerWidth ? "yes" : "no");
  say("scripts", Array.from(document.scripts).filter(function (s) { return s.type === ""; }).length);
  var overlaps = [], clipped = [];
  document.querySelectorAll("figure").forEach(function (figure) {
    var outer = figure.getBoundingClientRect();
    var texts = Array.from(figure.querySelectorAll(".plot svg text")).map(function (text) {
      return { text: text.textContent, box: text.getBoundingClientRect(), scrolls: !!text.closest(".scroll") };
    }).filter(function (t) { return t.box.width > 0; });
    texts.forEach(function (a, i) {
      if (!a.scrolls && (a.box.left < outer.left || a.box.right > outer.right)) clipped.push(a.text);
      texts.slice(i + 1).forEach(function (b) {
        var x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        var y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (x > 1.5 && y > 4) overlaps.push(figure.id + ": " + a.text + " / " + b.text);
      });
    });
  });
  say("overlaps", overlaps.join("; "));
  say("clipped", clipped.join("; "));
  var plot = document.querySelector(".plot[data-explore=line]");
  if (plot) {
    plot.focus();
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    say("readout", plot.parentNode.querySelector(".readout").textContent);
  }
})();
"#;
