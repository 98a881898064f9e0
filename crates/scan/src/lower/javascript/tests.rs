//! Loops, recursions and near-misses of JavaScript and TypeScript, and what they are declared in.

use crate::language::Language;
use crate::lower::check::{deep, every_prefix, show};

const JS: Language = Language::JavaScript;
const TS: Language = Language::TypeScript;

const LOOP: &str = "async function get(url, { tries = 3, wait: first } = {}, ...rest) {
  for (let i = 0, d = first; i < tries; i++, d *= 2) {
    try {
      const res = await fetch(url, ...rest);
      if (res.ok) return res.json();
      else if (res.status >= 500 && i < tries - 1) { await sleep(1000 * (i + 1)); continue; }
      return null;
    } catch (e) {
      if (i === 4) throw e;
      await new Promise((r) => setTimeout(r, d / 2 + Math.random() * (d / 2)));
    } finally { log(`done ${i} of ${tries}`); }
  }
}
";

const DEADLINE: &str = "const stop: number = Date.now() + 20_000;
let d = 100 as number;
outer: while (true) {
  try { return await this.#client!.call<T>(); }
  catch {
    d = Math.min(5000, 100 + Math.random() * (d * 3 - 100));
    if (Date.now() + d > stop) break outer;
    await sleep(d);
  }
}
for (;;) { if (--n) continue; }
do n--; while (!ok && ++n < 5);
n = 1 + !await f<T>(x);
declare const later: string;
for await (const { id } of pages) ids.push(id);
";

const RECURSION: &str = "const again = (f, n, d) =>
  f().catch((e) => (n ? wait(d).then(() => again(f, n - 1, d * 2)) : Promise.reject(e)));
again(call, 3, 200);
Array(3).fill(0).reduce((p) => p.catch(() => call()), Promise.reject());
function connect(tries = 0) {
  api((err, v) => {
    if (!err) return done(v);
    if (tries < 4) setTimeout(() => connect(tries + 1), 500);
    else done(err);
  });
}
";

const MISSES: &str = "for (let i = 0; i < 60; i++) {
  if ((await job(id)).state === 'ready') return; await sleep(1000); }
while (tokens < 1) { await sleep(50); refill(); }
setInterval(async () => { try { await ping(); } catch { missed++; } }, 5000);
api.use(undefined, async (err) => {
  const c = err.config;
  if (err.response?.status === 401 && !c._again) { c._again = true; return api(c); }
  throw err;
});
";

const SWITCH: &str = "for (;;) {
  switch (f(x)) {
    case 1:
    case 2: { if (y) break; a(); break; }
    case 3: b();
    default: c(); break;
    case 4: continue;
    case 5: if (z) break;
    case 6: if (z) break; else return;
  }
}
";

const IMPORTS: &str = "import a, { b as c, d } from 'm';
import * as n from \"o\";
import 'p';
const x = require('q'), { y: z, w } = require('q');
const r = require('q').retry;
const s = (await import('t')).default;
const u = require('v')(x), { k = 1 } = require('v');
export { e as f } from 'g';
export * from 'h';
export default { a, 'b-c': 1, ['d']: 2, [e]: 3, ...rest, run() { yield_(); }, get v() { return 1; } };
";

const CLASSES: &str = "@Injectable()
export class Api<T> extends Base<T> implements Port {
  static readonly MAX = 3;
  private delay?: number = 5;
  constructor(private readonly http: Http, @Inject('x') y = 2) { super(http); }
  @Retry({ attempts: Api.MAX })
  async load(this: Api, id: string): Promise<T> { return id ?? this.delay ?? undefined; }
}
enum Wait { Short = 100, Long }
namespace Limits { export const tries = 4; }
interface Options { retries?: number; call(): void }
type Id = string;
export abstract class Old { abstract f(): void; run = () => <T>this.f(); }
let list = [1, ...more, -2], [p, , ...q] = list;
x ||= 1; x &&= 2; x ??= 3; x >>>= 1;
if (e instanceof HttpError || 'code' in e) delete e.code;
";

const MARKUP: &str = "const [n, setN] = useState(0);
useEffect(() => { load().then(set).catch((e) => (n < 2 ? setN(n + 1) : fail(e))); }, [n]);
const view = <Box on={() => load(n)} {...rest}>text {n + 1}<br /></Box>;
";

#[test]
fn a_counted_retry() {
    insta::assert_snapshot!(show(JS, LOOP));
}

#[test]
fn loops_of_every_form() {
    insta::assert_snapshot!(show(TS, DEADLINE));
}

#[test]
fn recursion_and_chains() {
    insta::assert_snapshot!(show(JS, RECURSION));
}

#[test]
fn near_misses() {
    insta::assert_snapshot!(show(JS, MISSES));
}

#[test]
fn a_switch_in_a_loop() {
    insta::assert_snapshot!(show(JS, SWITCH));
}

#[test]
fn imports_and_objects() {
    insta::assert_snapshot!(show(JS, IMPORTS));
}

#[test]
fn classes_and_operators() {
    insta::assert_snapshot!(show(TS, CLASSES));
}

#[test]
fn markup() {
    insta::assert_snapshot!(show(Language::Tsx, MARKUP));
    assert_eq!(show(JS, MARKUP), show(Language::Tsx, MARKUP));
}

#[test]
fn cut_texts() {
    for text in [LOOP, DEADLINE, RECURSION, MISSES, SWITCH, IMPORTS, CLASSES, MARKUP] {
        for language in [JS, TS, Language::Tsx] {
            every_prefix(language, text);
        }
    }
}

#[test]
fn deep_texts() {
    deep(JS, "x = ", "[", "]", ";");
    deep(TS, "x = ", "(", ")", "");
    deep(JS, "", "switch (x) { case 0: a(); default: ", " }", "");
    deep(JS, "", "if (x) y(); else { ", " }", "");
    deep(JS, "", "a: ", "", "");
}
