//! What an action prints: values by their paths, literals, and pipes through a few functions.

use super::Chart;
use crate::document::{Node, Value};

/// What the dot means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    /// The root: `.Values`, `.Chart`, `.Release`.
    Root,
    /// A value.
    At(&'a Node),
    /// Something that is not known.
    Unknown,
}

/// What is printed.
#[derive(Debug)]
pub(super) enum Printed<'a> {
    /// A text.
    Text(String),
    /// A tree, as `toYaml` prints it.
    Tree(&'a Node),
    /// Not known here.
    Open,
}

/// A value while it goes through a pipe.
#[derive(Clone, Debug)]
enum Val<'a> {
    Text(String),
    Tree(&'a Node),
    /// A path that the values do not say.
    Missing,
    Unknown,
}

/// Words of an expression; parentheses are beyond what is read here.
fn words(text: &str) -> Vec<&str> {
    let (mut all, mut start, mut quote) = (Vec::new(), None, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(end), _) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`') => {
                quote = Some(c);
                start = start.or(Some(at));
            }
            (None, _) if c.is_whitespace() => {
                if let Some(from) = start.take() {
                    all.extend(text.get(from..at));
                }
            }
            _ => start = start.or(Some(at)),
        }
    }
    if let Some(from) = start {
        all.extend(text.get(from..));
    }
    all
}

/// What an action prints.
pub(super) fn print<'a>(inside: &str, dot: Scope<'a>, chart: &Chart<'a>) -> Printed<'a> {
    match pipe(inside, dot, chart) {
        Val::Text(text) => Printed::Text(text),
        Val::Tree(node) => match &node.value {
            Value::Scalar { text, .. } => Printed::Text(text.to_string()),
            Value::Open(_) => Printed::Open,
            _ => Printed::Tree(node),
        },
        Val::Missing | Val::Unknown => Printed::Open,
    }
}

/// The value that a path means.
pub(super) fn node<'a>(path: &str, dot: Scope<'a>, chart: &Chart<'a>) -> Option<&'a Node> {
    match pipe(path, dot, chart) {
        Val::Tree(node) => Some(node),
        _ => None,
    }
}

/// Whether a condition holds, where the values decide that.
pub(super) fn truth(condition: &str, dot: Scope<'_>, chart: &Chart<'_>) -> Option<bool> {
    if condition.contains('(') {
        return None;
    }
    let words = words(condition);
    let (first, rest) = words.split_first()?;
    let of = |word: &&str| holds(&operand(word, dot, chart));
    match *first {
        "not" => Some(!of(rest.first()?)?),
        "and" => rest.iter().map(of).try_fold(true, |all, one| Some(all && one?)),
        "or" => rest.iter().map(of).try_fold(false, |any, one| Some(any || one?)),
        "eq" | "ne" => {
            let [a, b] = rest else { return None };
            let same = text(&operand(a, dot, chart))? == text(&operand(b, dot, chart))?;
            Some(same == (*first == "eq"))
        }
        _ if rest.is_empty() => of(first),
        _ => None,
    }
}

fn text(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Text(text) => Some(text.clone()),
        Val::Tree(node) => node.text().map(str::to_owned),
        _ => None,
    }
}

/// Empty values do not hold. One that is missing may be given by whoever installs the chart, but
/// what a chart is without that is what its values say.
fn holds(value: &Val<'_>) -> Option<bool> {
    match value {
        Val::Text(text) => Some(!matches!(text.as_str(), "" | "false" | "0")),
        Val::Tree(node) => Some(match &node.value {
            Value::Null => false,
            Value::Scalar { text, quoted } => {
                !text.is_empty() && (*quoted || !matches!(&**text, "false" | "0"))
            }
            Value::Open(_) => return None,
            Value::List(items) => !items.is_empty(),
            Value::Map(entries) => !entries.is_empty(),
        }),
        Val::Missing => Some(false),
        Val::Unknown => None,
    }
}

fn operand<'a>(word: &str, dot: Scope<'a>, chart: &Chart<'a>) -> Val<'a> {
    for quote in ['"', '`'] {
        if let Some(text) = word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote)) {
            return Val::Text(text.to_owned());
        }
    }
    if word.parse::<f64>().is_ok() || matches!(word, "true" | "false") {
        return Val::Text(word.to_owned());
    }
    let (from, path) = match word.strip_prefix("$.").map(|path| (Scope::Root, path)) {
        Some(found) => found,
        None => match word.strip_prefix('.') {
            Some(path) => (dot, path),
            None => return Val::Unknown,
        },
    };
    match from {
        Scope::Root => match path.split_once('.').unwrap_or((path, "")) {
            ("Values", path) => below(chart.values, path),
            ("Chart" | "Release", "Name") => Val::Text(chart.name.to_owned()),
            _ => Val::Unknown,
        },
        Scope::At(node) => below(Some(node), path),
        Scope::Unknown => Val::Unknown,
    }
}

fn below<'a>(node: Option<&'a Node>, path: &str) -> Val<'a> {
    let keys = path.split('.').filter(|key| !key.is_empty());
    let found = keys.into_iter().try_fold(node, |node, key| Some(node?.get(key)));
    match found.flatten() {
        Some(node) => Val::Tree(node),
        None => Val::Missing,
    }
}

fn pipe<'a>(inside: &str, dot: Scope<'a>, chart: &Chart<'a>) -> Val<'a> {
    if inside.contains('(') {
        return Val::Unknown;
    }
    let mut value = None;
    for stage in inside.split('|') {
        let words = words(stage);
        let Some((function, arguments)) = words.split_first() else { return Val::Unknown };
        let mut given: Vec<_> = arguments.iter().map(|word| operand(word, dot, chart)).collect();
        if value.is_none() && arguments.is_empty() {
            value = Some(operand(function, dot, chart));
            continue;
        }
        given.extend(value.take());
        value = Some(call(function, given, chart));
    }
    value.unwrap_or(Val::Unknown)
}

/// A function of its arguments, of which the piped one comes last.
fn call<'a>(function: &str, mut given: Vec<Val<'a>>, chart: &Chart<'a>) -> Val<'a> {
    let Some(last) = given.pop() else { return Val::Unknown };
    match function {
        // Layout is what the parser does not need: all of it goes into one line.
        "indent" | "nindent" | "toYaml" | "toJson" | "int" | "int64" | "toString" | "trim"
        | "tpl" | "float64" | "toRawJson" => match (function, given.pop()) {
            // `tpl VALUE .`
            ("tpl", Some(first)) => first,
            _ => last,
        },
        "quote" | "squote" => match text(&last) {
            Some(text) => Val::Text(format!("\"{}\"", text.replace('"', "\\\""))),
            None => last,
        },
        "default" => match (holds(&last), given.pop()) {
            (Some(true), _) => last,
            (Some(false), Some(unsaid)) => unsaid,
            _ => Val::Unknown,
        },
        "required" | "trunc" | "trimSuffix" => last,
        "lower" => text(&last).map_or(Val::Unknown, |text| Val::Text(text.to_lowercase())),
        "upper" => text(&last).map_or(Val::Unknown, |text| Val::Text(text.to_uppercase())),
        "printf" => {
            given.push(last);
            printf(&given)
        }
        // Charts name what they make by such helpers, which print the release's name.
        "include" | "template" => match given.first().and_then(text) {
            Some(helper) if helper.ends_with(".fullname") || helper.ends_with(".name") => {
                Val::Text(chart.name.to_owned())
            }
            _ => Val::Unknown,
        },
        _ => Val::Unknown,
    }
}

fn printf<'a>(given: &[Val<'a>]) -> Val<'a> {
    let Some((format, rest)) = given.split_first() else { return Val::Unknown };
    let Some(format) = text(format) else { return Val::Unknown };
    let mut rest = rest.iter();
    let mut parts = format.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let verb = part.chars().next();
        let Some(text) =
            rest.next().and_then(text).filter(|_| matches!(verb, Some('s' | 'd' | 'v')))
        else {
            return Val::Unknown;
        };
        out.push_str(&text);
        out.push_str(part.get(1..).unwrap_or_default());
    }
    Val::Text(out)
}
