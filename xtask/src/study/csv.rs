//! The figures behind a page, for spreadsheets and notebooks.

use std::fs;

use anyhow::{Context as _, Result};

use super::page;

/// Rows of fields below their names.
pub(super) struct Csv(String);

impl Csv {
    pub(super) fn new(names: &[&str]) -> Self {
        let mut csv = Self(String::new());
        csv.row(names);
        csv
    }

    pub(super) fn row<T: AsRef<str>>(&mut self, fields: &[T]) {
        let fields: Vec<String> = fields.iter().map(|field| quoted(field.as_ref())).collect();
        self.0.push_str(&fields.join(","));
        self.0.push('\n');
    }

    /// Writes it beside the pages of the studies.
    pub(super) fn write(&self, name: &str) -> Result<()> {
        let path = page(name);
        fs::write(&path, &self.0).with_context(|| path.display().to_string())
    }
}

/// As RFC 4180 has it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A figure that may be missing.
pub(super) fn figure(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_it_are_quoted() {
        let mut csv = Csv::new(&["budget", "hidden_rps"]);
        csv.row(&["{kind: envoy, percent: 20%}".to_owned(), figure(Some(243.5))]);
        csv.row(&["say \"no\"".to_owned(), figure(None)]);
        let expected =
            "budget,hidden_rps\n\"{kind: envoy, percent: 20%}\",243.5\n\"say \"\"no\"\"\",\n";
        assert_eq!(csv.0, expected);
    }
}
