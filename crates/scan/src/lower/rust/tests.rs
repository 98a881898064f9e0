use crate::language::Language;
use crate::lower::tests::{every_prefix_lowers, show};

fn rust(text: &str) -> String {
    show(Language::Rust, text)
}

#[test]
fn guarded_arms() {
    insta::assert_snapshot!(rust(
        "async fn a() -> R {
    for attempt in 1..=5 {
        match op().await {
            Ok(v) => return Ok(v),
            Err(_) if attempt < 5 => sleep(Duration::from_millis(100 * attempt)).await,
            Err(e) => return Err(e),
        }
    }
    unreachable!()
}
"
    ));
}

#[test]
fn a_loop_that_gives_a_value() {
    insta::assert_snapshot!(rust(
        "fn a() -> R {
    let mut n = 0u32;
    let v = 'outer: loop {
        match op() {
            Ok(v) => break 'outer v,
            Err(A | B(_)) => continue 'outer,
            Err(e) if e.fine() && n < 3 => { n += 1; sleep(secs(2u64.pow(n))); }
            _ => {}
        }
    };
    while let Err(e) = push(&msg) {
        tries += 1;
        if tries > 2 { return Err(e); }
        delay = (delay * 2).min(MAX);
    }
    (0..3).find_map(|_| op().ok())
}
"
    ));
}

#[test]
fn patterns_and_conditions() {
    insta::assert_snapshot!(rust(
        "fn a() {
    let Some(x) = get()? else { return };
    if let Ok(S { a, b: Some(_), .. }) = f() && n < 3 {} else if !y {}
    match n { 1..=3 | -1 => {}, r @ 7 => r, (a, _) => a, }
    let _ = 'a: { if z { break 'a 1; } 2 };
    for _ in 0.. {}
    while true {}
    unsafe { *p = x as u64; }
}
"
    ));
}

#[test]
fn macros() {
    insta::assert_snapshot!(rust(
        "fn a() {
    let l = vec![1, 2 * n];
    info!(target: \"x\", \"{}\", y);
    warn!(attempt, \"again {}\", f(url));
    let ok = matches!(e.kind(), Kind::Busy | Kind::Slow(_));
    tokio::select! { _ = a => {} }
    ensure!(n < 3, \"many\");
    anyhow::bail!(\"x {}\", y);
}
"
    ));
}

#[test]
fn macros_with_code() {
    insta::assert_snapshot!(rust(
        "fn a() {
    tokio::select! {
        biased;
        _ = sleep(wait) => (),
        Some(job) = jobs.recv(), if open => { run(job); }
        _ = token.cancelled() => return,
        else => break,
    }
    with_db! { conn: fast, slow { conn.run(x)?; } other { again(|| y, 3) } }
    quote! { { never(); } }
}
"
    ));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(rust(
        "use a;
use a::b::{self, c as d, e::*, f::{g, h}};
use backon::*;
use backon::Retryable;
const TRIES: usize = 1_000;
static mut N: u8 = 0;
struct Policy { pub retries: u32, wait: Duration }
enum E { A = 1, B }
#[derive(Debug)]
#[retry(times = 3, wait(1))]
async fn f<T>(mut x: u32, (a, b): (u8, u8)) { g::<T>(x) }
impl<T> fmt::Display for m::Policy<T> {
    const A: u32 = 1;
    fn f(&mut self, n: u32) -> Self { Self { retries: n, wait, ..Default::default() } }
}
trait Tr: Send { fn g(&self); }
#[cfg(test)]
mod tests {
    fn t() { spawn(async move { 1 }); let c = async |x: u32| x + 1; r#\"raw\"#; ((), [0; 3]); }
}
"
    ));
}

#[test]
fn near_misses() {
    insta::assert_snapshot!(rust(
        "fn a() {
    let mut cur = x.load(Relaxed);
    while let Err(now) = x.compare_exchange_weak(cur, cur + 1, AcqRel, Relaxed) { cur = now; }
    let n = loop { match f.read(&mut b) { Err(e) if e.kind() == Busy => continue, r => break r? } };
}
"
    ));
}

#[test]
fn broken_syntax() {
    every_prefix_lowers(
        Language::Rust,
        "use a::b::{c as d, e::*};
#[x(y = 1)]
impl T for U<V> {
    async fn f(&self, n: u32) -> R {
        let Some(x) = y else { return };
        'a: loop {
            match op().await? { Ok(v) | V(v) => break 'a v, Err(e) if n < 3 => {}, _ => continue 'a }
        }
        if let Ok(S { a, .. }) = f() && !b { matches!(e, A::B(_) | C if d); bail!(\"x {}\", y) }
        let v = vec![1, 2]; let c = |_| S { a, b: 1, ..d }; 1..=2
    }
}
",
    );
}
