//! Sums and comparisons of values that may be durations or intervals.

use super::units::number_text;
use super::{Data, Trust, Value};
use crate::tree::Op;

/// Two operands; `None` if nothing can be told.
pub(super) fn binary(op: Op, left: &Value, right: &Value) -> Option<Value> {
    let data = match op {
        Op::Add
        | Op::Subtract
        | Op::Multiply
        | Op::Divide
        | Op::Remainder
        | Op::Power
        | Op::ShiftLeft
        | Op::ShiftRight => sum(op, left, right)?,
        Op::Equal | Op::NotEqual => {
            let same = same(&left.data, &right.data)?;
            Data::Bool(same == (op == Op::Equal))
        }
        Op::Less | Op::AtMost | Op::Greater | Op::AtLeast => {
            let (a, b) = (single(&left.data)?, single(&right.data)?);
            Data::Bool(match op {
                Op::Less => a < b,
                Op::AtMost => a <= b,
                Op::Greater => a > b,
                _ => a >= b,
            })
        }
        _ => return None,
    };
    // It is written where its part from elsewhere is written.
    let place =
        if left.place.path.is_some() || !is_bare(right) { &left.place } else { &right.place };
    Some(Value {
        data,
        trust: left.trust.max(right.trust),
        random: left.random || right.random,
        place: place.clone(),
    })
}

fn is_bare(value: &Value) -> bool {
    value.place.path.is_none()
}

fn single(data: &Data) -> Option<f64> {
    match data {
        Data::Number(value) | Data::Duration(value) => Some(*value),
        _ => None,
    }
}

fn same(left: &Data, right: &Data) -> Option<bool> {
    match (left, right) {
        (Data::Unknown(_) | Data::Interval { .. }, _)
        | (_, Data::Unknown(_) | Data::Interval { .. }) => None,
        (Data::Text(a), Data::Text(b)) => Some(a == b),
        (Data::Bool(a), Data::Bool(b)) => Some(a == b),
        (Data::Null, Data::Null) => Some(true),
        (a, b) => match (single(a), single(b)) {
            (Some(a), Some(b)) => Some(a == b),
            (None, None) => None,
            _ => Some(false),
        },
    }
}

/// Lowest, highest and whether it is a duration.
pub(super) fn bounds(data: &Data) -> Option<(f64, f64, bool)> {
    match data {
        Data::Number(value) => Some((*value, *value, false)),
        Data::Duration(value) => Some((*value, *value, true)),
        Data::Interval { low, high, duration } => Some((*low, *high, *duration)),
        Data::Text(text) => number_text(text).map(|value| (value, value, false)),
        Data::Bool(value) => {
            Some((f64::from(u8::from(*value)), f64::from(u8::from(*value)), false))
        }
        _ => None,
    }
}

/// A single value if both ends are the same.
pub(super) fn between(low: f64, high: f64, duration: bool) -> Option<Data> {
    if low.is_nan() || high.is_nan() {
        return None;
    }
    Some(if low < high {
        Data::Interval { low, high, duration }
    } else if duration {
        Data::Duration(low)
    } else {
        Data::Number(low)
    })
}

fn sum(op: Op, left: &Value, right: &Value) -> Option<Data> {
    if let (Op::Add, Data::Text(a), Data::Text(b)) = (op, &left.data, &right.data) {
        return Some(Data::Text(format!("{a}{b}")));
    }
    let (a_low, a_high, a_time) = bounds(&left.data)?;
    let (b_low, b_high, b_time) = bounds(&right.data)?;
    let duration = match op {
        Op::Divide => a_time && !b_time,
        _ => a_time || b_time,
    };
    let apply = |a: f64, b: f64| match op {
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        Op::Divide => a / b,
        Op::Remainder => a % b,
        Op::Power => a.powf(b),
        Op::ShiftLeft => a * b.exp2(),
        _ => (a / b.exp2()).floor(),
    };
    // Over an interval all of these are monotonic in each operand but for division by an interval
    // that holds 0 and for remainders.
    let wide = a_low < a_high || b_low < b_high;
    if wide && (op == Op::Remainder || (op == Op::Divide && b_low <= 0.0 && b_high >= 0.0)) {
        return None;
    }
    let corners =
        [apply(a_low, b_low), apply(a_low, b_high), apply(a_high, b_low), apply(a_high, b_high)];
    let low = corners.into_iter().fold(f64::INFINITY, f64::min);
    let high = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
    if corners.iter().any(|value| value.is_nan()) {
        return None;
    }
    between(low, high, duration)
}

/// The smallest or the largest of several, of which some may be unknown.
pub(super) fn extreme(all: &[Value], smallest: bool) -> Option<Value> {
    let mut low: f64 = if smallest { f64::INFINITY } else { f64::NEG_INFINITY };
    let (mut high, mut known, mut unknown, mut duration) = (low, false, false, false);
    let mut trust = Trust::Exact;
    for value in all {
        let Some((a, b, time)) = bounds(&value.data) else {
            unknown = true;
            continue;
        };
        known = true;
        duration |= time;
        trust = trust.max(value.trust);
        if smallest {
            (low, high) = (low.min(a), high.min(b));
        } else {
            (low, high) = (low.max(a), high.max(b));
        }
    }
    if !known {
        return None;
    }
    if unknown && smallest {
        low = f64::NEG_INFINITY;
    } else if unknown {
        high = f64::INFINITY;
    }
    let place = all.iter().find(|value| value.is_known()).map(|value| value.place.clone())?;
    let random = all.iter().any(|value| value.random);
    Some(Value { data: between(low, high, duration)?, trust, random, place })
}

/// From the lowest to the highest of two: one of them it is, and it is not known which.
pub(super) fn either(one: &Value, other: &Value) -> Option<Value> {
    if one.data == other.data {
        return Some(one.clone());
    }
    let (a, b, time) = bounds(&one.data)?;
    let (c, d, _) = bounds(&other.data)?;
    Some(Value {
        data: between(a.min(c), b.max(d), time)?,
        trust: one.trust.max(other.trust),
        random: one.random || other.random,
        place: one.place.clone(),
    })
}
