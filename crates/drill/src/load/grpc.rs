//! Messages of gRPC: which methods there are, what they take, and JSON that becomes it.

mod frames;
mod reflect;

use prost_reflect::prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
};
use serde_json::Value;

use super::Text;
use super::text::Filling;

pub use frames::Received;
pub(super) use frames::{Frames, frame};
pub use reflect::{NoReflection, reflect};

/// The methods of some services, as their descriptors say.
#[derive(Clone, Debug)]
pub struct Methods(DescriptorPool);

/// The message that a method takes, or the messages.
#[derive(Clone, Debug)]
pub struct Takes {
    message: MessageDescriptor,
    /// A list in a body is several of them.
    several: bool,
}

/// No call has more messages.
const MOST_MESSAGES: usize = 1_000;

/// Why a file does not say what methods take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDescriptors {
    /// It is something else, or not whole.
    #[error(
        "this is no set of descriptors (`protoc --include_imports --descriptor_set_out=FILE`, \
         `buf build -o FILE.binpb`): {0}"
    )]
    Unreadable(String),
    /// No service is in it.
    #[error("these descriptors have no service")]
    NoService,
}

/// Why something is not a call of one of the methods.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCall {
    /// There is no such method.
    #[error("there is no method {path}")]
    NoMethod {
        /// As it was asked for.
        path: String,
        /// The one that was probably meant.
        near: Option<String>,
        /// All of them.
        known: Vec<String>,
    },
    /// The path of a call that is checked ahead must stand as it is.
    #[error("nothing can be filled into the path of a call")]
    Filled,
    /// The body is not such a message.
    #[error("this is no {message}: {why}")]
    NoMessage {
        /// Its name.
        message: String,
        /// What is wrong.
        why: String,
        /// The field that was probably meant.
        near: Option<String>,
        /// The fields that there are.
        known: Vec<String>,
    },
}

impl Methods {
    /// Of a file descriptor set, as `protoc` and `buf` make it.
    ///
    /// # Errors
    /// It is none, lacks what its files import, or has no service.
    pub fn read(bytes: &[u8]) -> Result<Self, BadDescriptors> {
        let of = |mut pool: DescriptorPool| pool.decode_file_descriptor_set(bytes).map(|()| pool);
        let read = of(DescriptorPool::new());
        // Without `--include_imports` the types that everybody has may still be all that is missing.
        let pool = match read {
            Ok(pool) => pool,
            Err(_) => of(DescriptorPool::global())
                .map_err(|why| BadDescriptors::Unreadable(why.to_string()))?,
        };
        Self::of(pool)
    }

    fn of(pool: DescriptorPool) -> Result<Self, BadDescriptors> {
        if pool.services().len() == 0 {
            return Err(BadDescriptors::NoService);
        }
        Ok(Self(pool))
    }

    fn all(&self) -> impl Iterator<Item = MethodDescriptor> + '_ {
        self.0.services().flat_map(|service| service.methods().collect::<Vec<_>>())
    }

    /// The paths of all methods.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.all().map(|method| path(&method)).collect()
    }

    /// The message that a call takes, which its body must be once it is filled in. Without a body it
    /// is the empty one. Where a method takes a stream of messages a list is several of them.
    ///
    /// # Errors
    /// There is no such method, or the body is no such message.
    pub fn takes(&self, of: &Text, body: Option<&Text>) -> Result<Takes, BadCall> {
        let asked = of.fixed().ok_or(BadCall::Filled)?;
        let method = self.all().find(|method| path(method) == asked).ok_or_else(|| {
            let known = self.paths();
            let near = nearest(asked, &known);
            BadCall::NoMethod { path: asked.to_owned(), near, known }
        })?;
        let takes = Takes { message: method.input(), several: method.is_client_streaming() };
        if let Some(body) = body {
            let mut text = Vec::new();
            body.fill(Filling { seed: 0, number: 0, class: "default" }, 0, &mut text);
            takes.check(&text)?;
        }
        Ok(takes)
    }
}

impl Takes {
    /// The message that a JSON text is as it is sent, or its messages; `None`: it is none.
    pub(super) fn encode(&self, json: &[u8]) -> Option<Vec<u8>> {
        let mut wire = Vec::new();
        for message in self.messages(json).ok()? {
            frame(&message.encode_to_vec(), &mut wire)?;
        }
        Some(wire)
    }

    fn messages(&self, json: &[u8]) -> Result<Vec<DynamicMessage>, String> {
        let words = |why: serde_json::Error| why.to_string();
        if self.several && json.trim_ascii_start().starts_with(b"[") {
            let items: Vec<Value> = serde_json::from_slice(json).map_err(words)?;
            if items.len() > MOST_MESSAGES {
                return Err(format!("{} messages, and 1,000 is the most", items.len()));
            }
            let one = |item| DynamicMessage::deserialize(self.message.clone(), item);
            return items.into_iter().map(|item| one(item).map_err(words)).collect();
        }
        let mut reader = serde_json::Deserializer::from_slice(json);
        let message = DynamicMessage::deserialize(self.message.clone(), &mut reader);
        let message = message.map_err(words)?;
        reader.end().map_err(words)?;
        Ok(vec![message])
    }

    fn check(&self, json: &[u8]) -> Result<(), BadCall> {
        let bad = |why: String, near: Option<String>, known: Vec<String>| BadCall::NoMessage {
            message: self.message.full_name().to_owned(),
            why,
            near,
            known,
        };
        let value: Value =
            serde_json::from_slice(json).map_err(|why| bad(why.to_string(), None, Vec::new()))?;
        let found = match &value {
            Value::Array(items) if self.several => {
                items.iter().find_map(|item| unknown(item, &self.message, 0))
            }
            value => unknown(value, &self.message, 0),
        };
        if let Some((name, of)) = found {
            let known: Vec<String> =
                of.fields().map(|field| field.json_name().to_owned()).collect();
            let near = nearest(&name, &known);
            return Err(bad(format!("{} has no field `{name}`", of.full_name()), near, known));
        }
        let read = self.messages(json).map(|_| ());
        read.map_err(|why| {
            let list = value.is_array() && !self.several;
            let why =
                if list { "a list, and the method takes one message".to_owned() } else { why };
            bad(why, None, Vec::new())
        })
    }
}

fn path(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

/// What is looked for in messages within messages.
const DEPTH: u32 = 64;

/// The first field that a message does not have, and which message that is.
fn unknown(
    value: &Value,
    of: &MessageDescriptor,
    depth: u32,
) -> Option<(String, MessageDescriptor)> {
    // These have forms of their own in JSON.
    if depth > DEPTH || of.full_name().starts_with("google.protobuf.") {
        return None;
    }
    value.as_object()?.iter().find_map(|(name, value)| {
        let field = of.get_field_by_json_name(name).or_else(|| of.get_field_by_name(name));
        match field {
            Some(field) => within(value, &field, depth + 1),
            // Extensions are written in brackets.
            None if name.starts_with('[') => None,
            None => Some((name.clone(), of.clone())),
        }
    })
}

fn within(
    value: &Value,
    field: &FieldDescriptor,
    depth: u32,
) -> Option<(String, MessageDescriptor)> {
    let Kind::Message(inner) = field.kind() else { return None };
    if field.is_map() {
        let Kind::Message(inner) = inner.map_entry_value_field().kind() else { return None };
        return value.as_object()?.values().find_map(|value| unknown(value, &inner, depth));
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| unknown(item, &inner, depth)),
        value => unknown(value, &inner, depth),
    }
}

/// The one of `known` that is most like a word.
fn nearest(word: &str, known: &[String]) -> Option<String> {
    let distance = |one: &&String| strsim::damerau_levenshtein(word, one);
    let near = known.iter().min_by_key(distance)?;
    (distance(&near) <= 2 + word.len() / 8).then(|| near.clone())
}

#[cfg(test)]
mod tests;
