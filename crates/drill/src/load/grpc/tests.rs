use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    MethodDescriptorProto, ServiceDescriptorProto,
};

use super::*;

fn field(
    name: &str,
    number: i32,
    kind: Type,
    of: Option<&str>,
    many: bool,
) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        r#type: Some(kind.into()),
        label: Some(if many { Label::Repeated } else { Label::Optional }.into()),
        type_name: of.map(Into::into),
        ..FieldDescriptorProto::default()
    }
}

fn method(name: &str, streams: bool) -> MethodDescriptorProto {
    MethodDescriptorProto {
        name: Some(name.into()),
        input_type: Some(".shop.Order".into()),
        output_type: Some(".shop.Item".into()),
        client_streaming: Some(streams),
        ..MethodDescriptorProto::default()
    }
}

/// `shop.Orders`, with `Place(Order)` and `Many(stream Order)`.
fn shop() -> FileDescriptorSet {
    let item = DescriptorProto {
        name: Some("Item".into()),
        field: vec![field("article_number", 1, Type::Int64, None, false)],
        ..DescriptorProto::default()
    };
    let order = DescriptorProto {
        name: Some("Order".into()),
        field: vec![
            field("id", 1, Type::String, None, false),
            field("items", 2, Type::Message, Some(".shop.Item"), true),
            field("at", 3, Type::Message, Some(".google.protobuf.Timestamp"), false),
        ],
        ..DescriptorProto::default()
    };
    let service = ServiceDescriptorProto {
        name: Some("Orders".into()),
        method: vec![method("Place", false), method("Many", true)],
        ..ServiceDescriptorProto::default()
    };
    let file = FileDescriptorProto {
        name: Some("shop.proto".into()),
        package: Some("shop".into()),
        syntax: Some("proto3".into()),
        dependency: vec!["google/protobuf/timestamp.proto".into()],
        message_type: vec![item, order],
        service: vec![service],
        ..FileDescriptorProto::default()
    };
    FileDescriptorSet { file: vec![file] }
}

fn methods() -> Methods {
    Methods::read(&shop().encode_to_vec()).unwrap()
}

fn text(text: &str) -> Text {
    Text::parse(text, |_| None).unwrap()
}

fn takes(path: &str, body: &str) -> Result<Takes, BadCall> {
    methods().takes(&text(path), Some(&text(body)))
}

#[test]
fn json_becomes_the_message_of_the_method() {
    let takes = takes("/shop.Orders/Place", "{\"id\": \"a{{counter}}\"}").unwrap();
    // By hand: field 1 as text; field 2 as a message with field 1 = 300, a varint.
    let json = br#"{"id": "a7", "items": [{"articleNumber": "300"}]}"#;
    assert_eq!(takes.encode(json).unwrap(), b"\0\0\0\0\x09\x0a\x02a7\x12\x03\x08\xac\x02");
    assert_eq!(takes.encode(b"{}").unwrap(), b"\0\0\0\0\0");
    assert_eq!(takes.encode(b"{\"id\": 3}"), None);
    assert!(methods().takes(&text("/shop.Orders/Place"), None).is_ok());
}

#[test]
fn what_is_no_call_is_said_with_what_was_meant() {
    let why = |path: &str, body: &str| takes(path, body).unwrap_err();
    let BadCall::NoMethod { near, known, .. } = why("/shop.Orders/Plaec", "{}") else { panic!() };
    assert_eq!(near.as_deref(), Some("/shop.Orders/Place"));
    assert_eq!(known, ["/shop.Orders/Place", "/shop.Orders/Many"]);
    assert!(matches!(why("/nothing", "{}"), BadCall::NoMethod { near: None, .. }));
    assert_eq!(why("/shop.Orders/{{counter}}", "{}"), BadCall::Filled);
    let BadCall::NoMessage { why: words, near, known, .. } =
        why("/shop.Orders/Place", "{\"items\": [{\"articleNumbr\": 1}]}")
    else {
        panic!()
    };
    assert_eq!(words, "shop.Item has no field `articleNumbr`");
    assert_eq!((near.as_deref(), known.len()), (Some("articleNumber"), 1));
    for path in ["/shop.Orders/Place", "/shop.Orders/Many"] {
        for body in ["", "[[]]", "{\"id\": 3}", "{} {}", "{\"at\": \"today\"}"] {
            let wrong = why(path, body);
            assert!(wrong.to_string().starts_with("this is no shop.Order: "), "{body}: {wrong}");
        }
    }
    let wrong = why("/shop.Orders/Place", "[]").to_string();
    assert_eq!(wrong, "this is no shop.Order: a list, and the method takes one message");
    assert!(takes("/shop.Orders/Place", "{\"at\": \"2026-01-02T03:04:05Z\"}").is_ok());
}

#[test]
fn a_list_is_the_messages_of_a_stream() {
    let takes = takes("/shop.Orders/Many", "[{\"id\": \"a\"}, {}]").unwrap();
    let wire = takes.encode(b" [{\"id\": \"a\"}, {}]").unwrap();
    assert_eq!(wire, b"\0\0\0\0\x03\x0a\x01a\0\0\0\0\0");
    assert_eq!(takes.encode(b"{}").unwrap(), b"\0\0\0\0\0", "one message is a stream, too");
    assert_eq!(takes.encode(b"[]").unwrap(), b"");
    let why = |body: &str| methods().takes(&text("/shop.Orders/Many"), Some(&text(body)));
    let BadCall::NoMessage { near, .. } = why("[{}, {\"idd\": 1}]").unwrap_err() else { panic!() };
    assert_eq!(near.as_deref(), Some("id"));
    let many = format!("[{}{{}}]", "{},".repeat(MOST_MESSAGES));
    let why = why(&many).unwrap_err().to_string();
    assert_eq!(why, "this is no shop.Order: 1001 messages, and 1,000 is the most");
}

#[test]
fn descriptors_that_say_nothing_are_refused() {
    assert!(matches!(Methods::read(b"nonsense"), Err(BadDescriptors::Unreadable(_))));
    assert_eq!(Methods::read(b"").unwrap_err(), BadDescriptors::NoService);
    let mut lacking = shop();
    lacking.file[0].dependency.push("other.proto".into());
    let why = Methods::read(&lacking.encode_to_vec()).unwrap_err().to_string();
    assert!(why.contains("--include_imports") && why.contains("other.proto"), "{why}");
}
