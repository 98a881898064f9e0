//! A tree as text, for tests and for whoever writes a lowering.

use std::fmt::Write as _;

use super::{Id, Kind, LoopForm, Tree};

impl Tree<'_> {
    /// One line for each node, indented by depth: `Call`, `Name fetch`, `Loop while`.
    #[must_use]
    pub fn show(&self, id: Id) -> String {
        let mut out = String::new();
        self.show_at(id, 0, &mut out);
        out
    }

    fn show_at(&self, id: Id, depth: usize, out: &mut String) {
        let _ = writeln!(out, "{:indent$}{}", "", self.line(id), indent = depth * 2);
        self.children(id, &mut |child| self.show_at(child, depth + 1, out));
    }

    fn line(&self, id: Id) -> String {
        match self.kind(id) {
            Kind::Name(name) => format!("Name {name}"),
            Kind::Field { name, .. } => format!("Field .{name}"),
            Kind::Index { .. } => "Index".to_owned(),
            Kind::Call { args, new, .. } => {
                let names: Vec<_> = args
                    .iter()
                    .map(|arg| {
                        format!("{}{}", if arg.spread { "*" } else { "" }, arg.name.unwrap_or("_"))
                    })
                    .collect();
                format!("{} ({})", if *new { "New" } else { "Call" }, names.join(", "))
            }
            Kind::Number(value) => format!("Number {value}"),
            Kind::Text(text) => format!("Text {text:?}"),
            Kind::Bool(value) => format!("Bool {value}"),
            Kind::Unary { op, .. } => format!("Unary {op:?}"),
            Kind::Binary { op, .. } => format!("Binary {op:?}"),
            Kind::Assign { op, .. } => {
                op.map_or("Assign".to_owned(), |op| format!("Assign {op:?}"))
            }
            Kind::Step { by, before, .. } => {
                format!("Step {by:+}{}", if *before { " before" } else { "" })
            }
            Kind::Record { ty, entries } => {
                let keys: Vec<_> =
                    entries.iter().map(|entry| entry.key.as_deref().unwrap_or("_")).collect();
                let typed = if ty.is_some() { " typed" } else { "" };
                format!("Record{typed} {{{}}}", keys.join(", "))
            }
            Kind::Range { from, to, inclusive } => format!(
                "Range {}{}{}",
                if from.is_some() { "from" } else { "" },
                if *inclusive { "..=" } else { ".." },
                if to.is_some() { "to" } else { "" }
            ),
            Kind::Let { constant, ty, .. } => format!(
                "{}{}",
                if *constant { "Const" } else { "Let" },
                ty.map_or(String::new(), |ty| format!(" : {ty}"))
            ),
            Kind::Function { name, params, is_async, decorators, .. } => format!(
                "{}Function {} ({}){}",
                if *is_async { "Async " } else { "" },
                name.unwrap_or("_"),
                params
                    .iter()
                    .map(|p| format!("{}{}", p.name, if p.default.is_some() { "=" } else { "" }))
                    .collect::<Vec<_>>()
                    .join(", "),
                if decorators.is_empty() {
                    String::new()
                } else {
                    format!(" @{}", decorators.len())
                }
            ),
            Kind::Class { name, .. } => format!("Class {}", name.unwrap_or("_")),
            Kind::Import { module, item, alias, all } => format!(
                "Import {module} {}{}",
                if *all { "*" } else { item.unwrap_or("-") },
                alias.map_or(String::new(), |alias| format!(" as {alias}"))
            ),
            Kind::Loop { form, label, otherwise, .. } => {
                let form = match form {
                    LoopForm::Endless => "endless",
                    LoopForm::While(_) => "while",
                    LoopForm::DoWhile(_) => "do-while",
                    LoopForm::Counted { .. } => "counted",
                    LoopForm::Each { .. } => "each",
                };
                format!(
                    "Loop {form}{}{}",
                    label.map_or(String::new(), |label| format!(" '{label}")),
                    if otherwise.is_some() { " else" } else { "" }
                )
            }
            Kind::Try { handlers, otherwise, finally, .. } => format!(
                "Try {}{}{}",
                handlers.len(),
                if otherwise.is_some() { " else" } else { "" },
                if finally.is_some() { " finally" } else { "" }
            ),
            Kind::Match { of, arms } => {
                format!("{} {}", if of.is_some() { "Match" } else { "Select" }, arms.len())
            }
            Kind::Break { label, .. } => {
                label.map_or("Break".to_owned(), |label| format!("Break '{label}"))
            }
            Kind::Continue(label) => {
                label.map_or("Continue".to_owned(), |label| format!("Continue '{label}"))
            }
            Kind::Goto(label) => format!("Goto '{label}"),
            Kind::Label(label) => format!("Label '{label}"),
            Kind::Null => "Null".to_owned(),
            Kind::List(_) => "List".to_owned(),
            Kind::Await(_) => "Await".to_owned(),
            Kind::Propagate(_) => "Propagate".to_owned(),
            Kind::Block(_) => "Block".to_owned(),
            Kind::If { .. } => "If".to_owned(),
            Kind::Return(_) => "Return".to_owned(),
            Kind::Throw(_) => "Throw".to_owned(),
            Kind::Again => "Again".to_owned(),
            Kind::Yield(_) => "Yield".to_owned(),
            Kind::Spawn(_) => "Spawn".to_owned(),
            Kind::Defer(_) => "Defer".to_owned(),
            Kind::With { .. } => "With".to_owned(),
            Kind::Other(_) => "Other".to_owned(),
        }
    }
}
