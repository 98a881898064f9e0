//! Who calls whom, as code says it: clients that are made from a description of an interface (gRPC,
//! OpenAPI), and addresses that hold the name of a service.
//!
//! Only services that the configuration names count, on both ends: a name in code by itself may be
//! anything. What is called by code whose service is not known is listed and no call.

mod homes;
mod shapes;

use std::collections::HashMap;

use damper_config::reading::Call;
use damper_config::{Name, Reading};

pub use homes::Homes;

use crate::language::Language;
use crate::tree::{Id, Kind, Tree};

/// Clients of one file that are kept.
const MOST: usize = 200;

/// A client in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Whom it calls.
    pub callee: Name,
    /// The line.
    pub line: u32,
    /// What says so: `NewCartServiceClient`, `http://orders`.
    pub evidence: String,
    /// Over what.
    pub protocol: Option<&'static str>,
}

/// The services that configuration names.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// By their own names.
    exact: HashMap<String, Name>,
    /// By their names without signs and without `service`; `None`: two are called so.
    bare: HashMap<String, Option<Name>>,
}

/// A name as it may also be written: small letters, no signs, no `service` at its end.
pub(crate) fn bare(name: &str) -> String {
    let word = name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    word.strip_suffix("service").filter(|rest| !rest.is_empty()).map(str::to_owned).unwrap_or(word)
}

impl Services {
    /// All that files of configuration name.
    pub fn of<'r>(readings: impl Iterator<Item = &'r Reading>) -> Self {
        let mut all = Self::default();
        for reading in readings {
            let calls = reading.calls.iter();
            let called = calls.flat_map(|call| call.caller.iter().chain([&call.callee]));
            for name in reading.services.iter().map(|service| &service.name).chain(called) {
                all.add(name);
            }
        }
        all
    }

    fn add(&mut self, name: &Name) {
        // A host of the world is nobody's code.
        if name.service.contains('.') {
            return;
        }
        // The name with a namespace and the one without are one service.
        let known = self.exact.entry(name.service.clone()).or_insert_with(|| name.clone());
        if known.namespace != name.namespace {
            known.namespace = None;
        }
        let known = known.clone();
        self.bare
            .entry(bare(&name.service))
            .and_modify(|one| {
                *one = one.take().filter(|one| one.service == known.service).map(|_| known.clone());
            })
            .or_insert(Some(known));
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty()
    }

    /// The service of a host.
    fn of_host(&self, host: &str) -> Option<&Name> {
        let named = Name::of_host(host, None)?;
        self.exact.get(&named.service).filter(|known| known.matches(&named))
    }

    /// The service that a description of an interface is named after.
    fn of_interface(&self, name: &str) -> Option<&Name> {
        self.bare.get(&bare(name))?.as_ref()
    }
}

/// Whether a text may have a client in it that [`find`] would find.
#[must_use]
pub fn worth(text: &str) -> bool {
    shapes::MARKS.iter().any(|mark| text.contains(mark))
}

/// The clients of a file, each callee once.
#[must_use]
pub fn find(tree: &Tree<'_>, language: Language, services: &Services) -> Vec<Client> {
    let mut all: Vec<Client> = Vec::new();
    for id in tree.ids() {
        let found = match tree.kind(id) {
            Kind::Call { callee, args, new } if !args.is_empty() => {
                made(tree, language, (id, *callee, *new), services)
                    .or_else(|| addressed(tree, *callee, args, services))
            }
            Kind::Text(text) => url(text, services).map(|name| (name, shown(text), Some("http"))),
            _ => None,
        };
        if let Some((callee, evidence, protocol)) = found
            && !all.iter().any(|one| one.callee == *callee)
            && all.len() < MOST
        {
            let line = tree.span(id).line;
            all.push(Client { callee: callee.clone(), line, evidence, protocol });
        }
    }
    all
}

/// A few letters of a text, without what may be secret in a URL.
fn shown(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    host.chars().take(60).collect()
}

type Made<'s> = (&'s Name, String, Option<&'static str>);

/// A client that is made from a description.
fn made<'s>(
    tree: &Tree<'_>,
    language: Language,
    (call, callee, new): (Id, Id, bool),
    services: &'s Services,
) -> Option<Made<'s>> {
    let path = tree.path(callee)?;
    let with_credentials =
        || shapes::CREDENTIALS.iter().any(|word| tree.source(call).contains(word));
    let (name, protocol) = shapes::interface(language, &path, new, with_credentials)?;
    let service = services.of_interface(name)?;
    Some((service, path.join("."), protocol))
}

/// A service's own name where an address is asked for: `urlOf("orders")`, `dial("orders:80")`.
fn addressed<'s>(
    tree: &Tree<'_>,
    callee: Id,
    args: &[crate::tree::Arg<'_>],
    services: &'s Services,
) -> Option<Made<'s>> {
    let name = tree.last_name(callee)?.to_ascii_lowercase();
    shapes::ADDRESSES.iter().find(|word| name.contains(**word))?;
    args.iter().find_map(|arg| match tree.kind(arg.value) {
        Kind::Text(text) if !text.contains("://") && !text.contains(char::is_whitespace) => {
            // Who asks for a URL speaks HTTP; a channel may be for anything.
            let http = ["url", "uri", "feign"].iter().any(|word| name.contains(word));
            let evidence = format!("{name} {}", shown(text));
            Some((services.of_host(text)?, evidence, http.then_some("http")))
        }
        _ => None,
    })
}

/// The service of a URL.
fn url<'s>(text: &str, services: &'s Services) -> Option<&'s Name> {
    let (scheme, rest) = text.split_once("://")?;
    let known = shapes::SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
    // `http://${host}/`: a placeholder is no name.
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.contains(['$', '{', '%']))?;
    known.then(|| services.of_host(host))?
}

/// Clients as calls of their service.
#[must_use]
pub fn calls(caller: &Name, clients: &[Client]) -> Vec<Call> {
    let call = |client: &Client| Call {
        caller: Some(caller.clone()),
        callee: client.callee.clone(),
        line: client.line,
        evidence: format!("code {}", client.evidence),
        count: None,
        protocol: client.protocol,
    };
    let others = clients.iter().filter(|client| !client.callee.matches(caller));
    others.map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower;

    fn services() -> Services {
        let mut all = Services::default();
        for name in ["cartservice", "product-catalog", "orders", "ts-order-service", "api"] {
            all.add(&Name::new(name, Some("shop")));
        }
        all
    }

    fn of(language: Language, text: &str) -> Vec<(String, u32)> {
        assert!(worth(text), "{text}");
        let tree = lower::tree(language, text).expect("a tree");
        let found = find(&tree, language, &services());
        found.into_iter().map(|one| (one.callee.service, one.line)).collect()
    }

    fn one(name: &str, line: u32) -> Vec<(String, u32)> {
        vec![(name.to_owned(), line)]
    }

    #[test]
    fn constructors_of_clients_name_services() {
        let cart = one("cartservice", 2);
        for (language, text) in [
            (Language::Go, "package p\nvar c = pb.NewCartServiceClient(conn)"),
            (Language::Python, "import x\nstub = demo_pb2_grpc.CartServiceStub(channel)"),
            (Language::Java, "class A {\nObject c = CartServiceGrpc.newBlockingStub(channel); }"),
            (Language::Kotlin, "\nval c = CartServiceGrpcKt.CartServiceCoroutineStub(channel)"),
            (Language::CSharp, "class A {\nobject c = new Cart.CartServiceClient(channel); }"),
            (
                Language::JavaScript,
                "\nconst c = new shop.CartService(addr, grpc.credentials.createInsecure());",
            ),
            (Language::TypeScript, "\nconst c = new CartServiceClient(addr, insecure);"),
            (Language::Rust, "fn f() {\nlet c = CartServiceClient::connect(addr); }"),
            (Language::Ruby, "\nc = Shop::CartService::Stub.new(addr, creds)"),
        ] {
            assert_eq!(of(language, text), cart, "{language:?}");
        }
        let catalog = one("product-catalog", 2);
        let text = "package p\nvar c = pb.NewProductCatalogServiceClient(conn)";
        assert_eq!(of(Language::Go, text), catalog);
        assert_eq!(
            of(Language::Java, "class A {\nvar a = new OrdersApi(client); }"),
            one("orders", 2)
        );
    }

    #[test]
    fn addresses_name_services() {
        let text = "\nr = requests.get('http://orders:8080/x?key=1')\n";
        assert_eq!(of(Language::Python, text), one("orders", 2));
        let text =
            "class A {\nString u = getServiceUrl(\"ts-order-service\"); String v = \"x://\"; }";
        assert_eq!(of(Language::Java, text), one("ts-order-service", 2));
        let text = "package p\nvar c, _ = grpc.Dial(\"orders.shop:80\") // NewXClient(";
        assert_eq!(of(Language::Go, text), one("orders", 2));
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "package p\nvar c = openapi.NewAPIClient(conf)",
            "package p\nvar u = \"http://localhost/orders\"",
            "package p\nvar u = \"http://orders.other:80/\" // of another namespace",
            "package p\nvar u = log(\"orders\") // http://",
        ] {
            assert_eq!(of(Language::Go, text), [], "{text}");
        }
    }

    #[test]
    fn two_services_of_one_bare_name_are_not_told_apart() {
        let mut all = services();
        all.add(&Name::new("order-s", None));
        assert!(all.of_interface("OrdersService").is_none());
        all.add(&Name::new("api.example.com", None));
        assert_eq!(all.of_host("api.example.com"), None, "a host of the world");
        assert_eq!(all.of_host("orders").map(|name| name.service.as_str()), Some("orders"));
    }
}
