//! The classes of a plan without a system file: those that its load names.

use crate::node::{Name, Node, Value, quoted};
use crate::problem::Draft;
use crate::read::{Reader, misspelt};

/// The classes of a load that names some, in the order in which it does.
pub(super) fn classes(load: Option<&Node>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for key in parts(load).into_iter().flatten() {
        if !names.contains(&key.text) {
            names.push(key.text.clone());
        }
    }
    if names.is_empty() { vec!["default".to_owned()] } else { names }
}

/// By part of a load: the classes that it names.
fn parts(load: Option<&Node>) -> Vec<Vec<&Name>> {
    match load.map(|node| (&node.value, node)) {
        Some((Value::Seq(items), _)) => {
            let rates = items.iter().filter_map(|item| item.child("rate"));
            rates.map(|rate| keys(&rate.value)).collect()
        }
        Some((_, node)) => vec![keys(node)],
        None => Vec::new(),
    }
}

fn keys(node: &Node) -> Vec<&Name> {
    node.entries().unwrap_or_default().iter().map(|entry| &entry.key).collect()
}

/// Warns of a class that only one part has where others have one of nearly the same name: nothing else
/// says which classes there are, and a slip makes one more.
pub(super) fn check(reader: &mut Reader<'_>, load: Option<&Node>) {
    let parts = parts(load);
    let has = |part: &Vec<&Name>, name: &str| part.iter().any(|key| key.text == name);
    let count = |name: &str| parts.iter().filter(|part| has(part, name)).count();
    let all = classes(load);
    for (number, class) in all.iter().enumerate() {
        let Some(own) = parts.iter().find(|part| has(part, class)) else { continue };
        // Whoever writes both in one place tells them apart.
        let others = all.iter().enumerate().filter(|(other, name)| {
            let more = count(name) > count(class);
            !has(own, name) && (more || count(name) == count(class) && *other < number)
        });
        let near = misspelt(class, others.map(|(_, name)| name.as_str()));
        if let (Some(near), 1) = (near, count(class))
            && let Some(key) = own.iter().find(|key| key.text == *class)
        {
            let message = format!("only this part has a class {}", quoted(class));
            let draft = Draft::new(key.span, message).found("a class of its own");
            reader.warn(draft.expected("the classes of the other parts").suggest(Some(near)));
        }
    }
}
