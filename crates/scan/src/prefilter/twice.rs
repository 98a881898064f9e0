//! The same call twice within a few lines, or a function that calls itself in a handler, as bytes
//! show it: what may be a call that is made again because it failed.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use super::again::Again;
use super::functions::{self, another, defined, indent};
use crate::language::Language;
use crate::loops;

/// How near two equal calls are, in lines with calls.
const NEAR: usize = 25;
/// A shorter call says nothing: `get()`.
const SHORTEST: usize = 10;
/// So many pairs of equal calls are asked about. A text with more, over and over the same, costs
/// less to parse than to ask.
const MOST_PAIRS: usize = 2_000;
/// So many lines with calls may stand between the question and the second call.
const CALLS_BEFORE: usize = 2;
/// What asks how something went.
const ASKS: &[&str] = &[
    "if", "unless", "match", "switch", "?", "||", " or ", "while", "until", "when", "lse", "catch",
    "except", "rescue", "select", "try", "Err", "ecover", "guard",
];
/// What begins a handler in JavaScript, too: a function that is given an error, or a question
/// about one.
const GIVEN: &[&str] = &["(err)", "(err,", "(error)", "(error,", "(e)", "(ex)"];
/// How a handler begins. Go and Rust have none.
const fn handler_word(language: Language) -> Option<&'static str> {
    match language {
        Language::Python => Some("except"),
        Language::Ruby => Some("rescue"),
        Language::Go | Language::Rust => None,
        _ => Some("catch"),
    }
}

/// Where handlers begin in a text: `exceptional`, `catch_all` and what a comment says are none.
pub(super) fn handlers_of(language: Language, text: &str) -> impl Iterator<Item = usize> {
    use Language::{JavaScript, Tsx, TypeScript};
    static WORDS: OnceLock<AhoCorasick> = OnceLock::new();
    let words = || {
        let all = ["catch", "except", "rescue"].iter().chain(GIVEN);
        WORDS.get_or_init(|| super::automaton(all.copied().collect()))
    };
    let scripts = matches!(language, JavaScript | TypeScript | Tsx);
    let all = handler_word(language).map(|word| (word, words().find_iter(text)));
    all.into_iter()
        .flat_map(move |(word, found)| {
            found.filter(move |found| {
                let (before, after) = (&text[..found.start()], &text[found.end()..]);
                let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
                let comment = ["*", "//", "/*", "#"].iter().any(|begin| line.starts_with(begin));
                let found = &text[found.range()];
                let whole =
                    !after.starts_with(functions::word) && !before.ends_with(functions::word);
                !comment && (found == word && whole || scripts && found.starts_with('('))
            })
        })
        .map(|found| found.start())
}

/// A line with a call.
#[derive(Clone, Copy)]
struct Line<'s> {
    /// The whole line.
    line: &'s str,
    /// From the call's name to the end of the line.
    call: &'s str,
    /// The next line, where the call goes on there.
    more: &'s str,
    /// Whether something keeps what it gives.
    kept: bool,
    /// How many handlers had begun before it.
    handlers: usize,
    /// How far the handler is indented that it stands in.
    within: Option<usize>,
}

const NONE: Line<'static> =
    Line { line: "", call: "", more: "", kept: false, handlers: 0, within: None };

/// What is known of the handlers of a text, line by line.
#[derive(Clone, Copy, Default)]
struct Handlers {
    /// How many have begun.
    begun: usize,
    /// How far the one is indented that the line stands in.
    within: Option<usize>,
}

impl Handlers {
    fn line(&mut self, line: &str, begins: bool) {
        if begins {
            self.begun += 1;
            self.within = Some(indent(line));
        } else if !matches!(line.trim(), "" | "{") {
            // A brace may open the handler on the line after its head.
            self.within = self.within.filter(|handler| indent(line) > *handler);
        }
    }

    /// Whether a line stands in the handler of what a line before it tried: of two handlers
    /// beside each other only one runs.
    fn handle(self, one: &Line<'_>) -> bool {
        one.handlers < self.begun && self.within.is_some() && one.within != self.within
    }
}

/// Whether a text has a call that may be made again because it failed: the same call again in a
/// handler, or both kept; its name may be that of an operation, and says that it leaves the
/// process, unless something else may say so.
pub(super) fn twice(language: Language, text: &str) -> bool {
    let mut last = [NONE; NEAR];
    let (mut at, mut handlers, mut before) = (0, Handlers::default(), "");
    let mut itself = Again::new();
    // Looked for only where there is a pair.
    let mut said = None;
    let mut pairs = 0;
    let mut begins = handlers_of(language, text).peekable();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let begun = handlers;
        let whole = line;
        let start = offset(text, line);
        let mut handles = None;
        while let Some(at) = begins.next_if(|at| *at < start + line.len()) {
            // The first of a line.
            handles = handles.or(Some(at.saturating_sub(start)));
        }
        // Until the first begins, there is nothing to know of them.
        if handles.is_some() || handlers.begun > 0 {
            handlers.line(line, handles.is_some());
            if itself.line(&text[..start], line, handles) {
                return true;
            }
        }
        // Of an arm what it does (`Err(_) => f(),`), and of a branch in its line what it gives:
        // `if (e.code === GONE) return f();`.
        let split = match language {
            Language::Rust => Some("=> "),
            _ if line.trim_start().starts_with("if") => Some(") return "),
            _ => None,
        };
        let arm = split.and_then(|split| line.split_once(split));
        let line = arm.map_or(line, |(_, does)| does);
        if let Some(call) = call_of(line) {
            let start = line.len() - line.trim_end_matches(SIGNS).len();
            let head = &line[..line.len() - start - call.len()];
            let matched = arm.is_some() || head.trim_end().ends_with("match");
            let kept = keeps(head, before) || matched || call.starts_with('.');
            let end = line.trim_end();
            let open = end.ends_with('(') || end.ends_with(',') && arm.is_none();
            let more = lines.peek().filter(|_| open).map_or("", |next| next.trim());
            // `load(url).catch(() => load(url))`: one stands before the handler of its line.
            let first = handles.is_some_and(|at| at + call.len() > line.len() - start);
            let call = before_catch(call);
            let rest = handles.filter(|_| first).and_then(|at| line.get(at..)).unwrap_or_default();
            let own = call.len() >= SHORTEST && rest.contains(call);
            let handlers = if first { begun } else { handlers };
            // Of `.catch(` at the start of a line nothing is left.
            let again = own
                || call.len() >= SHORTEST
                    && last.iter().filter(|one| one.call == call).any(|one| {
                        let handled = handlers.handle(one);
                        let pair = one.more == more && (one.kept && kept || handled);
                        pairs += usize::from(pair);
                        pair && (pairs > MOST_PAIRS || answers(text, one.line, whole, handled))
                    });
            if again
                && loops::may_be_repeated(language, name_of(call), || {
                    *said.get_or_insert_with(|| elsewhere(language, text))
                })
            {
                return true;
            }
            let Handlers { begun: handlers, within } = handlers;
            last[at % NEAR] = Line { line: whole, call, more, kept, handlers, within };
            at += 1;
        }
        before = line;
    }
    false
}

/// Whether anything but a call's name may say that it leaves the process, or that it is made again
/// on purpose: what is caught around it, that it is awaited, a word.
fn elsewhere(language: Language, text: &str) -> bool {
    handler_word(language).is_some_and(|word| text.contains(word))
        || text.contains("await")
        || loops::speaks_of_again(text)
        || loops::drops_what_was_kept(text)
}

/// Where a line of a text begins.
fn offset(text: &str, line: &str) -> usize {
    (line.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Whether the second call may answer what became of the first: soon after something is asked, in
/// a branch of it or (`handled`) in a handler, or something is said of trying again.
fn answers(text: &str, first: &str, second: &str, handled: bool) -> bool {
    static ASKED: OnceLock<AhoCorasick> = OnceLock::new();
    let words = ASKED.get_or_init(|| super::automaton(ASKS.iter().copied().collect()));
    let (from, to) = (offset(text, first), offset(text, second));
    let (Some(lines), Some(above)) = (text.get(from..to), text.get(..from)) else { return true };
    // Heads of functions are no calls, and each function answers for its own.
    let head = |line: &str| {
        line.trim_start().starts_with('@')
            || defined(line)
                .is_some_and(|name| call_of(line).is_some_and(|call| name_of(call).ends_with(name)))
    };
    let rest = lines.get(first.len()..).unwrap_or_default();
    if head(first) || head(second) || another(rest, indent(first)) {
        return false;
    }
    // In a branch of what was asked, if not in a handler.
    let deeper = handled || indent(second) > indent(first);
    if deeper && words.is_match(second) {
        return true;
    }
    let mut calls = 0;
    let soon = deeper
        && lines.lines().rev().any(|line| {
            let asks = words.is_match(line);
            calls += usize::from(!asks && call_of(line).is_some());
            asks && calls <= CALLS_BEFORE
        });
    // What is called may have such a name itself: its own line says nothing.
    let above = above.trim_end().rsplit('\n').next().unwrap_or_default();
    let says = |text: &str| loops::speaks_of_again(text) || loops::drops_what_was_kept(text);
    soon || says(rest) || says(above)
}

/// Whether what stands before a call, or on the line before it, takes what the call gives.
fn keeps(head: &str, before: &str) -> bool {
    head.contains('=')
        || head.contains("return")
        || before.trim_end().ends_with(['=', '(', '\\'])
        || before.trim_end().ends_with("return")
}

const SIGNS: [char; 7] = [' ', ';', '{', '}', ':', ',', '\r'];

/// From the name of the first call of a line to the end of the line.
fn call_of(line: &str) -> Option<&str> {
    let open = line.find('(')?;
    let start = name_start(&line[..open]);
    if start == open || line.len() - start < SHORTEST {
        return None;
    }
    let call = line[start..].trim_end_matches(SIGNS);
    // What makes an object does not fail in a way that is tried again.
    let makes = line[..start].ends_with("new ");
    (call.len() >= SHORTEST && !makes).then_some(call)
}

/// Where the name begins that a text ends with, with what it belongs to.
fn name_start(text: &str) -> usize {
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:$>?-".contains(byte);
    let bytes = text.as_bytes();
    let start = bytes.iter().rposition(|byte| !named(byte)).map_or(0, |at| at + 1);
    if start == 0 || bytes[start - 1].is_ascii() {
        return start;
    }
    // A letter of another script may belong to it.
    let named = |c: char| c.is_alphanumeric() || "._:$>?-".contains(c);
    text.trim_end_matches(named).len()
}

/// What of a call stands before its first handler.
fn before_catch(call: &str) -> &str {
    let mut dots = call.match_indices('.');
    let end = dots.find(|(at, _)| call[*at..].starts_with(".catch("));
    end.map_or(call, |(at, _)| &call[..at])
}

/// What stands before the parenthesis.
fn name_of(call: &str) -> &str {
    call.split('(').next().unwrap_or(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_the_same_whatever_stands_before_it() {
        assert_eq!(call_of("    r = self.fetch(url, 1);"), Some("self.fetch(url, 1)"));
        assert_eq!(call_of("    return self.fetch(url, 1)"), Some("self.fetch(url, 1)"));
        assert_eq!(call_of("x = 1"), None);
        assert_eq!(call_of("x = é.größe.lade(url)"), Some("é.größe.lade(url)"));
        assert_eq!(call_of("x = «größe»lade(url, 1)"), Some("lade(url, 1)"));
        assert_eq!(before_catch("a.load(x).catch(() => b)"), "a.load(x)");
        assert_eq!(call_of("f()"), None);
    }

    #[test]
    fn the_same_call_again_may_be_a_retry_or_not() {
        let python = |text: &str| twice(Language::Python, text);
        assert!(python("try:\n    load.all(url)\nexcept E:\n    load.all(url)\n"));
        assert!(!python("load.all(url)\nload.all(url)\n"), "nothing fails and nothing is kept");
        assert!(python("a = client.load(url)\nif not a:\n    a = client.load(url)\n"));
        assert!(
            !python("a = client.load(url)\nshow(a)\na = client.load(url)\n"),
            "nothing is asked"
        );
        let after = "try:\n    load.all(url)\nexcept E:\n    pass\nload.all(url)\n";
        assert!(!python(after), "it comes after the handler, whatever happened");
        let flat = "a = client.load(url)\nif a:\n    show(a)\na = client.load(url)\n";
        assert!(!python(flat), "in no branch");
        let again =
            "a = client.load(url)\nif a:\n    show(a)\n# once again\na = client.load(url)\n";
        assert!(python(again), "it says so");
        let two = "def f():\n  a = client.load(url)\n  if a:\n    go()\ndef g():\n  a = client.load(url)\n";
        assert!(!python(two), "each in its own function");
        let go = |text: &str| twice(Language::Go, text);
        let pair =
            |call: &str| format!("\tx, err := {call}\n\tif err != nil {{\n\t\tx, err = {call}\n");
        assert!(go(&pair("client.Fetch(ctx, url)")));
        assert!(!go(&pair("strings.Split(text, sep)")), "it only makes something of something");
        assert!(!go("\trequire.NoError(t, err)\n\trequire.NoError(t, err)\n"));
        let beside = "try:\n  go()\nexcept A:\n  shop.close(x)\nexcept B:\n  shop.close(x)\n";
        assert!(!python(beside), "only one of two handlers runs");
        let nested =
            "try:\n  try:\n    go()\n  except A:\n    shop.get(x)\nexcept B:\n  shop.get(x)\n";
        assert!(python(nested));
        let heads =
            "@lru.cache(size=1)\ndef load(self, x):\n  try:\n    a()\n  except E:\n    b()\n";
        assert!(!python(&heads.repeat(2)), "heads are no calls");
        let lines = |second: &str| {
            format!(
                "try:\n  client.load(\n    url, 1)\nexcept E:\n  client.load(\n    {second}, 1)\n"
            )
        };
        assert!(python(&lines("url")));
        assert!(!python(&lines("other")), "it goes on otherwise on the next line");
        let java = |text: &str| twice(Language::Java, text);
        assert!(!java("try {\n  a = new Parser(x);\n} catch (E e) {\n  a = new Parser(x);\n}\n"));
    }

    #[test]
    fn the_same_call_in_an_arm() {
        let sharp = "try\n{\n  client.Fetch(url);\n}\ncatch (E e)\n{\n  client.Fetch(url);\n}\n";
        assert!(twice(Language::CSharp, sharp), "a brace on a line of its own");
        let rust = |text: &str| twice(Language::Rust, text);
        let arms = |call: &str| {
            format!(
                "match client.fetch(url).await {{\n  Ok(r) => Ok(r),\n  Err(_) => {call},\n}}\n"
            )
        };
        assert!(rust(&arms("client.fetch(url).await")));
        assert!(!rust(&arms("mirror.fetch(url).await")));
    }

    #[test]
    fn a_handler_is_a_word() {
        use Language as L;
        for (language, line) in [
            (L::Java, "} catch (E e) {"),
            (L::Python, "except E:"),
            (L::Python, "except:"),
            (L::Ruby, "rescue => e"),
            (L::TypeScript, "f().catch(e => {"),
            (L::JavaScript, "load(url, function (err, data) {"),
            (L::JavaScript, "load(url).then(done, (e) => {"),
        ] {
            assert!(handlers_of(language, line).next().is_some(), "{line}");
        }
        for (language, line) in [
            (L::Python, "exceptional()"),
            (L::Java, "x = catch_all(y)"),
            (L::Java, " * catch what can be caught"),
            (L::Java, "(except the first line)"),
            (L::Go, "catch"),
        ] {
            assert!(handlers_of(language, line).next().is_none(), "{line}");
        }
    }
}
