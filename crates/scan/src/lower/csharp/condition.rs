//! Conditional compilation. The grammar reads `#if` where each branch is something whole. Where a
//! branch is only a part, as one half of a condition, all around it would be lost: then the text
//! is read again as if the first branch of each were all that is there.

use tree_sitter::{Point, Range};

/// The parts of a text that are read: without the lines of directives, and without the branches
/// after the first of each. Nothing if there is no such directive.
pub(in crate::lower) fn first_branches(text: &str) -> Vec<Range> {
    let mut kept: Vec<Range> = Vec::new();
    // Of each `#if` that is open: whether its first branch is over.
    let mut open: Vec<bool> = Vec::new();
    let (mut start, mut any) = (0, false);
    for (row, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        let word = directive.map(|rest| rest.split(|c: char| !c.is_alphabetic()).next());
        match word.flatten() {
            Some("if") => open.push(false),
            Some("else" | "elif") => {
                if let Some(over) = open.last_mut() {
                    *over = true;
                }
                any = true;
            }
            Some("endif") => {
                open.pop();
                any = true;
            }
            _ if open.contains(&true) => {}
            _ => match kept.last_mut() {
                Some(last) if last.end_byte == start => {
                    last.end_byte = end;
                    last.end_point = Point::new(row + 1, 0);
                }
                _ => kept.push(Range {
                    start_byte: start,
                    end_byte: end,
                    start_point: Point::new(row, 0),
                    end_point: Point::new(row + 1, 0),
                }),
            },
        }
        start = end;
    }
    if any { kept } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_branch_is_read() {
        let text = "a\n#if X\nb\n#else\nc\n#endif\nd\n";
        let read: Vec<&str> =
            first_branches(text).iter().map(|part| &text[part.start_byte..part.end_byte]).collect();
        assert_eq!(read, ["a\n", "b\n", "d\n"]);
        assert!(first_branches("a\n#region x\nb\n").is_empty());
    }

    #[test]
    fn half_a_condition_in_each_branch() {
        let text = "class A {\n  void F() {\n    if (x\n#if NET\n        && y)\n#else\n        && z)\n\
                    #endif\n    {\n      Send();\n    }\n  }\n}\n";
        let tree = crate::lower::tree(crate::language::Language::CSharp, text);
        let tree = tree.unwrap_or_else(|| unreachable!("it is short"));
        assert!(!tree.broken());
        let call = tree.ids().find(|id| tree.source(*id) == "Send()");
        assert_eq!(call.map(|call| tree.span(call).line), Some(10));
    }
}
