//! Opens reports in headless Chromium, at the width of a phone and of a desk.
//!
//! Runs where a browser is found (`$CHROMIUM`, or `chromium` and its like in `$PATH`).
//! Without one it says loudly that it was skipped; with `DAMPER_REQUIRE_BROWSER=1` it fails.

use damper_report::{headroom_html, simulate_html, solve_html};

use crate::chromium::{Browser, DESK, PHONE};
use crate::{hostile, samples, solutions};

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
        ("sweep", solve_html(&solutions::sweep())),
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

/// A single solution has no lines to read with the arrow keys.
#[test]
fn a_solution_works_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let page = solve_html(&solutions::hotel());
    for width in [PHONE, DESK] {
        let seen = browser.open(&page, width);
        seen.assert_fine("solution");
        assert_eq!(seen.probe("overlaps"), "", "at {width}: labels cover each other");
        assert_eq!(seen.probe("clipped"), "", "at {width}: labels leave their figure");
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
