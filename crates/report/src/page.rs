//! The shell of the page: one file, nothing from the network.

use crate::html::El;

/// A finished page.
pub(crate) fn page(title: &str, parts: impl IntoIterator<Item = El>) -> String {
    let meta = |name, content| El::new("meta").attr("name", name).attr("content", content);
    let head = El::new("head")
        .child(El::new("meta").attr("charset", "utf-8"))
        .child(
            El::new("meta").attr("http-equiv", "Content-Security-Policy").attr("content", POLICY),
        )
        .child(meta("viewport", "width=device-width, initial-scale=1"))
        .child(meta("color-scheme", "light dark"))
        .child(meta("generator", "damper"))
        .child(El::new("title").text(title))
        .child(El::new("link").attr("rel", "icon").attr("href", "data:,"))
        .child(El::new("style").attr("nonce", NONCE).literal(STYLE));
    let body = El::new("body")
        .child(El::new("main").children(parts))
        .child(El::new("script").attr("nonce", NONCE).literal(SCRIPT));
    let mut out = String::with_capacity(256 * 1024);
    out.push_str("<!doctype html>\n");
    El::new("html").attr("lang", "en").child(head).child(body).render(&mut out);
    out
}

/// Nothing may be loaded, nothing may be sent, and only what carries our mark runs: an
/// attribute or address that smuggles script in would be refused even if it got past the
/// escaping.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'nonce-damper'; \
                      script-src 'nonce-damper'; base-uri 'none'; form-action 'none'";
const NONCE: &str = "damper";

const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = include_str!("assets/report.js");
