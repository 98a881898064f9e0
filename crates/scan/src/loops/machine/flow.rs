//! Statements: what runs after what.

use super::super::value::{Num, Part, Truth, Value};
use super::super::words;
use super::{Cut, ENDLESS, Exit, Fate, Flow, Machine, seen};
use crate::tree::{Arm, Handler, Id, Kind, LoopForm, Op};

/// Rounds of a loop that nobody looks at.
const OTHER_ROUNDS: u32 = 40;
/// Elements of a collection that is not known.
const UNKNOWN_ELEMENTS: u32 = 3;

/// Whether a loop goes on.
enum Round {
    On,
    Out(Value),
}

impl<'s> Machine<'_, '_, 's> {
    /// Statements from one on; backward jumps included.
    pub(super) fn statements(&mut self, all: &'_ [Id], from: usize) -> Flow<'s> {
        let mut at = from;
        let mut last = Value::Null;
        while at < all.len() {
            match self.eval(all[at]) {
                Ok(value) => {
                    last = value;
                    at += 1;
                }
                Err(Exit::Goto(label)) => match self.label_in(all, label) {
                    Some(place) => at = place,
                    None => return Err(Exit::Goto(label)),
                },
                Err(exit) => return Err(exit),
            }
        }
        Ok(last)
    }

    pub(super) fn label_in(&self, all: &[Id], label: &str) -> Option<usize> {
        all.iter().position(|id| match self.tree.kind(*id) {
            Kind::Label(name) => *name == label,
            // A label may hold the statement it names.
            Kind::Block(inner) | Kind::Other(inner) => inner.first().is_some_and(
                |id| matches!(self.tree.kind(*id), Kind::Label(name) if *name == label),
            ),
            Kind::Loop { label: Some(name), .. } => *name == label,
            _ => false,
        })
    }

    pub(super) fn branch(&mut self, id: Id, test: Id, then: Id, otherwise: Option<Id>) -> Flow<'s> {
        let truth = self.truth(test)?;
        if let Some(limit) = self.higher_limit(id, truth, then, otherwise)? {
            return Ok(limit);
        }
        if self.decide(id, truth, Some(then), otherwise, Some(test)) {
            self.eval(then)
        } else {
            self.maybe(otherwise)
        }
    }

    pub(super) fn run_loop(
        &mut self,
        id: Id,
        form: &'_ LoopForm,
        label: Option<&'s str>,
        body: Id,
        otherwise: Option<Id>,
    ) -> Flow<'s> {
        let subject = self.plan.subject == Some(id);
        let most = if subject { ENDLESS + 2 } else { OTHER_ROUNDS };
        if let LoopForm::Counted { init, .. } = form {
            self.maybe(*init)?;
        }
        let elements = match form {
            LoopForm::Each { over, .. } => {
                // Its elements are what counts.
                self.trace.counted |= subject && self.file.counts_up(*over).is_none();
                Some(self.elements(*over, most, subject)?)
            }
            _ => None,
        };
        if let (true, LoopForm::Each { var, over }) = (subject, form) {
            self.tellings = self.tellings(*var, *over, body);
        }
        let mut round = 0_u32;
        let mut guessed = 0_u32;
        loop {
            let calls = self.trace.calls;
            let go = match form {
                LoopForm::Endless => true,
                LoopForm::While(test) => self.goes_round(id, *test, subject, &mut guessed)?,
                LoopForm::Counted { test: Some(test), .. } => {
                    self.goes_round(id, *test, subject, &mut guessed)?
                }
                LoopForm::Counted { test: None, .. } => true,
                LoopForm::DoWhile(test) => {
                    round == 0 || self.goes_round(id, *test, subject, &mut guessed)?
                }
                LoopForm::Each { .. } => match &elements {
                    Some(all) => (round as usize) < all.len(),
                    None => false,
                },
            };
            if !go {
                break;
            }
            if round >= most {
                if subject {
                    return self.cut(Cut::Endless);
                }
                break;
            }
            round += 1;
            if let Some(Value::Timer(ms)) =
                elements.as_ref().and_then(|all| all.get(round as usize - 1))
            {
                self.wait(id, *ms);
            }
            if let (LoopForm::Each { var: Some(var), .. }, Some(all)) = (form, &elements) {
                self.bind(*var, all[round as usize - 1].clone())?;
            }
            self.told = false;
            let ended = self.round(body, label);
            if subject && self.trace.calls > calls {
                self.trace.rounds += 1;
            }
            match ended? {
                Round::On if subject && !self.tellings.is_empty() && !self.told => break,
                Round::On => {}
                Round::Out(value) => return Ok(value),
            }
            if let LoopForm::Counted { step: Some(step), .. } = form {
                self.eval(*step)?;
            }
        }
        self.maybe(otherwise)
    }

    fn bind(&mut self, var: Id, value: Value) -> Result<(), Exit<'s>> {
        match self.tree.kind(var) {
            Kind::Name(name) => {
                self.set_here(name, value);
                Ok(())
            }
            _ => self.set(var, value),
        }
    }

    fn round(&mut self, body: Id, label: Option<&'s str>) -> Result<Round, Exit<'s>> {
        match self.eval(body) {
            Ok(_) | Err(Exit::Continue(None)) => Ok(Round::On),
            Err(Exit::Continue(Some(to))) if Some(to) == label => Ok(Round::On),
            Err(Exit::Break(None, value)) => Ok(Round::Out(value)),
            Err(Exit::Break(Some(to), value)) if Some(to) == label => Ok(Round::Out(value)),
            Err(exit) => Err(exit),
        }
    }

    fn goes_round(
        &mut self,
        id: Id,
        test: Id,
        subject: bool,
        guessed: &mut u32,
    ) -> Result<bool, Exit<'s>> {
        let known = match self.truth(test)? {
            Truth::Yes => return Ok(true),
            Truth::No => return Ok(false),
            // `while (retry.shouldContinue())`: a helper that is told how it went.
            Truth::Maybe(false) => {
                subject
                    && self.trace.calls > 0
                    && (self.is_brought_about(id, test)
                        || matches!(self.tree.kind(test), Kind::Call { .. })
                            && words::about_retry(self.tree.source(test)))
            }
            Truth::Maybe(about) => about,
        };
        *guessed += 1;
        // After a success a loop that asks about it ends; one that is not looked at ends soon.
        let go =
            if known && self.plan.fate == Fate::Good { false } else { subject || *guessed <= 2 };
        let go = go != self.plan.flips.contains(&id);
        if known {
            self.trace.about.insert(id);
        }
        // What the operation gave does not change whether anybody wants it to go on.
        let alive = subject && !known && words::asks_for_life(self.tree.source(test));
        if !alive
            && self.trace.undecided.len() < 64
            && !self.trace.undecided.iter().any(|(at, _)| *at == id)
        {
            self.trace.undecided.push((id, go));
        }
        Ok(go)
    }

    /// What a loop goes through.
    pub(super) fn elements(
        &mut self,
        over: Id,
        most: u32,
        subject: bool,
    ) -> Result<Vec<Value>, Exit<'s>> {
        let tree = self.tree;
        if let Kind::Range { from, to, inclusive } = tree.kind(over) {
            let from = match from {
                Some(from) => {
                    let value = self.eval(*from)?;
                    self.as_number(*from, &value).unwrap_or(Num::exact(0.0))
                }
                None => Num::exact(0.0),
            };
            let to = match to {
                Some(to) => {
                    let value = self.eval(*to)?;
                    self.as_number(*to, &value).unwrap_or(Num::exact(4.0))
                }
                None => Num::exact(f64::INFINITY),
            };
            for num in [from, to] {
                self.bounded_by(num);
            }
            let end = if *inclusive { to.high + 1.0 } else { to.high };
            let count = (end - from.low).ceil().clamp(0.0, f64::from(most) + 1.0) as usize;
            return Ok((0..count).map(|at| Value::number(from.low + at as f64)).collect());
        }
        // `enumerate(list)`, `list.iter()`, `reversed(list)`.
        if let Kind::Call { callee, args, .. } = tree.kind(over) {
            let name = tree.last_name(*callee).unwrap_or_default();
            if matches!(name, "enumerate") {
                let inner = match (args.first(), tree.kind(*callee)) {
                    (Some(arg), _) => Some(arg.value),
                    (None, Kind::Field { of, .. }) => Some(*of),
                    _ => None,
                };
                if let Some(inner) = inner {
                    let all = self.elements(inner, most, subject)?;
                    let pair = |(at, value)| Value::List([Value::number(at as f64), value].into());
                    return Ok(all.into_iter().enumerate().map(pair).collect());
                }
            }
            // `for (const [at, one] of list.entries())`.
            if let ("entries", Kind::Field { of, .. }) = (name, tree.kind(*callee))
                && let Value::List(all) = self.eval(*of)?
            {
                let pair = |(at, value): (usize, &Value)| {
                    Value::List([Value::number(at as f64), value.clone()].into())
                };
                return Ok(all.iter().enumerate().map(pair).collect());
            }
            if let Some(all) = self.counted_up(over, most)? {
                return Ok(all);
            }
            if let Some(all) = self.generated(over, args)? {
                return Ok(all);
            }
            if let ("rev" | "into_iter" | "iter", Kind::Field { of, .. }) =
                (name, tree.kind(*callee))
            {
                return self.elements(*of, most, subject);
            }
        }
        match self.eval(over)? {
            Value::List(all) => Ok(all.to_vec()),
            // `for range ticker.C`: without end, and each round comes later.
            timer @ Value::Timer(_) => Ok(vec![timer; most as usize + 1]),
            value @ Value::Num(_) => {
                if let Some(num) = value.num() {
                    self.bounded_by(num);
                }
                let count = value.num().map_or(0.0, |num| num.high).clamp(0.0, f64::from(most));
                Ok((0..count as usize).map(|at| Value::number(at as f64)).collect())
            }
            value => {
                // `for attempt in Attempts(5)`: a helper counts.
                let head = match tree.kind(over) {
                    Kind::Call { callee, .. } => *callee,
                    _ => over,
                };
                let listed = self.are_waits(head);
                let counts = tree.last_name(head).is_some_and(|name| {
                    !listed && (words::about_retry(name) || words::any(name, &["times", "tries"]))
                });
                if counts && let Some(num) = self.as_number(over, &value) {
                    self.bounded_by(num);
                    let count = num.high.clamp(0.0, f64::from(most)) as usize;
                    return Ok((0..count).map(|at| Value::number(at as f64)).collect());
                }
                // Waits, or limits of time, of which each attempt gets one, are no data.
                let waits = tree.last_name(head).is_some_and(words::names_waits);
                self.trace.collection |= subject && !waits;
                if !subject {
                    return Ok(vec![Value::Unknown; UNKNOWN_ELEMENTS as usize]);
                }
                // So many as there are, and how many that is nobody can tell.
                let length = self.symbol(self.file.brief(over, 60), None).num();
                let length = length.unwrap_or(Num::exact(f64::from(UNKNOWN_ELEMENTS)));
                self.bounded_by(length);
                let count = length.high.clamp(0.0, f64::from(most)) as usize;
                let one = if listed { Self::one_of(length) } else { Value::Unknown };
                Ok(vec![one; count])
            }
        }
    }

    pub(super) fn bounded_by(&mut self, num: Num) {
        if num.symbol != 0 && !self.trace.bounds.contains(&num.symbol) {
            self.trace.bounds.push(num.symbol);
        }
    }

    pub(super) fn attempt(&mut self, id: Id) -> Flow<'s> {
        let Kind::Try { body, handlers, otherwise, finally } = self.tree.kind(id) else {
            return Ok(Value::Unknown);
        };
        loop {
            let mut end = self.eval(*body);
            if end == Err(Exit::Throw) {
                end = self.handle(id, handlers);
            } else if let (Ok(_), Some(otherwise)) = (&end, otherwise) {
                end = self.eval(*otherwise);
            }
            if end == Err(Exit::Again) {
                continue;
            }
            if let Some(finally) = finally
                && end != Err(Exit::Cut)
            {
                self.eval(*finally)?;
            }
            return end;
        }
    }

    /// Something in a `try` was raised whose body the machine began in the middle of.
    pub(super) fn caught(&mut self, id: Id, from: Id) -> Flow<'s> {
        let Kind::Try { body, handlers, .. } = self.tree.kind(id) else { return Err(Exit::Throw) };
        if *body == from { self.handle(id, handlers) } else { Err(Exit::Throw) }
    }

    /// Picks the handler that is most likely to go on, and runs it.
    fn handle(&mut self, id: Id, handlers: &'_ [Handler<'s>]) -> Flow<'s> {
        let mut best: Option<(u8, usize)> = None;
        for (at, handler) in handlers.iter().enumerate() {
            let source = |id: &Id| self.tree.source(*id);
            let cancels = handler.types.iter().map(source).any(words::is_cancel)
                && handlers.len() > 1
                && !handler.types.iter().map(source).any(|text| words::has(text, &["timeout"]));
            let rank = if cancels {
                0
            } else if self.goes_on(handler.body) || self.jumps(handler.body) {
                3
            } else if self.leaves(handler.body) {
                1
            } else {
                2
            };
            if best.is_none_or(|(known, _)| rank > known) {
                best = Some((rank, at));
            }
        }
        let Some((_, at)) = best else { return Err(Exit::Throw) };
        let handler = &handlers[at];
        if let Some(name) = handler.name {
            let value =
                if self.failing() { Value::Outcome(Part::Error, true) } else { Value::Unknown };
            self.set_here(name, value);
        }
        if let Some(guard) = handler.guard {
            match self.truth(guard)? {
                Truth::No => return Err(Exit::Throw),
                Truth::Maybe(_) if self.plan.flips.contains(&guard) => return Err(Exit::Throw),
                _ => {}
            }
            if !self.trace.filters.contains(&guard) {
                self.trace.filters.push(guard);
            }
        }
        if self.failing() {
            self.notice(seen::CAUGHT);
            if !self.trace.handlers.contains(&(id, at)) {
                self.trace.handlers.push((id, at));
            }
        }
        self.eval(handler.body)
    }

    fn jumps(&self, id: Id) -> bool {
        self.tree
            .walk_here(id)
            .any(|at| matches!(self.tree.kind(at), Kind::Again | Kind::Goto(_) | Kind::Continue(_)))
    }

    pub(super) fn notice(&mut self, how: u8) {
        self.trace.seen |= how;
    }

    /// `match`, `switch`, `when`, `select`.
    pub(super) fn choose(&mut self, id: Id, of: Option<Id>, arms: &'_ [Arm]) -> Flow<'s> {
        let Some(of) = of else { return self.select(id, arms) };
        let value = self.eval(of)?;
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut sure = None;
        for (at, arm) in arms.iter().enumerate() {
            let mut fits = Truth::of(arm.patterns.is_empty());
            for pattern in &arm.patterns {
                fits = match (fits, self.matches(of, &value, *pattern)?) {
                    (Truth::Yes, _) | (_, Truth::Yes) => Truth::Yes,
                    (Truth::Maybe(a), Truth::Maybe(b)) => Truth::Maybe(a || b),
                    (maybe @ Truth::Maybe(_), _) | (_, maybe @ Truth::Maybe(_)) => maybe,
                    _ => Truth::No,
                };
            }
            if fits != Truth::No
                && let Some(guard) = arm.guard
            {
                for pattern in &arm.patterns {
                    self.capture(*pattern, &value)?;
                }
                fits = match (fits, self.truth(guard)?) {
                    (_, Truth::No) => Truth::No,
                    (Truth::Yes, other) => other,
                    (maybe, _) => maybe,
                };
            }
            match fits {
                Truth::Yes => {
                    sure = Some(at);
                    break;
                }
                Truth::Maybe(about) => open.push((at, about)),
                Truth::No => {}
            }
        }
        let mut chosen = sure;
        // One that may fit and goes on is better than the one that surely fits after it.
        if let Some(&(first, about)) = open.first() {
            let good = about && self.plan.fate == Fate::Good;
            let better = open
                .iter()
                .map(|(at, _)| *at)
                .find(|at| self.leaves(arms[*at].body) == good)
                .or_else(|| sure.is_none().then_some(first));
            let key = arms[first].body;
            if about {
                self.trace.about.insert(key);
            }
            let flipped = self.plan.flips.contains(&key);
            if !self.trace.undecided.iter().any(|(at, _)| *at == key) {
                self.trace.undecided.push((key, true));
            }
            chosen = match (better, sure) {
                (Some(_), Some(sure)) if flipped => Some(sure),
                (Some(better), Some(sure)) => {
                    // A sure default that goes on is as good.
                    let keep =
                        !good && !self.leaves(arms[sure].body) && self.leaves(arms[better].body);
                    Some(if keep { sure } else { better })
                }
                (better, sure) => better.or(sure),
            };
        }
        let Some(at) = chosen else { return Ok(Value::Null) };
        for pattern in &arms[at].patterns {
            self.capture(*pattern, &value)?;
        }
        match self.eval(arms[at].body) {
            // A `break` that leaves the `switch` has been given this label.
            Err(Exit::Break(Some("switch"), _)) => Ok(Value::Null),
            other => other,
        }
    }

    /// Go's `select`: a timer that fires and goes on, before a default, before the first.
    fn select(&mut self, id: Id, arms: &'_ [Arm]) -> Flow<'s> {
        // A `switch` without a subject: its patterns are conditions.
        let comms = |pattern: &Id| match self.tree.kind(*pattern) {
            Kind::Unary { op: Op::Other, .. } | Kind::Assign { .. } | Kind::Let { .. } => true,
            _ => self.tree.source(*pattern).contains("<-"),
        };
        if !arms.iter().any(|arm| arm.patterns.iter().any(comms)) {
            return self.conditions(arms);
        }
        let mut best: Option<(u8, usize, Option<Num>)> = None;
        for (at, arm) in arms.iter().enumerate() {
            let mut timer = None;
            for pattern in &arm.patterns {
                if words::is_stop(self.tree.source(*pattern)) {
                    continue;
                }
                let before = self.trace.waits.len();
                if let Value::Timer(num) = self.eval(*pattern)? {
                    timer = Some(num);
                }
                // `_ = sleep(wait) => …` of Rust: it waits only if that comes first.
                let waited = self.trace.waits.drain(before..).next_back();
                timer = timer.or(waited.map(|wait| wait.ms));
            }
            let answered = arm.patterns.iter().any(|p| self.holds_an_answer(*p));
            let stop = arm.patterns.iter().any(|p| words::is_stop(self.tree.source(*p)));
            let leaves = self.leaves(arm.body);
            let limit =
                |p: &Id| words::has(self.tree.source(*p), &["timeout", "deadline", "expire"]);
            if leaves && arm.patterns.iter().any(limit) && self.trace.clock.is_none() {
                self.trace.clock = Some(None);
            }
            let rank = match (timer.is_some(), leaves, arm.patterns.is_empty()) {
                _ if answered => 6,
                (true, false, _) => 5,
                (_, _, true) => 4,
                (false, false, _) if !stop => 3,
                (true, true, _) => 2,
                (_, true, _) if !stop => 1,
                _ => 0,
            };
            if best.is_none_or(|(known, ..)| rank > known) {
                best = Some((rank, at, timer));
            }
        }
        let Some((_, at, timer)) = best else { return Ok(Value::Null) };
        arms[at].patterns.iter().for_each(|pattern| self.notice_an_error(*pattern));
        if let Some(num) = timer {
            self.wait(id, num);
        }
        match self.eval(arms[at].body) {
            Err(Exit::Break(Some("switch"), _)) => Ok(Value::Null),
            other => other,
        }
    }

    fn conditions(&mut self, arms: &'_ [Arm]) -> Flow<'s> {
        for (at, arm) in arms.iter().enumerate() {
            let mut fits = arm.patterns.is_empty();
            for pattern in &arm.patterns {
                let truth = self.truth(*pattern)?;
                let rest = arms.get(at + 1).map(|next| next.body);
                fits = fits || self.decide(arm.body, truth, Some(arm.body), rest, Some(*pattern));
            }
            if fits {
                return match self.eval(arm.body) {
                    Err(Exit::Break(Some("switch"), _)) => Ok(Value::Null),
                    other => other,
                };
            }
        }
        Ok(Value::Null)
    }
}
