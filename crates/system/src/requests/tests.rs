use super::*;

fn check(text: &str) -> Result<(), BadPlaceholder> {
    match text.contains("{{conter}}") {
        true => Err(("there is no placeholder `conter`".into(), Some("{{counter}}".into()))),
        false => Ok(()),
    }
}

fn parse(text: &str) -> Result<RequestFile, String> {
    RequestFile::parse("requests.yaml", text, &check)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

const WHOLE: &str = "\
requests: 1
classes: [high, low]
headers: {Accept: application/json, x-a: all}
send:
  home: {path: /}
  order:
    method: POST
    path: /orders/{{counter}}
    headers: {x-a: own}
    body: '{\"n\": 1}'
    weight: 2.5
    class: low
    expect: [201, 409]
";

#[test]
fn a_whole_file() {
    let file = parse(WHOLE).unwrap();
    assert_eq!(file.classes, ["high", "low"]);
    let [home, order] = file.requests.as_slice() else { panic!("{file:?}") };
    assert_eq!((home.method.as_str(), home.path.as_str(), home.weight), ("GET", "/", 1.0));
    assert_eq!((home.class, home.body.as_deref(), home.expect.len()), (None, None, 0));
    assert_eq!((order.class, order.weight), (Some(1), 2.5));
    assert_eq!(order.expect, [201, 409]);
    let headers = [("x-a", "own"), ("accept", "application/json")];
    assert_eq!(order.headers, headers.map(|(name, value)| (name.into(), value.into())));
}

#[test]
fn mistakes_have_their_places() {
    let text = "\
requests: 2
classes: [high, high]
send:
  a: {path: search, mehtod: POST}
  b: {path: \"/{{conter}}\", class: hihg, expect: 99, weight: -1}
  c: {headers: {\"a b\": x, content-length: 3, y: \"a\\nb\"}}
";
    insta::assert_snapshot!(parse(text).unwrap_err());
}

#[test]
fn files_that_say_nothing() {
    for (text, message) in [
        ("", "the file is empty"),
        ("requests: 1", "`send` is missing"),
        ("requests: 1\nsend: {}", "nothing is sent"),
        ("requests: 1\nsend: {a: {path: /, weight: 0}}", "every weight is zero"),
        ("requests: 1\nsend: [", "this is not valid YAML"),
    ] {
        let why = parse(text).unwrap_err();
        assert!(why.contains(message), "{text:?}: {why}");
    }
}

#[test]
fn no_prefix_of_a_file_panics() {
    for end in 0..WHOLE.len() {
        let _ = parse(&WHOLE[..end]);
    }
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema = crate::request_schema();
    let valid = jsonschema::validator_for(&schema).unwrap();
    let json = |text: &str| crate::yaml::parse(text, 0, 0).unwrap().root.to_json();
    assert!(valid.is_valid(&json(WHOLE)));
    for wrong in [
        "requests: 2\nsend: {a: {path: /}}",
        "requests: 1\nsend: {a: {path: /, method: FETCH}}",
        "requests: 1\nsend: {a: {}}",
        "requests: 1\nsend: {a: {path: /, headers: {\"a b\": x}}}",
    ] {
        assert!(!valid.is_valid(&json(wrong)) && parse(wrong).is_err(), "{wrong}");
    }
}
