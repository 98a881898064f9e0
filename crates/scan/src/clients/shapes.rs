//! How clients are made in each language: what generators of code call their constructors.

use crate::language::Language;

/// Words of which a text with a client has one.
pub(super) const MARKS: &[&str] = &[
    "Client(",
    "Client::",
    "Stub(",
    "Stub.new",
    "Api(",
    "://",
    "credentials",
    "Url(",
    "url(",
    "Dial",
];

/// Words of the second argument of a client of gRPC in JavaScript, whose classes have any name.
pub(super) const CREDENTIALS: &[&str] = &["credentials.", "ChannelCredentials", "createInsecure"];

/// Schemes of addresses that are called.
pub(super) const SCHEMES: &[&str] = &["http", "https", "grpc", "dns", "lb", "ws", "wss"];

/// Words in the names of functions that ask for an address, in small letters.
pub(super) const ADDRESSES: &[&str] =
    &["url", "dial", "feignclient", "fortarget", "foraddress", "channel", "newclient", "baseuri"];

/// Names that are those of a kind of client and not of a service.
const KINDS: &[&str] = &[
    "api", "http", "https", "rest", "grpc", "rpc", "default", "base", "test", "mock", "fake", "web",
];

/// Where in the path of a constructor the name stands, counted from its end.
#[derive(Clone, Copy)]
struct Shape {
    languages: &'static [Language],
    /// The name of the interface stands so many parts before the last.
    back: usize,
    prefix: &'static str,
    suffix: &'static str,
    /// What stands after it; none: nothing.
    after: &'static [&'static str],
    /// Whether `new` must stand before it.
    new: bool,
    /// Whether credentials must be among the arguments.
    credentials: bool,
    protocol: Option<&'static str>,
}

const PLAIN: Shape = Shape {
    languages: &[],
    back: 0,
    prefix: "",
    suffix: "",
    after: &[],
    new: false,
    credentials: false,
    protocol: None,
};

const SCRIPTS: &[Language] = &[Language::JavaScript, Language::TypeScript, Language::Tsx];

const SHAPES: &[Shape] = &[
    // protoc-gen-go-grpc, and whoever names constructors as Go does.
    Shape { languages: &[Language::Go], prefix: "New", suffix: "Client", ..PLAIN },
    // grpc-java.
    Shape {
        languages: &[Language::Java, Language::Kotlin],
        back: 1,
        suffix: "Grpc",
        after: &["newBlockingStub", "newStub", "newFutureStub", "newBlockingV2Stub"],
        protocol: Some("grpc"),
        ..PLAIN
    },
    // grpc-kotlin.
    Shape {
        languages: &[Language::Kotlin],
        suffix: "CoroutineStub",
        protocol: Some("grpc"),
        ..PLAIN
    },
    // grpcio-tools.
    Shape { languages: &[Language::Python], suffix: "Stub", protocol: Some("grpc"), ..PLAIN },
    Shape { languages: &[Language::Python], suffix: "Client", ..PLAIN },
    // Grpc.Tools, grpc-web, PHP; clients that are named so.
    Shape { languages: &[Language::CSharp, Language::Php], suffix: "Client", new: true, ..PLAIN },
    Shape { languages: &[Language::Java, Language::Kotlin], suffix: "Client", new: true, ..PLAIN },
    Shape { languages: SCRIPTS, suffix: "Client", new: true, ..PLAIN },
    // grpc-js with descriptions that are loaded as it runs: the class is called as the service is.
    Shape { languages: SCRIPTS, new: true, credentials: true, protocol: Some("grpc"), ..PLAIN },
    // tonic.
    Shape {
        languages: &[Language::Rust],
        back: 1,
        suffix: "Client",
        after: &["connect", "new", "with_interceptor", "with_origin"],
        ..PLAIN
    },
    // The gem grpc.
    Shape {
        languages: &[Language::Ruby],
        back: 1,
        after: &["Stub"],
        new: true,
        protocol: Some("grpc"),
        ..PLAIN
    },
    // openapi-generator.
    Shape {
        languages: &[Language::Java, Language::Kotlin, Language::CSharp],
        suffix: "Api",
        new: true,
        protocol: Some("http"),
        ..PLAIN
    },
    Shape { languages: SCRIPTS, suffix: "Api", new: true, protocol: Some("http"), ..PLAIN },
    Shape { languages: &[Language::Python], suffix: "Api", protocol: Some("http"), ..PLAIN },
];

/// The name of the interface whose client a path constructs, and over what it is called.
pub(super) fn interface<'p>(
    language: Language,
    path: &[&'p str],
    new: bool,
    with_credentials: impl Fn() -> bool,
) -> Option<(&'p str, Option<&'static str>)> {
    SHAPES.iter().find_map(|shape| {
        if !shape.languages.contains(&language) || shape.new && !new {
            return None;
        }
        let at = path.len().checked_sub(1 + shape.back)?;
        let after = path.get(at + 1..)?;
        let follows = match shape.back {
            1 => shape.after.contains(after.first()?),
            _ => shape.after == after,
        };
        let name = path.get(at)?.strip_prefix(shape.prefix)?.strip_suffix(shape.suffix)?;
        let known = !name.is_empty() && !KINDS.contains(&name.to_ascii_lowercase().as_str());
        (follows && known && (!shape.credentials || with_credentials()))
            .then_some((name, shape.protocol))
    })
}
