//! What nginx, HAProxy and Caddy files have in common: directives of words, some with a block.
//!
//! A directive is an entry: its key is the first word, its value the list of the others, and a
//! block is the last item of that list, a map. The same key may stand there several times.

use super::{Document, Entry, MAX_DEPTH, MAX_NODES, Node, Syntax, Trouble, Value};

/// A word of a file.
pub(super) struct Word {
    /// What it says.
    pub text: String,
    /// Whether it stood in quotes.
    pub quoted: bool,
    /// Its line.
    pub line: u32,
}

/// Builds the tree of directives.
pub(super) struct Builder {
    open: Vec<Block>,
    nodes: usize,
    troubles: Vec<Trouble>,
}

struct Block {
    key: Box<str>,
    line: u32,
    words: Vec<Node>,
    entries: Vec<Entry>,
}

impl Builder {
    /// An empty file.
    pub(super) fn new() -> Self {
        let root = Block { key: "".into(), line: 1, words: Vec::new(), entries: Vec::new() };
        Self { open: vec![root], nodes: 0, troubles: Vec::new() }
    }

    /// Notes something wrong; what follows is still read.
    pub(super) fn trouble(&mut self, line: u32, why: &str) {
        // One mistake can make many; the first few say it all.
        if self.troubles.len() < 8 {
            self.troubles.push(Trouble { line, why: why.to_owned() });
        }
    }

    /// How many blocks are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len() - 1
    }

    fn count(&mut self, words: &[Word], line: u32) -> bool {
        self.nodes = self.nodes.saturating_add(words.len() + 1);
        if self.nodes > MAX_NODES {
            self.trouble(line, &format!("more than {MAX_NODES} values"));
            return false;
        }
        true
    }

    /// A directive without a block; false: there is no room for more.
    pub(super) fn directive(&mut self, words: Vec<Word>) -> bool {
        let Some((key, line, words)) = split(words) else { return true };
        if !self.count(&words, line) {
            return false;
        }
        let value = list(words, line, None);
        self.put(Entry { key, line, value });
        true
    }

    /// A directive whose block begins; false: there is no room for more.
    pub(super) fn begin(&mut self, words: Vec<Word>, line: u32) -> bool {
        let (key, line, words) = split(words).unwrap_or_else(|| ("".into(), line, Vec::new()));
        if self.open.len() > MAX_DEPTH {
            self.trouble(line, &format!("blocks are nested more than {MAX_DEPTH} deep"));
            return false;
        }
        if !self.count(&words, line) {
            return false;
        }
        let words = words.iter().map(node).collect();
        self.open.push(Block { key, line, words, entries: Vec::new() });
        true
    }

    /// The block that is open ends; an end too many is a trouble.
    pub(super) fn end(&mut self, line: u32) {
        if self.open.len() < 2 {
            self.trouble(line, "a block ends that did not begin");
            return;
        }
        let Some(block) = self.open.pop() else { return };
        let last = line.max(block.line);
        let map = Node { value: Value::Map(block.entries), lines: [block.line, last] };
        let mut words = block.words;
        words.push(map);
        let value = Node { value: Value::List(words), lines: [block.line, last] };
        self.put(Entry { key: block.key, line: block.line, value });
    }

    fn put(&mut self, entry: Entry) {
        if let Some(block) = self.open.last_mut() {
            block.entries.push(entry);
        }
    }

    /// The document. Blocks that are still open end here.
    pub(super) fn finish(
        mut self,
        syntax: Syntax,
        line: u32,
        told: bool,
    ) -> (Vec<Document>, Vec<Trouble>) {
        if told && self.open.len() > 1 {
            let at = self.open.last().map_or(line, |block| block.line);
            self.trouble(at, "this block does not end");
        }
        while self.open.len() > 1 {
            self.end(line);
        }
        let entries = self.open.pop().map(|block| block.entries).unwrap_or_default();
        let root = Node { value: Value::Map(entries), lines: [1, line.max(1)] };
        (vec![Document { syntax, root }], self.troubles)
    }
}

fn split(words: Vec<Word>) -> Option<(Box<str>, u32, Vec<Word>)> {
    let mut words = words.into_iter();
    let first = words.next()?;
    Some((first.text.into(), first.line, words.collect()))
}

fn node(word: &Word) -> Node {
    Node::scalar(&word.text, word.quoted, word.line)
}

fn list(words: Vec<Word>, line: u32, block: Option<Node>) -> Node {
    let last = words.last().map_or(line, |word| word.line).max(line);
    let items = words.iter().map(node).chain(block).collect();
    Node { value: Value::List(items), lines: [line, last] }
}

/// Characters of a text with their lines.
pub(super) struct Chars<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// The line of the next character.
    pub line: u32,
}

impl<'a> Chars<'a> {
    /// From the beginning.
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { rest: text.chars().peekable(), line: 1 }
    }

    /// The next one, which stays.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// The rest of the line is left out.
    pub(super) fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.next();
        }
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        if next == Some('\n') {
            self.line = self.line.saturating_add(1);
        }
        next
    }
}

/// Reading such a tree.
impl Node {
    /// The words of a directive.
    #[must_use]
    pub fn args(&self) -> Vec<&str> {
        self.items().iter().filter_map(Self::text).collect()
    }

    /// One word of a directive, from 0.
    #[must_use]
    pub fn arg(&self, at: usize) -> Option<&str> {
        self.items().get(at)?.text()
    }

    /// The block of a directive.
    #[must_use]
    pub fn block(&self) -> Option<&Self> {
        self.items().last().filter(|item| matches!(item.value, Value::Map(_)))
    }

    /// All entries of a key, by its very name.
    pub fn all<'a>(&'a self, key: &str) -> impl DoubleEndedIterator<Item = &'a Entry> + use<'a> {
        let key: Box<str> = key.into();
        self.entries().iter().filter(move |entry| entry.key == key)
    }
}
