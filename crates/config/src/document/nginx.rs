//! nginx: words, blocks in braces, semicolons. Shapes are in `words`.

use super::words::{Builder, Chars, Word};
use super::{Document, Syntax, Trouble};

/// The document of a text.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut builder = Builder::new();
    let mut chars = Chars::of(text);
    let mut words: Vec<Word> = Vec::new();
    while let Some(c) = chars.peek() {
        let line = chars.line;
        let go_on = match c {
            '#' => {
                chars.skip_line();
                true
            }
            ';' => {
                chars.next();
                builder.directive(std::mem::take(&mut words))
            }
            '{' => {
                chars.next();
                // Lua has its own braces and quotes.
                let lua = words.first().is_some_and(|word| word.text.ends_with("_by_lua_block"));
                let begun = builder.begin(std::mem::take(&mut words), line);
                if lua {
                    skip_block(&mut chars);
                    builder.end(chars.line);
                }
                begun
            }
            '}' => {
                chars.next();
                if !words.is_empty() {
                    builder.trouble(line, "a directive without a semicolon");
                    builder.directive(std::mem::take(&mut words));
                }
                builder.end(line);
                true
            }
            c if c.is_whitespace() => {
                chars.next();
                true
            }
            quote @ ('"' | '\'') => {
                chars.next();
                words.push(Word { text: quoted(&mut chars, quote), quoted: true, line });
                true
            }
            _ => {
                words.push(Word { text: bare(&mut chars), quoted: false, line });
                true
            }
        };
        if !go_on {
            break;
        }
    }
    if !words.is_empty() {
        builder.trouble(chars.line, "the file ends within a directive");
        builder.directive(words);
    }
    let line = chars.line;
    builder.finish(Syntax::Nginx, line, true)
}

fn quoted(chars: &mut Chars<'_>, quote: char) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            c if c == quote => break,
            c => text.push(c),
        }
    }
    text
}

fn bare(chars: &mut Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.peek() {
        // `${name}` is a part of the word.
        let variable = text.ends_with('$');
        match c {
            '{' if variable => {
                for c in chars.by_ref() {
                    text.push(c);
                    if c == '}' {
                        break;
                    }
                }
                continue;
            }
            ';' | '{' => break,
            c if c.is_whitespace() => break,
            _ => {}
        }
        chars.next();
        text.push(c);
        if c == '\\' {
            text.extend(chars.next());
        }
    }
    text
}

/// Leaves out the rest of a block whose opening brace has been read.
fn skip_block(chars: &mut Chars<'_>) {
    let mut depth = 1_usize;
    for c in chars {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_and_blocks_know_their_lines() {
        let (documents, troubles) = parse(
            "# c\nhttp {\n  upstream a { server b:80; server 'c d'; }\n  set $x \"${y} ; {\";\n  log ${y}z;\n}\n",
        );
        assert_eq!(troubles, []);
        let http = documents[0].root.get("http").and_then(|http| http.block()).expect("http");
        assert_eq!(http.lines, [2, 6]);
        let upstream = http.entry("upstream").expect("upstream");
        assert_eq!(upstream.value.arg(0), Some("a"));
        let servers = upstream.value.block().expect("block");
        assert_eq!(servers.all("server").count(), 2);
        assert_eq!(servers.all("server").last().expect("c").value.arg(0), Some("c d"));
        assert_eq!(http.get("set").expect("set").args(), ["$x", "${y} ; {"]);
        assert_eq!(http.get("log").expect("log").args(), ["${y}z"]);
    }

    #[test]
    fn lua_and_mistakes_are_survived() {
        let (documents, troubles) = parse(
            "location / {\n content_by_lua_block { if x then y = {\"'\"} end }\n proxy_pass http://a;\n}\n}\na {",
        );
        let location = documents[0].root.get("location").expect("location");
        assert!(location.block().expect("block").get("proxy_pass").is_some());
        assert_eq!(troubles.len(), 2);
        assert!(parse(&"a {".repeat(10_000)).1[0].why.contains("deep"));
    }
}
