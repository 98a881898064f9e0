//! What holds of every lowering.

use crate::language::Language;
use crate::lower::tree;

/// The tree of a whole and right text.
pub(super) fn show(language: Language, text: &str) -> String {
    let tree = tree(language, text).expect("parses");
    assert!(!tree.broken(), "{text}");
    assert!(!tree.too_deep(), "{text}");
    tree.show(tree.root())
}

/// A text that was cut anywhere still has a tree, with children before parents and inside them.
pub(super) fn every_prefix(language: Language, text: &str) {
    for cut in (0..text.len()).step_by(7).filter(|cut| text.is_char_boundary(*cut)) {
        let text = &text[..cut];
        let tree = tree(language, text).expect("parses");
        for id in tree.ids() {
            tree.children(id, &mut |child| assert!(child < id, "{language} cut at {cut}"));
            assert!(tree.span(id).end as usize <= text.len(), "{language} cut at {cut}");
        }
    }
}

/// Depth is bounded, and what is too deep is said to be.
pub(super) fn deep(language: Language, before: &str, open: &str, close: &str, after: &str) {
    let text = format!("{before}{}1{}{after}", open.repeat(3000), close.repeat(3000));
    let tree = tree(language, &text).expect("parses");
    assert!(tree.too_deep(), "{language}");
    assert!(tree.walk(tree.root()).count() <= tree.len() * 2, "{language}");
}
