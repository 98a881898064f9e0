//! hand-rolled: an iterator that stops at the first success.
//! missed: no wait, no word of what it is for, and nothing shows that what it calls is far away
fn main() {
    let reply = (0..4).find_map(|_| harness::fetch("/503").ok());
    assert!(reply.is_some());
}
