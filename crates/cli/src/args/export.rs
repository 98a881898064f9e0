//! Arguments of `damper export`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use damper_export::{FORMATS, IMPLICIT};

use super::SystemArgs;

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.id))
}

fn software() -> PossibleValuesParser {
    PossibleValuesParser::new(IMPLICIT.iter().map(|software| software.id))
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
What a format cannot say is a loss: a comment in the file, and a line here with what was asked, what
was written instead, and what that means. No call makes more attempts than were asked for, but for a
ServiceProfile of Linkerd (limits of 100 or more), which has no limit per call.

Exit codes: 0 written, 1 --strict and something was lost, 2 no answer.

Examples:
  damper export envoy examples/hotel-reservation.yaml --out envoy/
  damper export istio my-system.yaml --namespace shop --edge 'web -> orders'
  damper plan my-system.yaml --json > plan.json; damper export istio my-system.yaml --plan plan.json
  damper export grpc my-system.yaml --strict
  damper export istio my-system.yaml --also istio --also aws --out mesh/")]
pub(crate) struct ExportArgs {
    /// The format
    #[arg(value_parser = formats())]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Change the file as a plan says, the output of `damper plan --json`
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Only these calls: `caller -> callee`. May be given several times
    #[arg(long, value_name = "CALL")]
    pub(crate) edge: Vec<String>,
    /// Write files into this folder, which is made if it is not there; otherwise they are printed
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with 1 if something is lost
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON: files, losses, notes
    #[arg(long)]
    pub(crate) json: bool,
    /// Also switch off what this software retries by itself. May be given several times
    #[arg(long, value_name = "SOFTWARE", value_parser = software())]
    pub(crate) also: Vec<String>,
    /// The namespace of all services
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    /// The namespace of the gateway for calls from outside, if it is another (Istio's filter)
    #[arg(long, value_name = "NAME")]
    pub(crate) gateway_namespace: Option<String>,
    /// The port of a service that no --address is given for
    #[arg(long, value_name = "PORT", default_value_t = 80)]
    pub(crate) port: u16,
    /// Where a service is, if not under its name: `orders=10.0.0.1:8080`. May be given several times
    #[arg(long, value_name = "SERVICE=HOST:PORT")]
    pub(crate) address: Vec<String>,
    /// As if every request were of this class: for clients that have a channel for each
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
    /// The request header that carries the class
    #[arg(long, value_name = "HEADER", default_value = "x-damper-class")]
    pub(crate) class_header: String,
    /// Nothing but configuration of the software itself: no Envoy filter
    #[arg(long)]
    pub(crate) plain: bool,
}
