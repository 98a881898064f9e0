//! Loops, recursions and near-misses of Java, and what they are declared in.

use crate::language::Language;
use crate::lower::check::{deep, every_prefix, show};

const JAVA: Language = Language::Java;

const LOOPS: &str = "class A {
  private static final int MAX = 3, MIN = 1; static final long DELAY = 1_000L;
  @Value(\"${n:3}\") int n;
  Object linear() throws IOException {
    for (int attempt = 1; attempt <= MAX; attempt++) {
      try { return call(); }
      catch (final IOException | TimeoutException e) {
        if (attempt == MAX) throw e;
        Thread.sleep(DELAY * attempt);
      }
    }
  }
  void forms() {
    do { ok = send(msg); if (!ok) Thread.sleep(1000L << n); } while (!ok && ++n < 5);
    while (true) { try { return repo.load(id); } catch (E e) { if (++k == 3) throw e; } }
    outer:
    for (;;) {
      try { work(); break outer; }
      catch (E e) { if (++n > 3) throw e; continue outer; }
      finally { n--; }
    }
    for (final var x : xs) this.use(x);
    for (i = 0, j = 1; ; i++, j *= 2) ;
    done: { break done; }
  }
}
";

const RECURSION: &str = "class B {
  CompletableFuture<T> go(int left, long delay) {
    return callAsync().exceptionallyCompose(e -> left == 0
      ? CompletableFuture.failedFuture(e)
      : later(() -> null, delay).thenCompose((T x) -> go(left - 1, delay * 2)));
  }
  void attempt(int n) {
    try { deliver(); }
    catch (Exception e) {
      if (n < 5) pool.schedule(() -> { attempt(n + 1); }, 10L * n, TimeUnit.SECONDS);
      else if (e instanceof Fatal f) dead.add(job);
      else dead.forEach(Job::drop);
    }
  }
  public Response intercept(Chain c) {
    Response r = c.proceed(c.request());
    int n = 0;
    while (!r.isSuccessful() && n < 3) { n++; r.close(); r = c.proceed(c.request()); }
    return r;
  }
}
";

const MISSES: &str = "void run() {
  while ((s = in.readLine()) != null) { try { parse(s); } catch (FormatException e) { bad++; } }
  do { o = a.get(); } while (!a.compareAndSet(o, o + 1));
  if (msg.retries() > 0) metrics.counter(\"retries\").increment(msg.retries());
  await().atMost(5, SECONDS).until(() -> repo.count() == 1);
}
";

const SWITCHES: &str = "void run() {
  for (;;) {
    switch (status) {
      case 429: case 503: sleep(1); break;
      case 500: if (n > 3) break; n++; continue;
      default: return;
    }
    int d = switch (kind) {
      case A, B -> 1;
      case C -> { log(); yield 2; }
      case Integer i when i > 3 -> i;
      case null, default -> throw new E();
    };
    try (var in = open(); lock) { in.read(); }
    try (in) { in.read(); } catch (E e) { } finally { end(); }
    synchronized (lock) { n += (int) (double) x; }
  }
}
";

const DECLARATIONS: &str = "package p;
import a.b.C;
import static a.b.C.d;
import a.b.*;
@Retryable(value = {IOException.class, E.class}, maxAttempts = 3, backoff = @Backoff(100))
public class D<T> extends Base<T> implements Port, q.Other {
  D(int... xs) { super(xs); this.n = xs[0]; }
  @Override @Deprecated public void f() { new Thread(new Runnable() { public void run() { } }); }
  int[] list = {1, 2}, more = new int[] {3}, none = new int[4];
  static { init(); }
}
interface I { int TRIES = 3; @Retry Object call(final String id); }
enum E { A(1), B { int f() { return 2; } }; private final int n; E(int n) { this.n = n; } }
record R(int tries, Duration wait) { }
@interface Again { int value() default 3; }
";

#[test]
fn loops() {
    insta::assert_snapshot!(show(JAVA, LOOPS));
}

#[test]
fn recursion_and_interceptors() {
    insta::assert_snapshot!(show(JAVA, RECURSION));
}

#[test]
fn near_misses() {
    insta::assert_snapshot!(show(JAVA, MISSES));
}

#[test]
fn switches_and_resources() {
    insta::assert_snapshot!(show(JAVA, SWITCHES));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(show(JAVA, DECLARATIONS));
}

#[test]
fn cut_texts() {
    for text in [LOOPS, RECURSION, MISSES, SWITCHES, DECLARATIONS] {
        every_prefix(JAVA, text);
    }
}

#[test]
fn deep_texts() {
    deep(JAVA, "int x = ", "(", ")", ";");
    deep(JAVA, "void f() {", "switch (x) { case 0: a(); default: ", " }", "}");
    deep(JAVA, "class A { void f() {", "new B() { void f() {", "; } }; ", "} }");
}
