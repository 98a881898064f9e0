//! The token of the admin port.

use std::fmt;
use std::path::Path;

use subtle::ConstantTimeEq as _;

/// A secret that is never printed.
#[derive(Clone)]
pub struct Token(Box<[u8]>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// Why a text is no token.
#[derive(Debug, thiserror::Error)]
pub enum Bad {
    /// It could be guessed.
    #[error("the token has {0} characters; it needs at least {least}, such as `openssl rand -hex 32` prints", least = Token::LEAST)]
    Short(usize),
    /// A header cannot carry it.
    #[error("the token has characters other than the visible ones of ASCII")]
    Characters,
    /// There is no such variable of the environment.
    #[error("the variable {0} of the environment is not set")]
    Missing(String),
    /// The file cannot be read.
    #[error("the token in {0}: {1}")]
    File(String, std::io::Error),
}

impl Token {
    /// Characters that a token has at least.
    pub const LEAST: usize = 16;

    /// A token of this text, without the space around it.
    ///
    /// # Errors
    /// It is too short, or has characters that a header cannot carry.
    pub fn new(text: &str) -> Result<Self, Bad> {
        let text = text.trim();
        if text.len() < Self::LEAST {
            return Err(Bad::Short(text.len()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Bad::Characters);
        }
        Ok(Self(text.as_bytes().into()))
    }

    /// The token in a file.
    ///
    /// # Errors
    /// There is none.
    pub fn from_file(path: &Path) -> Result<Self, Bad> {
        let text = std::fs::read_to_string(path);
        Self::new(&text.map_err(|error| Bad::File(path.display().to_string(), error))?)
    }

    /// The token in a variable of the environment.
    ///
    /// # Errors
    /// There is none.
    pub fn from_env(name: &str) -> Result<Self, Bad> {
        Self::new(&std::env::var(name).map_err(|_| Bad::Missing(name.to_owned()))?)
    }

    /// Whether this is the value of an `Authorization` header with it. How long it takes says
    /// nothing but whether the length is right.
    #[must_use]
    pub fn is_in(&self, authorization: &[u8]) -> bool {
        let scheme = authorization.get(..7).is_some_and(|s| s.eq_ignore_ascii_case(b"bearer "));
        scheme && bool::from(authorization[7..].ct_eq(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_right() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is_in(b"Bearer 0123456789abcdef"));
        assert!(token.is_in(b"bearer 0123456789abcdef"));
        for wrong in [
            "",
            "Bearer ",
            "Bearer",
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Basic  0123456789abcdef",
            "0123456789abcdef",
        ] {
            assert!(!token.is_in(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(secret)");
        assert!(matches!(Token::new("short"), Err(Bad::Short(5))));
        assert!(matches!(Token::new("0123456789 abcdef"), Err(Bad::Characters)));
        assert!(Token::from_env("DAMPER_NO_SUCH_VARIABLE").is_err());
        assert!(Token::from_file(Path::new("/nonexistent")).is_err());
    }
}
