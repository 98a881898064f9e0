//! The request file: what a load sends. Read by the tables and with the messages of the system file.

use std::path::{Path, PathBuf};

use crate::document::{Document, Format};
use crate::node::{Entry, Node, Value, quoted};
use crate::problem::{Draft, Problems};
use crate::read::{Fields, NameList, Reader, Val};
use crate::schema::{Kind, Names, Section, optional, otherwise, required};
use crate::source::Span;

static FORMAT: Format = Format {
    most: 4 << 20,
    what: "a request file (YAML, UTF-8)",
    like: "a file such as the one in docs/load.md",
};
const MAX_REQUESTS: usize = 1_000;
const MAX_HEADERS: usize = 100;
const MAX_CLASSES: usize = 16;

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const STATUS: Kind = Kind::Count { min: 100, max: 599 };
const HEADERS: Kind = Kind::Map(Names::Header, &Kind::Text);

pub(crate) static REQUESTS: Section = Section {
    name: "request-file",
    doc: "The requests of a load. Texts may have placeholders such as `{{counter}}`.",
    keys: &[
        required("requests", Kind::Count { min: 1, max: 1 }, "version of this format"),
        optional(
            "classes",
            Kind::List(&Kind::Text),
            "[default]",
            "priority classes, the highest first; at most 16",
        ),
        optional(
            "headers",
            HEADERS,
            "{}",
            "headers of every request that does not set them itself",
        ),
        otherwise(
            "descriptors",
            Kind::Text,
            "bodies are sent as they are",
            "gRPC: a file descriptor set (`protoc --include_imports --descriptor_set_out`, `buf build`), from the folder of this file; bodies are JSON and become the messages of their methods",
        ),
        required(
            "send",
            Kind::Map(Names::Request, &Kind::Section(&REQUEST)),
            "what is sent, by name",
        ),
    ],
};

static REQUEST: Section = Section {
    name: "request",
    doc: "One kind of request.",
    keys: &[
        required(
            "path",
            Kind::Text,
            "the path with the query, from `/` on; of gRPC `/PACKAGE.SERVICE/METHOD`",
        ),
        optional("method", Kind::Word(METHODS), "GET", "the method"),
        optional("headers", HEADERS, "{}", "headers beside those of the protocol"),
        otherwise(
            "body",
            Kind::Text,
            "no body",
            "the body as a text; with `descriptors` the message as JSON",
        ),
        optional(
            "weight",
            Kind::Number { min: 0.0, max: 1e6 },
            "1",
            "how often, beside the weights of the others",
        ),
        otherwise(
            "class",
            Kind::Name(Names::Class),
            "shared out by `--class-mix`, or the first class",
            "its priority class, sent as `x-damper-class`",
        ),
        otherwise("expect", Kind::OneOrMany(&STATUS), "200 to 299", "statuses that are good"),
    ],
};

/// A request file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFile {
    /// Priority classes, the highest first; at least one.
    pub classes: Vec<String>,
    /// A file with descriptors of gRPC, from the current folder.
    pub descriptors: Option<PathBuf>,
    /// Kinds of requests, in the order of the file; at least one, with a weight above zero.
    pub requests: Vec<RequestKind>,
}

/// One kind of request, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestKind {
    /// Its name.
    pub name: String,
    /// The method.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// Headers with those that all have; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// How often, beside the others.
    pub weight: f64,
    /// Index of its class; `None`: the file does not say.
    pub class: Option<usize>,
    /// Statuses that are good; none: 200 to 299.
    pub expect: Vec<u16>,
}

/// What is wrong with a text with placeholders: the sentence, and what was probably meant.
pub type BadPlaceholder = (String, Option<String>);

/// What is wrong with a request as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequest {
    /// It is the body; otherwise the path.
    pub in_body: bool,
    /// The sentence.
    pub message: String,
    /// What would be right.
    pub expected: String,
    /// What was probably meant.
    pub near: Option<String>,
}

/// Looks through what this crate does not know of requests: placeholders, and messages of gRPC.
pub trait Knows {
    /// A text with placeholders.
    ///
    /// # Errors
    /// What is wrong with it.
    fn text(&self, text: &str) -> Result<(), BadPlaceholder>;

    /// Reads the descriptors that a file names, for the requests that follow; `None`: it names none.
    ///
    /// # Errors
    /// In words: they cannot be read.
    fn descriptors(&self, file: Option<&Path>) -> Result<(), String>;

    /// A file with certificates of authorities.
    ///
    /// # Errors
    /// In words: there is none in it.
    fn authorities(&self, _file: &Path) -> Result<(), String> {
        Ok(())
    }

    /// A request whose texts are right.
    ///
    /// # Errors
    /// It is no call of what the descriptors have.
    fn request(&self, path: &str, body: Option<&str>) -> Result<(), BadRequest>;
}

/// Any function that looks through texts; nothing more is known of requests then.
impl<F: Fn(&str) -> Result<(), BadPlaceholder>> Knows for F {
    fn text(&self, text: &str) -> Result<(), BadPlaceholder> {
        self(text)
    }

    fn descriptors(&self, _: Option<&Path>) -> Result<(), String> {
        Ok(())
    }

    fn request(&self, _: &str, _: Option<&str>) -> Result<(), BadRequest> {
        Ok(())
    }
}

impl RequestFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or all that is wrong with it.
    pub fn read(path: &Path, check: &dyn Knows) -> Result<Self, Problems> {
        Self::lower(&Document::read(path, &FORMAT)?, check)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(name: &str, text: &str, check: &dyn Knows) -> Result<Self, Problems> {
        Self::lower(&Document::parse(name, text, PathBuf::new(), &FORMAT)?, check)
    }

    fn lower(document: &Document, check: &dyn Knows) -> Result<Self, Problems> {
        let mut reader = document.reader();
        let file = lower(&mut reader, document.root(), document.base(), check);
        document.conclude(reader, file).map(|(file, _)| file)
    }
}

fn lower(
    reader: &mut Reader<'_>,
    root: &Node,
    base: &Path,
    check: &dyn Knows,
) -> Option<RequestFile> {
    if matches!(root.value, Value::Null) {
        let expected = "`requests: 1` and `send:` with what is sent";
        reader
            .error(Draft::new(root.span, "the file is empty").found("nothing").expected(expected));
        return None;
    }
    let fields = reader.section(root, &REQUESTS, root.span)?;
    let _ = reader.count(&fields, "requests");
    let classes = classes(reader, &fields);
    reader.names.classes = NameList::new(classes.clone());
    let common = headers(reader, &fields, check);
    let descriptors = descriptors(reader, &fields, base, check);
    let entry = fields.entry("send")?;
    let Some(entries) = entry.value.entries().filter(|some| !some.is_empty()) else {
        reader.error(
            Draft::new(entry.value.span, "nothing is sent")
                .found(entry.value.found())
                .expected("a mapping from request names, such as `home: {path: /}`"),
        );
        return None;
    };
    if entries.len() > MAX_REQUESTS {
        let message = format!("there are {} kinds of requests", entries.len());
        reader.error(Draft::new(entry.key.span, message).expected("at most 1_000"));
        return None;
    }
    let requests: Vec<_> =
        entries.iter().filter_map(|entry| kind(reader, entry, &common, check)).collect();
    if requests.len() == entries.len() && requests.iter().all(|kind| kind.weight <= 0.0) {
        reader.error(Draft::new(entry.key.span, "every weight is zero").expected("one above zero"));
    }
    Some(RequestFile { classes, descriptors, requests })
}

/// The descriptors that the file names, which are read before the requests that they describe.
fn descriptors(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    base: &Path,
    check: &dyn Knows,
) -> Option<PathBuf> {
    let name = match reader.value(fields, "descriptors") {
        Some(Val::Text(name)) => Some(name),
        _ => None,
    };
    let path = name.as_ref().map(|name| base.join(name));
    if let Err(why) = check.descriptors(path.as_deref()) {
        let draft = Draft::new(fields.span("descriptors"), why);
        let draft = draft.found(quoted(name.as_deref().unwrap_or_default()));
        reader.error(draft.expected("a file descriptor set, from the folder of this file"));
    }
    path
}

fn classes(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if let Some(node) = fields.node("classes") {
        let items: &[Node] = match &node.value {
            Value::Seq(items) if !items.is_empty() && items.len() <= MAX_CLASSES => items,
            _ => {
                reader.error(
                    Draft::new(node.span, "this is not a list of 1 to 16 classes")
                        .found(node.found())
                        .expected("class names such as `[high, low]`, the highest first"),
                );
                &[]
            }
        };
        for item in items {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            match item.scalar() {
                Some(text) if names.iter().any(|known| known == text) => reader.error(
                    Draft::new(item.span, format!("the class {} stands here twice", quoted(text)))
                        .expected("each class once"),
                ),
                Some(text) if !text.is_empty() && text.chars().all(plain) => {
                    names.push(text.to_owned());
                }
                _ => reader.error(
                    Draft::new(item.span, "this is not a name of a class")
                        .found(item.found())
                        .expected("letters, digits, `-` and `_`"),
                ),
            }
        }
    }
    if names.is_empty() { vec!["default".to_owned()] } else { names }
}

fn kind(
    reader: &mut Reader<'_>,
    entry: &Entry,
    common: &[(String, String)],
    check: &dyn Knows,
) -> Option<RequestKind> {
    let fields = reader.section(&entry.value, &REQUEST, entry.key.span)?;
    let path = text(reader, &fields, "path", check);
    if let Some(path) =
        path.as_deref().filter(|path| !path.starts_with('/') && !path.starts_with("{{"))
    {
        let draft = Draft::new(fields.span("path"), "a path begins with `/`").found(quoted(path));
        let near = format!("/{}", path.split("://").last().unwrap_or(path).trim_start_matches('/'));
        reader.error(draft.expected("a path such as `/search?q=1`").suggest(Some(near)));
    }
    let method = reader.word(&fields, "method").unwrap_or("GET");
    let mut own = headers(reader, &fields, check);
    for (name, value) in common {
        if !own.iter().any(|(known, _)| known == name) {
            own.push((name.clone(), value.clone()));
        }
    }
    let body = text(reader, &fields, "body", check);
    if let Some(path) = &path {
        request(reader, &fields, path, body.as_deref(), check);
    }
    let weight = reader.number(&fields, "weight").unwrap_or(1.0);
    let class = reader.id(&fields, "class");
    let expect = match fields.node("expect") {
        None => Some(Vec::new()),
        Some(node) => reader.one_or_many(node, &STATUS).map(|values| {
            let status = |value| match value {
                Val::Count(status) => u16::try_from(status).ok(),
                _ => None,
            };
            values.into_iter().filter_map(status).collect()
        }),
    };
    Some(RequestKind {
        name: entry.key.text.clone(),
        method: method.to_owned(),
        path: path?,
        headers: own,
        body,
        weight,
        class,
        expect: expect?,
    })
}

/// A request as a whole, if its texts are right.
fn request(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    path: &str,
    body: Option<&str>,
    check: &dyn Knows,
) {
    if [Some(path), body].into_iter().flatten().any(|text| check.text(text).is_err()) {
        return;
    }
    let Err(bad) = check.request(path, body) else { return };
    let (key, found) = if bad.in_body { ("body", body.unwrap_or("")) } else { ("path", path) };
    let draft = Draft::new(fields.span(key), bad.message).found(quoted(found));
    reader.error(draft.expected(bad.expected).suggest(bad.near));
}

/// A text with placeholders, if the key is there.
fn text(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    name: &str,
    check: &dyn Knows,
) -> Option<String> {
    let node = fields.node(name)?;
    // A body may be empty.
    let text = match node.scalar() {
        Some(text) if name == "body" => text.to_owned(),
        _ => match reader.value(fields, name)? {
            Val::Text(text) => text,
            _ => return None,
        },
    };
    placeholders(reader, node.span, &text, check);
    Some(text)
}

fn placeholders(reader: &mut Reader<'_>, at: Span, text: &str, check: &dyn Knows) {
    if let Err((message, near)) = check.text(text) {
        reader.error(
            Draft::new(at, message)
                .found(quoted(text))
                .expected("placeholders such as `{{counter}}`, `{{random 1..9}}`, `{{env NAME}}`")
                .suggest(near),
        );
    }
}

fn headers(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    check: &dyn Knows,
) -> Vec<(String, String)> {
    let Some(node) = fields.node("headers") else { return Vec::new() };
    let Some(entries) = node.entries() else {
        reader.error(
            Draft::new(node.span, "this must be a mapping")
                .found(node.found())
                .expected("header names and their values"),
        );
        return Vec::new();
    };
    if entries.len() > MAX_HEADERS {
        let message = format!("there are {} headers", entries.len());
        reader.error(Draft::new(node.span, message).expected("at most 100"));
        return Vec::new();
    }
    let mut headers: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let name = entry.key.text.to_ascii_lowercase();
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || name.len() > 256 || !name.bytes().all(token) {
            reader.error(
                Draft::new(entry.key.span, "this is not the name of a header")
                    .found(quoted(&entry.key.text))
                    .expected("a name such as `content-type`"),
            );
            continue;
        }
        if ["content-length", "transfer-encoding", "connection"].contains(&name.as_str()) {
            reader.error(
                Draft::new(entry.key.span, format!("`{name}` follows from the request itself"))
                    .expected("another header"),
            );
            continue;
        }
        if headers.iter().any(|(known, _)| *known == name) {
            let message = format!("the header `{name}` stands here twice");
            reader.error(Draft::new(entry.key.span, message).expected("each header once"));
            continue;
        }
        let Some(Val::Text(value)) = reader.scalar(&entry.value, &Kind::Text) else { continue };
        if value.chars().any(char::is_control) {
            reader.error(
                Draft::new(entry.value.span, "there is a control character in this header")
                    .found(quoted(&value))
                    .expected("a value on one line"),
            );
            continue;
        }
        placeholders(reader, entry.value.span, &value, check);
        headers.push((name, value));
    }
    headers
}

#[cfg(test)]
mod tests;
