//! The words of a name. The same few names come back, in a loop that is run and in every file: what
//! was made of them is remembered.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::LocalKey;

use foldhash::HashMap;

/// What is remembered of names.
pub(super) type Known<T> = RefCell<HashMap<Box<str>, T>>;

/// Longer names are not remembered. Conditions are names, too.
const KEPT_BYTES: usize = 200;
/// So many names are remembered; then it begins anew.
const KEPT: usize = 10_000;
/// And so many for each list of parts.
const KEPT_OF_LIST: usize = 1000;

thread_local! {
    static WORDS: Known<Rc<[Box<str>]>> = Known::default();
}

/// Which parts are looked for: a list that is written in the program is the same as long as it is
/// where it is.
type List = &'static [&'static str];
/// What is remembered for each list, by its place and its length.
type OfLists = RefCell<HashMap<(usize, usize), HashMap<Box<str>, bool>>>;

thread_local! {
    static HAS: OfLists = RefCell::default();
}

/// So many answers are at hand; of two with the same slot the later one is.
const SLOTS: usize = 1024;
/// The longest name of which they are.
const SLOT_BYTES: usize = 30;

/// What was last answered about names that stand where these do. A loop that is run asks the same
/// in every round, of the same places: no hash is made of a name that is compared anyway.
pub(super) struct Answers(RefCell<Vec<Slot>>);

#[derive(Clone)]
struct Slot {
    list: (usize, usize),
    name: [u8; SLOT_BYTES],
    len: u8,
    answer: bool,
}

impl Default for Answers {
    fn default() -> Self {
        // No list is there.
        let empty = Slot { list: (0, 0), name: [0; SLOT_BYTES], len: 0, answer: false };
        Self(RefCell::new(vec![empty; SLOTS]))
    }
}

impl Answers {
    fn known(&self, slot: usize, list: (usize, usize), name: &[u8]) -> Option<bool> {
        let slots = self.0.borrow();
        let slot = slots.get(slot).filter(|slot| slot.list == list)?;
        (slot.name.get(..usize::from(slot.len)) == Some(name)).then_some(slot.answer)
    }

    fn keep(&self, slot: usize, list: (usize, usize), name: &[u8], answer: bool) {
        let (mut slots, Ok(len)) = (self.0.borrow_mut(), u8::try_from(name.len())) else { return };
        if let Some(slot) = slots.get_mut(slot)
            && let Some(own) = slot.name.get_mut(..name.len())
        {
            own.copy_from_slice(name);
            (slot.list, slot.len, slot.answer) = (list, len, answer);
        }
    }
}

/// What `make` says of a name and a list, if it was not said just before.
pub(super) fn answered(
    answers: &'static LocalKey<Answers>,
    name: &str,
    list: List,
    make: impl FnOnce() -> bool,
) -> bool {
    let of = (list.as_ptr().addr(), list.len());
    let place = name.as_ptr().addr().wrapping_mul(31).wrapping_add(name.len()) ^ (of.0 >> 3);
    let slot = (place ^ (place >> 10)) % SLOTS;
    if let Some(known) = answers.with(|answers| answers.known(slot, of, name.as_bytes())) {
        return known;
    }
    let answer = make();
    answers.with(|answers| answers.keep(slot, of, name.as_bytes(), answer));
    answer
}

/// Whether a lower-case form has one of these in it.
pub(in crate::loops) fn has(name: &str, list: List) -> bool {
    thread_local! {
        static ANSWERS: Answers = Answers::default();
    }
    answered(&ANSWERS, name, list, || has_known(name, list))
}

/// Whether one of the words of a name is in a list.
pub(in crate::loops) fn any(name: &str, list: List) -> bool {
    thread_local! {
        static ANSWERS: Answers = Answers::default();
    }
    answered(&ANSWERS, name, list, || words(name).iter().any(|word| list.contains(&&**word)))
}

fn has_known(name: &str, list: List) -> bool {
    if name.len() > KEPT_BYTES {
        return has_anew(name, list);
    }
    let key = (list.as_ptr().addr(), list.len());
    if let Some(known) =
        HAS.with_borrow(|known| known.get(&key).and_then(|known| known.get(name).copied()))
    {
        return known;
    }
    let value = has_anew(name, list);
    HAS.with_borrow_mut(|known| {
        let known = known.entry(key).or_default();
        if known.len() >= KEPT_OF_LIST {
            known.clear();
        }
        known.insert(name.into(), value);
    });
    value
}

fn has_anew(name: &str, list: List) -> bool {
    let lower = name.to_ascii_lowercase();
    list.iter().any(|part| lower.contains(part))
}

/// What `make` gives for a name, made once.
pub(super) fn remembered<T: Clone>(
    known: &'static LocalKey<Known<T>>,
    name: &str,
    make: impl FnOnce(&str) -> T,
) -> T {
    if name.len() > KEPT_BYTES {
        return make(name);
    }
    if let Some(value) = known.with_borrow(|known| known.get(name).cloned()) {
        return value;
    }
    let value = make(name);
    known.with_borrow_mut(|known| {
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(name.into(), value.clone());
    });
    value
}

/// The words of a name: `isRetryable_error` is `is`, `retryable`, `error`.
pub(in crate::loops) fn words(name: &str) -> Rc<[Box<str>]> {
    remembered(&WORDS, name, split)
}

fn split(name: &str) -> Rc<[Box<str>]> {
    let mut all: Vec<String> = Vec::new();
    let mut last_upper = true;
    let mut fresh = true;
    let mut chars = name.chars().take(120).peekable();
    while let Some(c) = chars.next() {
        if !c.is_alphanumeric() {
            fresh = true;
            continue;
        }
        let upper = c.is_uppercase();
        let next_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        if fresh || (upper && (!last_upper || next_lower)) {
            all.push(String::new());
            fresh = false;
        }
        last_upper = upper;
        if let Some(word) = all.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    all.into_iter().map(String::into_boxed_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is told by what it says, not by where it stands: another may stand there later.
    #[test]
    fn answers_are_of_names_and_lists() {
        const ONE: &[&str] = &["retry", "wait"];
        const TWO: &[&str] = &["other"];
        let mut name = String::from("isRetry");
        for _ in 0..2 {
            name.replace_range(.., "isRetry");
            assert!(any(&name, ONE) && has(&name, ONE) && !any(&name, TWO) && !has(&name, TWO));
            name.replace_range(.., "retryIt");
            assert!(any(&name, ONE) && has(&name, ONE) && !any(&name, &[]) && !has(&name, &[]));
            name.replace_range(.., "isOther");
            assert!(!any(&name, ONE) && !has(&name, ONE) && any(&name, TWO) && has(&name, TWO));
            name.replace_range(.., "retried");
            assert!(!any(&name, ONE) && !has(&name, ONE));
        }
        let long = format!("retry{}", "_long".repeat(20));
        assert!(any(&long, ONE) && any(&long, ONE) && !any(&long, TWO));
        assert!(!any("", ONE) && !any("", &[]));
    }

    #[test]
    fn names_fall_into_words() {
        let words = |name: &str| words(name).join(" ");
        for _ in 0..2 {
            assert_eq!(words("isRetryable_error"), "is retryable error");
            assert_eq!(words("HTTPStatusCode"), "http status code");
            assert_eq!(words(""), "");
        }
    }
}
