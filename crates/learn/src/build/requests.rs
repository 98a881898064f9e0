//! Types of requests out of operations and the sets of calls that they make.

use std::collections::HashMap;

use super::Naming;
use crate::analysis::{Analysis, Kinds, Operation};
use crate::learnt::{Call, Number, Request};
use crate::shape::{CLIENT, Shape, Step};
use crate::stats::share_interval;

/// Sets of calls of an operation that may be types of their own.
const MOST_SPLIT: usize = 8;
/// Requests that must be explained by these sets.
const EXPLAINED: f64 = 0.98;
/// Optional calls that are independent of each other would make sets this different from those
/// that were seen (total variation): then they are not, and are types of their own.
const DEPENDENT: f64 = 0.1;
/// A rarer set is no type of its own.
const RAREST: f64 = 0.01;
/// Calls written in all; what is more is left out.
const MOST_CALLS: usize = 20_000;

/// Requests of one kind, before they have a name.
pub(super) struct Kind {
    operation: Option<Operation>,
    requests: f64,
    failed: u64,
    shape: Shape,
}

/// At most so many types, the most frequent first.
pub(super) fn kinds(analysis: &Analysis, most: usize) -> Vec<Kind> {
    let mut found: Vec<Kind> = Vec::new();
    let mut operations: Vec<(&Operation, &Kinds)> = analysis.kinds.iter().collect();
    operations.sort_by_key(|(operation, _)| **operation);
    for (operation, kinds) in operations {
        split(analysis, *operation, kinds, &mut found);
    }
    found.retain(|kind| !kind.shape.steps(CLIENT).is_empty());
    found.sort_by(|a, b| b.requests.total_cmp(&a.requests).then(a.operation.cmp(&b.operation)));
    if found.len() > most {
        let mut rest = Kind { operation: None, requests: 0.0, failed: 0, shape: Shape::new() };
        for kind in found.drain(most.saturating_sub(1)..) {
            rest.requests += kind.requests;
            rest.failed += kind.failed;
            rest.shape.absorb(&kind.shape, &|callee| callee);
        }
        found.push(rest);
    }
    found
}

/// Adds the types of one operation.
fn split(analysis: &Analysis, operation: Operation, kinds: &Kinds, found: &mut Vec<Kind>) {
    let rename = |callee| analysis.known(callee);
    let mut whole = Shape::new();
    kinds.variants.values().for_each(|shape| whole.absorb(shape, &rename));
    let mut variants: Vec<Shape> = Vec::new();
    for (_, shape) in kinds.variants.iter().filter(|(hash, _)| **hash != 0) {
        let mut renamed = Shape::new();
        renamed.absorb(shape, &rename);
        variants.push(renamed);
    }
    variants.sort_by_key(|shape| std::cmp::Reverse(shape.done()));
    let done: u64 = variants.iter().map(Shape::done).sum();
    let share = |shape: &Shape| shape.done() as f64 / done.max(1) as f64;
    let frequent: Vec<Shape> =
        variants.iter().take(MOST_SPLIT).filter(|v| share(v) >= RAREST).cloned().collect();
    let explained: f64 = frequent.iter().map(share).sum();
    let groups = if explained >= EXPLAINED { grouped(frequent) } else { Vec::new() };
    let requests = kinds.requests as f64;
    if groups.len() <= 1 {
        let operation = Some(operation);
        found.push(Kind { operation, requests, failed: kinds.failed, shape: whole });
        return;
    }
    for (n, group) in groups.into_iter().enumerate() {
        let shape = laid_over(&group);
        // What is rare, and what failed, goes with the first.
        let part = share(&shape) + if n == 0 { 1.0 - explained } else { 0.0 };
        let failed = if n == 0 { kinds.failed } else { 0 };
        let operation = Some(operation);
        found.push(Kind { operation, requests: requests * part, failed, shape });
    }
}

fn laid_over(shapes: &[Shape]) -> Shape {
    let mut whole = Shape::new();
    shapes.iter().for_each(|shape| whole.absorb(shape, &|callee| callee));
    whole
}

/// Puts sets of calls together whose differences are optional calls that are independent of each
/// other, the most alike first.
fn grouped(shapes: Vec<Shape>) -> Vec<Vec<Shape>> {
    let mut groups: Vec<Vec<Shape>> = shapes.into_iter().map(|shape| vec![shape]).collect();
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                let apart = dependence(&[groups[a].as_slice(), &groups[b]].concat());
                if apart <= DEPENDENT && best.is_none_or(|(least, ..)| apart < least) {
                    best = Some((apart, a, b));
                }
            }
        }
        let Some((_, a, b)) = best else { return groups };
        let more = groups.remove(b);
        groups[a].extend(more);
    }
}

/// How far sets of calls are from those that independent choices would make.
fn dependence(shapes: &[Shape]) -> f64 {
    let whole = laid_over(shapes);
    let probability = presence(&whole);
    let all = whole.done().max(1) as f64;
    let apart = |v: &Shape| (v.done() as f64 / all - independent(&whole, v, &probability)).max(0.0);
    shapes.iter().map(apart).sum()
}

/// By place, how probable it is that it is called once its caller is.
fn presence(shape: &Shape) -> Vec<f64> {
    let mut probability = vec![0.0; shape.places.len()];
    for at in 0..shape.places.len() as u32 {
        for step in shape.steps(at).iter().flatten() {
            probability[step.place as usize] = step.did as f64 / step.could.max(1) as f64;
        }
    }
    probability
}

/// The probability of a set of calls if each was made or not whatever the others are.
fn independent(whole: &Shape, variant: &Shape, probability: &[f64]) -> f64 {
    let mut product = 1.0;
    let mut open = vec![(CLIENT, CLIENT)];
    while let Some((in_whole, in_variant)) = open.pop() {
        let theirs = &variant.places[in_variant as usize].children;
        for child in &whole.places[in_whole as usize].children {
            let callee = whole.places[*child as usize].callee;
            let found = theirs.iter().find(|c| variant.places[**c as usize].callee == callee);
            let p = probability[*child as usize];
            match found {
                Some(found) => {
                    product *= p;
                    open.push((*child, *found));
                }
                None => product *= 1.0 - p,
            }
        }
    }
    product
}

/// Types with names and calls.
pub(super) fn requests(kinds: &[Kind], naming: &mut Naming<'_>) -> (Vec<Request>, u64) {
    let total: f64 = kinds.iter().map(|kind| kind.requests).sum();
    let mut left = MOST_CALLS;
    let mut left_out = 0;
    let mut made = Vec::new();
    for kind in kinds {
        let count = kind.requests.round() as u64;
        let (name, original) = naming.request(kind.operation);
        left_out += kind.shape.places.iter().map(|p| p.left_out).sum::<u64>();
        made.push(Request {
            name,
            original,
            share: Number {
                value: kind.requests / total.max(1.0),
                count,
                ci95: share_interval(count, total.round() as u64),
            },
            failed: kind.failed,
            message: kind.operation.is_some_and(|operation| operation.message),
            calls: calls(&kind.shape, CLIENT, naming, &mut left),
        });
    }
    (made, left_out + u64::from(left == 0))
}

/// The calls of a place. The depth is bounded by that of a shape.
fn calls(shape: &Shape, at: u32, naming: &Naming<'_>, left: &mut usize) -> Vec<Vec<Call>> {
    let mut groups = Vec::new();
    for group in shape.steps(at) {
        let mut made = Vec::new();
        for step in group {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let Step { place, could, did, times, counted, at_once } = step;
            made.push(Call {
                callee: naming.callee(shape.places[place as usize].callee).to_owned(),
                chance: Number {
                    value: did as f64 / could.max(1) as f64,
                    count: could,
                    ci95: share_interval(did, could),
                },
                times: Number { value: times, count: counted, ci95: [times, times] },
                at_once,
                calls: calls(shape, place, naming, left),
            });
        }
        if !made.is_empty() {
            groups.push(made);
        }
    }
    groups
}

/// How often each callee would be called if nothing failed, by name.
pub(super) fn needed(requests: &[Request], total: f64) -> HashMap<String, f64> {
    let mut needed: HashMap<String, f64> = HashMap::new();
    let mut open: Vec<(f64, &[Vec<Call>])> =
        requests.iter().map(|r| (total * r.share.value, r.calls.as_slice())).collect();
    while let Some((executions, groups)) = open.pop() {
        for call in groups.iter().flatten() {
            let made = executions * call.chance.value * call.times.value;
            *needed.entry(call.callee.clone()).or_default() += made;
            open.push((made, &call.calls));
        }
    }
    needed
}
