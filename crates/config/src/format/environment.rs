//! Variables of environments, wherever they stand: `.env`, Dockerfiles, Compose, Kubernetes,
//! CloudFormation, Terraform.

use crate::document::{Node, Syntax, Value};
use crate::format::parts::Object;
use crate::name::Name;

/// Where environments stand.
pub(crate) const SYNTAXES: &[Syntax] = &[
    Syntax::Env,
    Syntax::Dockerfile,
    Syntax::Ini,
    Syntax::Yaml,
    Syntax::Json,
    Syntax::Toml,
    Syntax::Hcl,
];

/// What one environment says about some variables.
pub(crate) struct Environment {
    /// Whose it is.
    pub caller: Option<Name>,
    /// Variables with their values and lines, in order.
    pub variables: Vec<(String, Node)>,
}

impl Environment {
    /// The value of a variable; the last one wins.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// Every environment that sets one of these variables.
pub(crate) fn find(root: &Node, names: &[&str]) -> Vec<Environment> {
    let mut found = Vec::new();
    visit(root, None, names, &mut found);
    found
}

fn visit(node: &Node, caller: Option<&Name>, names: &[&str], found: &mut Vec<Environment>) {
    let own = node.get("apiVersion").and_then(|_| Object::at(node).own());
    let caller = own.as_ref().or(caller);
    let mut variables = Vec::new();
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                if names.contains(&&*entry.key) {
                    let mut value = entry.value.clone();
                    value.lines = [entry.line, entry.line];
                    variables.push((entry.key.to_string(), value));
                }
                // Services of Compose have their names as keys.
                if &*entry.key == "services" && own.is_none() {
                    for service in entry.value.entries() {
                        visit(&service.value, Some(&Name::new(&service.key, None)), names, found);
                    }
                    if !entry.value.entries().is_empty() {
                        continue;
                    }
                }
                visit(&entry.value, caller, names, found);
            }
        }
        Value::List(items) => {
            for item in items {
                let pair = item.text().and_then(|text| text.split_once('='));
                if let Some((name, value)) = pair.filter(|(name, _)| names.contains(name)) {
                    let value = Node::scalar(value, false, item.lines[0]);
                    variables.push((name.to_owned(), value));
                }
                let name = item.get("name").and_then(Node::text);
                if let (Some(name), Some(value)) =
                    (name.filter(|name| names.contains(name)), item.get("value"))
                {
                    variables.push((name.to_owned(), value.clone()));
                }
                visit(item, caller, names, found);
            }
        }
        _ => {}
    }
    if !variables.is_empty() {
        found.push(Environment { caller: caller.cloned(), variables });
    }
}
