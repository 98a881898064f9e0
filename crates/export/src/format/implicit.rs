//! Retries that software makes where nobody asked for them, switched off in the way that really
//! does it.

use super::istio::object;
use crate::asked::Asked;
use crate::tree::{Map, yaml};
use crate::{File, Options};

/// Software that retries by itself.
#[derive(Debug)]
pub struct Implicit {
    /// Its id, as the command line names it.
    pub id: &'static str,
    /// What it does where nobody says anything.
    pub does: &'static str,
    pub(crate) write: fn(&Asked<'_>, &Options) -> File,
}

/// All that is known.
pub const IMPLICIT: &[Implicit] = &[
    Implicit { id: "istio", does: "3 attempts on every hop of the mesh", write: istio },
    Implicit { id: "kuma", does: "6 attempts on every hop of the mesh", write: kuma },
    Implicit { id: "kong", does: "6 attempts of every service", write: kong },
    Implicit { id: "dapr", does: "4 attempts between applications", write: dapr },
    Implicit { id: "aws", does: "3 attempts of every call, 5 in legacy mode", write: aws },
];

fn file(path: &str, document: Map) -> File {
    File { path: path.to_owned(), text: yaml(&[document]) }
}

/// An empty block switches the inbound policy off, a number of 0 the outbound one.
fn istio(_: &Asked<'_>, _: &Options) -> File {
    let mesh = Map::new()
        .with("defaultHttpRetryPolicy", Map::new().with("attempts", 0_u32))
        .with("defaultInboundHttpRetryPolicy", Map::new());
    let note = "Values of Istio's chart: no retry where no VirtualService says one.";
    file("off-istio.yaml", Map::new().with("meshConfig", mesh).headed([note.to_owned()]))
}

/// A number of 0 for the mesh outweighs the policy that Kuma makes with it.
fn kuma(asked: &Asked<'_>, options: &Options) -> File {
    let off = || Map::new().with("numRetries", 0_u32);
    let default = || {
        Map::new()
            .with("http", off())
            .with("grpc", off())
            .with("tcp", Map::new().with("maxConnectAttempt", 1_u32))
    };
    let to = asked
        .callees()
        .into_iter()
        .map(|callee| {
            let target = Map::new().with("kind", "MeshService").with("name", callee);
            Map::new().with("targetRef", target).with("default", default())
        })
        .collect::<Vec<_>>();
    let spec = Map::new().with("targetRef", Map::new().with("kind", "Mesh")).with("to", to);
    let note =
        "Kuma makes a policy of 5 retries with every mesh; a 0 for each callee outweighs it.";
    let object = object("kuma.io/v1alpha1", "MeshRetry", "damper-off", options)
        .headed([note.to_owned()])
        .with("spec", spec);
    file("off-kuma.yaml", object)
}

fn kong(asked: &Asked<'_>, options: &Options) -> File {
    let services = asked
        .callees()
        .into_iter()
        .map(|callee| {
            let (host, port) = options.address(callee);
            Map::new()
                .with("name", callee)
                .with("url", format!("http://{host}:{port}"))
                .with("retries", 0_u32)
        })
        .collect::<Vec<_>>();
    let note = "Kong tries 5 times more where a service says no number.";
    let document = Map::new()
        .with("_format_version", "3.0")
        .headed([note.to_owned()])
        .with("services", services);
    file("off-kong.yaml", document)
}

/// An entry for the application removes the built-in policy; a built-in name with fewer than 3 is
/// raised to 3 again.
fn dapr(asked: &Asked<'_>, options: &Options) -> File {
    let retry = Map::new().with("policy", "constant").with("maxRetries", 0_u32);
    let apps = asked
        .callees()
        .into_iter()
        .fold(Map::new(), |apps, callee| apps.with(callee, Map::new().with("retry", "once")));
    let spec = Map::new()
        .with("policies", Map::new().with("retries", Map::new().with("once", retry)))
        .with("targets", Map::new().with("apps", apps));
    let note = "Dapr retries 3 times where an application has no entry; redefining the built-in \
                policy does not switch it off, a target does.";
    let object = object("dapr.io/v1alpha1", "Resiliency", "damper-off", options)
        .headed([note.to_owned()])
        .with("spec", spec);
    file("off-dapr.yaml", object)
}

fn aws(_: &Asked<'_>, _: &Options) -> File {
    let text = "# The AWS SDKs make 3 attempts, 5 in legacy mode. The number is a total.\n\
                AWS_RETRY_MODE=standard\nAWS_MAX_ATTEMPTS=1\n";
    File { path: "off-aws.env".to_owned(), text: text.to_owned() }
}
