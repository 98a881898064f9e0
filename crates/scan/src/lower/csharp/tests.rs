use crate::language::Language;
use crate::lower::tests::{every_prefix_lowers, show};

fn csharp(text: &str) -> String {
    show(Language::CSharp, text)
}

#[test]
fn an_exception_filter() {
    insta::assert_snapshot!(csharp(
        "class A {
    async Task<R> F() {
        for (var attempt = 0; attempt <= 3; attempt++)
        {
            try { return await CallAsync(ct); }
            catch (HttpRequestException e) when (attempt < 3)
            {
                await Task.Delay(TimeSpan.FromSeconds(Math.Pow(2, attempt)), ct);
            }
            catch { throw; }
            finally { Done(); }
        }
        throw new UnreachableException();
    }
}
"
    ));
}

#[test]
fn goto_out_of_a_catch() {
    insta::assert_snapshot!(csharp(
        "retry:
try { await store.SaveAsync(); }
catch (ThrottledException) when (n++ < 5)
{
    await Task.Delay(Random.Shared.Next(100, 1000));
    goto retry;
}
"
    ));
}

#[test]
fn a_message_handler() {
    insta::assert_snapshot!(csharp(
        "class H : DelegatingHandler {
    protected override async Task<Res> SendAsync(Req m, [X] CancellationToken ct = default)
    {
        Res r = null!;
        for (var i = 0; i < 3; i++) { r = await base.SendAsync(m, ct); if (r.Ok) return r; }
        return r;
    }
}
"
    ));
}

#[test]
fn switches() {
    insta::assert_snapshot!(csharp(
        "while (true) {
    switch (x) {
        default: throw;
        case 1:
        case 2: if (a) break; f(); break;
        case Foo { A: > 3 } q when q.B: continue;
    }
    var y = x switch { 1 or 2 => a, string s when s.L > 1 => c, null => d, _ => throw new E() };
}
if (e is Foo { Code: C.X } h && e is Bar && e is not null && e is not Baz) { }
"
    ));
}

#[test]
fn loops_and_blocks() {
    insta::assert_snapshot!(csharp(
        "foreach (var (a, b) in d) continue;
await foreach (var k in q) { }
do { --i; } while (i > 0);
for (int i = 0, j = 1; ; i++, j--) { }
for (;;) ;
using (var s = f()) { }
lock (o) { }
using var c = new C();
#if DEBUG
f();
#else
g(this);
#endif
"
    ));
}

#[test]
fn expressions() {
    insta::assert_snapshot!(csharp(
        "var z = new Opt(1) { A = 1, [\"k\"] = 2 };
O w = new() { A = 1, L = { 1, 2 } };
var an = new { A = 1, b, c.D };
int[] arr = [1, ..r], ar = new[] { 1, 2 };
var dict = new Dictionary<string, int>() { { \"a\", 1 } };
var list = new List<int> { 1, 2 };
a?.b?[0].c(1)[2, 3] = x;
y ??= x ?? throw e;
o = o with { A = (int)-1.5m };
(p, var q) = (1, 2);
g(out var t, ref u, name: 3);
var s = $\"a {x:F1} b\" + @\"x\" + \"\"\"raw\"\"\";
Policy.Handle<X>().Or<Y>(e => e.A).WaitAndRetryAsync(3, async (int n, k) => { await k; });
Func<int> fn = delegate (int v) { return v; };
var v = a ? (b is null) : (c as T);
var ty = typeof(T);
"
    ));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(csharp("using System.Net;
using static System.Math;
using P = Polly.Policy;
namespace A.B;
[Retry(3, Name = \"x\"), Y]
public record R(int N = 3) : Q(N) { public int M { get; init; } = 5; }
class H<T> : B, I<T> where T : new() {
    const int Max = 3;
    static readonly TimeSpan W = TimeSpan.FromSeconds(1), Z;
    private int n;
    public H(int n) : base(n) => this.n = n;
    public int P => 3;
    public string Q { get { return a; } set => b = value; }
    static T G<U>(this int a, params int[] b) { int Local(int k) => k + 1; yield return 1; yield break; }
}
interface J { int F(int a); }
enum K { A = 1, B }
"));
}

#[test]
fn a_last_call_and_a_near_miss() {
    insta::assert_snapshot!(csharp(
        "for (int i = 0; i < 3; i++)
{
    try { return await op(); }
    catch { await Task.Delay(1000 * (i + 1)); }
}
foreach (var f in files) { try { Upload(f); } catch (IOException) { failed.Add(f); continue; } }
return await op();
"
    ));
}

#[test]
fn broken_syntax() {
    every_prefix_lowers(
        Language::CSharp,
        "using P = X.Y;
[R(3, N = 1)] class H(int q) : B(q) {
    static readonly int W = 1, Z;
    public int Q { get { return a; } set => b = value; } = 3;
    public H(int n) : base(n) => this.n = n;
    async Task<R> F([X] int a = 1, params int[] c) {
        retry:
        for (int i = 0, j = 1; i < 3; i++, j--) {
            try { await f(x: 1)!; } catch (E e) when (n++ < 5) { goto retry; } finally { }
        }
        switch (x) { case 1: case Foo { A: > 3 } q when q.B: break; default: goto case 1; }
        var y = x switch { 1 or 2 => a?.b[0], string s => $\"a {x}\", _ => throw new E(1) { A = 1 } };
        using (var s = new { A = 1, b }) lock (this) { foreach (var (p, r) in [1, ..d]) ; }
#if X
        if (e is not Foo h) o = o with { A = async k => (1, 2) };
#endif
    }
}
",
    );
}
