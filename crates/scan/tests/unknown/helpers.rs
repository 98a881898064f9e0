//! Helpers of a repository, run again with the numbers of each of their callers.

use std::sync::atomic::AtomicBool;

use damper_scan::policy::{Attempts, By, DelayKind, Jitter, Policy};
use damper_scan::scan::{Control, Options, Scan, scan};

/// A scan of a folder with these files.
fn scanned(files: &[(&str, &str)]) -> Scan {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let options = Options { roots: vec![folder.path().to_owned()], ..Options::default() };
    let stop = AtomicBool::new(false);
    scan(&options, Control { stop: &stop, progress: &|_, _| {} }).expect("threads")
}

/// The calls of helpers in a folder with these files.
fn calls(files: &[(&str, &str)]) -> Vec<Policy> {
    let all = scanned(files).files.into_iter().flat_map(|file| file.policies);
    all.filter(|policy| matches!(&policy.by, By::HandRolled { shape } if shape == "helper"))
        .collect()
}

/// The attempts and the schedule of the only one.
fn only(files: &[(&str, &str)]) -> (Attempts, Vec<f64>, Policy) {
    let mut all = calls(files);
    assert_eq!(all.len(), 1, "{all:#?}");
    let policy = all.remove(0);
    (policy.attempts_total.value.clone(), policy.delay.schedule_ms.clone(), policy)
}

const KIT: &str = "\
export async function withRetry(work, times = 3, delay = 100) {
  for (let n = 1; ; n++) {
    try {
      return await work();
    } catch (error) {
      if (n >= times) throw error;
      await new Promise((done) => setTimeout(done, delay * 2 ** n));
    }
  }
}
";

#[test]
fn a_caller_says_how_often_and_the_loop_what_that_means() {
    let load = "import { withRetry } from './kit';\n\
        export const load = (id) => withRetry(() => api.load(id), 4);\n";
    let (attempts, schedule, policy) = only(&[("kit.js", KIT), ("load.js", load)]);
    assert_eq!((attempts, &schedule[..]), (Attempts::Count(4), &[200.0, 400.0, 800.0][..]));
    assert_eq!(policy.line, 2);
    assert_eq!(policy.runs.map(|runs| runs.lines), Some([2, 9]));
    let slower = load.replace(", 4)", ", 2, 5000)");
    let (attempts, schedule, _) = only(&[("kit.js", KIT), ("load.js", &slower)]);
    assert_eq!((attempts, &schedule[..]), (Attempts::Count(2), &[10_000.0][..]));
}

#[test]
fn the_loop_of_a_helper_is_not_multiplied_with_its_call() {
    let whole = format!("{KIT}\nexport const load = (id) => withRetry(() => api.load(id), 4);\n");
    let scan = scanned(&[("kit.js", &whole)]);
    assert_eq!(scan.files[0].policies.len(), 2);
    let stacked = scan.findings.iter().filter(|one| one.rule == "stacked-retries").count();
    assert_eq!(stacked, 0, "{:?}", scan.findings);
    let twice = whole.replace("api.load(id), 4", "\n  withRetry(() => api.load(id), 3),\n  4");
    let scan = scanned(&[("kit.js", &twice)]);
    let stacked = scan.findings.iter().filter(|one| one.rule == "stacked-retries").count();
    assert_eq!(stacked, 1, "{:?}", scan.findings);
}

/// Each makes the loop run once more: of callers that a stranger wrote by the thousand not all are
/// answered, and none is forgotten.
#[test]
fn more_callers_than_are_answered() {
    let mut load = "import { withRetry } from './kit';\n".to_owned();
    for at in 0..300 {
        let line = format!("export const f{at} = () => withRetry(() => api.load(), 4, {at});\n");
        load.push_str(&line);
    }
    let files = [("kit.js", KIT), ("load.js", &load)];
    let notes = scanned(&files).notes;
    assert!(notes.iter().any(|note| note.contains("for 44 of 301 callers")), "{notes:?}");
    let all = calls(&files);
    let known = all.iter().filter(|one| one.attempts_total.value == Attempts::Count(4)).count();
    assert_eq!((all.len(), known), (300, 256));
}

#[test]
fn a_caller_that_says_nothing_or_not_to_is_none() {
    for call in ["withRetry(() => api.load(id))", "withRetry(() => api.load(id), 1)"] {
        let load =
            format!("import {{ withRetry }} from './kit';\nexport const f = () => {call};\n");
        assert_eq!(calls(&[("kit.js", KIT), ("load.js", &load)]), [], "{call}");
    }
    let hands_on = "import { withRetry } from './kit';\n\
        export const load = (id, times) => withRetry(() => api.load(id), times);\n";
    assert_eq!(calls(&[("kit.js", KIT), ("load.js", hands_on)]), []);
    // Of two that have the name nobody knows which is meant.
    let load = "export const load = (id) => withRetry(() => api.load(id), 4);\n";
    let all = calls(&[("kit.js", KIT), ("other.js", KIT), ("load.js", load)]);
    let [Attempts::Dynamic { low: Some(4), high: Some(5), .. }] =
        all.iter().map(|one| one.attempts_total.value.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{all:?}")
    };
}

#[test]
fn objects_of_options_are_taken_apart() {
    let kit = KIT
        .replace("work, times = 3, delay = 100", "work, options")
        .replace("n >= times", "n >= options.times")
        .replace("delay * 2 ** n", "options.delay");
    let load = "import { withRetry } from './kit';\nconst often = { times: 6, delay: 250 };\n\
        export const load = (id) => withRetry(() => api.load(id), often);\n";
    let (attempts, _, policy) = only(&[("kit.js", &kit), ("load.js", load)]);
    assert_eq!(attempts, Attempts::Count(6));
    assert_eq!(policy.delay.base_ms.map(|base| base.value), Some(250.0));
    let kit =
        kit.replace("work, options", "work, { times = 3, delay = 100 }").replace("options.", "");
    let (attempts, _, policy) = only(&[("kit.js", &kit), ("load.js", load)]);
    assert_eq!(attempts, Attempts::Count(6));
    assert_eq!(policy.delay.base_ms.map(|base| base.value), Some(250.0));
}

#[test]
fn a_class_is_told_where_an_object_is_made() {
    let kit = "\
class Retry:
    def __init__(self, max_tries=1, delay=0.1, backoff=2, max_delay=3600):
        self.max_tries = max_tries
        self.delay = delay
        self.backoff = backoff
        self.max_delay = float(max_delay)
        self._tries = 0
        self._now = delay

    @property
    def pause(self):
        return self._now + random.random() / 10

    def __call__(self, function, *args):
        while True:
            try:
                return function(*args)
            except OSError:
                if self._tries == self.max_tries:
                    raise
                self._tries += 1
                time.sleep(self.pause)
                self._now = min(self._now * self.backoff, self.max_delay)
";
    let store = "from kit import Retry\n\nclass Store:\n    def __init__(self):\n        \
        self.retry = Retry(max_tries=3, delay=1)\n";
    let (attempts, _, policy) = only(&[("kit.py", kit), ("store.py", store)]);
    assert_eq!(attempts, Attempts::Count(4));
    assert_eq!(policy.delay.kind.value, DelayKind::Exponential);
    assert_eq!(policy.delay.jitter.value, Jitter::Additive);
    assert_eq!(policy.delay.base_ms.map(|base| base.value), Some(1000.0));
}

#[test]
fn one_that_hands_on_is_told_too() {
    let kit = "\
package run

func Retry(interval time.Duration, stop <-chan struct{}, f func() error) error {
	return RetryWithLog(nil, interval, stop, f)
}

func RetryWithLog(l Logger, interval time.Duration, stop <-chan struct{}, f func() error) error {
	tick := time.NewTicker(interval)
	for {
		if err := f(); err == nil {
			return nil
		}
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
	}
}
";
    let load = "\
package main

import \"example.org/shop/run\"

func load(c *Client, stop chan struct{}) error {
	return run.Retry(2*time.Second, stop, func() error {
		return c.Load()
	})
}
";
    let files = [("go.mod", "module example.org/shop\n"), ("run/run.go", kit), ("load.go", load)];
    let (attempts, _, policy) = only(&files);
    assert_eq!(attempts, Attempts::Infinite);
    assert_eq!(policy.delay.base_ms.map(|base| base.value), Some(2000.0));
    assert_eq!((policy.line, policy.end_line), (6, 8));
}

#[test]
fn decorators_are_told_by_their_arguments() {
    let kit = "\
def retry(max_retries=3, delay=1):
    def wrap(function):
        def inner(*args):
            for n in range(max_retries):
                try:
                    return function(*args)
                except OSError:
                    if n == max_retries - 1:
                        raise
                    time.sleep(delay)
        return inner
    return wrap
";
    let load = "from kit import retry\n\n@retry(max_retries=5, delay=0.2)\ndef load():\n    pass\n";
    let (attempts, _, policy) = only(&[("kit.py", kit), ("load.py", load)]);
    assert_eq!(attempts, Attempts::Count(5));
    assert_eq!(policy.delay.base_ms.map(|base| base.value), Some(200.0));
}

#[test]
fn a_helper_is_given_a_list_of_waits() {
    let kit = "\
pub async fn run_with_retries(mut work: F, should_retry: R, waits: &[Duration]) -> Result<T, E> {
    let mut at = 0;
    loop {
        match work().await {
            Ok(it) => return Ok(it),
            Err(e) if at < waits.len() && should_retry(&e) => {
                tokio::time::sleep(waits[at]).await;
                at += 1;
            }
            Err(e) => return Err(e),
        }
    }
}
";
    let load = "use crate::kit::run_with_retries;
const WAITS: &[Duration] = &[Duration::from_millis(10), Duration::from_millis(30), Duration::from_millis(90)];
async fn load(c: &Client) -> Result<T, E> {
    run_with_retries(|| async move { c.load(1).await }, |e| e.again(), WAITS).await
}
";
    let (attempts, schedule, policy) = only(&[("src/kit.rs", kit), ("src/load.rs", load)]);
    assert_eq!((attempts, &schedule[..]), (Attempts::Count(4), &[10.0, 30.0, 90.0][..]));
    assert_eq!(policy.delay.kind.value, DelayKind::Exponential);
    // Where the loop is in an object that the helper makes, the list says how often, if it is used up.
    let kit = "\
pub async fn run_with_retries(mut work: F, should_retry: R, waits: &[Duration]) -> Result<T, E> {
    let mut retry = Retry::new(should_retry, waits);
    loop {
        if let Some(result) = retry.run(&mut work).await {
            return result;
        }
    }
}
";
    let (attempts, schedule, _) = only(&[("src/kit.rs", kit), ("src/load.rs", load)]);
    assert!(matches!(attempts, Attempts::Dynamic { usual: Some(4), .. }), "{attempts:?}");
    assert_eq!(schedule, [10.0, 30.0, 90.0]);
}

#[test]
fn a_helper_decorates_what_it_retries() {
    let kit = "\
class retryable_task:
    def __init__(self, *args, **kwargs):
        self.kwargs = kwargs

    def __call__(self, f):
        return shared_task(**self.kwargs)(f)
";
    let load = "from kit import retryable_task


@retryable_task(name=\"load\", max_retries=10)
def load(a):
    store(a)
";
    let (attempts, _, policy) = only(&[("kit.py", kit), ("load.py", load)]);
    assert!(matches!(attempts, Attempts::Dynamic { usual: Some(11), .. }), "{attempts:?}");
    assert_eq!(policy.call.map(|call| call.text), Some("load".to_owned()));
    let plain = load.replace(", max_retries=10", "");
    assert_eq!(calls(&[("kit.py", kit), ("load.py", &plain)]).len(), 0, "it is told nothing");
}

#[test]
fn a_package_of_ones_own_says_that_it_retries() {
    let module = "module example.com/app\n";
    let kit = "package retryx
func Do(ctx context.Context, c Retry, f func() error) error { return retry.Do(f, opts(c)...) }
";
    let load = "package load
import \"example.com/app/internal/retryx\"
var policy = config.Retry{Attempts: 4, Delay: 2 * time.Second, MaxDelay: time.Minute}
func Load(ctx context.Context, url string) error {
	return retryx.Do(ctx, policy, func() error { return get(url) })
}
";
    let files =
        [("go.mod", module), ("internal/retryx/retryx.go", kit), ("internal/load/load.go", load)];
    let (attempts, _, policy) = only(&files);
    assert!(matches!(attempts, Attempts::Dynamic { usual: Some(4), .. }), "{attempts:?}");
    assert_eq!(policy.delay.base_ms.map(|base| base.value), Some(2000.0));
    let other = load.replace("example.com/app/internal", "example.com/other");
    let files = [("go.mod", module), ("internal/load/load.go", &*other)];
    assert_eq!(calls(&files).len(), 0, "it is of somebody else");
}

#[test]
fn a_method_is_asked_by_name_for_retries() {
    let load = "class Stream:
    def load(self, session):
        return session.http.get(self.url, timeout=3, retries=10)

    def again(self):
        return self.session.http.get(self.url, retries=self.retries)

    def told(self, retries):
        log.info(\"again\", retries=3)
        self.session.get(self.url, retries=0)
        return self.session.get(self.url, retries=retries)
";
    let all = calls(&[("load.py", load)]);
    let lines: Vec<u32> = all.iter().map(|policy| policy.line).collect();
    assert_eq!(lines, [3, 6], "{all:#?}");
    let attempts = &all[0].attempts_total.value;
    assert!(
        matches!(attempts, Attempts::Dynamic { low: Some(10), high: Some(11), .. }),
        "{attempts:?}"
    );
}

#[test]
fn options_of_a_client_or_a_queue_of_ones_own() {
    let load = "import { Queue } from './queue';
const queue = new Queue({ name: 'a', retries: 5 });
const settings = new QueueSettings({ retries: 5 });
export const load = (id) => client.get(`/a/${id}`, { retries: 3, retryCodes: [429] });
export const list = () => client.get('/a', { retryCodes: [429, 503] });
export const all = () => client.get('/a', { headers });
log.get('/a', { retries: 0 });
";
    let all = calls(&[("load.js", load)]);
    let lines: Vec<u32> = all.iter().map(|policy| policy.line).collect();
    assert_eq!(lines, [2, 4, 5], "{all:#?}");
    let usual: Vec<Option<u32>> = all
        .iter()
        .map(|policy| match policy.attempts_total.value {
            Attempts::Dynamic { usual, .. } => usual,
            _ => None,
        })
        .collect();
    assert_eq!(usual, [Some(6), Some(4), None]);
}
