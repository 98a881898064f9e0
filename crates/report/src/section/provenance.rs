//! Where the result comes from, so that it can be made again.

use crate::format;
use crate::html::El;
use crate::result::Origin;

/// The foot of the page. `how` is what only this kind of result knows about its making.
pub(crate) fn part(origin: &Origin, how: &[(&'static str, String)]) -> El {
    let fact = |name: &str, value: &str| {
        El::new("div").child(El::new("dt").text(name)).child(El::new("dd").text(value))
    };
    let mut facts = El::new("dl").class("origin");
    let seed = origin.seed.to_string();
    for (name, value) in [
        ("system", origin.system.as_str()),
        ("file", origin.file.as_str()),
        ("damper", origin.version.as_str()),
        ("seed", seed.as_str()),
    ] {
        facts.push(fact(name, if value.is_empty() { format::NONE } else { value }));
    }
    for (name, value) in how {
        facts.push(fact(name, value));
    }
    if origin.partial {
        facts.push(fact("partial", "yes, interrupted"));
    }
    let mut footer = El::new("footer")
        .attr("id", "provenance")
        .child(El::new("h2").text("Where this comes from"))
        .child(facts);
    if !origin.set.is_empty() {
        footer.push(El::new("h3").text("Changed on the command line"));
        footer.push(list(&origin.set, true));
    }
    if !origin.notes.is_empty() {
        footer.push(El::new("h3").text("Notes"));
        footer.push(list(&origin.notes, false));
    }
    if !origin.left_out.is_empty() {
        footer.push(El::new("h3").text("In the file, and not in this answer"));
        let said: Vec<String> = origin.left_out.iter().map(|out| out.says.clone()).collect();
        footer.push(list(&said, false));
    }
    footer
}

fn list(lines: &[String], code: bool) -> El {
    El::new("ul").children(lines.iter().map(|line| {
        let item = El::new("li");
        if code { item.child(El::new("code").text(line.clone())) } else { item.text(line.clone()) }
    }))
}
