//! Caddyfile: words in lines, blocks in braces. Shapes are in `words`; the key of a site
//! is its first address, and the key of the global options is empty.

use super::words::{Builder, Chars, Word};
use super::{Document, Syntax, Trouble};

/// The document of a text.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut builder = Builder::new();
    let mut chars = Chars::of(text);
    let mut words: Vec<Word> = Vec::new();
    let mut full = false;
    while let Some(c) = chars.peek() {
        let line = chars.line;
        match c {
            '\n' => {
                chars.next();
                full |= !row(&mut builder, &mut words, line);
            }
            '#' => chars.skip_line(),
            c if c.is_whitespace() => {
                chars.next();
            }
            _ => words.extend(word(&mut chars)),
        }
        if full {
            break;
        }
    }
    let line = chars.line;
    if !full {
        row(&mut builder, &mut words, line);
    }
    // A file of one site needs no braces: its first line is the address.
    builder.finish(Syntax::Caddyfile, line, true)
}

/// Takes the words of one line; false: there is no room for more.
fn row(builder: &mut Builder, words: &mut Vec<Word>, line: u32) -> bool {
    let bare = |word: &Word, text: &str| !word.quoted && word.text == text;
    // Several addresses of a site may go over several lines.
    if words.last().is_some_and(|word| !word.quoted && word.text.ends_with(',')) {
        return true;
    }
    let mut words = std::mem::take(words);
    while words.first().is_some_and(|word| bare(word, "}")) {
        builder.end(line);
        words.remove(0);
    }
    if words.last().is_some_and(|word| bare(word, "{")) {
        words.pop();
        return builder.begin(words, line);
    }
    builder.directive(words)
}

fn word(chars: &mut Chars<'_>) -> Option<Word> {
    let line = chars.line;
    let mut text = String::new();
    match chars.peek()? {
        quote @ ('"' | '`') => {
            chars.next();
            while let Some(c) = chars.next() {
                match c {
                    '\\' if quote == '"' => match chars.next() {
                        Some('"') => text.push('"'),
                        other => {
                            text.push('\\');
                            text.extend(other);
                        }
                    },
                    c if c == quote => break,
                    c => text.push(c),
                }
            }
            return Some(Word { text, quoted: true, line });
        }
        '\\' => {
            chars.next();
            // A line goes on.
            if chars.peek() == Some('\r') {
                chars.next();
            }
            if chars.peek() == Some('\n') {
                chars.next();
                return None;
            }
            text.push('\\');
        }
        _ => {}
    }
    while let Some(c) = chars.peek().filter(|c| !c.is_whitespace()) {
        chars.next();
        text.push(c);
    }
    if let Some(marker) = text.strip_prefix("<<").filter(|marker| !marker.is_empty()) {
        let marker = marker.to_owned();
        return Some(Word { text: heredoc(chars, &marker), quoted: true, line });
    }
    Some(Word { text, quoted: false, line })
}

fn heredoc(chars: &mut Chars<'_>, marker: &str) -> String {
    chars.skip_line();
    let (mut text, mut row) = (String::new(), String::new());
    while chars.peek().is_some() {
        chars.next();
        row.clear();
        while let Some(c) = chars.peek().filter(|c| *c != '\n') {
            chars.next();
            row.push(c);
            if row.trim_start() == marker {
                return text;
            }
        }
        text.push_str(&row);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_and_directives_know_their_lines() {
        let (documents, troubles) = parse(
            "{\n\tdebug\n}\na.example,\nb.example {\n\treverse_proxy o1:80 \"o 2\" {\n\t\tlb_retries 2 # two\n\t}\n\trespond <<END\n\t{ not a block\n\tEND 200\n}\n",
        );
        assert_eq!(troubles, []);
        let root = &documents[0].root;
        assert!(
            root.get("").and_then(|global| global.block()).expect("global").get("debug").is_some()
        );
        let site = root.entry("a.example,").expect("site");
        assert_eq!(site.value.arg(0), Some("b.example"));
        let site = site.value.block().expect("block");
        let proxy = site.get("reverse_proxy").expect("proxy");
        assert_eq!(proxy.args(), ["o1:80", "o 2"]);
        assert_eq!(proxy.block().expect("block").entry("lb_retries").expect("retries").line, 7);
        assert_eq!(site.get("respond").expect("respond").arg(1), Some("200"));
    }

    #[test]
    fn a_site_may_go_without_braces() {
        let (documents, troubles) = parse("localhost\nreverse_proxy a \\\n  b\n");
        assert_eq!(troubles, []);
        assert_eq!(documents[0].root.get("reverse_proxy").expect("proxy").args(), ["a", "b"]);
    }
}
