//! `routes:`: a routing matrix for each class.

use crate::model::{Routes, ServiceId};
use crate::node::{Entry, quoted};
use crate::problem::Draft;
use crate::read::{Reader, Val};
use crate::schema::{Kind, Names};
use crate::source::Span;

const SHARE: Kind = Kind::Share { zero: true };
const ROW: Kind = Kind::Map(Names::Service, &SHARE);
/// Rows from services, and `entry`.
pub(crate) const MATRIX: Kind = Kind::Map(Names::ServiceOrEntry, &ROW);

const TOLERANCE: f64 = 1e-6;

type Row = Vec<(ServiceId, f64)>;
/// Entry and rows of one class.
type Matrix = (Row, Vec<Row>);

pub(crate) fn lower(reader: &mut Reader<'_>, entry: &Entry) -> Option<Routes> {
    let classes = reader.names.classes.to_vec();
    let Some(blocks) = entry.value.entries().filter(|b| !b.is_empty()) else {
        reader.error(
            Draft::new(entry.value.span, "this must be a mapping from `all` or class names")
                .found(entry.value.found())
                .expected("`all: {entry: {frontend: 100%}, …}`"),
        );
        return None;
    };
    let mut found: Vec<Option<Matrix>> = vec![None; classes.len()];
    let mut named = vec![false; classes.len()];
    for block in blocks {
        let which = match reader.name(&block.key.text, Names::ClassOrAll) {
            Ok(Val::All) => {
                if blocks.len() > 1 {
                    reader.error(
                        Draft::new(block.key.span, "`all` stands beside blocks of classes")
                            .expected("`all` alone, or one block for each class"),
                    );
                }
                0..classes.len()
            }
            Ok(Val::Id(class)) => class..class + 1,
            Ok(_) => continue,
            Err(mistake) => {
                reader.error(
                    Draft::new(block.key.span, mistake.message)
                        .expected(Names::ClassOrAll.expected())
                        .suggest(mistake.suggestion),
                );
                continue;
            }
        };
        let matrix = matrix(reader, block);
        for class in which {
            named[class] = true;
            found[class].clone_from(&matrix);
        }
    }
    for (class, _) in classes.iter().zip(named).filter(|(_, named)| !named) {
        reader.error(
            Draft::new(entry.key.span, format!("the class `{class}` has no routes"))
                .found(format!("no `{class}`"))
                .expected("a block for each class, or `all`"),
        );
    }
    let (entry, rows) = found.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
    Some(Routes { entry, rows })
}

fn matrix(reader: &mut Reader<'_>, block: &Entry) -> Option<Matrix> {
    let Some(lines) = block.value.entries() else {
        reader.error(
            Draft::new(block.value.span, "this must be a mapping")
                .found(block.value.found())
                .expected(MATRIX.expected()),
        );
        return None;
    };
    let mut entry = None;
    let mut rows = vec![Row::new(); reader.names.services.len()];
    let mut places = vec![block.key.span; rows.len()];
    let mut right = true;
    for line in lines {
        let is_entry = line.key.text == "entry";
        let from = (!is_entry).then(|| service(reader, &line.key.text, line.key.span));
        let Some(row) = row(reader, line, is_entry) else {
            right = false;
            continue;
        };
        match from {
            None => entry = Some(row),
            Some(Some(from)) => {
                rows[from.0 as usize] = row;
                places[from.0 as usize] = line.key.span;
            }
            Some(None) => right = false,
        }
    }
    if entry.is_none() && !lines.iter().any(|l| l.key.text == "entry") {
        reader.error(
            Draft::new(block.key.span, "`entry` is missing")
                .found("no `entry`")
                .expected("`entry:` the services that clients call, summing to 100%"),
        );
    }
    let matrix = (entry?, rows);
    if right {
        trapped(reader, &matrix, &places);
    }
    right.then_some(matrix)
}

fn row(reader: &mut Reader<'_>, line: &Entry, is_entry: bool) -> Option<Row> {
    let Some(cells) = line.value.entries() else {
        reader.error(
            Draft::new(line.value.span, "this must be a mapping")
                .found(line.value.found())
                .expected("services with percentages such as `{search: 60%, user: 1%}`"),
        );
        return None;
    };
    let mut row = Row::new();
    let mut right = true;
    for cell in cells {
        let to = service(reader, &cell.key.text, cell.key.span);
        let share = reader.scalar(&cell.value, &SHARE);
        match (to, share) {
            (Some(to), Some(Val::Number(share))) if share > 0.0 => row.push((to, share)),
            (Some(_), Some(_)) => {}
            _ => right = false,
        }
    }
    if !right {
        return None;
    }
    let sum: f64 = row.iter().map(|(_, share)| share).sum();
    let wrong = if is_entry { (sum - 1.0).abs() > TOLERANCE } else { sum > 1.0 + TOLERANCE };
    if wrong {
        let (message, expected) = if is_entry {
            ("the entry does not sum to 100%", "percentages that sum to 100%")
        } else {
            ("this row exceeds 100%", "percentages that sum to at most 100%; the rest are replies")
        };
        reader.error(
            Draft::new(line.key.span, message)
                .found(format!("{}%", (sum * 1e8).round() / 1e6))
                .expected(expected),
        );
        return None;
    }
    Some(row)
}

fn service(reader: &mut Reader<'_>, name: &str, at: Span) -> Option<ServiceId> {
    if let Some(i) = reader.names.services.find(name) {
        return Some(ServiceId(i as u32));
    }
    let message = if reader.names.caches.find(name).is_some() {
        format!("{} is a cache; routes lead to services only", quoted(name))
    } else {
        format!("there is no service {}", quoted(name))
    };
    let near = reader.near(name, reader.names.services.iter().map(String::as_str));
    reader.error(Draft::new(at, message).expected("the name of a service").suggest(near));
    None
}

/// Finds services from which a request never gets out.
fn trapped(reader: &mut Reader<'_>, (entry, rows): &Matrix, places: &[Span]) {
    let leaves = |row: &Row| row.iter().map(|(_, p)| p).sum::<f64>() < 1.0 - TOLERANCE;
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    for (from, row) in rows.iter().enumerate() {
        for (to, _) in row {
            callers[to.0 as usize].push(from);
        }
    }
    // Backwards from where requests can leave.
    let mut out: Vec<bool> = rows.iter().map(leaves).collect();
    let mut next: Vec<usize> = (0..rows.len()).filter(|i| out[*i]).collect();
    while let Some(to) = next.pop() {
        for from in &callers[to] {
            if !std::mem::replace(&mut out[*from], true) {
                next.push(*from);
            }
        }
    }
    // Forwards from where they enter.
    let mut reached = vec![false; rows.len()];
    let mut next: Vec<usize> = entry.iter().map(|(s, _)| s.0 as usize).collect();
    while let Some(at) = next.pop() {
        if std::mem::replace(&mut reached[at], true) {
            continue;
        }
        next.extend(rows[at].iter().map(|(s, _)| s.0 as usize));
    }
    if let Some(service) = (0..rows.len()).find(|i| reached[*i] && !out[*i]) {
        let name = reader.names.services[service].clone();
        reader.error(
            Draft::new(places[service], format!("a request that reaches `{name}` never ends"))
                .expected("a row below 100% somewhere after it"),
        );
    }
}
