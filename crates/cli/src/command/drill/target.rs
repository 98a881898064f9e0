//! What is drilled: an address, an emulation that runs, or one that is started for the drill.

use anyhow::{Context as _, bail};
use damper_drill::{Act, Emulated, Places};
use damper_emulate::{Emulation, Options, Retries, State};
use damper_system::model::System;
use damper_system::{CauseKind, Drill, LeverKind, MetricKind, Place, Plant, Speaks, Url};
use serde_json::Value;

use crate::args::DrillArgs;
use crate::print;

/// Where things are, and what must be kept running for it.
pub(crate) struct Target {
    pub(crate) places: Places,
    pub(crate) emulation: Option<Emulation>,
}

/// What a record calls the target.
pub(crate) fn words(drill: &Drill, places: &Places) -> String {
    places.targets(drill)
}

/// Whether a plan has to do with the emulation of its system file.
fn wants_emulation(drill: &Drill) -> bool {
    let own = |place: &Place| *place == Place::Emulation;
    drill.parts.iter().any(|part| own(&part.target))
        || drill
            .triggers
            .iter()
            .any(|t| matches!(&t.kind, CauseKind::Emulate { at, .. } if own(at)))
        || drill.levers.iter().any(|l| matches!(&l.kind, LeverKind::Emulate { at, .. } if own(at)))
        || drill
            .metrics
            .iter()
            .any(|m| matches!(&m.kind, MetricKind::Emulate { at, .. } if own(at)))
}

/// The emulation that the command line names.
pub(crate) async fn named(args: &DrillArgs) -> anyhow::Result<Places> {
    let Some(text) = &args.emulation else { return Ok(Places::default()) };
    let admin = Url::parse(text).map_err(|why| anyhow::anyhow!("--emulation {text}: {why}"))?;
    if !admin.is_loopback() {
        bail!("--emulation {text}: emulations are on the loopback interface only");
    }
    let (method, url) = ("GET".to_owned(), admin.to_string());
    let act = Act::Http { method, url, body: None, token_env: None };
    let state: Value = serde_json::from_str(&act.run().await?)?;
    let port = state["entry_port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let port = port.with_context(|| format!("{text} is no admin port of an emulation"))?;
    let speaks = match state["protocol"].as_str() {
        Some("http2") => Speaks::Http2,
        Some("grpc") => Speaks::Grpc,
        _ => Speaks::Http1,
    };
    let entry = Url { tls: false, host: admin.host.clone(), port, path: "/request".to_owned() };
    Ok(Places { emulation: Some(Emulated { admin, entry, speaks }), owned: false })
}

/// Starts the emulation that the plan needs, if none is named.
pub(crate) async fn start(
    args: &DrillArgs,
    drill: &Drill,
    system: Option<System>,
    slower: f64,
) -> anyhow::Result<Target> {
    let places = named(args).await?;
    if places.emulation.is_some() || !wants_emulation(drill) {
        return Ok(Target { places, emulation: None });
    }
    let (Some(plant), Some(system)) = (&drill.plant, system) else {
        bail!("an emulation needs `system:` in the plan");
    };
    let options = options(plant, drill, slower)?;
    let emulation = Emulation::start(system, &options).await?;
    emulation.open_admin().await?;
    let state = emulation.handle().state();
    state.notes.iter().for_each(|note| print::note(note));
    let places = Places { emulation: Some(emulated(&state, drill.speaks)), owned: true };
    Ok(Target { places, emulation: Some(emulation) })
}

fn emulated(state: &State, speaks: Speaks) -> Emulated {
    let at = |port, path: &str| Url {
        tls: false,
        host: "127.0.0.1".into(),
        port,
        path: path.to_owned(),
    };
    Emulated { admin: at(state.admin_port, "/"), entry: at(state.entry_port, "/request"), speaks }
}

fn options(plant: &Plant, drill: &Drill, slower: f64) -> anyhow::Result<Options> {
    let program = std::env::current_exe().context("this program cannot be found")?;
    let file = plant.path.to_str().context("the name of the system file is not UTF-8")?;
    let mut serve: Vec<String> = ["emulated", "serve", file].map(str::to_owned).to_vec();
    for set in &plant.set {
        serve.extend(["--set".to_owned(), set.clone()]);
    }
    let (seed, slower) = (drill.seed.to_string(), slower.to_string());
    serve.extend(["--seed".to_owned(), seed, "--slower".to_owned(), slower]);
    let protocol = match drill.speaks {
        Speaks::Http1 => damper_emulate::Protocol::Http1,
        Speaks::Http2 => damper_emulate::Protocol::Http2,
        Speaks::Grpc => damper_emulate::Protocol::Grpc,
    };
    let keep = ["emulated", "keep"].map(str::to_owned).to_vec();
    let (retries, notes) = (Retries::Servers, Vec::new());
    Ok(Options { program, serve, keep, protocol, retries, notes })
}
