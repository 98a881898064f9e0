//! `damper lever` and `damper top`, at an admin port that runs.

use damper_proxy::admin::{Options, Running, Token, serve};
use damper_proxy::hop::{Direction, Hop, Outlook};

use crate::program::{Ran, command, finished};

const TOKEN: &str = "0123456789abcdef-0123456789abcdef";

fn port(hops: &[&str], token: Option<&str>) -> Running {
    let options = Options { token: token.map(|t| Token::new(t).unwrap()), ..Options::default() };
    let classes = || vec!["high".to_owned(), "low".to_owned()];
    let outlook = || Outlook { gain: vec![2.0], capacity: Some(300.0) };
    let hop = |name: &&str| Hop::new(*name, Direction::Inbound, classes()).with_outlook(outlook());
    options.hops.install(hops.iter().map(hop).collect()).unwrap();
    serve("127.0.0.1:0".parse().unwrap(), options).unwrap()
}

fn at(port: &Running, token: Option<&str>, args: &[&str]) -> Ran {
    let mut command = command(args);
    command.env("DAMPER_ADMIN", port.address().to_string()).env("USER", "ann");
    for name in ["SUDO_USER", "DAMPER_ADMIN_TOKEN"] {
        command.env_remove(name);
    }
    if let Some(token) = token {
        command.env("DAMPER_ADMIN_TOKEN", token);
    }
    finished(command.output().unwrap())
}

#[test]
fn a_pull_is_recorded_and_shown() {
    let port = port(&["db"], None);
    let pull = "lever throttle --class low --to 30% --for 5m --why INC-42";
    let pulled = at(&port, None, &pull.split(' ').collect::<Vec<_>>());
    assert_eq!(pulled.code, Some(0), "{}", pulled.err);
    assert!(pulled.out.starts_with("db: throttle to 30% for low (pull 1)\n"), "{}", pulled.out);
    assert!(pulled.out.contains("reverts by itself at "), "{}", pulled.out);
    let rate = "lever throttle --rate 50/s --caller batch --why floods --who bob";
    assert_eq!(at(&port, None, &rate.split(' ').collect::<Vec<_>>()).code, Some(0));
    let status = at(&port, None, &["lever", "status"]).out;
    for part in [
        "db (inbound)  stable",
        "  low: throttled to 30%\n",
        "  high, low of caller batch: throttled to 50/s\n",
        "throttle to 30% for low, by ann: INC-42\n",
        "throttle to 50/s for all classes of caller batch, by bob: floods\n",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&at(&port, None, &["lever", "status", "--json"]).out).unwrap();
    assert_eq!(json["journal"][0]["who"], "ann");
    assert!(!status.contains('\u{1b}'), "no colours where there is no terminal");
    let top = at(&port, None, &["top"]);
    assert_eq!(top.code, Some(0), "{}", top.err);
    assert!(top.out.contains("lever: low throttled to 30%"), "{}", top.out);
    assert!(!top.out.contains('\u{1b}'), "{}", top.out);
}

#[test]
fn what_cannot_be_says_why() {
    let two = port(&["db", "web"], None);
    for (args, part) in [
        ("lever pause --why x", "say which hop: all, or one of db, web"),
        ("lever pause --hop dbx --why x", "there is no hop `dbx`; there are db, web"),
        ("lever throttle --hop db --to 50 --why x", "neither a share such as 30% nor a rate"),
        ("lever ramp --hop db --to 50/s --over 5m --why x", "say `from`"),
        ("top --admin http://127.0.0.1:1", "is this the proxy's admin port"),
        ("top --admin https://127.0.0.1:1", "the admin port speaks http"),
    ] {
        let ran = at(&two, None, &args.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(2), "{args}: {}", ran.out);
        assert!(ran.err.contains(part), "{args}: {}", ran.err);
    }
    let all = at(&two, None, &["lever", "pause", "--hop", "all", "--why", "x", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(all["changed"].as_array().unwrap().len(), 2);
}

#[test]
fn a_token_comes_from_the_environment_or_a_file_and_is_never_printed() {
    let port = port(&["db"], Some(TOKEN));
    let without = at(&port, None, &["lever", "status"]);
    assert_eq!(without.code, Some(2));
    assert!(without.err.contains("Authorization: Bearer TOKEN"), "{}", without.err);
    let wrong = "ffffffffffffffffffffffff";
    for (token, code) in [(TOKEN, 0), (wrong, 2), ("t0-short", 2)] {
        let ran = at(&port, Some(token), &["lever", "status"]);
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(!ran.out.contains(token) && !ran.err.contains(token), "{}", ran.err);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{TOKEN}\n")).unwrap();
    let path = file.path().to_str().unwrap();
    assert_eq!(at(&port, None, &["top", "--once", "--token-file", path]).code, Some(0));
}

#[test]
fn a_script_can_ask_for_the_state() {
    let port = port(&["db"], None);
    assert_eq!(at(&port, None, &["top", "--once", "--fail-on", "vulnerable"]).code, Some(0));
    let ran = at(&port, None, &["top", "--once", "--json"]);
    let state: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&state["hops"][0]["name"], &state["life"]), (&"db".into(), &"starting".into()));
    assert_eq!(at(&port, None, &["top", "--fail-on", "vulnerable"]).code, Some(2), "needs --once");
}
