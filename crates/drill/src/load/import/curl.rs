//! Commands of curl, as browsers and documentation have them.

use super::{
    BadImport, Imported, Keeper, METHODS, MOST_BODY, MOST_HEADERS, Recorded, literal, url,
};

/// Options with a value that say nothing about the request.
const IGNORED_WITH_VALUE: [&str; 13] = [
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "--cacert",
    "--limit-rate",
    "--resolve",
];
/// Options without one.
const IGNORED: [&str; 24] = [
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-L",
    "--location",
    "-k",
    "--insecure",
    "-f",
    "--fail",
    "--compressed",
    "--http1.1",
    "--http2",
    "-N",
    "--no-buffer",
    "-#",
    "--progress-bar",
    "-g",
    "--globoff",
    "--http2-prior-knowledge",
];

/// Takes over the request of a command of curl.
///
/// # Errors
/// It is no command of curl, or has an option that changes the request in a way not known here.
pub fn from_curl(command: &str, keep_secrets: bool) -> Result<Imported, BadImport> {
    if command.len() > MOST_BODY {
        return Err(BadImport::TooLong(MOST_BODY >> 20));
    }
    let mut words = split(command)?.into_iter();
    if words.next().as_deref() != Some("curl") {
        return Err(BadImport::NotThat(
            "this is no command of curl: it does not begin with `curl`".into(),
        ));
    }
    let mut read = Read::default();
    while let Some(word) = words.next() {
        read.option(&word, &mut words)?;
    }
    read.finish(keep_secrets)
}

#[derive(Default)]
struct Read {
    method: Option<String>,
    target: Option<String>,
    headers: Vec<(String, String)>,
    data: Vec<String>,
    as_query: bool,
    head: bool,
}

impl Read {
    fn option(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<(), BadImport> {
        // `--name=value`, and `-Xvalue` of the short ones that have a value.
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
            _ => match (word.get(..2), word.get(2..)) {
                (Some(name @ ("-X" | "-H" | "-d" | "-u" | "-b" | "-A" | "-e")), Some(value))
                    if !value.is_empty() =>
                {
                    (name, Some(value.to_owned()))
                }
                _ => (word, None),
            },
        };
        let mut value = || {
            let value = inline.clone().or_else(|| rest.next());
            value.ok_or_else(|| BadImport::NoValue(name.to_owned()))
        };
        match name {
            "-X" | "--request" => self.method = Some(value()?.to_ascii_uppercase()),
            "-H" | "--header" => {
                let header = value()?;
                let (name, text) = header.split_once(':').unwrap_or((&header, ""));
                self.headers.push((name.to_owned(), text.to_owned()));
            }
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii" | "--json" => {
                let data = value()?;
                if data.starts_with('@') && name != "--data-raw" {
                    let why = "the body is in a file of its own: put its text in place of @FILE";
                    return Err(BadImport::NotThat(why.into()));
                }
                if name == "--json" {
                    self.headers.push(("content-type".into(), "application/json".into()));
                    self.headers.push(("accept".into(), "application/json".into()));
                }
                self.data.push(data);
            }
            // Never in clear: whose password it is, is not to be in a file.
            "-u" | "--user" => {
                value()?;
                self.headers.push(("authorization".into(), "Basic".into()));
            }
            "-b" | "--cookie" => {
                let cookie = value()?;
                self.headers.push(("cookie".into(), cookie));
            }
            "-A" | "--user-agent" => {
                let agent = value()?;
                self.headers.push(("user-agent".into(), agent));
            }
            "-e" | "--referer" => {
                let referer = value()?;
                self.headers.push(("referer".into(), referer));
            }
            "--url" => self.target = Some(value()?),
            "-I" | "--head" => self.head = true,
            "-G" | "--get" => self.as_query = true,
            _ if IGNORED.contains(&name) => {}
            _ if IGNORED_WITH_VALUE.contains(&name) => {
                value()?;
            }
            _ if name.starts_with('-') && name.len() > 1 => return self.together(name),
            _ => self.target = Some(word.to_owned()),
        }
        Ok(())
    }

    /// Short options without values in one word: `-sSL`.
    fn together(&mut self, word: &str) -> Result<(), BadImport> {
        let unknown = || BadImport::Option(word.chars().take(60).collect());
        let short =
            word.strip_prefix('-').filter(|rest| rest.chars().all(|c| c.is_ascii_alphabetic()));
        let short = short.filter(|rest| rest.len() > 1).ok_or_else(unknown)?;
        for letter in short.chars() {
            match letter {
                'I' => self.head = true,
                'G' => self.as_query = true,
                _ if IGNORED.contains(&format!("-{letter}").as_str()) => {}
                _ => return Err(unknown()),
            }
        }
        Ok(())
    }

    fn finish(self, keep_secrets: bool) -> Result<Imported, BadImport> {
        let (origin, mut path) = url(&self.target.ok_or(BadImport::Nothing)?)?;
        let mut data = (!self.data.is_empty()).then(|| self.data.join("&"));
        if self.as_query
            && let Some(data) = data.take()
        {
            let sign = if path.contains('?') { '&' } else { '?' };
            path = format!("{path}{sign}{data}");
        }
        if path.chars().any(|c| c.is_control() || c == ' ') {
            return Err(BadImport::Url(path.chars().take(80).collect()));
        }
        let usual = match (&data, self.head) {
            (_, true) => "HEAD",
            (Some(_), _) => "POST",
            _ => "GET",
        };
        let method = self.method.unwrap_or_else(|| usual.to_owned());
        if !METHODS.contains(&method.as_str()) {
            return Err(BadImport::NotThat(format!(
                "its method is none of {}",
                METHODS.join(", ")
            )));
        }
        let mut keeper = Keeper::new(keep_secrets);
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in self.headers.iter().take(MOST_HEADERS) {
            if let Some((name, value)) = keeper.header(name, value)
                && !headers.iter().any(|(known, _)| *known == name)
            {
                headers.push((name, value));
            }
        }
        if data.is_some() && !headers.iter().any(|(name, _)| name == "content-type") {
            let form = "application/x-www-form-urlencoded";
            headers.push(("content-type".into(), form.into()));
        }
        let path = keeper.path(&path);
        let body = data.map(|data| literal(&data));
        let request = Recorded { method, path, headers, body, times: 1 };
        let variables = keeper.variables();
        Ok(Imported { origin, requests: vec![request], variables, notes: Vec::new() })
    }
}

/// Words of a shell: quotes of three kinds, backslashes, lines that go on.
fn split(text: &str) -> Result<Vec<String>, BadImport> {
    let open = || BadImport::NotThat("a quote is not closed".into());
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some('\r') if chars.peek() == Some(&'\n') => {
                    chars.next();
                }
                Some(c) => word.get_or_insert_default().push(c),
            },
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(open)? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(open)? {
                        '"' => break,
                        '\\' => match chars.next().ok_or_else(open)? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            '\n' => {}
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '$' if chars.peek() == Some(&'\'') => {
                chars.next();
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(open)? {
                        '\'' => break,
                        '\\' => word.push(escaped(&mut chars).ok_or_else(open)?),
                        c => word.push(c),
                    }
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// What stands behind a backslash in `$'…'`.
fn escaped(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    let digits = match chars.next()? {
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        c => return Some(c),
    };
    let mut value = 0;
    for _ in 0..digits {
        match chars.peek().and_then(|c| c.to_digit(16)) {
            Some(digit) => value = value * 16 + digit,
            None => break,
        }
        chars.next();
    }
    char::from_u32(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_command_becomes_a_request_file() {
        let command = "curl -sSL 'https://shop.example/orders?id=1' \\\n  -X PUT -H 'Accept: */*' \
                       -H \"Authorization: Bearer abc\" -H 'Content-Type: application/json' \
                       --data-raw $'{\"a\": \"it\\'s\\u0021\"}' --compressed";
        let imported = from_curl(command, false).unwrap();
        insta::assert_snapshot!(imported.to_yaml());
        assert!(from_curl(command, true).unwrap().to_yaml().contains("Bearer abc"));
    }

    #[test]
    fn what_curl_would_do() {
        let one = |command: &str| from_curl(command, false).unwrap().requests.remove(0);
        assert_eq!(one("curl h:80").method, "GET");
        let form = one("curl h -d a=1 -d b=2");
        assert_eq!((form.method.as_str(), form.body.as_deref()), ("POST", Some("a=1&b=2")));
        assert_eq!(form.headers[0].1, "application/x-www-form-urlencoded");
        assert_eq!(one("curl -G h/x -d a=1 -d b=2").path, "/x?a=1&b=2");
        assert_eq!(one("curl -I h").method, "HEAD");
        assert_eq!(one("curl -XDELETE --url=h/a").method, "DELETE");
        let user = one("curl -u me:secret h");
        assert_eq!(
            user.headers,
            [("authorization".to_owned(), "{{env AUTHORIZATION}}".to_owned())]
        );
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let why = |command: &str| from_curl(command, false).unwrap_err().to_string();
        assert!(why("wget x").contains("does not begin with `curl`"));
        assert!(why("curl -F a=b h").contains("`-F`"));
        assert!(why("curl -T x h").contains("`-T`"));
        assert!(why("curl -H").contains("needs a value"));
        assert!(why("curl -d @file h").contains("in a file of its own"));
        assert!(why("curl 'h").contains("not closed"));
        assert!(why("curl -s").contains("no request"));
        assert!(why("curl ftp://h").contains("is not a URL"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(curl )?([-XHdGIub]|--data|'|\"|\\$'|\\\\|@|h:1/|[ -~]|\\PC){0,40}") {
            let _ = from_curl(&text, false).map(|imported| imported.to_yaml());
        }
    }
}
