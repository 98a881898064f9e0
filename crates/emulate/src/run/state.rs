//! What runs, for people and programs.

use damper_control::Nanos;
use damper_system::System;
use serde::Serialize;

use super::member::Member;
use super::{Options, Retries};
use crate::envoy::Sidecar;
use crate::trigger::Active;
use crate::wire::Protocol;

/// Processes, ports and triggers of an emulation.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// The name of the system.
    pub system: String,
    /// The seed of everything random.
    pub seed: u64,
    /// What everybody speaks.
    pub protocol: Protocol,
    /// Who retries: `servers`, `envoy` or `filter`.
    pub retries: &'static str,
    /// The port of commands: `GET /`, `GET /counts`, `POST /trigger/NAME`.
    pub admin_port: u16,
    /// Where load goes: requests of the clients, `/request/TYPE`.
    pub entry_port: u16,
    /// The process that keeps the Envoys.
    pub keeper_pid: Option<u32>,
    /// The small servers, the clients first.
    pub processes: Vec<Running>,
    /// Triggers of the file.
    pub triggers: Vec<String>,
    /// Those under way.
    pub active: Vec<String>,
    /// What the file asks for, and what is done instead.
    pub notes: Vec<String>,
}

/// A small server, and the Envoy beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Running {
    /// Its service, or `client`.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Its port.
    pub port: u16,
    /// The Envoy beside it.
    pub sidecar: Option<Sidecar>,
}

impl State {
    pub(super) fn new(
        system: &System,
        options: &Options,
        members: &[Member],
        keeper_pid: Option<u32>,
        sidecars: &[Sidecar],
    ) -> Self {
        let running = |member: &Member| Running {
            name: member.name.clone(),
            pid: member.pid,
            port: member.port,
            sidecar: sidecars.iter().find(|s| s.name == member.name).cloned(),
        };
        Self {
            system: system.name.clone(),
            seed: system.experiment.seed,
            protocol: options.protocol,
            retries: match options.retries {
                Retries::Servers => "servers",
                Retries::Envoy { .. } => "envoy",
                Retries::Filter { .. } => "filter",
            },
            admin_port: 0,
            entry_port: members.first().map_or(0, |m| m.port),
            keeper_pid,
            processes: members.iter().map(running).collect(),
            triggers: system.triggers.iter().map(|t| t.name.clone()).collect(),
            active: Vec::new(),
            notes: [&options.notes[..], &crate::notes::notes(system, &options.retries)].concat(),
        }
    }

    pub(super) fn set_active(&mut self, system: &System, active: &Active) {
        let name = |(trigger, _): (usize, Nanos)| system.triggers.get(trigger).map(|t| &t.name);
        self.active = active.iter().filter_map(name).cloned().collect();
    }
}
