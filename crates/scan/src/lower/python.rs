//! Python.
//!
//! `import a.b as c` is module `a.b`, alias `c`; `from a import b as c` is module `a`, item `b`,
//! alias `c`. `with` keeps `as` names as [`Kind::Let`]; with `suppress` it is a [`Kind::Try`].
//! Comprehensions and f-strings are
//! [`Kind::Other`] with what is in them.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{each_child, has_word, in_field, named, number, unquoted};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Arm, Builder, Entry, Handler, Id, Kind, LoopForm, Op, Param};

/// A whole file.
pub(super) fn file<'s>(b: &mut Builder<'s>, root: Syntax<'_>) -> Id {
    block(b, root)
}

fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut all = Vec::new();
    for child in named(at) {
        match child.kind() {
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                imports(b, child, &mut all);
            }
            _ => all.push(node(b, child)),
        }
    }
    b.add(at, Kind::Block(all))
}

fn imports<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let from = at.child_in("module_name").map(|module| b.text(module));
    for name in in_field(at, "name") {
        let (what, alias) = match name.child_in("alias") {
            Some(alias) => (name.child_in("name").unwrap_or(name), Some(b.text(alias))),
            None => (name, None),
        };
        let what = b.text(what);
        let kind = match from {
            Some(module) => {
                Kind::Import { module: Cow::Borrowed(module), item: Some(what), alias, all: false }
            }
            None => Kind::Import { module: Cow::Borrowed(what), item: None, alias, all: false },
        };
        all.push(b.add(name, kind));
    }
    if let Some(module) = from
        && named(at).iter().any(|child| child.kind() == "wildcard_import")
    {
        let module = Cow::Borrowed(module);
        all.push(b.add(at, Kind::Import { module, item: None, alias: None, all: true }));
    }
}

super::ways!(node, field, maybe, first);

fn one<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let kind = match at.kind() {
        "block" | "module" => return block(b, at),
        "expression_statement" | "parenthesized_expression" => {
            let all = each_child(b, at, node);
            match all[..] {
                [only] => return only,
                _ => Kind::List(all),
            }
        }
        "identifier" | "dotted_name" | "keyword_identifier" => name(b, at),
        "attribute" => match at.child_in("attribute") {
            Some(attribute) => Kind::Field { of: field(b, at, "object"), name: b.text(attribute) },
            None => Kind::Other(each_child(b, at, node)),
        },
        "subscript" => Kind::Index { of: field(b, at, "value"), at: field(b, at, "subscript") },
        "call" => return call(b, at),
        "integer" | "float" => match number(b.text(at)) {
            Some(value) => Kind::Number(value),
            None => Kind::Other(Vec::new()),
        },
        "string" => {
            let inner: Vec<_> =
                named(at).into_iter().filter(|child| child.kind() == "interpolation").collect();
            if inner.is_empty() {
                Kind::Text(Cow::Borrowed(unquoted(b.text(at))))
            } else {
                Kind::Other(inner.into_iter().map(|child| field(b, child, "expression")).collect())
            }
        }
        "concatenated_string" => Kind::Other(each_child(b, at, node)),
        "true" | "false" => Kind::Bool(at.kind() == "true"),
        "none" => Kind::Null,
        "unary_operator" => {
            let op = if has_word(at, "-") { Op::Subtract } else { Op::Other };
            Kind::Unary { op, of: field(b, at, "argument") }
        }
        "not_operator" => Kind::Unary { op: Op::Not, of: field(b, at, "argument") },
        "binary_operator" | "boolean_operator" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            Kind::Binary {
                op: operator(op),
                left: field(b, at, "left"),
                right: field(b, at, "right"),
            }
        }
        "comparison_operator" => return comparison(b, at),
        "conditional_expression" => {
            let all = each_child(b, at, node);
            match all[..] {
                [then, test, otherwise] => Kind::If { test, then, otherwise: Some(otherwise) },
                _ => Kind::Other(all),
            }
        }
        "named_expression" => Kind::Let {
            target: field(b, at, "name"),
            ty: None,
            value: maybe(b, at, "value"),
            constant: false,
        },
        "assignment" => match (at.child_in("right"), at.child_in("type")) {
            // An annotated name is a declaration.
            (None, Some(ty)) => Kind::Let {
                target: field(b, at, "left"),
                ty: Some(b.text(ty)),
                value: None,
                constant: false,
            },
            _ => Kind::Assign {
                op: None,
                target: field(b, at, "left"),
                value: field(b, at, "right"),
            },
        },
        "augmented_assignment" => {
            let op = at.child_in("operator").map_or("", |op| op.kind());
            Kind::Assign {
                op: Some(operator(op.trim_end_matches('='))),
                target: field(b, at, "left"),
                value: field(b, at, "right"),
            }
        }
        "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "set"
        | "expression_list" => Kind::List(each_child(b, at, node)),
        "dictionary" => record(b, at),
        "await" => {
            let all = each_child(b, at, node);
            match all[..] {
                [only] => Kind::Await(only),
                _ => Kind::Other(all),
            }
        }
        "lambda" => Kind::Function {
            name: None,
            params: params(b, at),
            body: field(b, at, "body"),
            decorators: Vec::new(),
            is_async: false,
        },
        "decorated_definition" => return decorated(b, at),
        "function_definition" | "class_definition" => return definition(b, at, Vec::new()),
        "if_statement" => return branch(b, at, &in_field(at, "alternative")),
        "for_statement" => Kind::Loop {
            form: LoopForm::Each { var: maybe(b, at, "left"), over: field(b, at, "right") },
            label: None,
            body: field(b, at, "body"),
            otherwise: otherwise(b, at),
        },
        "while_statement" => {
            let test = field(b, at, "condition");
            let form = match b.kind(test) {
                Kind::Bool(true) | Kind::Number(1.0) => LoopForm::Endless,
                _ => LoopForm::While(test),
            };
            let body = field(b, at, "body");
            Kind::Loop { form, label: None, body, otherwise: otherwise(b, at) }
        }
        "try_statement" => return attempt(b, at),
        "match_statement" => {
            let of = maybe(b, at, "subject");
            let cases = at.child_in("body").map(named).unwrap_or_default();
            let arms = cases.into_iter().filter(|case| case.kind() == "case_clause");
            Kind::Match { of, arms: arms.map(|case| arm(b, case)).collect() }
        }
        "with_statement" => {
            let clause = named(at).into_iter().find(|child| child.kind() == "with_clause");
            let items = clause.map(|clause| each_child(b, clause, with_item)).unwrap_or_default();
            let body = field(b, at, "body");
            match suppressed(b, &items) {
                Some(types) => {
                    let nothing = b.add(at, Kind::Block(Vec::new()));
                    let handler = Handler { types, name: None, guard: None, body: nothing };
                    Kind::Try { body, handlers: vec![handler], otherwise: None, finally: None }
                }
                None => Kind::With { items, body },
            }
        }
        "return_statement" => Kind::Return(first(b, at)),
        "raise_statement" => Kind::Throw(first(b, at)),
        "yield" => Kind::Yield(first(b, at)),
        "break_statement" => Kind::Break { label: None, value: None },
        "continue_statement" => Kind::Continue(None),
        "as_pattern" => return with_item(b, at),
        _ => Kind::Other(each_child(b, at, node)),
    };
    b.add(at, kind)
}

fn name<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    Kind::Name(b.text(at))
}

/// A call; `range(…)` and `itertools.count(…)` are a [`Kind::Range`] unless they have a step.
fn call<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let callee = field(b, at, "function");
    let Some(list) = at.child_in("arguments") else {
        return b.add(at, Kind::Call { callee, args: Vec::new(), new: false });
    };
    if list.kind() != "argument_list" {
        let value = node(b, list);
        let args = vec![Arg { name: None, value, spread: false }];
        return b.add(at, Kind::Call { callee, args, new: false });
    }
    let args = named(list).into_iter().map(|arg| argument(b, arg)).collect::<Vec<_>>();
    if matches!(b.kind(callee), Kind::Name("range" | "xrange")) {
        let range = match &args[..] {
            [to] => Some((None, to.value)),
            [from, to] => Some((Some(from.value), to.value)),
            _ => None,
        };
        if let Some((from, to)) = range {
            return b.add(at, Kind::Range { from, to: Some(to), inclusive: false });
        }
    }
    // `dict(a=1)` is `{"a": 1}`.
    if matches!(b.kind(callee), Kind::Name("dict"))
        && !args.is_empty()
        && args.iter().all(|arg| arg.name.is_some())
    {
        let entry = |arg: &Arg<'s>| Entry { key: arg.name.map(Into::into), value: arg.value };
        let entries = args.iter().map(entry).collect();
        return b.add(at, Kind::Record { ty: None, entries });
    }
    let counts = at.child_in("function").map(|name| b.text(name));
    if counts == Some("itertools.count") && args.len() < 2 {
        let from = args.first().map(|arg| arg.value);
        return b.add(at, Kind::Range { from, to: None, inclusive: false });
    }
    b.add(at, Kind::Call { callee, args, new: false })
}

fn argument<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Arg<'s> {
    match at.kind() {
        "keyword_argument" => Arg {
            name: at.child_in("name").map(|name| b.text(name)),
            value: field(b, at, "value"),
            spread: false,
        },
        "list_splat" | "dictionary_splat" => {
            let value = first(b, at).unwrap_or_else(|| b.add(at, Kind::Null));
            Arg { name: None, value, spread: true }
        }
        _ => Arg { name: None, value: node(b, at), spread: false },
    }
}

/// `a < b < c` is `a < b and b < c`; `b` then stands twice.
fn comparison<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let operands = each_child(b, at, node);
    let mut cursor = at.walk();
    let words = at.children_by_field_name("operators", &mut cursor).map(|op| op.kind());
    let operators: Vec<_> = words.map(operator).collect();
    if operands.len() > 2 && !operands[1..operands.len() - 1].iter().all(|id| is_small(b, *id)) {
        return b.add(at, Kind::Other(operands));
    }
    let mut all: Option<Id> = None;
    for (pair, op) in operands.windows(2).zip(operators) {
        let this = b.add(at, Kind::Binary { op, left: pair[0], right: pair[1] });
        all = Some(match all {
            None => this,
            Some(left) => b.add(at, Kind::Binary { op: Op::And, left, right: this }),
        });
    }
    all.unwrap_or_else(|| b.add(at, Kind::Other(operands)))
}

/// Whether a walk through it is short: what stands twice, and holds what stands twice, and so on,
/// would make a walk without an end.
fn is_small(b: &Builder<'_>, id: Id) -> bool {
    let (mut waiting, mut seen) = (vec![id], 0);
    while let Some(id) = waiting.pop() {
        seen += 1;
        if seen > 32 {
            return false;
        }
        waiting.extend(b.children(id));
    }
    true
}

fn operator(text: &str) -> Op {
    match text {
        "+" => Op::Add,
        "-" => Op::Subtract,
        "*" => Op::Multiply,
        "/" | "//" => Op::Divide,
        "%" => Op::Remainder,
        "**" => Op::Power,
        "<<" => Op::ShiftLeft,
        ">>" => Op::ShiftRight,
        "&" => Op::BitAnd,
        "|" => Op::BitOr,
        "^" => Op::BitXor,
        "and" => Op::And,
        "or" => Op::Or,
        "==" | "is" => Op::Equal,
        "!=" | "<>" | "is not" => Op::NotEqual,
        "<" => Op::Less,
        "<=" => Op::AtMost,
        ">" => Op::Greater,
        ">=" => Op::AtLeast,
        "in" => Op::In,
        "not in" => Op::NotIn,
        _ => Op::Other,
    }
}

fn record<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let mut entries = Vec::new();
    for child in named(at) {
        if child.kind() != "pair" {
            let value = first(b, child).unwrap_or_else(|| b.add(child, Kind::Null));
            entries.push(Entry { key: None, value });
            continue;
        }
        let key = child.child_in("key");
        let text = key.filter(|key| key.kind() == "string").map(|key| unquoted(b.text(key)));
        let value = field(b, child, "value");
        entries.push(Entry { key: text.map(Cow::Borrowed), value });
    }
    Kind::Record { ty: None, entries }
}

fn params<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Vec<Param<'s>> {
    let Some(list) = at.child_in("parameters") else { return Vec::new() };
    let mut all = Vec::new();
    for child in named(list) {
        let ty = child.child_in("type").map(|ty| b.text(ty));
        let param = match child.kind() {
            "identifier" => Param { name: b.text(child), default: None, ty: None },
            "typed_parameter" => match named(child).first() {
                Some(first) => Param { name: b.text(*first), default: None, ty },
                None => continue,
            },
            "default_parameter" | "typed_default_parameter" => {
                let Some(name) = child.child_in("name") else { continue };
                Param { name: b.text(name), default: maybe(b, child, "value"), ty }
            }
            "list_splat_pattern" | "dictionary_splat_pattern" => {
                Param { name: b.text(child), default: None, ty: None }
            }
            _ => continue,
        };
        if all.is_empty() && matches!(param.name, "self" | "cls") {
            continue;
        }
        all.push(param);
    }
    all
}

fn decorated<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let decorators = named(at).into_iter().filter(|child| child.kind() == "decorator");
    let decorators = decorators.filter_map(|child| first(b, child)).collect();
    match at.child_in("definition") {
        Some(inner) => b.deeper(at, |b| definition(b, inner, decorators)),
        None => b.add(at, Kind::Other(decorators)),
    }
}

fn definition<'s>(b: &mut Builder<'s>, at: Syntax<'_>, decorators: Vec<Id>) -> Id {
    let name = at.child_in("name").map(|name| b.text(name));
    let kind = if at.kind() == "class_definition" {
        let bases = at.child_in("superclasses");
        let bases = bases.map(|list| each_child(b, list, node)).unwrap_or_default();
        Kind::Class { name, bases, decorators, body: field(b, at, "body") }
    } else {
        Kind::Function {
            name,
            params: params(b, at),
            body: field(b, at, "body"),
            decorators,
            is_async: has_word(at, "async"),
        }
    };
    b.add(at, kind)
}

/// `if`, with each `elif` inside the `else` of the one before.
fn branch<'s>(b: &mut Builder<'s>, at: Syntax<'_>, others: &[Syntax<'_>]) -> Id {
    let test = field(b, at, "condition");
    let then = field(b, at, "consequence");
    let otherwise = others.split_first().map(|(part, rest)| {
        b.deeper(*part, |b| {
            if part.kind() == "elif_clause" {
                branch(b, *part, rest)
            } else {
                field(b, *part, "body")
            }
        })
    });
    b.add(at, Kind::If { test, then, otherwise })
}

fn otherwise<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Option<Id> {
    at.child_in("alternative").and_then(|part| maybe(b, part, "body"))
}

fn attempt<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let body = field(b, at, "body");
    let (mut handlers, mut otherwise, mut finally) = (Vec::new(), None, None);
    for part in named(at) {
        match part.kind() {
            "except_clause" | "except_group_clause" => handlers.push(handler(b, part)),
            "else_clause" => otherwise = maybe(b, part, "body"),
            "finally_clause" => finally = first(b, part),
            _ => {}
        }
    }
    b.add(at, Kind::Try { body, handlers, otherwise, finally })
}

fn handler<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Handler<'s> {
    let mut types = Vec::new();
    let mut alias = at.child_in("alias");
    if let Some(mut value) = at.child_in("value") {
        if value.kind() == "as_pattern" {
            alias = value.child_in("alias");
            value = named(value).first().copied().unwrap_or(value);
        }
        if value.kind() == "tuple" {
            types = each_child(b, value, node);
        } else {
            types.push(node(b, value));
        }
    }
    let body = named(at).into_iter().rev().find(|child| child.kind() == "block");
    let body = match body {
        Some(body) => node(b, body),
        None => b.add(at, Kind::Block(Vec::new())),
    };
    Handler { types, name: alias.map(|alias| b.text(alias)), guard: None, body }
}

fn arm<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Arm {
    let patterns = named(at).into_iter().filter(|child| child.kind() == "case_pattern");
    let patterns: Vec<_> = patterns.filter(|child| b.text(*child) != "_").collect();
    let patterns = patterns.into_iter().map(|child| node(b, child)).collect();
    let guard = at.child_in("guard").and_then(|guard| first(b, guard));
    Arm { patterns, guard, body: field(b, at, "consequence") }
}

/// The errors of `with suppress(A, B):`, which is a handler that does nothing.
fn suppressed(b: &Builder<'_>, items: &[Id]) -> Option<Vec<Id>> {
    let [only] = items else { return None };
    let Kind::Call { callee, args, .. } = b.kind(*only) else { return None };
    let named =
        matches!(b.kind(*callee), Kind::Name("suppress") | Kind::Field { name: "suppress", .. });
    named.then(|| args.iter().map(|arg| arg.value).collect())
}

/// `f() as x` is a [`Kind::Let`].
fn with_item<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    if at.kind() == "with_item" {
        return field(b, at, "value");
    }
    let children = named(at);
    let alias = at.child_in("alias");
    match (children.first(), alias) {
        (Some(value), Some(alias)) => {
            let value = node(b, *value);
            let target = named(alias).first().copied().unwrap_or(alias);
            let target = node(b, target);
            b.add(at, Kind::Let { target, ty: None, value: Some(value), constant: false })
        }
        _ => {
            let all = each_child(b, at, node);
            b.add(at, Kind::Other(all))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::language::Language;
    use crate::lower::tree;

    fn show(text: &str) -> String {
        let tree = tree(Language::Python, text).expect("parses");
        assert!(!tree.broken(), "{text}");
        tree.show(tree.root())
    }

    #[test]
    fn a_counted_retry() {
        insta::assert_snapshot!(show(
            "for i in range(1, 4):
    try:
        return await call(url, timeout=2)
    except (OSError, TimeoutError) as e:
        if i == 3: raise
        elif not fine(e): break
        time.sleep(2 ** i)
else:
    pass
"
        ));
    }

    #[test]
    fn long_and_deep_texts_have_a_bounded_walk() {
        use crate::lower::check::deep;
        deep(Language::Python, "x = ", "0 < (", ") < 1", "");
        deep(Language::Python, "if a: b\n", "elif c: d\n", "", "");
        let text = format!("x = {}1{}", "0 < (".repeat(60), ") < 1".repeat(60));
        let tree = tree(Language::Python, &text).expect("parses");
        assert!(tree.walk(tree.root()).take(100_000).count() < 10_000);
    }

    #[test]
    fn declarations() {
        insta::assert_snapshot!(show(
            "import a.b as c, d
from tenacity import retry as r, stop
from x import *
TRIES: int = 3
class A(B):
    n = -1
    @r(stop=stop(3) | other, **kw)
    async def f(self, x, y: int = 2, *z): ...
with open(p) as f, g: pass
with suppress(A, B): go()
cfg = {'retries': {\"max\": 5}, k: 1, **more}
v = a if b else c
while (n := n - 1) >= 0: n -= 1
match v:
    case 1 if ok: pass
    case _: pass
"
        ));
    }
}
