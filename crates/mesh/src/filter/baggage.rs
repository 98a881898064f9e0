//! W3C `baggage`: members `key=value;property`, separated by commas.

/// Longest header that is looked at: what the specification has everybody carry.
pub(super) const MOST_BYTES: usize = 8192;

/// The value of `key`, if the header has it and is not too long.
pub(super) fn get<'a>(header: &'a [u8], key: &str) -> Option<&'a [u8]> {
    if header.len() > MOST_BYTES {
        return None;
    }
    header.split(|b| *b == b',').find_map(|member| value(member, key))
}

/// The header with `key` at `value`, or without `key`; the other members stay as they are. `None`: it
/// is, or would be, too long, and is to be left alone.
pub(super) fn with(header: &[u8], key: &str, value_of_key: Option<&str>) -> Option<Vec<u8>> {
    if header.len() > MOST_BYTES {
        return None;
    }
    let others = header
        .split(|b| *b == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty() && value(member, key).is_none());
    let own = value_of_key.map(|v| [key.as_bytes(), b"=", v.as_bytes()].concat());
    let mut out = Vec::with_capacity(header.len() + 64);
    for member in others.chain(own.as_deref()) {
        if !out.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(member);
    }
    (out.len() <= MOST_BYTES).then_some(out)
}

/// The value of a member if this is its key.
fn value<'a>(member: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let equals = member.iter().position(|b| *b == b'=')?;
    (member[..equals].trim_ascii() == key.as_bytes()).then(|| {
        let rest = &member[equals + 1..];
        rest[..rest.iter().position(|b| *b == b';').unwrap_or(rest.len())].trim_ascii()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found() {
        let header = b"a=1, class = high;secret=no ,b=2;c";
        assert_eq!(get(header, "class"), Some(&b"high"[..]));
        assert_eq!(get(header, "clas"), None);
        assert_eq!(get(b"b;class=high", "class"), None);
        assert_eq!(get(&[b'a'; MOST_BYTES + 1], "a"), None);
    }

    #[test]
    fn other_members_stay() {
        let header = b"a=1, class=high;x ,b=2;c";
        assert_eq!(with(header, "class", Some("low")).unwrap(), b"a=1,b=2;c,class=low");
        assert_eq!(with(header, "class", None).unwrap(), b"a=1,b=2;c");
        assert_eq!(with(b"", "class", Some("low")).unwrap(), b"class=low");
        assert_eq!(with(&[b'a'; MOST_BYTES], "class", Some("low")), None);
    }
}
