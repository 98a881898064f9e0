//! Arguments of `damper load`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::emulate::Span;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Requests are sent at their instants whatever became of the others (open loop), and latencies count
from these instants on. A target outside the loopback interface must be named with whoever answers
for it: --i-own shop.example=payments-team.

Exit codes: 0 it was sent, 2 it could not be, 130 interrupted (what had been measured is printed).

Examples:
  damper load http://127.0.0.1:8080 --rate 1000/s --for 10s
  damper load http://127.0.0.1:8080/search --rate 300/s --class-mix high=20%,low=80% --json
  damper load http://127.0.0.1:8080 --rate 1000/s --for 60s --html load.html
  damper load http://127.0.0.1:8080 --rate 500/s --retry naive --limit 3 --timeout 200ms
  damper load http://127.0.0.1:8080 --rate 500/s --policy examples/retry-storm.yaml --edge 'client -> db'
  damper load http://127.0.0.1:8080 --rate 2000/s --requests requests.yaml --dry-run
  damper load https://127.0.0.1:8443 --rate 500/s --ca ca.pem
  damper load http://127.0.0.1:50051/shop.Orders/Place --rate 200/s --grpc --reflect
  damper load --from-curl \"curl -H 'accept: text/html' http://shop.example/\" > requests.yaml
  damper load --from-har recorded.har > requests.yaml
  damper load http://shop.example:80 --rate 100/s --i-own shop.example=payments-team")]
pub(crate) struct LoadArgs {
    /// Where to: http://HOST:PORT or https://HOST:PORT, with a path if every request has the same one
    #[arg(required_unless_present_any = ["from_har", "from_curl"])]
    pub(crate) target: Option<String>,
    /// Requests per second: 1000/s, 30/min
    #[arg(long, value_name = "RATE", required_unless_present_any = ["from_har", "from_curl"])]
    pub(crate) rate: Option<Rate>,
    /// How long requests are sent; those under way at the end are waited for
    #[arg(long = "for", value_name = "DURATION", default_value = "10s")]
    pub(crate) lasts: Span,
    /// Sent before that, and not counted
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    pub(crate) warmup: Span,
    /// Rise to the rate over this time, which is not counted; outside the loopback interface 10s
    #[arg(long, value_name = "DURATION")]
    pub(crate) ramp: Option<Span>,
    /// How requests follow each other
    #[arg(long, value_enum, default_value = "poisson")]
    pub(crate) arrivals: ArrivalsArg,
    /// Classes and their shares, the highest first: high=20%,low=80%. Sent as x-damper-class
    #[arg(long, value_name = "CLASS=SHARE,…")]
    pub(crate) class_mix: Option<Mix>,
    /// A file with requests: methods, paths, headers, bodies, shares
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,
    /// HTTP/1.1, also where the server would choose HTTP/2 (TLS)
    #[arg(long)]
    pub(crate) http1: bool,
    /// HTTP/2; without TLS by prior knowledge
    #[arg(long, conflicts_with = "http1")]
    pub(crate) http2: bool,
    /// gRPC: messages to the methods that the paths name, such as /grpc.health.v1.Health/Check;
    /// empty ones, unless --descriptors or --reflect says what methods take
    #[arg(long, conflicts_with_all = ["http1", "http2"])]
    pub(crate) grpc: bool,
    /// With --grpc: a file descriptor set; bodies are JSON and become messages
    #[arg(long, value_name = "FILE", requires = "grpc")]
    pub(crate) descriptors: Option<PathBuf>,
    /// With --grpc: ask the server what its methods take (grpc.reflection.v1)
    #[arg(long, requires = "grpc", conflicts_with = "descriptors")]
    pub(crate) reflect: bool,
    /// With --grpc: the message as JSON, if every request has the same one; a list is the messages of a
    /// stream
    #[arg(long, value_name = "JSON", requires = "grpc", conflicts_with = "requests")]
    pub(crate) message: Option<String>,
    /// With https://: the authorities whose certificates are believed (PEM); else the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// With https://: believe any certificate
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
    /// What callers do after an attempt that did not end well
    #[arg(long, value_enum, default_value = "none", conflicts_with = "policy")]
    pub(crate) retry: RetryArg,
    /// With --retry: retries after the first attempt
    #[arg(long, value_name = "RETRIES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    /// Callers retry by a policy of this system file
    #[arg(long, value_name = "FILE", requires = "edge")]
    pub(crate) policy: Option<PathBuf>,
    /// With --policy: whose, as `caller -> callee`
    #[arg(long, value_name = "CALL", requires = "policy")]
    pub(crate) edge: Option<String>,
    /// How long an attempt is waited for
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<Span>,
    /// How long a request is waited for, with all of its attempts
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub(crate) patience: Span,
    /// A good reply later than this does not count as goodput
    #[arg(long, value_name = "DURATION")]
    pub(crate) good_within: Option<Span>,
    /// Connections at the same time
    #[arg(long, value_name = "CONNECTIONS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) connections: u32,
    /// Requests under way at the same time; more are not sent, and counted
    #[arg(long, value_name = "REQUESTS", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) in_flight: u32,
    /// No load is faster than this, retries included
    #[arg(long, value_name = "RATE", default_value = "50000/s")]
    pub(crate) max_rate: Rate,
    /// No more requests than this, retries included
    #[arg(long, value_name = "REQUESTS", default_value_t = 5_000_000)]
    pub(crate) max_requests: u64,
    /// A host outside the loopback interface that may be loaded, and who answers for it
    #[arg(long, value_name = "HOST=OWNER")]
    pub(crate) i_own: Vec<String>,
    /// Threads that send, each with its own connections and its share of the rate
    #[arg(long, value_name = "THREADS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: u32,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the requests of a HAR file as a request file, and send nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "from_curl"])]
    pub(crate) from_har: Option<PathBuf>,
    /// Print the request of a curl command as a request file, and send nothing
    #[arg(long, value_name = "COMMAND", conflicts_with = "target")]
    pub(crate) from_curl: Option<String>,
    /// With --from-har and --from-curl: keep what looks like a secret, in place of variables
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Say what would be sent where, and send nothing; with --reflect the server is asked what its
    /// methods take
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write a page with percentiles of latency, rates over time, and ends by kind
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Independently of each other
    Poisson,
    /// At even distances
    Even,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RetryArg {
    /// Nothing
    None,
    /// Try again at once
    Naive,
    /// Try again after a backoff that doubles from 100 ms up to 20 s, with full jitter
    Standard,
}

/// A rate per second, as `1000/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate(pub(crate) f64);

impl std::str::FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a rate such as 1000/s or 30/min");
        let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
        let number: f64 = number.trim().replace('_', "").parse().map_err(|_| wrong())?;
        let seconds = match unit.trim() {
            "ms" => 1e-3,
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let rate = number / seconds;
        if rate > 0.0 && rate <= 1e7 {
            Ok(Self(rate))
        } else {
            Err(format!("`{text}` is not above zero and at most 10_000_000/s"))
        }
    }
}

/// Classes with their shares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mix(pub(crate) Vec<(String, f64)>);

impl std::str::FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut mix: Vec<(String, f64)> = Vec::new();
        for part in text.split(',') {
            let wrong = || format!("`{part}` is not a class with its share, such as high=20%");
            let (name, share) = part.trim().split_once('=').ok_or_else(wrong)?;
            let share: f64 =
                share.strip_suffix('%').and_then(|n| n.trim().parse().ok()).ok_or_else(wrong)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(plain) || !(0.0..=100.0).contains(&share) {
                return Err(wrong());
            }
            if mix.iter().any(|(known, _)| known == name) {
                return Err(format!("the class `{name}` is there twice"));
            }
            mix.push((name.to_owned(), share / 100.0));
        }
        let sum: f64 = mix.iter().map(|(_, share)| share).sum();
        if mix.len() > 16 {
            return Err("there are at most 16 classes".into());
        }
        if (sum - 1.0).abs() > 1e-6 {
            return Err(format!("the shares add up to {:.1}%, not to 100%", sum * 100.0));
        }
        Ok(Self(mix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let of = |text: &str| text.parse::<Rate>().map(|rate| rate.0);
        assert_eq!(of("1_000/s"), Ok(1000.0));
        assert_eq!((of("30/min"), of("2/ms")), (Ok(0.5), Ok(2000.0)));
        for wrong in ["", "5", "5/x", "0/s", "-1/s", "nan/s", "inf/s", "1e9/s"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mixes() {
        let of = |text: &str| text.parse::<Mix>().map(|mix| mix.0);
        assert_eq!(of("high=20%,low=80%"), Ok(vec![("high".into(), 0.2), ("low".into(), 0.8)]));
        for wrong in ["", "high", "high=0.2", "a=50%", "a=50%,a=50%", "a b=100%", "a=100%,b=nan%"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
