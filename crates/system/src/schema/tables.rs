//! The tables of `docs/system-file.md`.

use damper_control::Kind as Of;

use super::{Kind, Presence, Section, Tagged};
use crate::sections::calls::CALL;
use crate::sections::control::{entries, noun, section_name};
use crate::sections::root::ROOT;
use crate::sidecar::tables::SIDECAR;

const BEGIN: &str = "<!-- keys -->";
const END: &str = "<!-- end of keys -->";

/// The reference with its generated part as the tables have it now.
#[must_use]
pub fn rewrite(markdown: &str) -> String {
    rewrite_of(markdown, &[&ROOT, &CALL])
}

/// The same for the page of the sidecar's configuration.
#[must_use]
pub fn rewrite_sidecar(markdown: &str) -> String {
    rewrite_of(markdown, &[&SIDECAR])
}

/// The same for the tables below these sections.
pub(crate) fn rewrite_of(markdown: &str, roots: &[&'static Section]) -> String {
    let Some((before, rest)) = markdown.split_once(BEGIN) else {
        return markdown.to_owned();
    };
    let after = rest.split_once(END).map_or("", |(_, after)| after);
    format!("{before}{BEGIN}\n\n{}{END}{after}", all(roots))
}

fn all(roots: &[&'static Section]) -> String {
    let mut found = Vec::new();
    roots.iter().for_each(|root| section(root, &mut found));
    let mut out = String::new();
    for part in found {
        match part {
            Part::Section(section, tagged) => print(&mut out, section, tagged),
            Part::Control(of) => controls(&mut out, of),
        }
    }
    out
}

enum Part {
    Section(&'static Section, Option<&'static Tagged>),
    Control(Of),
}

/// Sections in the order in which a reader meets them.
fn section(of: &'static Section, found: &mut Vec<Part>) {
    let known = |p: &Part| matches!(p, Part::Section(s, _) if s.name == of.name);
    if !found.iter().any(known) {
        found.push(Part::Section(of, None));
        keys(of, found);
    }
}

fn variants(of: &'static Tagged, found: &mut Vec<Part>) {
    let known = |p: &Part| matches!(p, Part::Section(s, _) if s.name == of.section.name);
    if !found.iter().any(known) {
        found.push(Part::Section(of.section, Some(of)));
        keys(of.section, found);
    }
}

fn keys(of: &'static Section, found: &mut Vec<Part>) {
    for key in of.keys {
        kind(&key.kind, found);
    }
}

fn kind(of: &'static Kind, found: &mut Vec<Part>) {
    match of {
        Kind::Section(s) | Kind::Optional(s) => section(s, found),
        Kind::Tagged(t) | Kind::Keyed(t) => variants(t, found),
        Kind::Either(kinds) => kinds.iter().for_each(|k| kind(k, found)),
        Kind::List(k) | Kind::OneOrMany(k) | Kind::Map(_, k) => kind(k, found),
        Kind::Control(of) if !found.iter().any(|p| matches!(p, Part::Control(o) if o == of)) => {
            found.push(Part::Control(*of));
        }
        _ => {}
    }
}

fn print(out: &mut String, section: &Section, tagged: Option<&Tagged>) {
    out.push_str(&format!("### {}\n\n{}\n\n", section.name, section.doc));
    out.push_str("| key | value | left out | |\n|---|---|---|---|\n");
    for key in section.keys {
        let absent = match key.presence {
            Presence::Required => "**required**".to_owned(),
            Presence::Default("") => String::new(),
            Presence::Default(text) => format!("`{text}`"),
            Presence::Otherwise(text) => text.to_owned(),
        };
        let value = key.kind.docs();
        let row = format!("| `{}` | {value} | {absent} | {} |\n", key.name, key.doc);
        out.push_str(&row);
    }
    out.push('\n');
    let told = tagged.filter(|t| t.variants.iter().any(|v| !v.needs.is_empty()));
    if let Some(tagged) = told {
        out.push_str("| | needs | may have |\n|---|---|---|\n");
        for variant in tagged.variants {
            let words = |names: &[&str]| {
                let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
                names.join(", ")
            };
            let (needs, may) = (words(variant.needs), words(variant.may));
            out.push_str(&format!("| `{}` | {needs} | {may} |\n", variant.name));
        }
        out.push('\n');
    }
}

fn controls(out: &mut String, of: Of) {
    let (name, noun) = (section_name(of), noun(of));
    out.push_str(&format!("### {name}\n\nOne of these, as a word with its defaults or as a mapping with `kind` and parameters"));
    let partial = matches!(of, Of::Budget | Of::Throttle | Of::Breaker);
    out.push_str(if partial {
        "; without `kind` the parameters change what the less specific policy says.\n\n"
    } else {
        ".\n\n"
    });
    out.push_str(&format!(
        "| {noun} | parameters and what they are when left out | |\n|---|---|---|\n"
    ));
    for entry in entries(of) {
        let parameters: Vec<String> = entry
            .parameters
            .iter()
            .map(|p| format!("`{}: {}`", p.name, p.unit.show(p.default)))
            .collect();
        let (name, summary) = (entry.name, entry.summary);
        let row =
            format!("| [`{name}`](controls/{name}.md) | {} | {summary} |\n", parameters.join(", "));
        out.push_str(&row);
    }
    out.push('\n');
}
