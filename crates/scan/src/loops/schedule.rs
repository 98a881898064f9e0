//! From the waits of a run to how they grow, how they are spread and how long they are at most.

use super::file::File;
use super::judge::Verdict;
use super::machine::Trace;
use super::value::Num;
use super::words;
use crate::policy::{Delay, DelayKind, From, Jitter, Setting};
use crate::tree::{Id, Kind, Op};

/// So many waits are kept.
const MOST: usize = 16;
/// What a wait is made of is followed so far.
const MADE_OF: usize = 3;
/// And no more parts of it.
const MOST_PARTS: usize = 64;

/// What the waits say.
pub(super) struct Schedule {
    pub(super) delay: Delay,
    pub(super) pushback: bool,
    pub(super) notes: Vec<String>,
    pub(super) waits: Vec<Id>,
}

/// The waits of a failing operation. Where a server may say how long, and does not, something else
/// is waited: that is its schedule, unless it is always the same.
pub(super) fn of(file: &File<'_, '_>, verdict: &Verdict) -> Schedule {
    let endless = verdict.attempts.is_none();
    let mut said = of_run(file, &verdict.failing, endless);
    let Some(slower) = &verdict.slower else { return said };
    let mut plain = of_run(file, slower, endless);
    match plain.delay.kind.value {
        _ if !said.pushback => return plain,
        DelayKind::None | DelayKind::ServerDirected => {}
        DelayKind::Constant => said.delay.base_ms = said.delay.base_ms.or(plain.delay.base_ms),
        _ => {
            plain.pushback = true;
            plain.waits.extend(said.waits);
            plain.waits.sort_unstable();
            plain.waits.dedup();
            return plain;
        }
    }
    said
}

/// The waits of one run.
fn of_run(file: &File<'_, '_>, trace: &Trace, endless: bool) -> Schedule {
    // Of what is called several times in a round there are few rounds.
    let most = u32::try_from(MOST).unwrap_or(16) + 1;
    let last = if endless { most.min(trace.calls) } else { trace.calls };
    let mut gaps: Vec<Num> = Vec::new();
    for attempt in 1..last.max(1) {
        if gaps.len() >= 64 {
            break;
        }
        gaps.push(waited(trace, attempt));
    }
    let mut waits: Vec<Id> = trace.waits.iter().filter(|w| w.after > 0).map(|w| w.at).collect();
    waits.sort_unstable();
    waits.dedup();
    let wasted = !endless && trace.waits.iter().any(|wait| wait.after >= trace.calls);
    let mut notes = Vec::new();
    let mut samples = gaps.clone();
    if wasted {
        let extra = waited(trace, trace.calls);
        if extra.high > 0.0 {
            notes.push("waits once more after the last attempt".to_owned());
            samples.push(extra);
        }
    }
    let line = waits.first().map_or(0, |at| file.tree.span(*at).line);
    let (jitter, centers) = spread(&samples);
    let pushback = samples.iter().any(|num| num.server);
    let mut kind = if samples.iter().all(|num| num.high <= 0.0) {
        DelayKind::None
    } else {
        growth(file, &centers, &waits)
    };
    let symbol = samples.iter().map(|num| num.symbol).find(|symbol| *symbol != 0);
    // What is usual is as good as known, and said.
    let known = !samples.iter().any(|num| num.open);
    if !known && kind == DelayKind::Constant {
        kind = elsewhere(file, &waits).unwrap_or(kind);
    }
    if samples.iter().any(|num| num.listed) && kind != DelayKind::None {
        kind = DelayKind::Dynamic;
    }
    if pushback {
        kind = DelayKind::ServerDirected;
    } else if samples.iter().any(|num| num.chained) {
        kind = DelayKind::Exponential;
    }
    if let Some(symbol) = symbol
        && let Some(symbol) = trace.symbols.get(usize::from(symbol) - 1)
    {
        notes.push(match symbol.usual {
            Some(usual) => format!("the wait depends on {}, usually {usual}", symbol.text),
            None => format!("the wait depends on {}", symbol.text),
        });
    }
    // The first may be known where those after it are not.
    let first = centers.iter().zip(&samples).find(|(wait, _)| **wait > 0.0);
    let base = first.filter(|(_, num)| kind != DelayKind::None && !num.open).map(|(wait, _)| *wait);
    let factor = match kind {
        // Of numbers that stand for unknown ones it says nothing.
        DelayKind::Exponential if jitter != Jitter::Decorrelated && known => ratio(&centers),
        _ => None,
    };
    let growing = matches!(
        kind,
        DelayKind::Exponential
            | DelayKind::Linear
            | DelayKind::Polynomial
            | DelayKind::ServerDirected
    );
    let cap = samples.iter().map(|num| num.cap).fold(f64::INFINITY, f64::min);
    let cap = (growing && cap.is_finite() && cap < 9e6)
        .then_some(cap)
        .or_else(|| flat_end(&centers, growing));
    let mut schedule: Vec<f64> = centers.iter().take(gaps.len().min(MOST)).copied().collect();
    if !known || kind == DelayKind::None {
        schedule.clear();
    }
    let from = |value: f64| match symbol {
        Some(_) => Setting::derived(value),
        None => Setting { value, from: From::Written(line) },
    };
    Schedule {
        delay: Delay {
            kind: Setting::derived(kind),
            base_ms: base.map(from),
            factor: factor.map(Setting::derived),
            cap_ms: cap.map(Setting::derived),
            jitter: Setting::derived(jitter),
            schedule_ms: schedule,
        },
        pushback,
        notes,
        waits,
    }
}

/// How waits grow that a function makes which is not here: by its name, or since it is told which
/// attempt it is.
fn elsewhere(file: &File<'_, '_>, waits: &[Id]) -> Option<DelayKind> {
    let tree = file.tree;
    let mut parts: Vec<Id> = waits.to_vec();
    // `pauses = backoff(…)`, `timer = timer(pauses.next())`, and then `timer` is waited for.
    let (mut from, mut near, mut names) = (0, 0, foldhash::HashSet::default());
    for round in 0..MADE_OF {
        let now = from..parts.len();
        if round < 2 {
            near = now.end;
        }
        from = now.end;
        let places: Vec<Id> = parts[now].iter().flat_map(|part| tree.walk(*part)).collect();
        for at in places {
            let Kind::Name(name) = tree.kind(at) else { continue };
            if parts.len() > MOST_PARTS || !names.insert(*name) {
                continue;
            }
            parts.extend(file.assigned(name).iter().filter_map(|place| {
                if tree.function_of(*place) != tree.function_of(at) {
                    return None;
                }
                match tree.kind(*place) {
                    Kind::Let { value: Some(value), .. } | Kind::Assign { value, .. } => {
                        Some(*value)
                    }
                    _ => None,
                }
            }));
        }
    }
    let mut told = None;
    let parts = parts.iter().enumerate();
    for (at, call) in parts.flat_map(|(at, part)| tree.walk(*part).map(move |call| (at, call))) {
        let Kind::Call { callee, args, .. } = tree.kind(call) else { continue };
        // One of this file has been looked into.
        let known = file.callee(call).is_some();
        if !known && words::has(tree.source(*callee), &["backoff", "back_off", "exponential"]) {
            return Some(DelayKind::Exponential);
        }
        let counts = args.iter().any(|arg| {
            tree.walk(arg.value).any(|at| match tree.kind(at) {
                Kind::Name(name) => {
                    let owner = tree.parent(at).is_some_and(
                        |up| matches!(tree.kind(up), Kind::Field { of, .. } if *of == at),
                    );
                    !owner
                        && words::about_retry(name)
                        && words::any(name, words::COUNTERS)
                        && !words::any(name, words::PAUSES)
                }
                _ => false,
            })
        });
        if counts && at < near {
            told = Some(DelayKind::Dynamic);
        }
    }
    told
}

fn waited(trace: &Trace, after: u32) -> Num {
    trace
        .waits
        .iter()
        .filter(|wait| wait.after == after)
        .fold(Num::exact(0.0), |sum, wait| if sum.high == 0.0 { wait.ms } else { sum.add(wait.ms) })
}

/// A value without the noise of floating point.
fn clean(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(11 - value.abs().log10().ceil().clamp(-300.0, 300.0) as i32);
    let clean = (value * scale).round() / scale;
    // The smallest and the largest numbers leave no room for it.
    if clean.is_finite() { clean } else { value }
}

/// How the waits are spread, and what they would be without.
fn spread(samples: &[Num]) -> (Jitter, Vec<f64>) {
    let random: Vec<&Num> = samples.iter().filter(|num| num.random && num.high > num.low).collect();
    let of =
        |f: &dyn Fn(&Num) -> f64| samples.iter().map(|num| clean(f(num))).collect::<Vec<f64>>();
    if random.is_empty() {
        return (Jitter::None, of(&|num| num.low));
    }
    if samples.iter().any(|num| num.chained) {
        return (Jitter::Decorrelated, of(&|num| num.low));
    }
    let all = |f: &dyn Fn(&Num) -> bool| random.iter().all(|num| f(num));
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(a.abs());
    if all(&|num| num.low <= 0.0) {
        return (Jitter::Full, of(&|num| num.high));
    }
    if all(&|num| near(num.low * 2.0, num.high)) {
        return (Jitter::Equal, of(&|num| num.high));
    }
    let same = samples
        .windows(2)
        .all(|pair| near(pair[0].low, pair[1].low) && near(pair[0].high, pair[1].high));
    let symmetric = all(&|num| rounder(num.mid(), num.low));
    if symmetric && !(same && all(&|num| near(num.low * 3.0, num.high))) {
        return (Jitter::Additive, of(&|num| num.mid()));
    }
    let jitter = if same && all(&|num| num.high > 3.5 * num.low) {
        Jitter::Random
    } else {
        Jitter::Additive
    };
    (jitter, of(&|num| num.low))
}

/// Whether one number is rounder than another: it needs fewer digits.
fn rounder(one: f64, other: f64) -> bool {
    let digits = |value: f64| {
        let mut value = clean(value);
        let mut count = 0;
        if value == 0.0 {
            return 0;
        }
        while value.abs() >= 10.0 && value % 10.0 == 0.0 {
            value /= 10.0;
        }
        while value.fract() != 0.0 && count < 6 {
            value = clean(value * 10.0);
            count += 1;
        }
        let whole = value.abs().min(1e15) as u64;
        whole.to_string().len()
    };
    digits(one) < digits(other)
        || (clean(one) == 1.5 * clean(other) && digits(one) <= digits(other))
        || near_double(one, other)
}

/// `0.5 d` to `1.5 d` is `d`, give or take.
fn near_double(mid: f64, low: f64) -> bool {
    (mid - 2.0 * low).abs() < 1e-9 * mid.abs()
}

/// How a row of waits grows.
fn growth(file: &File<'_, '_>, all: &[f64], waits: &[Id]) -> DelayKind {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
    // The first time at once, and then always as long.
    if let [first, rest @ ..] = all
        && *first == 0.0
        && rest.len() >= 2
        && rest.windows(2).all(|pair| near(pair[0], pair[1]))
        && rest[0] > 0.0
    {
        return DelayKind::Constant;
    }
    // Where a cap holds them they say nothing.
    let mut open = all.len();
    while open > 2 && near(all[open - 1], all[open - 2]) {
        open -= 1;
    }
    // The first of them is cut off by it.
    if open < all.len() && open > 3 {
        open -= 1;
    }
    let row: Vec<f64> = all[..open].to_vec();
    let zero = row.first().is_some_and(|first| *first == 0.0);
    let tail = if zero { &row[1..] } else { &row[..] };
    if all.windows(2).all(|pair| near(pair[0], pair[1])) {
        if all.len() < 2 {
            return written_growth(file, waits).unwrap_or(DelayKind::Constant);
        }
        return DelayKind::Constant;
    }
    if zero && tail.windows(2).all(|pair| near(pair[0], pair[1])) && tail.len() >= 2 {
        return DelayKind::Constant;
    }
    let grows = |row: &[f64]| {
        let linear = row.windows(3).all(|three| near(three[1] - three[0], three[2] - three[1]));
        let ratio = row[0] > 0.0
            && row.windows(3).all(|three| near(three[1] * three[1], three[0] * three[2]))
            && row.windows(2).all(|pair| pair[1] != pair[0]);
        (linear, ratio)
    };
    if row.len() >= 3 {
        let (linear, exponential) = grows(&row);
        if linear {
            return DelayKind::Linear;
        }
        if exponential {
            return DelayKind::Exponential;
        }
        if tail.len() >= 3 {
            let (linear, exponential) = grows(tail);
            if exponential {
                return DelayKind::Exponential;
            }
            if linear {
                return DelayKind::Linear;
            }
        }
        let roots: Vec<f64> = row.iter().map(|value| value.abs().sqrt()).collect();
        if roots.windows(3).all(|three| (three[1] - three[0] - (three[2] - three[1])).abs() < 1e-3)
        {
            return DelayKind::Polynomial;
        }
        return match written_growth(file, waits) {
            Some(kind @ (DelayKind::Exponential | DelayKind::Polynomial))
                if row.windows(2).all(|pair| pair[1] >= pair[0]) =>
            {
                kind
            }
            _ => DelayKind::Dynamic,
        };
    }
    written_growth(file, waits).unwrap_or(if zero { DelayKind::Linear } else { DelayKind::Dynamic })
}

/// How a wait grows by how it is written: for rows that are too short to tell.
fn written_growth(file: &File<'_, '_>, waits: &[Id]) -> Option<DelayKind> {
    let mut found = None;
    for wait in waits {
        let mut seen = 0;
        let mut look = vec![*wait];
        let mut names: Vec<&str> = Vec::new();
        while let Some(at) = look.pop() {
            seen += 1;
            if seen > 12 {
                break;
            }
            for id in file.tree.walk(at) {
                match file.tree.kind(id) {
                    // The square of the attempt's number.
                    Kind::Binary { op: Op::Power, right, .. }
                        if matches!(file.tree.kind(*right), Kind::Number(_)) =>
                    {
                        found = Some(DelayKind::Polynomial);
                    }
                    Kind::Binary { op: Op::Power | Op::ShiftLeft, .. } => {
                        return Some(DelayKind::Exponential);
                    }
                    Kind::Call { callee, .. } => {
                        let name = file.tree.last_name(*callee).unwrap_or_default();
                        if matches!(
                            name.to_ascii_lowercase().as_str(),
                            "pow" | "powi" | "powf" | "saturating_pow" | "shl" | "exp" | "exp2"
                        ) {
                            return Some(DelayKind::Exponential);
                        }
                        if let Some(function) = file.callee(id) {
                            look.push(function);
                        } else if let Some(kind) = growth_elsewhere(file, name) {
                            found = found.or(Some(kind));
                        }
                    }
                    Kind::Binary { op: Op::Multiply, .. } => {
                        found = found.or(Some(DelayKind::Linear));
                    }
                    Kind::Name(name) if !names.contains(name) => {
                        names.push(name);
                        for place in file.assigned(name) {
                            let home = file.tree.function_of(*place);
                            if home.is_some_and(|home| !file.within(*wait, home)) {
                                continue;
                            }
                            match file.tree.kind(*place) {
                                Kind::Assign { op: Some(Op::Multiply | Op::ShiftLeft), .. } => {
                                    return Some(DelayKind::Exponential);
                                }
                                Kind::Assign { op: None, value, target } => {
                                    let text = file.tree.source(*value);
                                    let own = file.tree.source(*target);
                                    if text.contains(own)
                                        && (text.contains('*') || text.contains("<<"))
                                    {
                                        return Some(DelayKind::Exponential);
                                    }
                                    look.push(*value);
                                }
                                Kind::Let { value: Some(value), .. } => look.push(*value),
                                _ => {}
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    found
}

/// How the waits grow that a function of another file gives.
fn growth_elsewhere(file: &File<'_, '_>, name: &str) -> Option<DelayKind> {
    if !words::any(name, words::PAUSES) {
        return None;
    }
    let pauses = file.values()?.pauses(name)?;
    let waits: Vec<f64> =
        pauses.waits.iter().skip(1).map(|wait| f64::midpoint(wait.low, wait.high)).collect();
    Some(growth(file, &waits, &[]))
}

/// The factor between waits, where it is one.
fn ratio(all: &[f64]) -> Option<f64> {
    all.windows(2)
        .find(|pair| pair[0] > 0.0 && pair[1] > pair[0])
        .map(|pair| clean(pair[1] / pair[0]))
        .filter(|ratio| ratio.is_finite())
}

/// Where a growing row stops growing.
fn flat_end(all: &[f64], growing: bool) -> Option<f64> {
    match all {
        [.., a, b, c] if growing && a == b && b == c && *c > all[0] => Some(*c),
        _ => None,
    }
}
