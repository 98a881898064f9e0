//! Which of many words a text has: each of its names is looked up, and most are turned away by a few
//! of their bytes.

use foldhash::HashMap;

use super::is_inner;

/// Bits that few of the bytes of a name choose from.
const BITS: usize = 1 << 16;

/// Words that are looked for at each name of a text.
#[derive(Debug)]
pub(super) struct Names {
    /// By the first name in them.
    words: HashMap<Box<[u8]>, Vec<Word>>,
    /// Which bits those names have chosen.
    chosen: Box<[u64]>,
    /// With what names begin.
    starts: Vec<(Box<[u8]>, usize)>,
    /// With what names end.
    ends: Vec<(Box<[u8]>, usize)>,
}

/// A word that has a certain name in it.
#[derive(Debug)]
struct Word {
    text: Box<[u8]>,
    /// Where in it the name stands.
    at: usize,
    number: usize,
}

impl Default for Names {
    fn default() -> Self {
        let chosen = vec![0; BITS / 64].into();
        Self { words: HashMap::default(), chosen, starts: Vec::new(), ends: Vec::new() }
    }
}

impl Names {
    /// Adds a word of which nothing is a part of a longer name, but for what may stand before it
    /// or after it. `false`: that cannot be told by names.
    pub(super) fn add(&mut self, text: &str, before: bool, after: bool, number: usize) -> bool {
        let bytes = text.as_bytes();
        let Some(at) = bytes.iter().position(|byte| is_inner(*byte)) else { return false };
        let len = bytes[at..].iter().take_while(|byte| is_inner(**byte)).count();
        let whole = len == bytes.len();
        match (before, after) {
            (false, false) => {
                let name = &bytes[at..at + len];
                let bit = bit(name);
                self.chosen[bit / 64] |= 1 << (bit % 64);
                let word = Word { text: bytes.into(), at, number };
                self.words.entry(name.into()).or_default().push(word);
            }
            (true, false) if whole => self.ends.push((bytes.into(), number)),
            (false, true) if whole => self.starts.push((bytes.into(), number)),
            _ => return false,
        }
        true
    }

    /// Calls `each` with the number of each word that stands in a text, and where it does.
    pub(super) fn each_in(&self, text: &str, mut each: impl FnMut(usize, usize, usize)) {
        let bytes = text.as_bytes();
        let mut end = 0;
        while let Some(skipped) = bytes[end..].iter().position(|byte| INNER[*byte as usize]) {
            let start = end + skipped;
            let rest = &bytes[start..];
            let len = rest.iter().position(|byte| !INNER[*byte as usize]).unwrap_or(rest.len());
            end = start + len;
            let name = &rest[..len];
            for (word, number) in &self.starts {
                if name.starts_with(word) {
                    each(*number, start, start + word.len());
                }
            }
            for (word, number) in &self.ends {
                if name.ends_with(word) {
                    each(*number, end - word.len(), end);
                }
            }
            let bit = bit(name);
            if self.chosen[bit / 64] >> (bit % 64) & 1 == 0 {
                continue;
            }
            for word in self.words.get(name).into_iter().flatten() {
                if let Some(from) = start.checked_sub(word.at)
                    && bytes[from..].starts_with(&word.text)
                {
                    each(word.number, from, from + word.text.len());
                }
            }
        }
    }
}

/// [`is_inner`] of each byte.
const INNER: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0_u8;
    loop {
        all[byte as usize] = is_inner(byte);
        if byte == u8::MAX {
            break all;
        }
        byte += 1;
    }
};

/// The bit that a name chooses, by its length and its first, middle and last byte.
fn bit(name: &[u8]) -> usize {
    let [first, .., last] = name else {
        return name.first().map_or(0, |only| usize::from(*only));
    };
    let middle = name[name.len() / 2];
    let len = u8::try_from(name.len()).unwrap_or(u8::MAX);
    let mixed = u32::from_le_bytes([*first, middle, *last, len]).wrapping_mul(0x9E37_79B1);
    (mixed >> 16) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole() {
        let mut names = Names::default();
        let all = ["retry", "x", "_", "retry", "async_retry", "a1", "node-fetch", "@x/a", "fetch"];
        for (number, name) in all.iter().enumerate() {
            assert!(names.add(name, false, false, number), "{name}");
        }
        let found = |text: &str| {
            let mut found = Vec::new();
            names.each_in(text, |number, start, end| found.push((number, start, end)));
            found
        };
        assert_eq!(found("retry"), [(0, 0, 5), (3, 0, 5)]);
        assert_eq!(found("é.retry(x)é"), [(0, 3, 8), (3, 3, 8), (1, 9, 10)]);
        assert_eq!(found("retry_ _retry retrying xx a1b __"), []);
        assert_eq!(found("-_-a1"), [(2, 1, 2), (5, 3, 5)]);
        assert_eq!(found("async_retry"), [(4, 0, 11)]);
        assert_eq!(found("'node-fetch'"), [(6, 1, 11), (8, 6, 11)]);
        assert_eq!(found("@x/a"), [(1, 1, 2), (7, 0, 4)]);
        assert_eq!(found("x/a node-fetched"), [(1, 0, 1), (6, 4, 14)], "the end is not asked for");
        assert_eq!(found(""), []);
    }

    #[test]
    fn words_with_an_open_end_begin_or_end_a_name() {
        let mut names = Names::default();
        assert!(names.add("Client", true, false, 0));
        assert!(names.add("aws_sdk_", false, true, 1));
        assert!(!names.add("both", true, true, 2) && !names.add("a-b", true, false, 2));
        assert!(!names.add("", false, false, 2) && !names.add("@", false, false, 2));
        let found = |text: &str| {
            let mut found = Vec::new();
            names.each_in(text, |number, start, end| found.push((number, start, end)));
            found
        };
        assert_eq!(found("new S3Client(Client)"), [(0, 6, 12), (0, 13, 19)]);
        assert_eq!(found("aws_sdk_s3::Clients, my_aws_sdk_s3"), [(1, 0, 8)]);
    }
}
