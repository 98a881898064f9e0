//! Tables: columns as wide as their content, numbers to the right.

use super::{DIM, line, paint};

/// Prints a table; the first column is left-aligned, the others right-aligned.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) {
    line(self::rows(head, rows).trim_end_matches('\n'));
}

/// The same as text.
pub(crate) fn rows(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let format = |cells: &[String]| {
        let mut out = String::from("  ");
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count().min(*width));
            if i == 0 {
                out.push_str(&format!("{cell}{pad}"));
            } else {
                out.push_str(&format!("  {pad}{cell}"));
            }
        }
        out.trim_end().to_owned()
    };
    let head: Vec<String> = head.iter().map(|h| (*h).to_owned()).collect();
    let mut out = paint(DIM, &format(&head));
    out.push('\n');
    for row in rows {
        out.push_str(&format(row));
        out.push('\n');
    }
    out
}
