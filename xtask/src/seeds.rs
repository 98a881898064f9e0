//! What the fuzz target `scan` begins with: the samples of the catalogue, the examples on the pages
//! of the rules and the loops of the tests. They are written when they are needed, so that a new
//! sample is a new seed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::process::{files, root};

/// The languages in the order of `Language::all`, by which the target reads the first byte: how a
/// page or the catalogue names it, and its extension.
const LANGUAGES: &[(&str, &str)] = &[
    ("python", "py"),
    ("go", "go"),
    ("java", "java"),
    ("kotlin", "kt"),
    ("javascript", "js"),
    ("typescript", "ts"),
    ("tsx", "tsx"),
    ("rust", "rs"),
    ("csharp", "cs"),
    ("ruby", "rb"),
    ("php", "php"),
];

/// Writes the seeds of each target to a folder of its name, and gives the folder of all.
pub(crate) fn write(folder: &Path) -> Result<PathBuf> {
    let scan = folder.join("scan");
    if scan.is_dir() {
        fs::remove_dir_all(&scan).with_context(|| scan.display().to_string())?;
    }
    fs::create_dir_all(&scan).with_context(|| scan.display().to_string())?;
    let seeds = seeds()?;
    ensure!(!seeds.is_empty(), "no seeds for the fuzz target `scan`");
    for (n, (language, text)) in seeds.iter().enumerate() {
        let file = scan.join(format!("{n:04}"));
        let bytes = [&[*language], text.as_bytes()].concat();
        fs::write(&file, bytes).with_context(|| file.display().to_string())?;
    }
    Ok(folder.to_path_buf())
}

/// Each with the number of its language.
fn seeds() -> Result<Vec<(u8, String)>> {
    let mut seeds = Vec::new();
    let crate_folder = root().join("crates/scan");
    for file in files(&crate_folder.join("catalogue"), ".yaml")? {
        let text = read(&file)?;
        if let Some(language) = number(&stem(&file)) {
            seeds.extend(samples(&text).map(|sample| (language, sample)));
        }
    }
    for file in files(&root().join("docs/rules"), ".md")? {
        seeds.extend(examples(&read(&file)?));
    }
    for (n, (_, extension)) in (0_u8..).zip(LANGUAGES) {
        for file in files(&crate_folder.join("tests/loops"), &format!(".{extension}"))? {
            seeds.push((n, read(&file)?));
        }
    }
    Ok(seeds)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn number(name: &str) -> Option<u8> {
    (0_u8..).zip(LANGUAGES).find(|(_, (known, _))| *known == name).map(|(n, _)| n)
}

/// The code of the samples: `code: "…"`, written as JSON writes a text.
fn samples(catalogue: &str) -> impl Iterator<Item = String> + '_ {
    catalogue.split("code: ").skip(1).filter_map(|rest| {
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        texts.next()?.ok()
    })
}

/// The blocks of a page that name a language.
fn examples(page: &str) -> Vec<(u8, String)> {
    let mut all = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(words) = line.strip_prefix("```") else { continue };
        let text: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        let language = words.split_whitespace().next().and_then(number);
        all.extend(language.map(|language| (language, text)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_seeds() {
        let seeds = seeds().unwrap();
        for (n, (name, _)) in (0_u8..).zip(LANGUAGES) {
            let of = seeds.iter().filter(|(language, _)| *language == n).count();
            // No page and no sample is of TSX alone.
            assert!(of >= 3 || *name == "tsx", "{name}: {of}");
        }
    }

    #[test]
    fn a_sample_is_the_text_that_its_writing_means() {
        let all: Vec<_> =
            samples("- {code: \"a\\n  b\", attempts: 3}\n- {code: \"\\\"c\\\"\"}").collect();
        assert_eq!(all, ["a\n  b", "\"c\""]);
    }

    #[test]
    fn blocks_with_a_language_are_examples() {
        let page = "```go bad\nx\n```\ntext\n```\ny\n```\n```ruby good\nz\n```\n";
        assert_eq!(examples(page), [(1, "x\n".to_owned()), (9, "z\n".to_owned())]);
    }
}
