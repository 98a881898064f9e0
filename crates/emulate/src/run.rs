//! The parent: starts all processes, keeps them together, and takes them down.

mod admin;
mod error;
mod member;
mod proxies;
mod pulls;
mod state;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use damper_control::Nanos;
use damper_system::System;
use damper_system::model::{Caller, ServiceId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::counts::Counts;
use crate::envoy::refused_by_filter;
use crate::lever::Pull;
use crate::order::Order;
use crate::trigger::{Active, Surge};
use crate::wire::Protocol;
pub use error::Error;
use member::Member;
use proxies::Keeper;
use pulls::Pulls;
pub use state::{Running, State};

/// Who retries.
#[derive(Clone, Debug)]
pub enum Retries {
    /// The small servers themselves, by the controls of the simulator; there is no Envoy.
    Servers,
    /// Envoy, by routes that match the class.
    Envoy {
        /// Its program.
        program: PathBuf,
    },
    /// Envoy with Damper's filter, which sets the limit of a request by its class.
    Filter {
        /// Envoy's program.
        program: PathBuf,
        /// The filter.
        filter: PathBuf,
    },
}

/// How a system is emulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that can be a server or a keeper: this one, as a rule.
    pub program: PathBuf,
    /// Its arguments to be a server; the role and what belongs to it are added.
    pub serve: Vec<String>,
    /// Its arguments to be a keeper.
    pub keep: Vec<String>,
    /// What everybody speaks.
    pub protocol: Protocol,
    /// Who retries.
    pub retries: Retries,
    /// What has been done otherwise than the file says before it starts, one line for each.
    pub notes: Vec<String>,
}

/// A system that runs.
pub struct Emulation {
    system: Arc<System>,
    members: Arc<Vec<Member>>,
    keeper: Option<Keeper>,
    handle: Handle,
    commands: mpsc::Receiver<Command>,
    broken: mpsc::Receiver<Error>,
    surge: watch::Sender<Vec<Surge>>,
    clock: Clock,
    active: Active,
    /// The instant for which everybody was told last how they fare.
    told: Nanos,
}

/// What somebody outside may do with an emulation that runs.
#[derive(Clone)]
pub struct Handle {
    system: Arc<System>,
    members: Arc<Vec<Member>>,
    commands: mpsc::Sender<Command>,
    surge: watch::Receiver<Vec<Surge>>,
    state: Arc<Mutex<State>>,
    /// The last pull at each door.
    levers: Arc<Mutex<BTreeMap<String, Pull>>>,
    /// Which pull each class of each door belongs to.
    pulls: Arc<Mutex<Pulls>>,
}

#[derive(Debug)]
enum Command {
    Start(usize, oneshot::Sender<bool>),
    Stop(usize, oneshot::Sender<bool>),
}

/// Commands that may wait.
const WAITING: usize = 64;

impl Emulation {
    /// Starts every process, and returns when all of them answer.
    ///
    /// # Errors
    /// A process cannot be started or ends at once; whatever was started has been ended.
    pub async fn start(system: System, options: &Options) -> Result<Self, Error> {
        if let Retries::Filter { .. } = options.retries {
            filter_takes(&system)?;
        }
        let system = Arc::new(system);
        let (report, broken) = mpsc::channel(WAITING);
        let mut members = Vec::with_capacity(system.services.len() + 1);
        members.push(Member::start(options, None, &report).await?);
        for service in &system.services {
            members.push(Member::start(options, Some(&service.name), &report).await?);
        }
        for member in &mut members {
            member.ready().await?;
        }
        let keeper = Keeper::start(&system, options, &members, &report).await?;
        let members = Arc::new(members);
        for member in members.iter() {
            let peers = match &keeper {
                Some(keeper) => keeper.peers_of(&member.name, &system),
                None => peers(&system, &members),
            };
            member.order(&Order::Peers(peers)).await?;
        }
        let (send, commands) = mpsc::channel(WAITING);
        let calm = vec![Surge { factor: 1.0, rate: None }; system.classes.len()];
        let (surge, surges) = watch::channel(calm);
        let sidecars = keeper.as_ref().map_or(&[][..], |keeper| &keeper.sidecars);
        let state =
            State::new(&system, options, &members, keeper.as_ref().map(|k| k.pid), sidecars);
        let handle = Handle {
            system: system.clone(),
            members: members.clone(),
            commands: send,
            surge: surges,
            state: Arc::new(Mutex::new(state)),
            levers: Arc::default(),
            pulls: Arc::default(),
        };
        let (clock, active, told) = (Clock::start(), Active::default(), Nanos::ZERO);
        Ok(Self { system, members, keeper, handle, commands, broken, surge, clock, active, told })
    }

    /// What others may do with it while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Opens the admin port, which serves as long as the runtime lives.
    ///
    /// # Errors
    /// There is no port.
    pub async fn open_admin(&self) -> Result<u16, Error> {
        let port = admin::open(self.handle()).await?;
        let mut state = self.handle.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.admin_port = port;
        Ok(port)
    }

    /// Runs until `until` is ready, then ends every process.
    ///
    /// # Errors
    /// A process has ended by itself.
    pub async fn run<T>(mut self, until: impl Future<Output = T>) -> Result<T, Error> {
        let mut broken = std::mem::replace(&mut self.broken, mpsc::channel(1).1);
        // Beside each other: what is told to servers keeps neither a load nor a signal waiting.
        let ended = tokio::select! {
            done = until => Ok(done),
            Some(error) = broken.recv() => Err(error),
            never = self.follow() => match never {},
        };
        self.stop().await;
        ended
    }

    /// Does what is commanded, and what triggers do by themselves at their time.
    async fn follow(&mut self) -> Infallible {
        loop {
            // From what was told on, not from now on: telling takes time, in which a short trigger
            // may have ended.
            let change = self.active.next_change(&self.system, self.told);
            tokio::select! {
                Some(command) = self.commands.recv() => self.obey(command).await,
                () = wait(self.clock, change) => self.apply().await,
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        let now = self.clock.now();
        let (done, answer) = match command {
            Command::Start(trigger, answer) => {
                self.active.start(trigger, now);
                (true, answer)
            }
            Command::Stop(trigger, answer) => (self.active.stop(trigger), answer),
        };
        self.apply().await;
        // Who asked may have left.
        let _ = answer.send(done);
    }

    /// Tells everybody how they fare now.
    async fn apply(&mut self) {
        let now = self.clock.now();
        self.told = now;
        self.active.expire(&self.system, now);
        for (i, service) in self.system.services.iter().enumerate() {
            let condition = self.active.condition(&self.system, ServiceId(i as u32), now);
            if let Some(member) = self.members.iter().find(|m| m.name == service.name) {
                // A server that is gone is reported by its own watcher.
                let _ = member.order(&Order::Condition(condition)).await;
            }
        }
        self.surge.send_replace(self.active.surge(&self.system, now));
        let mut state = self.handle.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.set_active(&self.system, &self.active);
    }

    /// Ends every process and waits until all are gone.
    pub async fn stop(self) {
        if let Some(keeper) = self.keeper {
            keeper.stop().await;
        }
        for member in self.members.iter() {
            member.stop().await;
        }
    }
}

/// Asks the filter's own reader, before anything starts: in an Envoy a refused configuration is a
/// process that ends.
fn filter_takes(system: &System) -> Result<(), Error> {
    let services = (0..system.services.len()).map(|i| Caller::Service(ServiceId(i as u32)));
    for who in std::iter::once(Caller::Client).chain(services) {
        refused_by_filter(system, who).map_or(Ok(()), |why| {
            Err(Error::Filter { who: system.caller_name(who).to_owned(), why })
        })?;
    }
    Ok(())
}

/// Where every callee is, without proxies.
fn peers(system: &System, members: &[Member]) -> BTreeMap<String, u16> {
    let port = |name: &str| members.iter().find(|m| m.name == name).map(|m| m.port);
    let services = system.services.iter().map(|s| (s.name.clone(), s.name.as_str()));
    let store = |c: &damper_system::model::Cache| &system.services[c.store.0 as usize].name;
    let caches = system.caches.iter().map(|c| (c.name.clone(), store(c).as_str()));
    services.chain(caches).filter_map(|(name, at)| Some((name, port(at)?))).collect()
}

async fn wait(clock: Clock, until: Option<Nanos>) {
    match until {
        Some(at) => {
            clock.sleep_until(at).await;
            // The clock may be a tick behind the instant.
            while clock.now() < at {
                tokio::task::yield_now().await;
            }
        }
        None => std::future::pending().await,
    }
}

impl Handle {
    /// The system.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Processes, ports and triggers.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What triggers make of the load, for whoever makes it.
    #[must_use]
    pub fn surges(&self) -> watch::Receiver<Vec<Surge>> {
        self.surge.clone()
    }

    /// Starts a trigger, or starts it anew; `None` if there is none of this name.
    pub async fn trigger(&self, name: &str) -> Option<()> {
        self.command(name, Command::Start).await.map(|_| ())
    }

    /// Stops a trigger before its time: whether it was under way; `None` if there is none of this
    /// name.
    pub async fn stop_trigger(&self, name: &str) -> Option<bool> {
        self.command(name, Command::Stop).await
    }

    async fn command(
        &self,
        name: &str,
        make: fn(usize, oneshot::Sender<bool>) -> Command,
    ) -> Option<bool> {
        let at = self.system.triggers.iter().position(|t| t.name == name)?;
        let (answer, done) = oneshot::channel();
        self.commands.send(make(at, answer)).await.ok()?;
        done.await.ok()
    }

    /// Pulls the lever at one door, or at all; the doors at which it was pulled.
    ///
    /// # Errors
    /// It cannot be pulled that way, in words.
    pub async fn pull(&self, pull: &Pull) -> Result<Vec<String>, String> {
        let meant = pull.understand(&self.system.classes)?;
        let at = |m: &&Member| pull.hop.as_ref().is_none_or(|hop| *hop == m.name);
        let doors: Vec<&Member> = self.members.iter().filter(at).collect();
        if doors.is_empty() {
            let names: Vec<&str> = self.members.iter().map(|m| m.name.as_str()).collect();
            return Err(format!("there is no such door; there are {}", names.join(", ")));
        }
        let names: Vec<&str> = doors.iter().map(|door| door.name.as_str()).collect();
        let number = self.pulls().pulled(&names, &pull.classes, &self.system.classes);
        for door in &doors {
            let told = door.order(&Order::Lever(pull.clone())).await;
            told.map_err(|error| error.to_string())?;
            let mut levers = self.levers.lock().unwrap_or_else(PoisonError::into_inner);
            levers.insert(door.name.clone(), pull.clone());
        }
        if let Some(lasts) = meant.lasts {
            let handle = self.clone();
            let why = "the time for which it was pulled is over".to_owned();
            let (action, hop, who) = ("open".to_owned(), pull.hop.clone(), pull.who.clone());
            let open = Pull { action, hop, who, why, ..Pull::default() };
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_nanos(lasts.0)).await;
                // Another pull since then is another decision.
                handle.open_what_is_left_of(number, &open).await;
            });
        }
        Ok(doors.iter().map(|door| door.name.clone()).collect())
    }

    async fn open_what_is_left_of(&self, number: u64, open: &Pull) {
        for door in self.members.iter() {
            let classes = self.pulls().left_of(number, &door.name);
            if classes.is_empty() {
                continue;
            }
            let open = Pull { classes, ..open.clone() };
            if door.order(&Order::Lever(open.clone())).await.is_ok() {
                let mut levers = self.levers.lock().unwrap_or_else(PoisonError::into_inner);
                levers.insert(door.name.clone(), open);
            }
        }
    }

    fn pulls(&self) -> MutexGuard<'_, Pulls> {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last pull at each door at which there was one.
    #[must_use]
    pub fn levers(&self) -> BTreeMap<String, Pull> {
        self.levers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What every server has counted so far, the clients first.
    ///
    /// # Errors
    /// A server does not answer.
    pub async fn counts(&self) -> Result<Vec<Counts>, Error> {
        let mut all = Vec::with_capacity(self.members.len());
        for member in self.members.iter() {
            all.push(member.counts().await?);
        }
        Ok(all)
    }
}
