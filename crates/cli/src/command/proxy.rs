//! `damper proxy`.

use std::net::SocketAddr;

use damper_proxy::run::{Ended, Happened, RunError};
use damper_system::sidecar::{Endpoint, Listener, Sidecar, Way};

use crate::args::ProxyArgs;
use crate::{exit, print};

pub(crate) fn run(args: &ProxyArgs) -> anyhow::Result<u8> {
    if args.check {
        let sidecar = Sidecar::read(&args.config)?;
        for listener in &sidecar.listeners {
            print::line(&summary(listener));
        }
        print::note(&format!("{}: ok", args.config.display()));
        return Ok(exit::OK);
    }
    let given = damper_proxy::given_sockets();
    let ended = damper_proxy::run::run(&args.config, given, &mut tell);
    Ok(match ended {
        Ok(Ended::Drained) => exit::OK,
        Ok(Ended::AtOnce) => exit::GATE,
        Ok(Ended::Left(left)) => {
            print::note(&format!("{} still open", print::count(left, "connection")));
            exit::GATE
        }
        // All problems, each with its place.
        Err(RunError::Wrong(problems)) => return Err(problems.into()),
        Err(error) => return Err(error.into()),
    })
}

fn tell(happened: Happened<'_>) {
    match happened {
        Happened::Started { hops, workers, admin } => {
            listening(hops);
            if let Some(address) = admin {
                print::note(&format!("admin: {address}"));
            }
            print::note(&format!("ready, {}", print::count(workers, "worker")));
        }
        Happened::Reloaded { hops } => {
            listening(hops);
            print::note("reloaded");
        }
        Happened::Wrong(problems) => {
            print::problems(problems);
            print::note("the configuration is wrong; the one before goes on");
        }
        Happened::Refused(error) => {
            print::note(&format!("{:#}; the configuration before goes on", Chain(error)));
        }
        Happened::Draining(timeout) => {
            print::note(&format!("draining, at most {}", print::seconds(timeout.as_secs_f64())));
        }
    }
}

/// An error with its causes.
struct Chain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            write!(f, ": {error}")?;
            next = error.source();
        }
        Ok(())
    }
}

fn listening(hops: &[(String, SocketAddr)]) {
    for (name, address) in hops {
        print::note(&format!("{name}: {address}"));
    }
}

/// One line for a listener.
fn summary(listener: &Listener) -> String {
    let to: Vec<String> = listener
        .upstream
        .to
        .iter()
        .map(|endpoint| match endpoint {
            Endpoint::Address(address) => address.to_string(),
            Endpoint::Name(name, port) => format!("{name}:{port}"),
        })
        .collect();
    let way = match listener.way {
        Way::Inbound(_) => "inbound",
        Way::Outbound(_) => "outbound",
    };
    format!("{way} {}: {} -> {}", listener.name(), listener.listen, to.join(", "))
}
