//! The languages that are read.

use std::fmt;

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Python.
    Python,
    /// Go.
    Go,
    /// Java.
    Java,
    /// Kotlin.
    Kotlin,
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Rust.
    Rust,
    /// C#.
    CSharp,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
}

/// What is known of a language.
struct Row {
    language: Language,
    /// As it is printed and written in JSON.
    name: &'static str,
    extensions: &'static [&'static str],

    grammar: fn() -> tree_sitter::Language,
}

const ROWS: &[Row] = &[
    Row {
        language: Language::Python,
        name: "python",
        extensions: &["py", "pyi", "pyw"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
    },
    Row {
        language: Language::Go,
        name: "go",
        extensions: &["go"],
        grammar: || tree_sitter_go::LANGUAGE.into(),
    },
    Row {
        language: Language::Java,
        name: "java",
        extensions: &["java"],
        grammar: || tree_sitter_java::LANGUAGE.into(),
    },
    Row {
        language: Language::Kotlin,
        name: "kotlin",
        extensions: &["kt", "kts"],
        grammar: || tree_sitter_kotlin_ng::LANGUAGE.into(),
    },
    Row {
        language: Language::JavaScript,
        name: "javascript",
        extensions: &["js", "jsx", "mjs", "cjs"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
    },
    Row {
        language: Language::TypeScript,
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    },
    Row {
        language: Language::Tsx,
        name: "tsx",
        extensions: &["tsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    },
    Row {
        language: Language::Rust,
        name: "rust",
        extensions: &["rs"],
        grammar: || tree_sitter_rust::LANGUAGE.into(),
    },
    Row {
        language: Language::CSharp,
        name: "csharp",
        extensions: &["cs"],
        grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    },
    Row {
        language: Language::Ruby,
        name: "ruby",
        extensions: &["rb", "rake"],
        grammar: || tree_sitter_ruby::LANGUAGE.into(),
    },
    Row {
        language: Language::Php,
        name: "php",
        extensions: &["php"],
        grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
    },
];

impl Language {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.language)
    }

    /// The language of a file with this extension, without the dot.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.extensions.contains(&extension)).map(|row| row.language)
    }

    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        (self.row().grammar)()
    }

    fn row(self) -> &'static Row {
        // The rows are in the order of the variants; a test holds that.
        &ROWS[self as usize]
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_variants() {
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.language as usize, at, "{}", row.name);
        }
    }

    #[test]
    fn no_extension_has_two_languages() {
        let mut all: Vec<_> = ROWS.iter().flat_map(|row| row.extensions).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
