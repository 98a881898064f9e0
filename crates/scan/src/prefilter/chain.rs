//! The same call once more in what is done where there is no result, as bytes show it:
//! `f(x).or_else(|_| f(x))` in one line.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

/// What stands between the two.
const INSTEAD: &[&str] =
    &[".or_else(", ".getOrElse", ".recover", ".exceptionally", ".catch(", ".onErrorResume"];
/// A shorter call says nothing: `get()`.
const SHORTEST: usize = 10;

fn words() -> &'static AhoCorasick {
    static WORDS: OnceLock<AhoCorasick> = OnceLock::new();
    WORDS.get_or_init(|| super::automaton(INSTEAD.iter().copied().collect::<BTreeSet<_>>()))
}

/// Whether a text has such a line.
pub(super) fn again(text: &str) -> bool {
    words().find_iter(text).any(|found| {
        let before = text[..found.start()].rsplit('\n').next().unwrap_or_default();
        let after = text[found.end()..].split('\n').next().unwrap_or_default();
        let Some(close) = before.rfind(')') else { return false };
        let call = &before[..=close];
        let Some(open) = call.find('(') else { return false };
        let named = |c: char| c.is_alphanumeric() || "._:$>?-".contains(c);
        let head = call[..open].trim_end_matches(named).len();
        let call = call.get(head..).unwrap_or_default();
        call.len() >= SHORTEST && after.contains(call)
    })
}

#[cfg(test)]
mod tests {
    use super::again;

    #[test]
    fn the_same_call_in_a_chain() {
        assert!(again("a\n  conn.execute(sql).or_else(|_| conn.execute(sql))\n"));
        assert!(again("  runCatching { api.load(id) }.getOrElse { api.load(id) }"));
        assert!(!again("  conn.execute(sql).or_else(|_| other.execute(sql))"));
        assert!(!again("  ) é(.or_else("));
    }
}
