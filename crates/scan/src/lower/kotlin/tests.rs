use crate::language::Language;
use crate::lower::tests::{every_prefix_lowers, show};

fn kotlin(text: &str) -> String {
    show(Language::Kotlin, text)
}

#[test]
fn repeat_and_a_last_call() {
    insta::assert_snapshot!(kotlin(
        "suspend fun <T> io(times: Int = 4, block: suspend () -> T): T {
    var d = 100L
    if (times < 1) return@io
    repeat(times - 1) {
        if (n > 9) return@repeat
        try { return block() } catch (e: IOException) { } finally { x++ }
        delay(d)
        d = (d * 2).coerceAtMost(1000)
    }
    return block()
}
"
    ));
}

#[test]
fn loops_and_branches() {
    insta::assert_snapshot!(kotlin(
        "fun a() {
    loop@ for ((k, v) in 0 until n) {
        if (k > 3) break@loop else continue@loop
        break
    }
    for (i in 1..3) go(i)
    for (i in 3 downTo 1) { continue }
    while (true) { if (a) return@run b else if (c) d() }
    do { --n } while (n < 3)
    while (f()) x -= 1
    when (val r = f()) { 1, 2 -> a; in 1..3 -> b; !in x -> z; is Foo -> c; else -> { return } }
    when { a, b -> c; else -> d }
    run outer@ { g() }
}
"
    ));
}

#[test]
fn expressions() {
    insta::assert_snapshot!(kotlin(
        "val x = y ?: throw E(\"a $b ${c}\")
val z = a?.b!!.c as? T
val r = try { f() } catch (e: A) { null }
val w = 1 shl n
val d = 5.seconds
val f = fun(x: Int): Int { return x }
val l = listOf<Int>(1, name = 2, *xs, { it }) { p, (q, s) -> p }
val t = e !is A && e is B && i !in 1..<3
val (m, k) = p[0]
"
    ));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(kotlin(
        "package p
import a.b.C as D
import x.y
import z.*
@Service
@Retryable(maxAttempts = 3, backoff = Backoff(delay = 10))
class A(private val n: Int = 3, x: Y) : B(n), C<T> {
    companion object {
        const val TRIES = 3
    }
    private val p by lazy { 3 }
    var q: Int = 1
        get() = field
    init { a() }
    constructor(a: Int) : this(a, b) { c() }
    @Retry suspend fun String.one() = two()
}
object O : I
enum class E(val a: Int) { A(1), B(2); }
interface I {
    fun f(x: Int)
}
"
    ));
}

#[test]
fn broken_syntax() {
    every_prefix_lowers(
        Language::Kotlin,
        "import a.b.C as D
@R(m = 3) class A(private val n: Int = 3) : B(n) {
    companion object {
        const val X = 3
    }
    val q: Int get() = 3
    suspend fun <T> io(times: Int = 4): T {
        val (a, b) = p ?: throw E(\"a $b\")
        outer@ for ((k, v) in 0 until n) { break@outer }
        repeat(3) { i -> try { return@repeat f(*xs) } catch (e: X) { x!!.y++ } finally { } }
        when (val r = f()) { 1, in 2..3 -> a; !is Foo -> c; else -> { } }
        do { if (a) b else c } while (x)
    }
}
",
    );
}

#[test]
fn a_negation_is_of_the_whole_call() {
    let of = |text: &str| kotlin(text).replace(['(', ')'], "");
    let whole = of("fun f() { while (!(a.b().c(1))) g() }\n");
    assert_eq!(of("fun f() { while (!a.b().c(1)) g() }\n"), whole);
    assert_ne!(kotlin("val x = (!a).b()\n"), kotlin("val x = !a.b()\n"));
}
