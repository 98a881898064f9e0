//! A small server as the parent sees it.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, mpsc};

use super::{Error, Options, Retries};
use crate::counts::Counts;
use crate::order::{Order, Said, line};
use crate::wire::Protocol;

/// How long a process may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// A server that was started.
pub(crate) struct Member {
    /// Its service, or `client`.
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) port: u16,
    pipes: Arc<Pipes>,
    child: Mutex<Child>,
}

/// Orders to a server and its answers.
struct Pipes {
    /// Its service, or `client`.
    name: String,
    input: Mutex<Option<ChildStdin>>,
    said: Mutex<mpsc::Receiver<Said>>,
}

/// A process of its own group, so that Ctrl-C reaches the parent alone, which then takes down the
/// others in order.
pub(super) fn command(options: &Options) -> Command {
    let mut command = Command::new(&options.program);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

impl Member {
    /// Starts the server of a service; of the clients without one.
    pub(super) async fn start(
        options: &Options,
        service: Option<&str>,
        broken: &mpsc::Sender<Error>,
    ) -> Result<Self, Error> {
        let name = service.unwrap_or("client").to_owned();
        let mut command = command(options);
        command.args(&options.serve).arg("--protocol").arg(word(options.protocol));
        if let Some(service) = service {
            command.args(["--service", service]);
        }
        if !matches!(options.retries, Retries::Servers) {
            command.arg("--proxied");
        }
        let mut child = command.spawn().map_err(|why| Error::Start {
            what: format!("the server of {name}"),
            program: options.program.clone(),
            why,
        })?;
        let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Error::Ended { what: name, said: String::new() });
        };
        let (tell, said) = mpsc::channel(16);
        let broken = broken.clone();
        let what = format!("the server of {name}");
        tokio::spawn(async move {
            let mut lines = BufReader::new(out).lines();
            while let Ok(Some(text)) = lines.next_line().await {
                let Ok(said) = serde_json::from_str::<Said>(&text) else { break };
                if tell.send(said).await.is_err() {
                    return;
                }
            }
            drop(tell);
            let mut said = String::new();
            let _ = err.take(2000).read_to_string(&mut said).await;
            // Nobody listens once the emulation is over.
            let _ = broken.send(Error::Ended { what, said }).await;
        });
        Ok(Self {
            pid: child.id().unwrap_or_default(),
            port: 0,
            pipes: Arc::new(Pipes {
                name: name.clone(),
                input: Mutex::new(child.stdin.take()),
                said: Mutex::new(said),
            }),
            child: Mutex::new(child),
            name,
        })
    }

    /// Waits until it listens.
    pub(super) async fn ready(&mut self) -> Result<(), Error> {
        let first = self.pipes.answer(&mut *self.pipes.said.lock().await).await?;
        if let Said::Ready(port) = first {
            self.port = port;
            return Ok(());
        }
        Err(Error::Ended { what: self.name.clone(), said: "no port".to_owned() })
    }

    /// Gives an order, and waits for what is said to it.
    ///
    /// A task of its own: whoever asked may go away or be busy with something else, and the answer
    /// is taken all the same. Else the next order would get it, or would wait for ever.
    async fn ask(&self, order: &Order) -> Result<Said, Error> {
        let text = line(order).map_err(Error::io("telling a server"))?;
        let pipes = self.pipes.clone();
        let asked = tokio::spawn(async move { pipes.ask(&text).await }).await;
        asked.unwrap_or_else(|why| Err(Error::io("telling a server")(std::io::Error::other(why))))
    }

    /// Gives an order, and waits until it is done.
    pub(super) async fn order(&self, order: &Order) -> Result<(), Error> {
        self.ask(order).await.map(|_| ())
    }

    pub(super) async fn counts(&self) -> Result<Counts, Error> {
        match self.ask(&Order::Counts).await? {
            Said::Counts(counts) => Ok(counts),
            _ => Err(Error::Ended { what: self.name.clone(), said: "no counts".to_owned() }),
        }
    }

    /// Ends it: by the end of its input, and if that does not help, by force.
    pub(super) async fn stop(&self) {
        drop(self.pipes.input.lock().await.take());
        let mut child = self.child.lock().await;
        if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
    }
}

impl Pipes {
    async fn ask(&self, text: &str) -> Result<Said, Error> {
        // Held until the answer is there, so that it is the answer to this order.
        let mut said = self.said.lock().await;
        if let Some(input) = self.input.lock().await.as_mut() {
            let wrote = input.write_all(text.as_bytes()).await;
            wrote.map_err(Error::io("telling a server"))?;
        }
        self.answer(&mut said).await
    }

    async fn answer(&self, said: &mut mpsc::Receiver<Said>) -> Result<Said, Error> {
        let what = || format!("the server of {}", self.name);
        match tokio::time::timeout(PATIENCE, said.recv()).await {
            Ok(Some(said)) => Ok(said),
            Ok(None) => Err(Error::Ended { what: what(), said: String::new() }),
            Err(_) => Err(Error::Silent { what: what(), seconds: PATIENCE.as_secs() }),
        }
    }
}

/// A protocol as the command line names it.
fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "http1",
        Protocol::Http2 => "http2",
        Protocol::Grpc => "grpc",
    }
}
