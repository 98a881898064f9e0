//! Arguments of `damper emulate`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::SystemArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Everything listens on 127.0.0.1 alone, on ports chosen freely; the end of this process, however it
comes, is the end of all others.

Exit codes: 0 it ran as long as it was asked to, 2 it could not, or a process ended by itself,
130 interrupted (with --load, what had been measured is printed).

Examples:
  damper emulate examples/hotel-reservation.yaml                       # until Ctrl-C
  damper emulate examples/retry-storm.yaml --without-envoy --load --for 30s --trigger-after 10s
  damper emulate examples/hotel-reservation.yaml --load --warmup 5s --for 60s --json > live.json
  damper emulate my-system.yaml --protocol grpc --static-policy
  curl -X POST http://127.0.0.1:PORT/trigger/blip                      # the admin port it prints")]
pub(crate) struct EmulateArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// What callers and servers speak
    #[arg(long, value_enum, default_value = "http1")]
    pub(crate) protocol: ProtocolArg,
    /// No Envoy: the servers call each other, and retry by the controls of the simulator
    #[arg(long, conflicts_with_all = ["envoy", "static_policy", "filter"])]
    pub(crate) without_envoy: bool,
    /// Envoy without Damper's filter: routes that match the class
    #[arg(long, conflicts_with = "filter")]
    pub(crate) static_policy: bool,
    /// Damper's filter; $DAMPER_FILTER or target/filter/damper-filter.wasm if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) filter: Option<PathBuf>,
    /// Envoy's program; $DAMPER_ENVOY or one on the path if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) envoy: Option<PathBuf>,
    /// Send the load of the file for as long as --for says, and print how it ended
    #[arg(long, requires = "lasts")]
    pub(crate) load: bool,
    /// With --load: not counted
    #[arg(long, value_name = "DURATION", default_value = "0s", requires = "load")]
    pub(crate) warmup: Span,
    /// With --load: count each of this many equal parts of the measured time by itself, too, as
    /// `parts` of --json
    #[arg(long, value_name = "PARTS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "load")]
    pub(crate) parts: u32,
    /// End after this long; without it, with Ctrl-C
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) lasts: Option<Span>,
    /// Start a trigger after this long: the one of the experiment, or --trigger
    #[arg(long, value_name = "DURATION")]
    pub(crate) trigger_after: Option<Span>,
    /// Which trigger --trigger-after starts
    #[arg(long, value_name = "NAME", requires = "trigger_after")]
    pub(crate) trigger: Option<String>,
    /// With --load: requests under way at the same time; more are not sent, and counted
    #[arg(long, value_name = "REQUESTS", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=65_536), requires = "load")]
    pub(crate) in_flight: u32,
    /// Everything this many times as slow, for a machine that is too small: rates are divided by
    /// it, times multiplied, shares stay as they are
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = slower)]
    pub(crate) slower: f64,
    /// Seed of everything random, in place of the file's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print JSON instead of text: a line when it runs, with --load another at its end
    #[arg(long)]
    pub(crate) json: bool,
}

/// A span of time, as `60s` or `500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) std::time::Duration);

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a duration such as 500ms, 60s or 2min");
        let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(at);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let factor = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let seconds = number * factor;
        if (0.0..=86_400.0).contains(&seconds) {
            Ok(Self(std::time::Duration::from_secs_f64(seconds)))
        } else {
            Err(format!("`{text}` is not between 0 and 24 hours"))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArg {
    /// HTTP/1.1
    Http1,
    /// HTTP/2 without TLS
    Http2,
    /// gRPC
    Grpc,
}

impl From<ProtocolArg> for damper_emulate::Protocol {
    fn from(protocol: ProtocolArg) -> Self {
        match protocol {
            ProtocolArg::Http1 => Self::Http1,
            ProtocolArg::Http2 => Self::Http2,
            ProtocolArg::Grpc => Self::Grpc,
        }
    }
}

/// Parts of an emulation, started by `damper emulate`.
#[derive(Debug, ClapArgs)]
pub(crate) struct EmulatedArgs {
    #[command(subcommand)]
    pub(crate) part: Part,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Part {
    /// The server of a service, or of the clients
    Serve(ServeArgs),
    /// The keeper of the Envoys
    Keep,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// The service; the clients if not given
    #[arg(long)]
    pub(crate) service: Option<String>,
    /// What it speaks
    #[arg(long, value_enum)]
    pub(crate) protocol: ProtocolArg,
    /// Somebody else retries
    #[arg(long)]
    pub(crate) proxied: bool,
    /// Seed of everything random
    #[arg(long)]
    pub(crate) seed: u64,
    /// How many times as slow
    #[arg(long, value_parser = slower)]
    pub(crate) slower: f64,
}

/// A factor from 1 to 1000.
pub(crate) fn slower(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('x').parse() {
        Ok(factor) if (1.0..=1000.0).contains(&factor) => Ok(factor),
        _ => Err(format!("`{text}` is not a factor from 1 to 1000")),
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn spans() {
        let of = |text: &str| text.parse::<Span>().map(|span| span.0.as_secs_f64());
        assert_eq!(of("500ms"), Ok(0.5));
        assert_eq!(of("1.5min"), Ok(90.0));
        for wrong in ["", "5", "5 x", "-1s", "25h", "nans", "infs"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
