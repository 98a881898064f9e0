//! Signs and words of operators that mean the same wherever they exist.

use crate::tree::Op;

/// The operator of a sign or a word; of `+=` without the `=`.
pub(super) fn operator(text: &str) -> Op {
    match text {
        "+" => Op::Add,
        "-" => Op::Subtract,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        "%" => Op::Remainder,
        "**" => Op::Power,
        "<<" => Op::ShiftLeft,
        ">>" | ">>>" => Op::ShiftRight,
        "&" => Op::BitAnd,
        "|" => Op::BitOr,
        "^" => Op::BitXor,
        "&&" | "and" => Op::And,
        "||" | "or" => Op::Or,
        "??" => Op::Else,
        "!" | "not" => Op::Not,
        "==" | "===" => Op::Equal,
        "!=" | "!==" | "<>" => Op::NotEqual,
        "<" => Op::Less,
        "<=" => Op::AtMost,
        ">" => Op::Greater,
        ">=" => Op::AtLeast,
        "in" => Op::In,
        "instanceof" | "=~" => Op::Matches,
        _ => Op::Other,
    }
}
