//! The catalogue of libraries: one YAML file for each ecosystem, described in its README.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::language::Language;
use crate::policy::{DelayKind, Jitter, Kind};
use crate::value::Unit;

/// One library, or one way to retry with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) package: String,
    /// Names of the package in manifests, if they are not `package`.
    #[serde(default)]
    pub(super) manifest: Vec<String>,
    #[serde(default)]
    pub(super) imports: Vec<String>,
    #[serde(default)]
    pub(super) shapes: Vec<Shape>,
    #[serde(default)]
    pub(super) kind: Option<Kind>,
    #[serde(default)]
    pub(super) params: Settings,
    #[serde(default)]
    pub(super) parts: BTreeMap<String, Settings>,
    #[serde(default)]
    pub(super) defaults: Defaults,
    #[serde(default)]
    pub(super) versions: Vec<Versioned>,
    #[serde(default)]
    pub(super) traps: Vec<String>,
    #[serde(default)]
    #[cfg_attr(not(test), allow(dead_code, reason = "for readers of the catalogue"))]
    pub(super) source: String,
    /// Nothing of it is seen in code.
    #[serde(default)]
    pub(super) background: bool,
    #[serde(default)]
    #[cfg_attr(not(test), allow(dead_code, reason = "only the tests read samples"))]
    pub(super) samples: Vec<Sample>,
}

impl Entry {
    /// Methods that are policies of their own: what they are given is not what an object is given
    /// that they are called on.
    pub(super) fn own_methods(&self) -> Vec<&str> {
        self.shapes.iter().flat_map(|shape| shape.method.iter().map(String::as_str)).collect()
    }
}

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Shape {
    /// A function or a constructor.
    #[serde(default)]
    pub(super) call: Vec<String>,
    /// A method of anything, in a file that imports the package.
    #[serde(default)]
    pub(super) method: Vec<String>,
    /// A decorator, an annotation, an attribute.
    #[serde(default)]
    pub(super) decorator: Vec<String>,
    /// A literal with a type.
    #[serde(default)]
    pub(super) record: Vec<String>,
    /// A class with this base.
    #[serde(default)]
    pub(super) base: Vec<String>,
    /// An assignment to a field; its value is the option `=`.
    #[serde(default)]
    pub(super) set: Vec<String>,
    /// An object without a type that has all of these keys.
    #[serde(default)]
    pub(super) keys: Vec<String>,
    /// The name alone is enough, without an import.
    #[serde(default)]
    pub(super) free: bool,
    /// What it is if nothing is set.
    #[serde(default)]
    pub(super) silent: Silent,
    /// What its closure sets are options: `o => o.MaxAttempts = 3`.
    #[serde(default)]
    pub(super) configured: bool,
    /// What a decorator of the function around it gives counts where the place itself gives
    /// nothing, and all such places in the function are one policy.
    #[serde(default)]
    pub(super) decorated: bool,
    /// One of these must be given; `@NAME`: as an argument.
    #[serde(default)]
    pub(super) needs: Vec<String>,
}

/// What a place is that sets nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Silent {
    /// A policy: bare `@retry`.
    #[default]
    Policy,
    /// The library's defaults, in the background.
    Implicit,
    /// Nothing.
    Skip,
}

/// Where settings are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    #[serde(default)]
    pub(super) attempts: Vec<Param>,
    /// How the wait grows where this part is used.
    #[serde(default)]
    pub(super) delay: Option<DelayKind>,
    /// An option whose values name how it grows.
    #[serde(default)]
    pub(super) delay_by: Vec<Param>,
    #[serde(default)]
    pub(super) base: Vec<Param>,
    /// No wait is shorter.
    #[serde(default)]
    pub(super) floor: Vec<Param>,
    #[serde(default)]
    pub(super) factor: Vec<Param>,
    #[serde(default)]
    pub(super) cap: Vec<Param>,
    #[serde(default)]
    pub(super) jitter: Option<Jitter>,
    #[serde(default)]
    pub(super) jitter_by: Vec<Param>,
    #[serde(default)]
    pub(super) deadline: Vec<Param>,
    #[serde(default)]
    pub(super) attempt_timeout: Vec<Param>,
    /// What is retried.
    #[serde(default)]
    pub(super) on: Vec<Param>,
    #[serde(default)]
    pub(super) budget: Option<String>,
    #[serde(default)]
    pub(super) breaker: bool,
    #[serde(default)]
    pub(super) pushback: Option<bool>,
    /// No end to the attempts where this part is used.
    #[serde(default)]
    pub(super) infinite: bool,
}

/// One setting: where it is and how it is meant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Param {
    /// Options, the first that is given counts: `tries`, `retry.limit`, `#0`, `withDelay#1`, `=`.
    #[serde(default, rename = "in")]
    pub(super) at: Vec<String>,
    /// What a bare number is.
    #[serde(default)]
    pub(super) unit: Unit,
    #[serde(default)]
    pub(super) counts: Counts,
    /// Values with a meaning of their own: `infinite`, `off`, `default`, or the word of a kind.
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
    /// The value is multiplied by this.
    #[serde(default)]
    pub(super) times: Option<f64>,
    /// The value only chooses among the library's own numbers: nobody has set one.
    #[serde(default)]
    pub(super) chooses: bool,
    /// Only a list counts, and so many as it has: one for each wait.
    #[serde(default)]
    pub(super) listed: bool,
    /// More attempts than this are taken for so many.
    #[serde(default)]
    pub(super) most: Option<u32>,
    /// Of a function of the attempt's number: the number of the first; 1 if not said.
    #[serde(default)]
    pub(super) first: Option<f64>,
    /// Of a function: what counts the attempts in it, a parameter (`#1`) or a field
    /// (`retryCount`); the first parameter if not said.
    #[serde(default)]
    pub(super) counter: Vec<String>,
    /// Of a function: what it waits itself, and not what it gives.
    #[serde(default)]
    pub(super) sleeps: bool,
    /// What it is in this part if it is not given; durations in milliseconds.
    #[serde(default)]
    pub(super) or: Option<f64>,
}

/// What a number of attempts counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Counts {
    /// All of them.
    #[default]
    Total,
    /// Those after the first.
    Retries,
}

/// What the library does if nobody says anything; durations in milliseconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Defaults {
    /// A number in total, `infinite`, or `none`: no retry unless a count is given.
    #[serde(default)]
    pub(super) attempts: Option<String>,
    #[serde(default)]
    pub(super) delay: Option<DelayKind>,
    #[serde(default)]
    pub(super) base: Option<f64>,
    #[serde(default)]
    pub(super) factor: Option<f64>,
    #[serde(default)]
    pub(super) cap: Option<f64>,
    #[serde(default)]
    pub(super) jitter: Option<Jitter>,
    #[serde(default)]
    pub(super) deadline: Option<f64>,
    #[serde(default)]
    pub(super) attempt_timeout: Option<f64>,
    #[serde(default)]
    pub(super) on: Vec<String>,
    #[serde(default)]
    pub(super) catches_all: bool,
    #[serde(default)]
    pub(super) budget: Option<String>,
    #[serde(default)]
    pub(super) pushback: bool,
    /// The first retry does not wait.
    #[serde(default)]
    pub(super) immediate: bool,
}

/// Defaults of some versions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Versioned {
    /// Versions before this one.
    pub(super) below: String,
    /// What is different there.
    pub(super) defaults: Defaults,
}

/// A piece of code with what is to be found in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(not(test), allow(dead_code, reason = "only the tests read samples"))]
pub(super) struct Sample {
    pub(super) code: String,
    /// `java` or `kotlin`, `javascript` or `typescript`; the first of the ecosystem if not said.
    #[serde(default)]
    pub(super) language: Option<String>,
    /// A number, `infinite`, `dynamic`, or `no`: nothing is found.
    pub(super) attempts: String,
    #[serde(default)]
    pub(super) delay: Option<DelayKind>,
    #[serde(default)]
    pub(super) base: Option<f64>,
    #[serde(default)]
    pub(super) factor: Option<f64>,
    #[serde(default)]
    pub(super) cap: Option<f64>,
    #[serde(default)]
    pub(super) jitter: Option<Jitter>,
    #[serde(default)]
    pub(super) deadline: Option<f64>,
    #[serde(default)]
    pub(super) implicit: bool,
}

/// A file of the catalogue.
pub(super) struct Ecosystem {
    /// Its name.
    #[cfg_attr(not(test), allow(dead_code, reason = "for tests, which name the file"))]
    pub(super) name: &'static str,
    text: &'static str,
    /// The languages it is for.
    pub(super) languages: &'static [Language],
    loaded: OnceLock<Result<Vec<Entry>, String>>,
}

macro_rules! ecosystem {
    ($name:literal, $($language:ident),+) => {
        Ecosystem {
            name: $name,
            text: include_str!(concat!("../../catalogue/", $name, ".yaml")),
            languages: &[$(Language::$language),+],
            loaded: OnceLock::new(),
        }
    };
}

/// All files.
pub(super) static ECOSYSTEMS: [Ecosystem; 8] = [
    ecosystem!("python", Python),
    ecosystem!("javascript", JavaScript, TypeScript, Tsx),
    ecosystem!("go", Go),
    ecosystem!("java", Java, Kotlin),
    ecosystem!("csharp", CSharp),
    ecosystem!("rust", Rust),
    ecosystem!("ruby", Ruby),
    ecosystem!("php", Php),
];

impl Ecosystem {
    /// The one of a language.
    pub(super) fn of(language: Language) -> Option<&'static Self> {
        ECOSYSTEMS.iter().find(|all| all.languages.contains(&language))
    }

    /// Its entries, or what is wrong with the file.
    pub(super) fn entries(&self) -> Result<&[Entry], &str> {
        self.loaded
            .get_or_init(|| serde_saphyr::from_str(self.text).map_err(|error| error.to_string()))
            .as_ref()
            .map(Vec::as_slice)
            .map_err(String::as_str)
    }
}
