//! Asks the admin port of a proxy.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use damper_proxy::admin::Token;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::AdminArgs;

/// Where the proxy's examples have it.
const DEFAULT: &str = "http://127.0.0.1:9901";
/// How long an answer may take: the admin port answers within milliseconds whatever the load.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer.
const LONGEST: u64 = 16 << 20;

/// An admin port.
pub(crate) struct Admin {
    url: String,
    authorization: Option<String>,
    agent: ureq::Agent,
}

impl Admin {
    /// The one that the arguments name, or the environment.
    pub(crate) fn of(args: &AdminArgs) -> anyhow::Result<Self> {
        let named = args.admin.clone().or_else(|| std::env::var("DAMPER_ADMIN").ok());
        let url = named.unwrap_or_else(|| DEFAULT.to_owned());
        let url = if url.contains("://") { url } else { format!("http://{url}") };
        ensure!(
            url.starts_with("http://"),
            "{url}: the admin port speaks http; for another machine open a tunnel to it (ssh -L, \
             kubectl port-forward)"
        );
        let token = match &args.token_file {
            Some(file) => {
                Some(std::fs::read_to_string(file).with_context(|| file.display().to_string())?)
            }
            None => std::env::var("DAMPER_ADMIN_TOKEN").ok(),
        };
        if let Some(token) = &token {
            Token::new(token)?;
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            // A tunnel or a proxy of the environment would be given the token.
            .proxy(None)
            .http_status_as_error(false)
            .build()
            .into();
        let authorization = token.map(|token| format!("Bearer {}", token.trim()));
        Ok(Self { url: url.trim_end_matches('/').to_owned(), authorization, agent })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        self.read(request.call())
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> anyhow::Result<T> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.header("content-type", "application/json");
        self.read(request.send(&serde_json::to_vec(body)?[..]))
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<T> {
        let mut answer = answer.with_context(|| {
            format!("no answer from {}; is this the proxy's admin port (--admin URL)?", self.url)
        })?;
        let status = answer.status();
        let text = answer.body_mut().with_config().limit(LONGEST).read_to_string()?;
        if !status.is_success() {
            let said: Option<Value> = serde_json::from_str(&text).ok();
            let why = said.as_ref().and_then(|said| said.get("error")?.as_str());
            bail!("{}: {}", self.url, why.unwrap_or(status.as_str()));
        }
        serde_json::from_str(&text)
            .with_context(|| format!("{}: this is no admin port of this version", self.url))
    }
}
