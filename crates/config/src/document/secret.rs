//! Values that nobody should find in a report. They are hidden as soon as a file is read, so that
//! no format can copy them.

use super::{Node, Value};

/// What stands where a secret was.
const HIDDEN: &str = "(hidden)";

/// Whether a key looks like that of a secret: `password`, `DB_PASSWORD`, `clientSecret`,
/// `aws_secret_access_key`. Names that only speak of one (`secretName`, `maxTokens`) do not.
#[must_use]
pub fn looks_secret(key: &str) -> bool {
    let words = words(key);
    let last = words.last().map(String::as_str).unwrap_or_default();
    let before = words.len().checked_sub(2).and_then(|at| words.get(at)).map(String::as_str);
    match last {
        "password" | "passwd" | "pwd" | "passphrase" | "secret" | "secrets" | "token"
        | "credential" | "credentials" | "apikey" | "privatekey" | "accesskey" | "secretkey"
        | "authorization" | "cookie" => true,
        "key" => matches!(
            before,
            Some(
                "api"
                    | "access"
                    | "private"
                    | "secret"
                    | "signing"
                    | "encryption"
                    | "account"
                    | "auth"
            )
        ),
        "string" => before == Some("connection"),
        _ => false,
    }
}

/// The words of a key in small letters: cut at signs and at capitals.
fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    let mut small = false;
    for c in key.chars() {
        if !c.is_alphanumeric() {
            fresh = true;
            continue;
        }
        fresh |= c.is_uppercase() && small;
        small = !c.is_uppercase();
        match words.last_mut() {
            Some(word) if !fresh => word.extend(c.to_lowercase()),
            _ => words.push(c.to_lowercase().collect()),
        }
        fresh = false;
    }
    words
}

/// Hides the secrets below a node: values of such keys, values beside such a `name`
/// (`{name: DB_PASSWORD, value: x}`), and what follows `NAME=` in lists of texts.
pub(super) fn hide(node: &mut Node) {
    match &mut node.value {
        Value::Map(entries) => {
            let named = entries
                .iter()
                .filter(|entry| entry.key.eq_ignore_ascii_case("name"))
                .any(|entry| entry.value.text().is_some_and(looks_secret));
            for entry in entries {
                if looks_secret(&entry.key) || named && entry.key.eq_ignore_ascii_case("value") {
                    conceal(&mut entry.value);
                }
                hide(&mut entry.value);
            }
        }
        Value::List(items) => {
            // `set $token x` and `env API_TOKEN x` name the secret in the word before.
            let mut named = false;
            for item in items {
                if named {
                    conceal(item);
                }
                named = item.text().is_some_and(|text| text.len() < 64 && looks_secret(text));
                hide(item);
            }
        }
        Value::Scalar { text, .. } | Value::Open(text) => {
            let name = text.split_once('=').map(|(name, _)| name);
            let secret = name.filter(|name| name.len() < 128 && looks_secret(name)).map(str::len);
            if let Some(end) = secret {
                *text = format!("{}={HIDDEN}", text.get(..end).unwrap_or_default()).into();
            }
        }
        Value::Null => {}
    }
}

/// Hides the texts that stand here; a map keeps its keys, since it says more than the secret.
fn conceal(node: &mut Node) {
    match &mut node.value {
        Value::Scalar { .. } | Value::Open(_) => node.value = Value::Open(HIDDEN.into()),
        Value::List(items) => items.iter_mut().for_each(conceal),
        Value::Map(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Syntax, parse};

    #[test]
    fn keys_of_secrets_are_known() {
        for key in [
            "password",
            "DB_PASSWORD",
            "spring.datasource.password",
            "clientSecret",
            "aws_secret_access_key",
            "API-KEY",
            "authToken",
            "connectionString",
            "_authToken",
        ] {
            assert!(looks_secret(key), "{key}");
        }
        for key in
            ["maxTokens", "tokenRatio", "secretName", "key", "partition_key_path", "retries", ""]
        {
            assert!(!looks_secret(key), "{key}");
        }
    }

    #[test]
    fn no_secret_leaves_a_document() {
        let texts = [
            (
                Syntax::Yaml,
                "a: {password: hunter2, env: [{name: X_TOKEN, value: hunter2}, \"Y_SECRET=hunter2\"]}",
            ),
            (Syntax::Json, "{\"apiKey\": [\"hunter2\"]}"),
            (Syntax::Toml, "password = \"hunter2\""),
            (Syntax::Properties, "spring.x.password=hunter2"),
            (Syntax::Ini, "[a]\naws_secret_access_key = hunter2"),
            (Syntax::Env, "DB_PASSWORD=hunter2\nX_TOKEN=${hunter2}"),
            (Syntax::Dockerfile, "ENV DB_PASSWORD hunter2"),
            (Syntax::Hcl, "x \"y\" { \n password = \"hunter2\"\n secret = f(\"hunter2\")\n}"),
            (Syntax::Nginx, "set $api_key hunter2;"),
            (Syntax::Haproxy, "global\n setenv DB_PASSWORD hunter2"),
            (Syntax::Caddyfile, "a {\n password hunter2\n}"),
        ];
        for (syntax, text) in texts {
            let (documents, troubles) = parse(syntax, text);
            assert_eq!(troubles, [], "{syntax:?}");
            assert!(!format!("{documents:?}").contains("hunter2"), "{syntax:?}");
        }
    }
}
