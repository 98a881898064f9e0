//! The requests of a request file.

use std::cell::RefCell;
use std::io::Read as _;
use std::path::Path;

use damper_system::{BadPlaceholder, BadRequest, Knows, RequestKind};
use hyper::Method;

use super::grpc::{BadCall, BadDescriptors, Methods};
use super::request::{Request, header};
use super::text::{BadText, PLACEHOLDERS, Text};
use super::tls::Trust;

/// The longest file with descriptors that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// What a request file may say: knows placeholders, the environment, and what methods take.
#[derive(Debug, Default)]
pub struct Checks {
    /// Known before any file was read.
    given: Option<Methods>,
    /// Of the file that is being read.
    own: RefCell<Option<Methods>>,
}

/// Why a kind of request cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum BadKind {
    /// A placeholder or a header.
    #[error(transparent)]
    Text(#[from] BadText),
    /// Its method.
    #[error("`{0}` is no method of HTTP")]
    Method(String),
    /// What its method takes.
    #[error(transparent)]
    Call(#[from] BadCall),
}

/// Why descriptors cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NoDescriptors {
    /// There is no such file, or it cannot be read.
    #[error("the file cannot be read: {0}")]
    Unread(#[from] std::io::Error),
    /// It is longer than 64 MiB.
    #[error("the file is larger than 64 MiB")]
    Long,
    /// It is something else.
    #[error(transparent)]
    Bad(#[from] BadDescriptors),
}

impl Methods {
    /// Of a file with a file descriptor set.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read_file(path: &Path) -> Result<Self, NoDescriptors> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(NoDescriptors::Long);
        }
        Ok(Self::read(&bytes)?)
    }
}

impl Checks {
    /// With methods that are known already, which go before those of a file.
    #[must_use]
    pub fn with(methods: Option<Methods>) -> Self {
        Self { given: methods, own: RefCell::default() }
    }

    /// The methods that are known now.
    #[must_use]
    pub fn methods(&self) -> Option<Methods> {
        self.given.clone().or_else(|| self.own.borrow().clone())
    }
}

impl Knows for Checks {
    fn text(&self, text: &str) -> Result<(), BadPlaceholder> {
        let read = parse(text);
        read.map(|_| ()).map_err(|why| {
            let near = match &why {
                BadText::Unknown(name) => nearest(name).map(|word| format!("{{{{{word}}}}}")),
                _ => None,
            };
            (why.to_string(), near)
        })
    }

    fn descriptors(&self, file: Option<&Path>) -> Result<(), String> {
        let read = file.filter(|_| self.given.is_none()).map(Methods::read_file);
        *self.own.borrow_mut() = read.transpose().map_err(|why| why.to_string())?;
        Ok(())
    }

    fn authorities(&self, file: &Path) -> Result<(), String> {
        Trust::Authorities(file.to_owned()).check().map_err(|why| why.to_string())
    }

    fn request(&self, path: &str, body: Option<&str>) -> Result<(), BadRequest> {
        let (Some(methods), Ok(path)) = (self.methods(), parse(path)) else { return Ok(()) };
        let body = body.and_then(|body| parse(body).ok());
        methods.takes(&path, body.as_ref()).map(|_| ()).map_err(bad)
    }
}

/// In the words of a file's problems.
fn bad(call: BadCall) -> BadRequest {
    let message = call.to_string();
    let list = |known: &[String]| {
        let shown: Vec<String> = known.iter().take(12).map(|one| format!("`{one}`")).collect();
        let more = if known.len() > 12 { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    match call {
        BadCall::NoMethod { near, known, .. } => {
            BadRequest { in_body: false, message, expected: list(&known), near }
        }
        BadCall::NoMessage { near, known, .. } if !known.is_empty() => {
            BadRequest { in_body: true, message, expected: list(&known), near }
        }
        BadCall::NoMessage { message: name, .. } => {
            let expected = format!("JSON of a {name}");
            BadRequest { in_body: true, message, expected, near: None }
        }
        BadCall::Filled => {
            let expected = "a method that takes one message, as it is called".to_owned();
            BadRequest { in_body: false, message, expected, near: None }
        }
    }
}

fn parse(text: &str) -> Result<Text, BadText> {
    Text::parse(text, |name| std::env::var(name).ok())
}

fn nearest(name: &str) -> Option<&'static str> {
    let word = name.split([' ', ':']).next().unwrap_or(name);
    let distance = |known: &&str| strsim::damerau_levenshtein(word, known);
    PLACEHOLDERS.into_iter().min_by_key(distance).filter(|known| distance(known) <= 2)
}

impl Request {
    /// A kind of request of a request file, as a class sends it: with its name in this header,
    /// unless the request has one of its own.
    ///
    /// # Errors
    /// A text is wrong, or it is no call of one of the methods.
    pub fn of(
        kind: &RequestKind,
        class: Option<(&str, &str)>,
        methods: Option<&Methods>,
    ) -> Result<Self, BadKind> {
        let mut headers = Vec::with_capacity(kind.headers.len() + 1);
        for (name, value) in &kind.headers {
            headers.push(header(name, parse(value)?)?);
        }
        if let Some((name, class)) = class
            && !kind.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            headers.push(header(name, Text::literal(class))?);
        }
        let path = parse(&kind.path)?;
        let body = kind.body.as_deref().map(parse).transpose()?;
        let method: Result<Method, _> = kind.method.parse();
        Ok(Self {
            method: method.map_err(|_| BadKind::Method(kind.method.clone()))?,
            message: methods.map(|methods| methods.takes(&path, body.as_ref())).transpose()?,
            path,
            headers,
            body,
            expect: kind.expect.iter().map(|status| *status..=*status).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_placeholder() {
        assert_eq!(nearest("conter"), Some("counter"));
        assert_eq!(nearest("nothing like it"), None);
    }
}
