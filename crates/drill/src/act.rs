//! What a drill does to the world besides load: requests and commands, as values that can be
//! printed before they are done, and kept on disk to be undone.

mod http;
mod process;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use http::request;

use self::process::{Running, Words};
use crate::undo::Undo;

/// One request or command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// A request over HTTP; any status below 300 is success.
    Http {
        /// GET, POST or DELETE.
        method: String,
        /// `http://HOST:PORT/PATH`.
        url: String,
        /// A body of JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
        /// The environment variable that has the token. The token itself is never written down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_env: Option<String>,
    },
    /// A program with its arguments.
    Program(Vec<String>),
    /// A command of a shell.
    Shell(String),
    /// Ends a command that was under way, with all that it started.
    End {
        /// Its group of processes.
        group: i32,
        /// When it began, which tells it from others of the same number.
        born: String,
    },
}

/// What must be so after something was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Asks.
    pub act: Act,
    /// What the answer must be.
    pub must: Must,
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Must {
    /// It succeeds.
    Succeed,
    /// It succeeds, and this is nowhere in it.
    Lack(String),
    /// It succeeds, and the list at this JSON pointer does not have this text.
    Miss {
        /// Where.
        pointer: String,
        /// What.
        text: String,
    },
    /// It succeeds, and the value at this JSON pointer is this; a missing one is `null`.
    Be {
        /// Where.
        pointer: String,
        /// What.
        value: Value,
    },
    /// It succeeds, and the text at this JSON pointer is missing or empty.
    Empty {
        /// Where.
        pointer: String,
    },
}

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[error("{act}: {why}")]
pub struct ActError {
    act: String,
    why: String,
}

/// How long one act may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// How often a stop is tried, and how long is waited before it is tried again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(300);

impl Act {
    pub(crate) fn get(url: impl fmt::Display) -> Self {
        Self::http("GET", url, None)
    }

    pub(crate) fn post(url: impl fmt::Display, body: Option<Value>) -> Self {
        Self::http("POST", url, body)
    }

    pub(crate) fn http(method: &str, url: impl fmt::Display, body: Option<Value>) -> Self {
        Self::Http { method: method.to_owned(), url: url.to_string(), body, token_env: None }
    }

    /// Does it; what came back, as text.
    ///
    /// # Errors
    /// It failed, or took longer than 15 s.
    pub async fn run(&self) -> Result<String, ActError> {
        self.run_within(PATIENCE).await
    }

    /// Does it, with as much time as it needs by itself: a command may carry out a ramp.
    ///
    /// # Errors
    /// It failed, or took longer.
    pub(crate) async fn run_within(&self, patience: Duration) -> Result<String, ActError> {
        let failed = |why: String| ActError { act: self.to_string(), why };
        let done = async {
            match self {
                Self::Http { method, url, body, token_env } => {
                    let token = match token_env {
                        Some(name) => Some(std::env::var(name).map_err(|_| {
                            format!("the environment has no variable {name} with the token")
                        })?),
                        None => None,
                    };
                    request(method, url, body.as_ref(), token.as_deref()).await
                }
                Self::Program(words) => process::run(&Words::Program(words)).await,
                Self::Shell(command) => process::run(&Words::Shell(command)).await,
                Self::End { group, born } => process::end(*group, born).map(|()| String::new()),
            }
        };
        match tokio::time::timeout(patience, done).await {
            Ok(done) => done.map_err(failed),
            Err(_) => Err(failed(late(patience))),
        }
    }

    /// Begins it. A command has its processes then, and does nothing until it is let go, so that how
    /// to end it can be written down before.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn begin(&self) -> Result<Begun<'_>, ActError> {
        let words = match self {
            Self::Program(words) => Words::Program(words),
            Self::Shell(command) => Words::Shell(command),
            Self::Http { .. } | Self::End { .. } => return Ok(Begun { act: self, command: None }),
        };
        let started = process::start(&words);
        let command = started.map_err(|why| ActError { act: self.to_string(), why })?;
        Ok(Begun { act: self, command: Some(command) })
    }

    /// The host that it goes to, if it is a request.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Http { url, .. } => Some(url),
            Self::Program(_) | Self::Shell(_) | Self::End { .. } => None,
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { method, url, body, token_env } => {
                write!(f, "{method} {url}")?;
                if let Some(body) = body {
                    write!(f, " {body}")?;
                }
                if let Some(name) = token_env {
                    write!(f, " (token from ${name})")?;
                }
                Ok(())
            }
            Self::Program(words) => write!(f, "$ {}", words.join(" ")),
            Self::Shell(command) => write!(f, "$ {command}"),
            Self::End { group, .. } => write!(f, "end the processes of group {group}"),
        }
    }
}

/// An act that is about to be done.
pub(crate) struct Begun<'a> {
    act: &'a Act,
    command: Option<Running>,
}

impl Begun<'_> {
    /// How its processes are ended by somebody else, if it has any.
    pub(crate) fn undo(&self) -> Option<Undo> {
        let (group, born) = self.command.as_ref()?.group()?;
        let (id, what) = (format!("command {group}"), format!("{} is ended", self.act));
        Some(Undo::new(id, what, vec![Act::End { group, born }], Vec::new()))
    }

    /// Does it; what came back.
    ///
    /// # Errors
    /// As [`Act::run_within`].
    pub(crate) async fn run_within(self, patience: Duration) -> Result<String, ActError> {
        let Some(command) = self.command else { return self.act.run_within(patience).await };
        let failed = |why: String| ActError { act: self.act.to_string(), why };
        match tokio::time::timeout(patience, command.output()).await {
            Ok(done) => done.map_err(failed),
            Err(_) => Err(failed(late(patience))),
        }
    }
}

fn late(patience: Duration) -> String {
    format!("no answer within {} s", patience.as_secs())
}

impl Check {
    /// Whether it is so.
    ///
    /// # Errors
    /// It is not, or cannot be asked.
    pub async fn run(&self) -> Result<(), ActError> {
        let answer = self.act.run().await?;
        self.must.hold(&answer).map_err(|why| ActError { act: self.act.to_string(), why })
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.act)?;
        match &self.must {
            Must::Succeed => write!(f, " must succeed"),
            Must::Lack(text) => write!(f, " must not have `{text}`"),
            Must::Miss { pointer, text } => write!(f, " must not have `{text}` in {pointer}"),
            Must::Be { pointer, value } => write!(f, " must have {value} at {pointer}"),
            Must::Empty { pointer } => write!(f, " must have nothing at {pointer}"),
        }
    }
}

impl Must {
    fn hold(&self, answer: &str) -> Result<(), String> {
        let json = || serde_json::from_str::<Value>(answer).map_err(|e| format!("no JSON: {e}"));
        let right = match self {
            Self::Succeed => true,
            Self::Lack(text) => !answer.contains(text),
            Self::Miss { pointer, text } => {
                let json = json()?;
                let list = json.pointer(pointer).and_then(Value::as_array);
                let list = list.ok_or_else(|| format!("no list at {pointer}"))?;
                !list.iter().any(|item| item == text.as_str())
            }
            Self::Be { pointer, value } => {
                json()?.pointer(pointer).unwrap_or(&Value::Null) == value
            }
            Self::Empty { pointer } => match json()?.pointer(pointer) {
                None | Some(Value::Null) => true,
                Some(found) => found == "",
            },
        };
        if right { Ok(()) } else { Err("it is still there".to_owned()) }
    }
}

/// Does several acts and checks what must be so then, again and again until it is.
///
/// # Errors
/// It was not, even after some tries.
pub(crate) async fn surely(
    acts: &[Act],
    checks: &[Check],
    patience: Duration,
) -> Result<(), ActError> {
    let mut tried = 0;
    loop {
        match once(acts, checks, patience).await {
            Ok(()) => return Ok(()),
            Err(error) if tried + 1 >= TRIES => return Err(error),
            Err(_) => tried += 1,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// All are tried, whatever becomes of the first: one that fails because there is nothing to stop
/// must not keep the others from being stopped. With checks these decide.
async fn once(acts: &[Act], checks: &[Check], patience: Duration) -> Result<(), ActError> {
    let mut first = Ok(());
    for act in acts {
        let done = act.run_within(patience).await.map(|_| ());
        first = first.and(done);
    }
    if checks.is_empty() {
        return first;
    }
    for check in checks {
        check.run().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_answer_must_be() {
        let miss = Must::Miss { pointer: "/active".into(), text: "blip".into() };
        assert!(miss.hold("{\"active\": [\"other\"]}").is_ok());
        assert!(miss.hold("{\"active\": [\"blip\"]}").is_err());
        assert!(miss.hold("{}").is_err(), "an answer of another kind proves nothing");
        let empty = Must::Empty { pointer: "/entries/a.b/final_value".into() };
        assert!(empty.hold("{\"entries\": {}}").is_ok());
        assert!(empty.hold("{\"entries\": {\"a.b\": {\"final_value\": \"\"}}}").is_ok());
        assert!(empty.hold("{\"entries\": {\"a.b\": {\"final_value\": \"503\"}}}").is_err());
        let be = Must::Be { pointer: "/enabled".into(), value: json!(true) };
        assert!(be.hold("{\"enabled\": true}").is_ok() && be.hold("{\"enabled\": false}").is_err());
        assert!(Must::Lack("netem".into()).hold("qdisc noqueue 0: root").is_ok());
        assert!(Must::Lack("netem".into()).hold("qdisc netem 8001: root").is_err());
    }

    #[test]
    fn a_token_is_never_written_down() {
        let act = Act::Http {
            method: "POST".into(),
            url: "http://127.0.0.1:1/lever".into(),
            body: Some(json!({"action": "pause"})),
            token_env: Some("TOKEN".into()),
        };
        let text = act.to_string();
        assert_eq!(
            text,
            "POST http://127.0.0.1:1/lever {\"action\":\"pause\"} (token from $TOKEN)"
        );
        let kept: Act = serde_json::from_str(&serde_json::to_string(&act).unwrap()).unwrap();
        assert_eq!(kept, act);
    }

    #[tokio::test]
    async fn commands() {
        assert_eq!(Act::Shell("echo one; echo two".into()).run().await.unwrap(), "one\ntwo\n");
        let error = Act::Shell("echo no >&2; exit 3".into()).run().await.unwrap_err();
        assert!(error.to_string().contains("exit status: 3") && error.to_string().contains("no"));
        let missing = Act::Program(vec!["/nowhere/tc".into()]).run().await.unwrap_err();
        assert!(missing.to_string().starts_with("$ /nowhere/tc: "), "{missing}");
    }

    /// What it leaves running holds its output open, and that is nobody's end to wait for.
    #[tokio::test]
    async fn a_command_ends_when_it_ends_and_not_with_what_it_leaves_running() {
        let act = Act::Shell("echo begun; sleep 5 & echo $!".into());
        let said = act.run_within(Duration::from_secs(3)).await.unwrap();
        let pid = said.strip_prefix("begun\n").unwrap().trim();
        let ended = std::process::Command::new("kill").arg(pid).status().unwrap();
        assert!(ended.success(), "it was still running");
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid").display().to_string();
        let act = Act::Shell(format!("sleep 30 & echo $! > {file}; wait"));
        let late = act.run_within(Duration::from_millis(500)).await.unwrap_err();
        assert!(late.to_string().contains("no answer"), "{late}");
        let pid = std::fs::read_to_string(&file).unwrap();
        // Who is killed may be a moment in going; nothing else ends it within that time.
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        for _ in 0..200 {
            if !runs() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} still runs", pid.trim());
    }

    #[tokio::test]
    async fn a_stop_that_fails_keeps_no_other_from_being_done() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("there").display().to_string();
        let acts = [Act::Shell("exit 1".into()), Act::Shell(format!("touch {file}"))];
        assert!(once(&acts, &[], PATIENCE).await.is_err());
        assert!(std::path::Path::new(&file).exists());
        let checks = [Check { act: Act::Shell(format!("test -e {file}")), must: Must::Succeed }];
        assert!(once(&acts, &checks, PATIENCE).await.is_ok(), "what must be so decides");
    }
}
