//! `trace:`: a load from a CSV file of seconds and requests per second.

use std::path::Path;

use damper_control::Nanos;

use crate::files;
use crate::model::Load;
use crate::node::{Node, quoted};
use crate::problem::Draft;
use crate::read::{Reader, Val};
use crate::schema::Kind;
use crate::source::{Source, Span};
use crate::units::LONGEST;

const MAX_BYTES: u64 = 64 << 20;
const MAX_ROWS: usize = 1_000_000;
/// More mistakes than this in one trace are not listed.
const MAX_PROBLEMS: usize = 10;

pub(crate) fn read(reader: &mut Reader<'_>, node: &Node, base: &Path) -> Option<Load> {
    let Val::Text(name) = reader.scalar(node, &Kind::Text)? else {
        return None;
    };
    let path = base.join(&name);
    let text = match files::read(&path, MAX_BYTES) {
        Ok(text) => text,
        Err(why) => {
            reader.error(
                Draft::new(node.span, format!("the trace cannot be read: {why}"))
                    .found(quoted(&path.display().to_string()))
                    .expected("a CSV file, relative to the folder of the system file"),
            );
            return None;
        }
    };
    let (points, drafts) = rows(&text);
    let empty = points.is_empty() && drafts.is_empty();
    if drafts.is_empty() && !empty {
        return Some(Load::Profile(points));
    }
    let shown = path.display().to_string();
    let source = reader.sink.source(Source::new(shown, text));
    if empty {
        reader.error(
            Draft::new(node.span, "the trace has no rows")
                .expected("rows such as `0,100`: seconds, requests per second"),
        );
    }
    for (range, message, found) in drafts {
        reader.error(
            Draft::new(Span::new(source, range), message)
                .found(found)
                .expected("seconds, requests per second, such as `12.5,300`")
                .also(node.span, "the trace of"),
        );
    }
    None
}

type Mistake = (std::ops::Range<usize>, String, String);

fn rows(text: &str) -> (Vec<(Nanos, f64)>, Vec<Mistake>) {
    let mut points: Vec<(Nanos, f64)> = Vec::new();
    let mut mistakes = Vec::new();
    let mut start = 0;
    let mut first = true;
    for line in text.split('\n') {
        let range = start..start + line.len();
        start += line.len() + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if mistakes.len() >= MAX_PROBLEMS {
            break;
        }
        let header =
            std::mem::take(&mut first) && line.starts_with(|c: char| c.is_alphabetic() || c == '"');
        if header {
            continue;
        }
        let wrong = |why: &str| (range.clone(), why.to_owned(), quoted(line));
        match row(line) {
            Err(why) => mistakes.push(wrong(why)),
            Ok((at, _)) if points.last().is_some_and(|(last, _)| at < *last) => {
                mistakes.push(wrong("times must not go back"));
            }
            Ok(_) if points.len() >= MAX_ROWS => {
                mistakes.push(wrong("a trace has at most 1_000_000 rows"));
                break;
            }
            Ok(point) => points.push(point),
        }
    }
    (points, mistakes)
}

fn row(line: &str) -> Result<(Nanos, f64), &'static str> {
    let (at, rate) = line.split_once(',').ok_or("this row has one column")?;
    if rate.contains(',') {
        return Err("this row has more than two columns");
    }
    let number = |s: &str| s.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let at = number(at).ok_or("the first column is not a number")?;
    let rate = number(rate).ok_or("the second column is not a number")?;
    if !(0.0..=LONGEST.as_secs_f64()).contains(&at) {
        return Err("the time is not between 0 and 10_000_000 seconds");
    }
    if !(0.0..=1e9).contains(&rate) {
        return Err("the rate is not between 0 and 1_000_000_000 per second");
    }
    Ok((Nanos::from_secs_f64(at), rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_header_comments_and_windows_ends() {
        let (points, mistakes) = rows("seconds,rps\r\n# quiet\r\n0,10\r\n1.5, 20\r\n\r\n");
        assert_eq!(mistakes, []);
        assert_eq!(points, [(Nanos::ZERO, 10.0), (Nanos::from_millis(1500), 20.0)]);
    }

    #[test]
    fn each_mistake_names_its_row() {
        let text = "0,1\n1\n2,x\ny,1\n1,2,3\n-1,1\n3,-1\n4,inf\n2,2\n0,3";
        let (_, mistakes) = rows(text);
        let places: Vec<&str> = mistakes.iter().map(|(r, ..)| &text[r.clone()]).collect();
        assert_eq!(places, ["1", "2,x", "y,1", "1,2,3", "-1,1", "3,-1", "4,inf", "0,3"]);
    }
}
