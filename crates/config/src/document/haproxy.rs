//! HAProxy: words in lines, in sections that begin with a known word. A section is a directive
//! with a block (`words`); lines before the first one stand at the root.

use super::words::{Builder, Word};
use super::{Document, Syntax, Trouble};

/// The words that begin a section.
const SECTIONS: &[&str] = &[
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "userlist",
    "peers",
    "mailers",
    "resolvers",
    "cache",
    "ring",
    "program",
    "http-errors",
    "fcgi-app",
    "log-forward",
    "log-profile",
    "crt-store",
    "traces",
    "acme",
    "dynamic-update",
];

/// The document of a text.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut builder = Builder::new();
    let (mut line, mut last) = (1_u32, 1_u32);
    for row in text.split('\n') {
        let words = words(row, line);
        let go_on = match words.first() {
            None => true,
            Some(first) if SECTIONS.contains(&first.text.as_str()) && !first.quoted => {
                if builder.depth() > 0 {
                    builder.end(last);
                }
                last = line;
                builder.begin(words, line)
            }
            Some(_) => {
                last = line;
                builder.directive(words)
            }
        };
        if !go_on {
            break;
        }
        line = line.saturating_add(1);
    }
    if builder.depth() > 0 {
        builder.end(last);
    }
    builder.finish(Syntax::Haproxy, last, false)
}

/// The words of a line: quotes, `\ `, and comments.
fn words(row: &str, line: u32) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = row.chars();
    while let Some(c) = chars.next() {
        match c {
            '#' => break,
            c if c.is_whitespace() => words.extend(word.take()),
            _ => {
                let word =
                    word.get_or_insert_with(|| Word { text: String::new(), quoted: false, line });
                match c {
                    '\\' => word.text.extend(chars.next()),
                    '\'' => {
                        word.quoted = true;
                        word.text.extend(chars.by_ref().take_while(|c| *c != '\''));
                    }
                    '"' => {
                        word.quoted = true;
                        while let Some(c) = chars.next() {
                            match c {
                                '"' => break,
                                '\\' => word.text.extend(chars.next()),
                                c => word.text.push(c),
                            }
                        }
                    }
                    c => word.text.push(c),
                }
            }
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_hold_their_lines() {
        let (documents, troubles) = parse(
            "defaults\n  retries 1 # one\n\ndefaults web\n timeout server \"5s\"\nbackend a\n  server x\\ y 1:2\n",
        );
        assert_eq!(troubles, []);
        let root = &documents[0].root;
        let defaults: Vec<_> = root.all("defaults").collect();
        assert_eq!(defaults.len(), 2);
        assert_eq!(defaults[0].value.lines, [1, 2]);
        assert_eq!(defaults[1].value.arg(0), Some("web"));
        let block = defaults[1].value.block().expect("block");
        assert_eq!(block.get("timeout").expect("timeout").args(), ["server", "5s"]);
        let backend = root.get("backend").and_then(|backend| backend.block()).expect("backend");
        assert_eq!(backend.get("server").expect("server").args(), ["x y", "1:2"]);
        assert_eq!(backend.lines, [6, 7]);
    }
}
