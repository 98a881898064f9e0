//! Findings by file, the worst first, each place with its lines.

use std::collections::BTreeMap;

use super::section;
use crate::format;
use crate::html::El;
use crate::result::scan::{Finding, Frame, Scan, rank};

/// Findings on a page; the rest is counted.
const SHOWN: usize = 1000;

/// The part; nothing if there are none.
pub(crate) fn part(scan: &Scan) -> Option<El> {
    let mut all: Vec<&Finding> = scan.findings.iter().filter(|one| one.counts()).collect();
    if all.is_empty() {
        return None;
    }
    all.sort_by_key(|one| rank(&one.severity));
    let left = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    let mut part = section("findings", "Findings").child(rules(&all));
    let mut files = Vec::<(&str, Vec<&Finding>)>::new();
    for one in all {
        match files.iter_mut().find(|(path, _)| *path == one.path) {
            Some((_, of_file)) => of_file.push(one),
            None => files.push((&one.path, vec![one])),
        }
    }
    for (path, of_file) in files {
        part.push(El::new("h3").child(El::new("code").text(format::clip(path, 200))));
        let mut places = Vec::<([u32; 2], Vec<&Finding>)>::new();
        for one in of_file {
            let at = [one.line, one.end_line];
            match places.iter_mut().find(|(place, _)| *place == at) {
                Some((_, here)) => here.push(one),
                None => places.push((at, vec![one])),
            }
        }
        for (at, here) in places {
            part.push(place(at, &here));
        }
    }
    if left > 0 {
        part.push(El::new("p").class("note").text(format!(
            "{} more are not shown; --json has all of them.",
            format::count(left as u64)
        )));
    }
    Some(part)
}

/// How many of each rule.
fn rules(all: &[&Finding]) -> El {
    let mut counts = BTreeMap::<(usize, &str), (&Finding, usize)>::new();
    for one in all {
        counts.entry((rank(&one.severity), &one.rule)).or_insert((one, 0)).1 += 1;
    }
    El::new("ul").class("legend").children(counts.values().map(|(one, count)| {
        El::new("li")
            .child(severity(&one.severity))
            .child(El::new("span").text(format!("{} {count}", one.rule)))
    }))
}

fn place([line, end_line]: [u32; 2], here: &[&Finding]) -> El {
    let at = if line == end_line {
        format!("line {line}")
    } else {
        format!("lines {line}–{end_line}")
    };
    let mut out = El::new("figure").class("finding");
    out.push(El::new("figcaption").child(El::new("span").class("aside").text(at)));
    if let Some(lines) = here.iter().find_map(|one| one.frame.as_ref()) {
        out.push(frame(lines, line, end_line));
    }
    for one in here {
        let head = El::new("p")
            .child(severity(&one.severity))
            .text(" ")
            .child(El::new("b").text(one.message.clone()))
            .text(" ")
            .child(El::new("span").class("aside").text(one.rule.clone()));
        out.push(head);
        let mut more = El::new("ul").class("advice");
        for (name, text) in [("Why", &one.why), ("Fix", &one.fix)] {
            if !text.is_empty() {
                let name = El::new("b").text(name);
                more.push(El::new("li").child(name).text(format!(" {text}")));
            }
        }
        out.push(more);
    }
    out
}

fn severity(name: &str) -> El {
    let class = match name {
        "error" => "severity error",
        "warning" => "severity warning",
        _ => "severity",
    };
    El::new("span").class(class).text(name)
}

/// The lines with their numbers; those of the finding are marked.
fn frame(frame: &Frame, line: u32, end_line: u32) -> El {
    let lines = (frame.first..).zip(&frame.lines).map(|(number, text)| {
        let class = if (line..=end_line).contains(&number) { "code-line hit" } else { "code-line" };
        El::new("span")
            .class(class)
            .child(El::new("i").text(number.to_string()))
            .text(format!("{text}\n"))
    });
    let mut pre = El::new("pre").class("frame").children(lines);
    if frame.more > 0 {
        pre.push(El::new("span").class("aside").text(format!("… {} more lines", frame.more)));
    }
    // A box that scrolls must be reachable by the keyboard.
    super::scrolling(&format!("code from line {line}"), pre)
}
