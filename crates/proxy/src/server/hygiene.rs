//! What of a message's headers is for one connection only, and what a stranger may not say.

use damper_control::{Nanos, Who};
use damper_tower::headers;
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// What only those may say whom the listener believes.
const SAID: [HeaderName; 4] =
    [headers::CLASS, headers::DEADLINE, headers::ATTEMPT_COUNT, headers::GRPC_PREVIOUS_ATTEMPTS];

/// Drops what a stranger may not say, the `rank` of a user with it; tells whether there was anything.
/// (`grpc-timeout` stays: it can only shorten what its caller gets.)
pub(crate) fn distrust(map: &mut HeaderMap, rank: Option<&HeaderName>) -> bool {
    let mut found = false;
    for name in SAID.iter().chain(rank) {
        found |= map.remove(name).is_some();
    }
    found
}

/// Writes the rank of a user among those of its class for the next hop: the one that was said, or that
/// of the flow. One that cannot be read is dropped.
pub(crate) fn pass_on(map: &mut HeaderMap, rank: &HeaderName, who: &mut Who, now: Nanos) {
    if who.user.is_none() && who.flow != 0 {
        who.user = u8::try_from(who.cohort_at(now)).ok();
    }
    match who.user {
        Some(user) => drop(map.insert(rank, HeaderValue::from(u16::from(user)))),
        None => drop(map.remove(rank)),
    }
}

/// Whether it asks for WebSocket on its connection. Other protocols are not passed on: HTTP/2 in a
/// tunnel (`h2c`) would bring requests past all controls.
pub(crate) fn asks_upgrade(map: &HeaderMap) -> bool {
    let mut to = map.get_all(UPGRADE).iter();
    let websocket = to.next().is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    websocket
        && to.next().is_none()
        && options(map).any(|option| option.eq_ignore_ascii_case(b"upgrade"))
}

/// What `Connection` lists.
fn options(map: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let values = map.get_all(CONNECTION).iter();
    values.flat_map(|value| value.as_bytes().split(|b| *b == b',')).map(<[u8]>::trim_ascii)
}

/// Drops what was for the connection on which it came (RFC 9110, 7.6.1). The framing of the body
/// is for whoever sends it on. `upgrade`: that is passed on, and nothing else of it.
pub(crate) fn strip(map: &mut HeaderMap, upgrade: bool) {
    if map.contains_key(CONNECTION) {
        let listed: Vec<HeaderName> =
            options(map).filter_map(|option| HeaderName::from_bytes(option).ok()).collect();
        for name in listed {
            // Naming those would drop what the message needs.
            if !matches!(name.as_str(), "host" | "content-length" | "transfer-encoding" | "upgrade")
            {
                map.remove(name);
            }
        }
        map.remove(CONNECTION);
    }
    map.remove(KEEP_ALIVE);
    map.remove(PROXY_CONNECTION);
    if let Some(te) = map.get(TE) {
        let trailers = te
            .as_bytes()
            .split(|b| *b == b',')
            .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"trailers"));
        if trailers {
            map.insert(TE, HeaderValue::from_static("trailers"));
        } else {
            map.remove(TE);
        }
    }
    if upgrade {
        map.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    } else {
        map.remove(UPGRADE);
    }
}

/// Drops the framing of a reply, which hyper writes anew, and what was for its connection.
pub(crate) fn strip_reply(map: &mut HeaderMap, upgrade: bool) {
    strip(map, upgrade);
    map.remove(TRANSFER_ENCODING);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in of {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn names(map: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = map.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_is_for_one_connection_stays_on_it() {
        let mut headers = map(&[
            ("connection", "close, X-Mine"),
            ("connection", "host"),
            ("x-mine", "1"),
            ("x-other", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "gzip, trailers"),
            ("upgrade", "websocket"),
            ("host", "a"),
        ]);
        assert!(!asks_upgrade(&headers), "it does not list it");
        strip(&mut headers, false);
        assert_eq!(names(&headers), ["host", "te", "x-other"]);
        assert_eq!(headers[TE], "trailers");
    }

    #[test]
    fn an_upgrade_is_passed_on() {
        let mut headers = map(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]);
        assert!(asks_upgrade(&headers));
        strip(&mut headers, true);
        assert_eq!(
            (&headers[CONNECTION], &headers[UPGRADE]),
            (
                &"upgrade".parse::<HeaderValue>().unwrap(),
                &"websocket".parse::<HeaderValue>().unwrap()
            )
        );
    }

    #[test]
    fn no_other_protocol_is_passed_on() {
        for to in ["h2c", "websocket, h2c", "h2c, websocket", "TLS/1.0"] {
            let mut headers = HeaderMap::new();
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, to.parse().unwrap());
            assert!(!asks_upgrade(&headers), "{to}");
            strip(&mut headers, false);
            assert!(headers.is_empty(), "{to}: {headers:?}");
        }
    }

    #[test]
    fn strangers_have_no_class() {
        let mut headers = map(&[
            ("x-damper-class", "0"),
            ("x-damper-deadline-ms", "5"),
            ("x-envoy-attempt-count", "2"),
            ("grpc-timeout", "1S"),
        ]);
        assert!(distrust(&mut headers, None));
        assert_eq!(names(&headers), ["grpc-timeout"]);
        assert!(!distrust(&mut headers, None));
    }

    #[test]
    fn a_rank_is_passed_on_as_it_was_said_or_made_of_the_flow() {
        let rank = HeaderName::from_static("x-rank");
        let passed = |values: &[&'static str], mut who: Who| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(&rank, HeaderValue::from_static(value));
            }
            pass_on(&mut headers, &rank, &mut who, Nanos::ZERO);
            let all: Vec<_> = headers.get_all(&rank).iter().cloned().collect();
            (all, who.user)
        };
        let said = Who { user: Some(5), ..Who::default() };
        assert_eq!(passed(&["5", "6"], said), (vec!["5".parse().unwrap()], Some(5)));
        let flow = Who { flow: 77, ..Who::default() };
        let user = flow.cohort();
        assert_eq!(passed(&["x"], flow).0, [user.to_string().parse::<HeaderValue>().unwrap()]);
        assert_eq!(passed(&["128"], Who::default()), (vec![], None), "nobody knows it");
        let mut headers = map(&[("x-rank", "0")]);
        assert!(distrust(&mut headers, Some(&rank)) && headers.is_empty());
    }
}
