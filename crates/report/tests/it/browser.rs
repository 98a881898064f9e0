//! Opens reports in headless Chromium, at the width of a phone and of a desk.
//!
//! Runs where a browser is found (`$CHROMIUM`, or `chromium` and its like in `$PATH`).
//! Without one it says loudly that it was skipped; with `DAMPER_REQUIRE_BROWSER=1` it fails.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use damper_report::{headroom_html, simulate_html};

use crate::{hostile, samples};

const PHONE: u32 = 360;
const DESK: u32 = 1200;

#[test]
fn reports_work_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let pages = [
        ("retry-storm", headroom_html(&samples::retry_storm())),
        ("five-layers", headroom_html(&samples::five_layers())),
        ("hotel", simulate_html(&samples::hotel())),
        ("calm", simulate_html(&samples::calm())),
        ("tangle", simulate_html(&samples::tangle())),
    ];
    for (name, page) in &pages {
        for width in [PHONE, DESK] {
            let seen = browser.open(page, width);
            seen.assert_fine(name);
            assert_eq!(seen.probe("overlaps"), "", "{name} at {width}: labels cover each other");
            assert_eq!(seen.probe("clipped"), "", "{name} at {width}: labels leave their figure");
            assert!(
                seen.probe("readout").contains('s'),
                "{name} at {width}: arrow keys read nothing: {:?}",
                seen.probe("readout")
            );
        }
    }
}

#[test]
fn hostile_reports_stay_harmless_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    for (name, page) in hostile::pages() {
        for width in [PHONE, DESK] {
            let seen = browser.open(&page, width);
            seen.assert_fine(&name);
            assert_eq!(seen.probe("scripts"), "2", "{name}: one script of ours and the probe");
        }
    }
}

/// The test of the test: each complaint must be heard.
#[test]
fn a_broken_page_is_noticed() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let page = simulate_html(&samples::calm());

    let thrown = page.replace("</body>", "<script nonce=\"damper\">null.x</script></body>");
    assert!(!browser.open(&thrown, DESK).console.is_empty(), "an exception must be heard");

    let logged =
        page.replace("</body>", "<script nonce=\"damper\">console.error('x')</script></body>");
    assert!(!browser.open(&logged, DESK).console.is_empty(), "console.error must be heard");

    let smuggled = page.replace("</body>", "<script>document.title = 'x'</script></body>");
    assert!(!browser.open(&smuggled, DESK).console.is_empty(), "the policy must refuse it");

    let wide = page
        .replace("<main>", "<main><pre>".to_owned().as_str())
        .replace("<pre>", &format!("<pre>{}</pre>", "x".repeat(900)));
    assert_eq!(browser.open(&wide, PHONE).probe("overflow"), "yes", "overflow must be seen");

    let still = page.replace("data-damper", "data-other");
    assert!(!browser.open(&still, DESK).ready, "a page whose script did not run must be seen");
}

struct Browser {
    binary: PathBuf,
}

/// What a page did.
struct Seen {
    width: u32,
    /// The script ran to its end.
    ready: bool,
    console: Vec<String>,
    probes: BTreeMap<String, String>,
}

impl Seen {
    fn probe(&self, name: &str) -> &str {
        self.probes.get(name).map_or("missing", String::as_str)
    }

    #[track_caller]
    fn assert_fine(&self, name: &str) {
        let width = self.width;
        assert_eq!(self.console, Vec::<String>::new(), "{name} at {width}: console");
        assert!(self.ready, "{name} at {width}: the script did not run to its end");
        assert_eq!(self.probe("width"), width.to_string(), "{name}: width of the window");
        assert_eq!(self.probe("overflow"), "no", "{name} at {width}: the page scrolls sideways");
    }
}

impl Browser {
    fn find() -> Option<Self> {
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
    fn open(&self, page: &str, width: u32) -> Seen {
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
