//! Elements and escaping: the only place where text becomes markup.
//!
//! A page is built as a tree and printed once. Tag and attribute names are literals of
//! ours (`&'static str`), everything else is escaped when it is printed, so that a service
//! named `<script>` is a name and nothing more.

use std::fmt::Write as _;

use serde_json::Value;

/// An element with attributes and children.
#[derive(Clone, Debug)]
pub(crate) struct El {
    tag: &'static str,
    attrs: Vec<(&'static str, String)>,
    children: Vec<Child>,
}

#[derive(Clone, Debug)]
enum Child {
    El(El),
    Text(String),
    /// Ours, as it stands: the style sheet and the script.
    Literal(&'static str),
    Json(Value),
}

impl El {
    pub(crate) fn new(tag: &'static str) -> Self {
        Self { tag, attrs: Vec::new(), children: Vec::new() }
    }

    /// Several elements without one around them.
    #[cfg(test)]
    pub(crate) fn group() -> Self {
        Self::new("")
    }

    pub(crate) fn attr(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attrs.push((name, value.into()));
        self
    }

    pub(crate) fn class(self, value: impl Into<String>) -> Self {
        self.attr("class", value)
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.children.push(Child::Text(text.into()));
        self
    }

    pub(crate) fn child(mut self, child: Self) -> Self {
        self.children.push(Child::El(child));
        self
    }

    pub(crate) fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children.into_iter().map(Child::El));
        self
    }

    /// A style sheet or script of ours.
    pub(crate) fn literal(mut self, source: &'static str) -> Self {
        self.children.push(Child::Literal(source));
        self
    }

    /// Data for the script, in a form that cannot end the element it stands in.
    pub(crate) fn json(mut self, value: Value) -> Self {
        self.children.push(Child::Json(value));
        self
    }

    pub(crate) fn push(&mut self, child: Self) {
        self.children.push(Child::El(child));
    }

    pub(crate) fn render(&self, out: &mut String) {
        if !self.tag.is_empty() {
            out.push('<');
            out.push_str(self.tag);
            for (name, value) in &self.attrs {
                out.push(' ');
                out.push_str(name);
                out.push_str("=\"");
                escape_into(value, out);
                out.push('"');
            }
            if self.children.is_empty() && is_shape(self.tag) {
                out.push_str("/>");
                return;
            }
            out.push('>');
            if is_void(self.tag) {
                return;
            }
        }
        for child in &self.children {
            match child {
                Child::El(el) => el.render(out),
                Child::Text(text) => escape_into(text, out),
                Child::Literal(source) => out.push_str(source),
                Child::Json(value) => json_into(value, out),
            }
        }
        if !self.tag.is_empty() {
            out.push_str("</");
            out.push_str(self.tag);
            out.push('>');
            if is_block(self.tag) {
                out.push('\n');
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn to_markup(&self) -> String {
        let mut out = String::new();
        self.render(&mut out);
        out
    }
}

fn is_void(tag: &str) -> bool {
    matches!(tag, "meta" | "link" | "br" | "wbr")
}

fn is_shape(tag: &str) -> bool {
    matches!(tag, "line" | "rect" | "path" | "circle" | "polygon" | "use")
}

fn is_block(tag: &str) -> bool {
    matches!(
        tag,
        "head"
            | "body"
            | "main"
            | "section"
            | "figure"
            | "svg"
            | "p"
            | "ul"
            | "li"
            | "tr"
            | "h1"
            | "h2"
            | "h3"
            | "div"
            | "header"
            | "footer"
            | "nav"
            | "details"
            | "style"
            | "script"
            | "title"
            | "dl"
            | "dd"
    )
}

/// Escapes for both text and quoted attributes. Control characters and the marks that turn
/// the direction of the text around become `U+FFFD`, so that a name cannot disguise itself.
fn escape_into(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => out.push('\u{FFFD}'),
            c if c.is_control() => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
}

fn json_into(value: &Value, out: &mut String) {
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_attributes_cannot_leave_their_place() {
        let el = El::new("p").attr("title", "\"><script>'&").text("<script>alert(1)</script>");
        assert_eq!(
            el.to_markup(),
            "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">\
             &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
        );
    }

    #[test]
    fn control_characters_and_direction_marks_show_themselves() {
        let el = El::new("b").text("a\0b\u{7}c\u{202E}d\u{2066}e\n");
        assert_eq!(el.to_markup(), "<b>a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\n</b>");
    }

    #[test]
    fn json_cannot_end_its_script_element() {
        let el = El::new("b").json(json!({"</script><!--": "\u{2028}&"}));
        let markup = el.to_markup();
        assert_eq!(markup, "<b>{\"\\u003c/script\\u003e\\u003c!--\":\"\\u2028\\u0026\"}</b>");
    }

    #[test]
    fn shapes_close_themselves_and_groups_leave_no_trace() {
        let el = El::group().child(El::new("line").attr("x1", "0")).child(El::new("br"));
        assert_eq!(el.to_markup(), "<line x1=\"0\"/><br>");
    }
}
