//! Which versions of packages a repository uses.

use std::collections::{HashMap, HashSet};

use crate::language::Language;

/// Longer lines and more packages are not read.
const LONGEST: usize = 400;
const MOST: usize = 5000;

/// Versions by package, from the manifests of a repository. A lock file's version stands above the
/// range of a manifest.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    versions: HashMap<String, (String, bool)>,
    /// What this repository calls its own packages.
    own: HashSet<String>,
    /// The folders and files of its Python code: the first part of a module is one of them.
    python: HashSet<String>,
}

impl Manifests {
    /// Whether a file of this name is one.
    #[must_use]
    pub fn is_manifest(name: &str) -> bool {
        matches!(
            name,
            "pyproject.toml"
                | "poetry.lock"
                | "uv.lock"
                | "Pipfile"
                | "setup.cfg"
                | "package.json"
                | "package-lock.json"
                | "yarn.lock"
                | "go.mod"
                | "pom.xml"
                | "build.gradle"
                | "build.gradle.kts"
                | "Cargo.toml"
                | "Cargo.lock"
                | "Gemfile"
                | "Gemfile.lock"
                | "composer.json"
                | "composer.lock"
                | "Directory.Packages.props"
        ) || name.ends_with(".csproj")
            || (name.starts_with("requirements") && name.ends_with(".txt"))
    }

    /// Reads a manifest, line by line: what is not understood is passed over.
    pub fn add(&mut self, name: &str, text: &str) {
        let locked = name.ends_with(".lock") || name == "package-lock.json";
        let mut last_name: Option<String> = None;
        if self.own.len() < MOST {
            self.own.extend(own_name(name, text).map(key));
        }
        for line in text.lines().filter(|line| line.len() <= LONGEST) {
            let line = line.trim();
            if line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            let pair = match name {
                "pom.xml" => xml(line, &mut last_name),
                "go.mod" => go(line),
                _ if name.ends_with(".csproj") || name.ends_with(".props") => attributes(line),
                _ if locked && name != "yarn.lock" && name != "package-lock.json" => {
                    lock(line, &mut last_name)
                }
                "package-lock.json" => package_lock(line, &mut last_name),
                _ => plain(line),
            };
            if let Some((package, version)) = pair
                && self.versions.len() < MOST
            {
                self.put(&package, version, locked);
            }
        }
    }

    fn put(&mut self, package: &str, version: String, locked: bool) {
        let key = key(package);
        match self.versions.get(&key) {
            Some((_, true)) if !locked => {}
            _ => {
                self.versions.insert(key, (version, locked));
            }
        }
    }

    /// Notes a file of code, by its path from the root: what is imported may be there.
    pub fn add_code(&mut self, path: &str, language: Language) {
        if language != Language::Python {
            return;
        }
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = file.strip_suffix(".py").unwrap_or(file);
        for part in folder.split('/').chain([stem]) {
            if self.python.len() < MOST && !self.python.contains(part) {
                self.python.insert(part.to_owned());
            }
        }
    }

    /// Whether a module is of this repository, by the names in its manifests and, in Python, by
    /// its folders.
    #[must_use]
    pub fn is_own(&self, module: &str, language: Language) -> bool {
        let first = module.split('.').next().unwrap_or(module);
        let mut ends =
            module.match_indices(['/', ':', '.']).map(|(at, _)| at).chain([module.len()]);
        language == Language::Python && self.python.contains(first)
            || ends.any(|end| self.own.contains(&key(&module[..end])))
    }

    /// The version of a package: digits and dots.
    #[must_use]
    pub fn version(&self, package: &str) -> Option<&str> {
        self.versions.get(&key(package)).map(|(version, _)| version.as_str())
    }
}

/// What a manifest calls the package that it is of.
fn own_name<'t>(name: &str, text: &'t str) -> Option<&'t str> {
    let begins: &[&str] = match name {
        "go.mod" => &["module "],
        "package.json" => &["\"name\":"],
        "Cargo.toml" | "pyproject.toml" | "setup.cfg" => &["name = ", "name="],
        "composer.json" => &["\"name\":"],
        _ => return None,
    };
    let mut lines = text.lines().filter(|line| line.len() <= LONGEST).map(str::trim);
    let rest = lines.find_map(|line| begins.iter().find_map(|begin| line.strip_prefix(begin)))?;
    let name = rest.trim().trim_matches(['"', '\'', ',']);
    (!name.is_empty()).then_some(name)
}

fn key(package: &str) -> String {
    package.to_ascii_lowercase().replace('_', "-")
}

/// The first number of a version or a range: of `^1.2.3` and `>=1.2,<2` it is `1.2.3` and `1.2`.
fn number(text: &str) -> Option<String> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('.').to_owned())
}

/// `name==1.2`, `name = "1.2"`, `"name": "^1.2"`, `gem "name", "1.2"`, `"group:name:1.2"`.
fn plain(line: &str) -> Option<(String, String)> {
    let quoted: Vec<&str> = line.split(['"', '\'']).skip(1).step_by(2).collect();
    if let [coordinates, ..] = &quoted[..]
        && coordinates.matches(':').count() == 2
    {
        let (package, version) = coordinates.rsplit_once(':')?;
        return Some((package.to_owned(), number(version)?));
    }
    if let [name, version, ..] = &quoted[..]
        && is_name(name)
    {
        return Some((name.to_string(), number(version)?));
    }
    let text = quoted.first().filter(|text| text.contains(['=', '>', '<', '~'])).copied();
    let text = text.unwrap_or(line);
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./@".contains(c)))?;
    let name = &text[..end];
    if !is_name(name) {
        return None;
    }
    Some((name.to_owned(), number(&text[end..])?))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@') && !name.contains(' ')
}

/// `github.com/a/b/v4 v4.2.1`, with or without `require`.
fn go(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("require ").unwrap_or(line);
    let (package, version) = line.split_once(' ')?;
    (package.contains('/') && version.starts_with('v'))
        .then(|| Some((package.to_owned(), number(version)?)))?
}

/// `name = "x"`, then `version = "1.2"`; in a Gemfile.lock `name (1.2)`.
fn lock(line: &str, name: &mut Option<String>) -> Option<(String, String)> {
    if let Some(value) = line.strip_prefix("name = ").or_else(|| line.strip_prefix("\"name\": ")) {
        *name = Some(value.trim_matches(['"', ',']).to_owned());
        return None;
    }
    if let Some(value) =
        line.strip_prefix("version = ").or_else(|| line.strip_prefix("\"version\": "))
    {
        return Some((name.take()?, number(value)?));
    }
    let (gem, version) = line.split_once(" (")?;
    (is_name(gem) && version.ends_with(')')).then(|| Some((gem.to_owned(), number(version)?)))?
}

/// `"node_modules/x": {`, then `"version": "1.2"`.
fn package_lock(line: &str, name: &mut Option<String>) -> Option<(String, String)> {
    if let Some(rest) = line.strip_prefix("\"node_modules/") {
        *name = Some(rest.split('"').next()?.to_owned());
        return None;
    }
    let version = line.strip_prefix("\"version\": ")?;
    Some((name.take()?, number(version)?))
}

/// `<artifactId>x</artifactId>`, then `<version>1.2</version>`.
fn xml(line: &str, name: &mut Option<String>) -> Option<(String, String)> {
    let inside = |tag: &str| {
        let rest = line.strip_prefix(&format!("<{tag}>"))?;
        rest.split('<').next().map(str::to_owned)
    };
    if let Some(artifact) = inside("artifactId") {
        *name = Some(artifact);
        return None;
    }
    let version = inside("version")?;
    Some((name.take()?, number(&version)?))
}

/// `<PackageReference Include="Polly" Version="8.2" />`
fn attributes(line: &str) -> Option<(String, String)> {
    let value = |name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    };
    Some((value("Include")?.to_owned(), number(value("Version")?)?))
}

/// Whether a version comes before another, part by part.
pub(super) fn is_below(version: &str, other: &str) -> bool {
    let parts = |text: &str| -> Vec<u64> {
        text.split('.').map(|part| part.parse().unwrap_or_default()).collect()
    };
    parts(version) < parts(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_knows_its_own_modules() {
        let mut all = Manifests::default();
        all.add("go.mod", "module example.com/shop/cart\n\nrequire example.com/kit v1.0.0\n");
        all.add("package.json", "{\n  \"name\": \"@shop/web\",\n}\n");
        all.add("Cargo.toml", "[package]\nname = \"shop-core\"\n");
        all.add_code("src/shop/api/client.py", Language::Python);
        for (module, language) in [
            ("example.com/shop/cart/internal/db", Language::Go),
            ("@shop/web/lib", Language::TypeScript),
            ("shop_core::net", Language::Rust),
            ("shop.api.client", Language::Python),
        ] {
            assert!(all.is_own(module, language), "{module}");
        }
        for (module, language) in [
            ("example.com/shop/cartoon", Language::Go),
            ("example.com/kit", Language::Go),
            ("shop", Language::TypeScript),
            ("httpx", Language::Python),
        ] {
            assert!(!all.is_own(module, language), "{module}");
        }
    }

    #[test]
    fn versions_of_every_manifest() {
        let cases = [
            ("requirements.txt", "tenacity==8.2.3", "tenacity", "8.2.3"),
            ("requirements-dev.txt", "google_api_core>=2.1,<3", "google-api-core", "2.1"),
            ("pyproject.toml", "tenacity = \"^8.2\"", "tenacity", "8.2"),
            ("pyproject.toml", "dependencies = [\n  \"boto3>=1.44\",\n]", "boto3", "1.44"),
            ("poetry.lock", "name = \"boto3\"\nversion = \"1.40.2\"", "boto3", "1.40.2"),
            ("package.json", "  \"p-retry\": \"^6.0.1\",", "p-retry", "6.0.1"),
            (
                "package-lock.json",
                "\"node_modules/got\": {\n \"version\": \"14.1.0\"",
                "got",
                "14.1.0",
            ),
            (
                "go.mod",
                "require github.com/cenkalti/backoff/v4 v4.2.1",
                "github.com/cenkalti/backoff/v4",
                "4.2.1",
            ),
            ("Cargo.toml", "backon = { version = \"1.2\" }", "backon", "1.2"),
            ("Cargo.lock", "name = \"backon\"\nversion = \"1.2.3\"", "backon", "1.2.3"),
            (
                "pom.xml",
                "<artifactId>failsafe</artifactId>\n<version>3.3.2</version>",
                "failsafe",
                "3.3.2",
            ),
            (
                "build.gradle",
                "implementation 'dev.failsafe:failsafe:3.3.2'",
                "dev.failsafe:failsafe",
                "3.3.2",
            ),
            (
                "a.csproj",
                "<PackageReference Include=\"Polly\" Version=\"8.2.0\" />",
                "Polly",
                "8.2.0",
            ),
            ("Gemfile.lock", "    faraday (2.7.1)", "faraday", "2.7.1"),
        ];
        for (name, text, package, version) in cases {
            assert!(Manifests::is_manifest(name), "{name}");
            let mut all = Manifests::default();
            all.add(name, text);
            assert_eq!(all.version(package), Some(version), "{name}: {text}");
        }
    }

    #[test]
    fn a_lock_stands_above_a_range() {
        let mut all = Manifests::default();
        all.add("poetry.lock", "name = \"boto3\"\nversion = \"1.40.2\"");
        all.add("pyproject.toml", "boto3 = \"^1.30\"");
        assert_eq!(all.version("boto3"), Some("1.40.2"));
    }

    #[test]
    fn versions_are_compared_by_their_parts() {
        assert!(is_below("1.9", "1.44"));
        assert!(!is_below("1.44.0", "1.44"));
        assert!(is_below("0.9", "1"));
    }
}
