//! Requests that were recorded elsewhere, as a request file: from a HAR file, from a curl command.
//!
//! What is recorded holds secrets. Headers and parameters that carry them become placeholders for
//! variables of the environment, unless their keeping is asked for.

mod curl;
mod har;
mod yaml;

use std::collections::BTreeSet;

pub use curl::from_curl;
pub use har::from_har;

/// Bounds of what is taken over.
pub(super) const MOST_BYTES: usize = 64 << 20;
pub(super) const MOST_REQUESTS: usize = 1_000;
pub(super) const MOST_HEADERS: usize = 100;
pub(super) const MOST_BODY: usize = 1 << 20;

/// What a request file may have as a method.
pub(super) const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Why nothing could be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadImport {
    /// It is longer than is read.
    #[error("it is longer than {0} MiB")]
    TooLong(usize),
    /// It is something else.
    #[error("{0}")]
    NotThat(String),
    /// An option of curl that is not known here.
    #[error(
        "the option `{0}` of curl is not understood here; leave it out, or write the request file by hand"
    )]
    Option(String),
    /// An option of curl without its value.
    #[error("the option `{0}` of curl needs a value")]
    NoValue(String),
    /// No URL, or not one of HTTP.
    #[error("`{0}` is not a URL such as http://host:80/path")]
    Url(String),
    /// There is nothing in it.
    #[error("there is no request in it")]
    Nothing,
}

/// Requests that were taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Scheme, host and port, as they were recorded.
    pub origin: String,
    /// The requests, each once.
    pub requests: Vec<Recorded>,
    /// Variables of the environment that are asked for in place of secrets.
    pub variables: Vec<String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// A request that was recorded, with placeholders for secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// How often it was recorded.
    pub times: u32,
}

impl Imported {
    /// As a request file.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::write(self)
    }
}

/// What follows from the request itself, or from the connection.
const LEFT_OUT: [&str; 9] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Words in the name of a header or a parameter that carries a secret.
const SECRETS: [&str; 14] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "api-key",
    "apikey",
    "api_key",
    "session",
    "signature",
    "credential",
    "csrf",
    "access_key",
];

/// The same, where they are a whole word of the name: `X-Auth-Key`, but not `keyboard`.
const SECRET_WORDS: [&str; 9] =
    ["key", "sig", "auth", "pass", "pwd", "jwt", "sid", "otp", "bearer"];

/// Whether a header or a parameter of this name carries a secret; `code` is that of an authorization,
/// `country_code` is none.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|word| name.contains(word))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| SECRET_WORDS.contains(&w))
        || name == "code"
}

/// Takes out what is secret.
pub(super) struct Keeper {
    keep: bool,
    variables: BTreeSet<String>,
}

impl Keeper {
    pub(super) fn new(keep: bool) -> Self {
        Self { keep, variables: BTreeSet::new() }
    }

    pub(super) fn variables(self) -> Vec<String> {
        self.variables.into_iter().collect()
    }

    /// The value, or a placeholder for it.
    fn value(&mut self, name: &str, value: &str) -> String {
        if self.keep || !is_secret(name) {
            return literal(value);
        }
        let upper = name.chars().map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        });
        let variable: String = upper.take(60).collect();
        let placeholder = format!("{{{{env {variable}}}}}");
        self.variables.insert(variable);
        placeholder
    }

    /// A header as the file has it; `None`: it is left out.
    pub(super) fn header(&mut self, name: &str, value: &str) -> Option<(String, String)> {
        let name = name.trim().to_ascii_lowercase();
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let named = (1..=256).contains(&name.len());
        let plain = named && name.bytes().all(token) && !value.chars().any(char::is_control);
        if !plain || value.trim().is_empty() || LEFT_OUT.contains(&name.as_str()) {
            return None;
        }
        let value = match name.as_str() {
            // The address of a page has its own secrets.
            "referer" if !self.keep => match url(value.trim()) {
                Ok((origin, path)) => format!("{}{}", literal(&origin), self.path(&path)),
                Err(_) => return None,
            },
            _ => self.value(&name, value.trim()),
        };
        Some((name, value))
    }

    /// A path with its query, in which the values of secret parameters are placeholders.
    pub(super) fn path(&mut self, path: &str) -> String {
        let Some((path, query)) = path.split_once('?') else { return literal(path) };
        let parameters: Vec<String> = query
            .split('&')
            .map(|parameter| match parameter.split_once('=') {
                Some((name, value)) => format!("{}={}", literal(name), self.value(name, value)),
                None => literal(parameter),
            })
            .collect();
        format!("{}?{}", literal(path), parameters.join("&"))
    }
}

/// Braces that were recorded are no placeholder.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "{{braces}}")
}

/// A URL: its origin, and its path with the query.
pub(super) fn url(text: &str) -> Result<(String, String), BadImport> {
    let wrong = || BadImport::Url(text.chars().take(80).collect());
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&scheme.as_str())
        || text.chars().any(|c| c.is_control() || c == ' ')
    {
        return Err(wrong());
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // A name and a password in a URL are secret, and are not sent by anybody any more.
    let authority = authority.rsplit('@').next().unwrap_or_default();
    if authority.is_empty() {
        return Err(wrong());
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((format!("{scheme}://{authority}"), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_variables() {
        let mut keeper = Keeper::new(false);
        let header = |keeper: &mut Keeper, name, value| keeper.header(name, value).map(|(_, v)| v);
        assert_eq!(
            header(&mut keeper, "Authorization", "Bearer abc").as_deref(),
            Some("{{env AUTHORIZATION}}")
        );
        assert_eq!(header(&mut keeper, "X-Api-Key", "abc").as_deref(), Some("{{env X_API_KEY}}"));
        assert_eq!(header(&mut keeper, "accept", "*/*").as_deref(), Some("*/*"));
        assert_eq!(header(&mut keeper, "Host", "x"), None);
        assert_eq!(
            keeper.path("/a?q=1&access_token=zz&key=k"),
            "/a?q=1&access_token={{env ACCESS_TOKEN}}&key={{env KEY}}"
        );
        for name in ["X-Auth-Key", "X-Access-Key", "Ocp-Apim-Subscription-Key", "x-functions-key"] {
            let value = header(&mut Keeper::new(false), name, "abc").unwrap();
            assert!(value.starts_with("{{env "), "{name}: {value}");
        }
        for name in ["pwd", "pass", "sid", "jwt", "code"] {
            let path = Keeper::new(false).path(&format!("/a?{name}=abc"));
            assert!(!path.contains("abc"), "{path}");
        }
        assert_eq!(
            Keeper::new(false).path("/a?country_code=de&keyboard=1"),
            "/a?country_code=de&keyboard=1"
        );
        let referer = "https://kim:pw@h.example/a?token=abc&q=1#abc";
        assert_eq!(
            header(&mut Keeper::new(false), "Referer", referer).as_deref(),
            Some("https://h.example/a?token={{env TOKEN}}&q=1")
        );
        assert_eq!(keeper.variables(), ["ACCESS_TOKEN", "AUTHORIZATION", "KEY", "X_API_KEY"]);
        let mut open = Keeper::new(true);
        assert_eq!(header(&mut open, "cookie", "a={{b}}").as_deref(), Some("a={{braces}}b}}"));
    }

    #[test]
    fn urls_are_cut_into_origin_and_path() {
        let of = |text: &str| url(text).map(|(origin, path)| format!("{origin} {path}"));
        assert_eq!(of("https://u:p@h:8080/a/b?c=d#e").as_deref(), Ok("https://h:8080 /a/b?c=d"));
        assert_eq!(of("h?x=1").as_deref(), Ok("http://h /?x=1"));
        assert_eq!(of("HTTP://h").as_deref(), Ok("http://h /"));
        for wrong in ["", "ftp://h/", "http:///a", "http://h/a b"] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }
}
