//! Files of JavaScript with types in them: Flow, or TypeScript under another name.

use tree_sitter::{Node as Syntax, Tree};

use super::super::parse;
use crate::language::Language;

/// The syntax of a text with types where that can be read and the syntax without them cannot.
///
/// Where an annotation stands, the grammar without types loses what is around it: of a whole class
/// only pieces are left.
pub(in crate::lower) fn typed(text: &str, plain: Tree) -> Tree {
    if !plain.root_node().has_error() {
        return plain;
    }
    let broken = unread(plain.root_node());
    match parse(Language::Tsx, text, &[]) {
        Some(typed) if unread(typed.root_node()) < broken => typed,
        _ => plain,
    }
}

/// How many bytes of a text are in what could not be read.
fn unread(root: Syntax<'_>) -> usize {
    let mut cursor = root.walk();
    let mut bytes = 0;
    loop {
        let at = cursor.node();
        if at.is_error() || at.is_missing() {
            bytes += at.byte_range().len().max(1);
        } else if at.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::language::Language;
    use crate::lower;
    use crate::tree::Kind;

    #[test]
    fn a_class_with_annotations_is_read_whole() {
        let text = "class A {\n  f(a: any, b: number): Promise<void> {\n    return g(a);\n  }\n}\n";
        let tree = lower::tree(Language::JavaScript, text).unwrap();
        assert!(!tree.broken());
        let named =
            tree.ids().any(|id| matches!(tree.kind(id), Kind::Function { name: Some("f"), .. }));
        assert!(named);
    }
}
