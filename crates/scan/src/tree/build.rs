//! Building a tree from a syntax tree.

use tree_sitter::Node as Syntax;

use super::walk::children_of;
use super::{Id, Kind, Node, Span, Tree};

/// Deeper than this, code is left out: nobody writes it, and every walk is recursive.
pub const MAX_DEPTH: u32 = 500;

/// Makes nodes; the lowering of each language drives it.
#[derive(Debug)]
pub struct Builder<'s> {
    text: &'s str,
    nodes: Vec<Node<'s>>,
    depth: u32,
    too_deep: bool,
}

impl<'s> Builder<'s> {
    /// Nothing yet, of this text.
    #[must_use]
    pub fn new(text: &'s str) -> Self {
        Self { text, nodes: Vec::with_capacity(text.len() / 8), depth: 0, too_deep: false }
    }

    /// A node of this kind where `at` is.
    pub fn add(&mut self, at: Syntax<'_>, kind: Kind<'s>) -> Id {
        self.add_at(span(at), kind)
    }

    /// A node of this kind at a place.
    pub fn add_at(&mut self, span: Span, kind: Kind<'s>) -> Id {
        let id = Id(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX - 1));
        self.nodes.push(Node { kind, span });
        id
    }

    /// What a node is.
    #[must_use]
    pub fn kind(&self, id: Id) -> &Kind<'s> {
        &self.nodes[id.0 as usize].kind
    }

    /// Where a node is.
    #[must_use]
    pub fn span(&self, id: Id) -> Span {
        self.nodes[id.0 as usize].span
    }

    /// The children of a node, in the order of the source.
    #[must_use]
    pub fn children(&self, id: Id) -> Vec<Id> {
        let mut all = Vec::new();
        children_of(self.kind(id), &mut |child| all.push(child));
        all
    }

    /// Gives a node another kind: its children may be any that exist.
    pub fn replace(&mut self, id: Id, kind: Kind<'s>) {
        self.nodes[id.0 as usize].kind = kind;
    }

    /// Looks at a node and all below it, but not into those for which `stop` holds, and gives
    /// another kind to those for which `change` has one. What it gave is not looked into.
    pub fn rewrite(
        &mut self,
        from: Id,
        stop: impl Fn(&Kind<'s>) -> bool,
        mut change: impl FnMut(Id, &Kind<'s>) -> Option<Kind<'s>>,
    ) {
        let mut stack = vec![from];
        while let Some(id) = stack.pop() {
            let kind = &self.nodes[id.0 as usize].kind;
            if let Some(new) = change(id, kind) {
                self.nodes[id.0 as usize].kind = new;
            } else if !stop(kind) {
                children_of(kind, &mut |child| stack.push(child));
            }
        }
    }

    /// The text of a piece of syntax.
    #[must_use]
    pub fn text(&self, at: Syntax<'_>) -> &'s str {
        self.text.get(at.byte_range()).unwrap_or_default()
    }

    /// The whole text.
    #[must_use]
    pub fn source(&self) -> &'s str {
        self.text
    }

    /// Lowers one level deeper; beyond [`MAX_DEPTH`] an empty [`Kind::Other`] stands for it.
    pub fn deeper(&mut self, at: Syntax<'_>, lower: impl FnOnce(&mut Self) -> Id) -> Id {
        if self.depth >= MAX_DEPTH {
            self.too_deep = true;
            return self.add(at, Kind::Other(Vec::new()));
        }
        self.depth += 1;
        let id = lower(self);
        self.depth -= 1;
        id
    }

    /// The finished tree.
    #[must_use]
    pub fn finish(self, root: Id, broken: bool) -> Tree<'s> {
        let mut parents = vec![u32::MAX; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            children_of(&node.kind, &mut |child| parents[child.0 as usize] = at);
        }
        let Self { text, nodes, too_deep, .. } = self;
        Tree { text, nodes, parents, root, broken, too_deep }
    }
}

/// Where a piece of syntax is.
#[must_use]
pub(super) fn span(at: Syntax<'_>) -> Span {
    let row = |row: usize| u32::try_from(row).unwrap_or(u32::MAX - 1) + 1;
    let (first, last) = (at.start_position(), at.end_position());
    // A node that ends at the start of a line ends on the line before.
    let end_row = if last.column == 0 && last.row > first.row { last.row - 1 } else { last.row };
    let byte = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
    Span {
        line: row(first.row),
        end_line: row(end_row),
        start: byte(at.start_byte()),
        end: byte(at.end_byte()),
    }
}
