//! From what a place gives and what a library does by default to a policy.

use foldhash::HashSet;

use super::catalogue::{Counts, Defaults, Entry, Param, Settings};
use super::given::{Found, Given};
use super::{Context, closure, manifests, parts, schedule};
use crate::policy::{
    Attempts, By, Confidence, Delay, DelayKind, From, Jitter, Kind as What, Policy, Setting,
};
use crate::tree::{Id, Kind};
use crate::value::{Data, Place, Trust, Value, Values};

/// The policy of an entry at a place; `None`: it is switched off, or only passes on a policy that
/// is described where it is made.
pub(super) fn policy(
    entry: &Entry,
    given: &Given,
    id: Id,
    context: &Context<'_, '_, '_>,
    matched: &HashSet<Id>,
) -> Option<Policy> {
    let values = context.values;
    let tree = values.tree();
    let mut policy = by_default(entry, id, given, context);
    let mut reader =
        Reader { values, policy: &mut policy, off: false, delays: 0, floor: 0.0, matched };
    reader.settings(&entry.params, given);
    for (name, part) in &entry.parts {
        if let Some(option) = name.strip_suffix('=') {
            let found = given.find(values, option, crate::value::Unit::Ms);
            if found.is_some_and(|found| found.value.truth() != Some(false)) {
                reader.part(part, given, values.tree().span(id).line, false);
            }
        } else if let Some(method) = name.strip_prefix('.')
            && let Some(args) = given.method(method)
        {
            let line = args.first().map_or(tree.span(id).end_line, |id| tree.span(*id).line);
            reader.part(part, &Given::of_args(values, args), line, true);
        }
    }
    for (part, given, line) in parts::nested(entry, given, values) {
        reader.part(part, &given, line, true);
    }
    if reader.off {
        return None;
    }
    let floor = reader.floor;
    schedule::complete(&mut policy, entry.defaults.immediate, floor);
    Some(policy)
}

/// The defaults of the version that is installed.
fn defaults<'e>(entry: &'e Entry, context: &Context<'_, '_, '_>) -> &'e Defaults {
    let packages = if entry.manifest.is_empty() {
        std::slice::from_ref(&entry.package)
    } else {
        &entry.manifest
    };
    let version =
        context.manifests.and_then(|all| packages.iter().find_map(|package| all.version(package)));
    let Some(version) = version else { return &entry.defaults };
    let older = entry.versions.iter().filter(|row| manifests::is_below(version, &row.below));
    // The rows stand from the oldest to the newest: the first that fits is the narrowest.
    older.map(|row| &row.defaults).next().unwrap_or(&entry.defaults)
}

fn by_default(entry: &Entry, id: Id, given: &Given, context: &Context<'_, '_, '_>) -> Policy {
    let tree = context.values.tree();
    let span = tree.span(id);
    let end = given.top.map_or(span, |top| tree.span(top));
    let end_line = match tree.kind(id) {
        // Of a class only its head and what it sets.
        Kind::Class { .. } => {
            given.nodes().map(|id| tree.span(id).end_line).max().unwrap_or(span.line)
        }
        _ => end.end_line.max(span.line),
    };
    let all = defaults(entry, context);
    let attempts = match all.attempts.as_deref() {
        Some("infinite") => Attempts::Infinite,
        Some("none") => Attempts::Count(1),
        Some(text) => match text.parse() {
            Ok(count) => Attempts::Count(count),
            Err(_) => unknown_attempts(text),
        },
        None => unknown_attempts("not documented"),
    };
    let some = |value: Option<f64>| value.map(Setting::default_of);
    Policy {
        line: span.line,
        end_line,
        language: context.language,
        by: By::Library { id: entry.id.clone(), package: entry.package.clone() },
        kind: entry.kind.unwrap_or(What::Retry),
        attempts_total: Setting::default_of(attempts),
        delay: Delay {
            kind: Setting::default_of(all.delay.unwrap_or(DelayKind::None)),
            base_ms: some(all.base),
            factor: some(all.factor),
            cap_ms: some(all.cap),
            jitter: Setting::default_of(all.jitter.unwrap_or(Jitter::None)),
            schedule_ms: Vec::new(),
        },
        deadline_ms: some(all.deadline),
        attempt_timeout_ms: some(all.attempt_timeout),
        retries_on: Setting::default_of(all.on.clone()),
        catches_all: all.catches_all,
        budget: all.budget.clone().map(Setting::default_of),
        breaker: false,
        pushback: all.pushback,
        call: None,
        scope: context.scope,
        confidence: Confidence::High,
        implicit: false,
        notes: entry.traps.clone(),
        also: Vec::new(),
        runs: None,
    }
}

fn unknown_attempts(text: &str) -> Attempts {
    Attempts::Dynamic { expression: text.to_owned(), low: None, high: None, usual: None }
}

pub(super) struct Reader<'r, 't, 's> {
    pub(super) values: &'r Values<'t, 's>,
    pub(super) policy: &'r mut Policy,
    off: bool,
    /// How many parts have said how the wait grows.
    delays: usize,
    /// No wait is shorter than this.
    floor: f64,
    matched: &'r HashSet<Id>,
}

impl Reader<'_, '_, '_> {
    /// A part that is used at a line: its own words, then what it is given. A strategy of its own
    /// (`apart`) has nothing of what the whole does by default.
    fn part(&mut self, part: &Settings, given: &Given, line: u32, apart: bool) {
        self.also(&Place { path: None, line });
        // A count that is written ends what has no end of its own.
        let counted = self.policy.attempts_total.from != From::Default;
        if part.infinite && !counted {
            self.policy.attempts_total = Setting::written(Attempts::Infinite, line);
        }
        // What is written at the place itself stands above what a part brings along.
        if let Some(jitter) = part.jitter
            && self.policy.delay.jitter.from == From::Default
        {
            self.policy.delay.jitter = Setting::written(jitter, line);
        }
        if let Some(budget) = &part.budget {
            self.policy.budget = Some(Setting::written(budget.clone(), line));
        }
        if let Some(pushback) = part.pushback {
            self.policy.pushback = pushback;
        }
        self.policy.breaker |= part.breaker;
        if let Some(kind) = part.delay {
            self.delays += 1;
            // Of several that are added the first says how it grows.
            if self.delays > 1 {
                return;
            }
            let delay = &mut self.policy.delay;
            delay.kind = Setting::written(kind, line);
            // What another kind does by default does not hold for this one.
            for old in [&mut delay.base_ms, &mut delay.factor, &mut delay.cap_ms] {
                if apart && old.as_ref().is_some_and(|old| old.from == From::Default) {
                    *old = None;
                }
            }
            if apart && part.jitter.is_none() && delay.jitter.from == From::Default {
                delay.jitter = Setting::default_of(Jitter::None);
            }
        }
        self.settings(part, given);
    }

    fn settings(&mut self, all: &Settings, given: &Given) {
        for param in &all.attempts {
            self.attempts(param, given);
        }
        let stands = |old: &Option<Setting<f64>>, new: &Setting<f64>| {
            new.from == From::Default && old.as_ref().is_some_and(|old| old.from != From::Default)
        };
        if let Some(setting) = self.millis(&all.base, given, true)
            && !stands(&self.policy.delay.base_ms, &setting)
        {
            self.policy.delay.base_ms = Some(setting);
            if self.policy.delay.kind.value == DelayKind::None && self.base() > 0.0 {
                self.policy.delay.kind =
                    Setting { value: DelayKind::Constant, from: self.base_from() };
            }
        }
        if let Some(setting) = self.number(&all.factor, given)
            && !stands(&self.policy.delay.factor, &setting)
        {
            // A factor of 1 does not grow.
            let kind =
                if setting.value == 1.0 { DelayKind::Constant } else { DelayKind::Exponential };
            let known = self.policy.delay.kind.value;
            if known != DelayKind::Polynomial && known != DelayKind::Linear && all.delay.is_none() {
                self.policy.delay.kind = Setting { value: kind, from: setting.from.clone() };
            }
            self.policy.delay.factor = Some(setting);
        }
        if let Some(setting) = self.millis(&all.cap, given, false)
            && !stands(&self.policy.delay.cap_ms, &setting)
        {
            self.policy.delay.cap_ms = Some(setting);
        }
        if let Some(setting) = self.millis(&all.deadline, given, false)
            && !stands(&self.policy.deadline_ms, &setting)
        {
            self.policy.deadline_ms = setting.value.is_finite().then_some(setting);
        }
        if let Some(setting) = self.millis(&all.attempt_timeout, given, false) {
            self.policy.attempt_timeout_ms = setting.value.is_finite().then_some(setting);
        }
        if let Some(floor) = self.millis(&all.floor, given, false) {
            self.floor = floor.value;
        }
        if let Some((kind, from)) = self.word(&all.delay_by, given)
            && let Some(kind) = kind.and_then(|word| parse_word::<DelayKind>(&word))
        {
            self.policy.delay.kind = Setting { value: kind, from };
        }
        if let Some((word, from)) = self.word(&all.jitter_by, given) {
            let value = word.and_then(|word| parse_word(&word)).unwrap_or(Jitter::Unknown);
            self.policy.delay.jitter = Setting { value, from };
        }
        for param in &all.on {
            self.retries_on(param, given);
        }
        if self.base() == 0.0 && self.policy.delay.base_ms.is_some() {
            self.policy.delay.kind.value = DelayKind::None;
        }
    }

    fn base(&self) -> f64 {
        self.policy.delay.base_ms.as_ref().map_or(0.0, |base| base.value)
    }

    fn base_from(&self) -> From {
        self.policy.delay.base_ms.as_ref().map_or(From::Derived, |base| base.from.clone())
    }

    fn found(&self, param: &Param, given: &Given) -> Option<Found> {
        param.at.iter().find_map(|path| given.find(self.values, path, param.unit))
    }

    fn attempts(&mut self, param: &Param, given: &Given) {
        let Some(found) = self.found(param, given) else {
            if let Some(or) = param.or {
                self.policy.attempts_total = Setting::default_of(count(or, param.counts));
            }
            return;
        };
        if param.listed {
            if let Some(length) = found.node.and_then(|node| self.length(node)) {
                let from = self.from(&found.value.place);
                let value = count(length as f64, param.counts);
                self.policy.attempts_total = Setting { value, from };
            }
            return;
        }
        if self.is_wiring(&found) {
            self.off = true;
            return;
        }
        // Only where the library asks the function before each attempt.
        let asked = param.first.is_some() || !param.counter.is_empty();
        if let Some(function) = self.function(&found).filter(|_| asked)
            && let Some(times) = closure::times(self.values, function, param)
        {
            let value = match times {
                closure::Times::Count(0) => {
                    self.off = true;
                    return;
                }
                closure::Times::Count(retries) => Attempts::Count(retries + 1),
                closure::Times::Ever => Attempts::Infinite,
            };
            let from = self.from(&found.value.place);
            self.policy.attempts_total = Setting { value, from };
            return;
        }
        let from = if param.chooses { From::Default } else { self.from(&found.value.place) };
        let meaning = key(&found.value.data).and_then(|key| param.values.get(&key));
        let meaning = meaning.or_else(|| param.values.get("*"));
        let attempts = match meaning.map(String::as_str) {
            Some("infinite") => Attempts::Infinite,
            Some("off") => {
                self.off = true;
                return;
            }
            Some("default") => return,
            Some(text) => text.parse().map_or_else(|_| unknown_attempts(text), Attempts::Count),
            None => match (self.count_of(&found.value, param), param.most) {
                (Attempts::Count(count), Some(most)) if count > most => {
                    let note = format!("{count} attempts are asked for, and {most} are made");
                    self.policy.notes.push(note);
                    Attempts::Count(most)
                }
                (attempts, _) => attempts,
            },
        };
        if matches!(attempts, Attempts::Count(0 | 1)) && found.value.trust == Trust::Exact {
            self.off = true;
            return;
        }
        self.policy.attempts_total = Setting { value: attempts, from };
        self.also(&found.value.place);
    }

    fn count_of(&mut self, value: &Value, param: &Param) -> Attempts {
        let times = param.times.unwrap_or(1.0);
        match (&value.data, value.trust) {
            // A switch: once more, or not at all.
            (Data::Bool(on), _) => Attempts::Count(if *on { 2 } else { 1 }),
            (Data::Interval { low, high, .. }, _) => Attempts::Dynamic {
                expression: format!("{low} to {high}"),
                low: total(*low, param.counts),
                high: total(*high, param.counts),
                usual: None,
            },
            _ => match (value.number(), value.trust) {
                (Some(number), Trust::Exact) => count(number * times, param.counts),
                (Some(number), trust) => Attempts::Dynamic {
                    expression: match trust {
                        Trust::Environment => "set by the environment".to_owned(),
                        _ => "set by the caller".to_owned(),
                    },
                    low: None,
                    high: None,
                    usual: total(number * times, param.counts),
                },
                (None, _) => {
                    let text = match &value.data {
                        Data::Unknown(text) => text.clone(),
                        _ => "not a number".to_owned(),
                    };
                    self.policy.notes.push(format!("the number of attempts is `{text}`"));
                    unknown_attempts(&text)
                }
            },
        }
    }

    /// How many elements a list has, also one that is gone through element by element.
    fn length(&self, node: Id) -> Option<usize> {
        let tree = self.values.tree();
        let mut at = node;
        for _ in 0..8 {
            match tree.kind(at) {
                Kind::List(all) => return Some(all.len()),
                Kind::Call { callee, .. } => match tree.kind(*callee) {
                    Kind::Field {
                        of,
                        name: "into_iter" | "iter" | "map" | "cloned" | "copied",
                    } => {
                        at = *of;
                    }
                    _ => return None,
                },
                _ => at = self.values.definition(at)?,
            }
        }
        None
    }

    /// Whether an option only names a policy that is made elsewhere in this file.
    fn is_wiring(&self, found: &Found) -> bool {
        let Some(node) = found.node else { return false };
        let made = self.values.definition(node).unwrap_or(node);
        self.matched.contains(&made)
            || (found.value.number().is_none()
                && matches!(self.values.tree().kind(made), Kind::Call { .. })
                && self.values.tree().walk(made).any(|id| self.matched.contains(&id)))
    }

    fn millis(&mut self, params: &[Param], given: &Given, is_base: bool) -> Option<Setting<f64>> {
        let mut or = None;
        for param in params {
            let Some(found) = self.found(param, given) else {
                or = or.or(param.or);
                continue;
            };
            if param.sleeps {
                let function = self.function(&found);
                let sleeps = function.filter(|id| schedule::sleeps(self.values, *id));
                let from = self.from(&found.value.place);
                match sleeps {
                    Some(function) => return self.grown(Some(function), param, from),
                    None => continue,
                }
            }
            if let Some(meaning) = key(&found.value.data).and_then(|key| param.values.get(&key)) {
                let from = self.from(&found.value.place);
                match meaning.as_str() {
                    "infinite" | "off" => return Some(Setting { value: f64::INFINITY, from }),
                    "default" => continue,
                    text => {
                        if let Ok(value) = text.parse() {
                            return Some(Setting { value, from });
                        }
                    }
                }
            }
            let from = self.from(&found.value.place);
            self.also(&found.value.place);
            // A list of waits begins with its first.
            if let (Data::List(all), true) = (&found.value.data, is_base) {
                let waits: Option<Vec<f64>> =
                    all.iter().map(|wait| wait.millis(param.unit)).collect();
                if let Some([first, ..]) = waits.as_deref() {
                    let kind = if waits.iter().flatten().all(|wait| wait == first) {
                        DelayKind::Constant
                    } else {
                        DelayKind::Dynamic
                    };
                    self.policy.delay.kind = Setting { value: kind, from: from.clone() };
                    return Some(Setting { value: *first, from });
                }
            }
            match found.value.millis(param.unit) {
                Some(ms) => {
                    return Some(Setting { value: ms * param.times.unwrap_or(1.0), from });
                }
                None => {
                    if let Some((low, high)) = found.value.millis_between(param.unit)
                        && is_base
                        && found.value.random
                    {
                        self.policy.delay.jitter =
                            Setting { value: Jitter::Random, from: from.clone() };
                        return Some(Setting { value: low.max(0.0).midpoint(high), from });
                    }
                    if is_base {
                        let function = self.function(&found);
                        if let (None, Some(node), Data::Unknown(_)) =
                            (function, found.node, &found.value.data)
                        {
                            self.written(node, &from);
                        }
                        return self.grown(function, param, from);
                    }
                    if let Data::Unknown(text) = &found.value.data {
                        self.policy.notes.push(format!("a duration is `{text}`"));
                    }
                    return None;
                }
            }
        }
        or.map(Setting::default_of)
    }

    fn number(&mut self, params: &[Param], given: &Given) -> Option<Setting<f64>> {
        for param in params {
            match self.found(param, given) {
                Some(found) => {
                    let from = self.from(&found.value.place);
                    self.also(&found.value.place);
                    if let Some(value) = found.value.number() {
                        return Some(Setting { value, from });
                    }
                }
                None => {
                    if let Some(or) = param.or {
                        return Some(Setting::default_of(or));
                    }
                }
            }
        }
        None
    }

    /// The word that the catalogue has for an option's value.
    fn word(&mut self, params: &[Param], given: &Given) -> Option<(Option<String>, From)> {
        for param in params {
            let Some(found) = self.found(param, given) else { continue };
            let from = self.from(&found.value.place);
            let by_value = key(&found.value.data).and_then(|key| param.values.get(&key));
            // `Backoff.EXPONENTIAL`, `backoff.full_jitter`: the last word of what is written.
            let by_name = found.node.and_then(|node| {
                let last = self.values.tree().source(node);
                let last = last.split('(').next().unwrap_or(last);
                param.values.get(last.rsplit(['.', ':']).next().unwrap_or(last))
            });
            let word = by_value.or(by_name).or_else(|| param.values.get("*"));
            if word.is_some_and(|word| word == "default") {
                continue;
            }
            return Some((word.cloned(), from));
        }
        None
    }

    fn retries_on(&mut self, param: &Param, given: &Given) {
        let Some(found) = self.found(param, given) else { return };
        let mut all = Vec::new();
        let tree = self.values.tree();
        let written = |id: Id| Value::unknown(tree.source(id), 0).data;
        match (found.node, &found.value.data) {
            (Some(node), _) => {
                let node = self.values.definition(node).unwrap_or(node);
                let parts = match tree.kind(node) {
                    Kind::List(parts) => parts.as_slice(),
                    _ => &[node],
                };
                for id in parts.iter().take(16) {
                    if let Data::Unknown(text) = written(*id) {
                        all.push(text);
                    }
                }
            }
            (None, Data::List(parts)) => {
                all.extend(parts.iter().take(16).filter_map(|part| key(&part.data)));
            }
            (None, data) => all.extend(key(data)),
        }
        let broad =
            ["Exception", "BaseException", "Throwable", "Error", "StandardError", "\\Throwable"];
        self.policy.catches_all =
            all.iter().any(|name| broad.contains(&name.rsplit(['.', ':']).next().unwrap_or(name)));
        let from = self.from(&found.value.place);
        self.policy.retries_on = Setting { value: all, from };
    }

    fn from(&self, place: &Place) -> From {
        match &place.path {
            Some(path) => From::Elsewhere { path: path.to_string(), line: place.line },
            None => From::Written(place.line),
        }
    }

    /// A line outside of the policy that describes it.
    fn also(&mut self, place: &Place) {
        let policy = &mut *self.policy;
        let line = place.line;
        let inside = (policy.line..=policy.end_line).contains(&line);
        if place.path.is_none()
            && line > 0
            && !inside
            && policy.also.len() < 16
            && !policy.also.contains(&[line, line])
        {
            policy.also.push([line, line]);
        }
    }
}

/// A number of attempts as it is counted here: all of them.
fn total(number: f64, counts: Counts) -> Option<u32> {
    let all = match counts {
        Counts::Total => number,
        Counts::Retries => number + 1.0,
    };
    (all.is_finite() && (0.0..1e9).contains(&all)).then_some(all as u32)
}

fn count(number: f64, counts: Counts) -> Attempts {
    total(number, counts).map_or(Attempts::Infinite, Attempts::Count)
}

/// A value as a key of `values` in the catalogue.
fn key(data: &Data) -> Option<String> {
    match data {
        Data::Null => Some("null".to_owned()),
        Data::Bool(value) => Some(value.to_string()),
        Data::Number(value) => Some(value.to_string()),
        Data::Text(text) => Some(text.clone()),
        Data::Unknown(text) => text.rsplit(['.', ':']).next().map(str::to_owned),
        Data::Record(_) => Some("{}".to_owned()),
        Data::List(_) => Some("[]".to_owned()),
        Data::Duration(_) | Data::Interval { .. } => None,
    }
}

/// A word of the catalogue as the kind it names.
fn parse_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_saphyr::from_str(word).ok()
}
