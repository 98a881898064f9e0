//! Takes exports out of a WebAssembly module.
//!
//! The library for plugins exports a function for every event there is, and Envoy calls what is
//! exported: for each chunk of a body, for trailers, for logs. What is not exported is not called,
//! which saves a change into the virtual machine each time.

use anyhow::{Context as _, Result, bail, ensure};

/// What Envoy calls and what the plugin acts on.
pub(super) const USED: [&str; 11] = [
    "memory",
    "_initialize",
    "malloc",
    "proxy_abi_version_0_2_1",
    "proxy_on_context_create",
    "proxy_on_vm_start",
    "proxy_on_configure",
    "proxy_on_tick",
    "proxy_on_request_headers",
    "proxy_on_response_headers",
    "proxy_on_delete",
];

const HEADER: &[u8] = b"\0asm\x01\0\0\0";
const EXPORTS: u8 = 7;

/// The module with these exports and no others.
pub(super) fn keep(module: &[u8], names: &[&str]) -> Result<Vec<u8>> {
    let mut rest = module.strip_prefix(HEADER).context("no WebAssembly module")?;
    let mut out = HEADER.to_vec();
    let mut found = Vec::new();
    while let Some((id, after)) = rest.split_first() {
        rest = after;
        let section = bytes(&mut rest)?;
        out.push(*id);
        if *id == EXPORTS {
            let kept = exports(section, names, &mut found)?;
            write_number(&mut out, kept.len())?;
            out.extend(kept);
        } else {
            write_number(&mut out, section.len())?;
            out.extend_from_slice(section);
        }
    }
    let missing: Vec<&&str> =
        names.iter().filter(|name| !found.iter().any(|f| f == **name)).collect();
    ensure!(missing.is_empty(), "the module does not export {missing:?}");
    Ok(out)
}

fn exports(mut section: &[u8], names: &[&str], found: &mut Vec<String>) -> Result<Vec<u8>> {
    let count = number(&mut section)?;
    let mut kept = Vec::new();
    for _ in 0..count {
        let entry = section;
        let name = std::str::from_utf8(bytes(&mut section)?)?;
        let (_kind, after) = section.split_first().context("an export without a kind")?;
        section = after;
        number(&mut section)?;
        if names.contains(&name) {
            found.push(name.to_owned());
            kept.extend_from_slice(&entry[..entry.len() - section.len()]);
        }
    }
    let mut out = Vec::new();
    write_number(&mut out, found.len())?;
    out.extend(kept);
    Ok(out)
}

/// So many bytes as the number before them says.
fn bytes<'a>(from: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = number(from)?;
    let (these, rest) = from.split_at_checked(length).context("the module ends too early")?;
    *from = rest;
    Ok(these)
}

/// A number in LEB128 of at most 32 bits.
fn number(from: &mut &[u8]) -> Result<usize> {
    let mut value: u64 = 0;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = from.split_first().context("the module ends in a number")?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(value).context("a number beyond 32 bits");
        }
    }
    bail!("a number of more than five bytes")
}

fn write_number(to: &mut Vec<u8>, value: usize) -> Result<()> {
    let mut value = u32::try_from(value).context("a number beyond 32 bits")?;
    loop {
        // The lowest seven bits.
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            to.push(byte);
            return Ok(());
        }
        to.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with a custom section and two exports.
    fn module() -> Vec<u8> {
        let exports = [&[2u8, 3][..], b"one", &[0, 0, 3], b"two", &[0, 0x81, 0x01]].concat();
        [HEADER, &[0, 2, 1, b'x'], &[EXPORTS, exports.len() as u8], &exports, &[10, 1, 0]].concat()
    }

    #[test]
    fn what_is_not_named_is_gone_and_the_rest_stays() {
        let exports = [&[1u8, 3][..], b"two", &[0, 0x81, 0x01]].concat();
        let expected =
            [HEADER, &[0, 2, 1, b'x'], &[EXPORTS, exports.len() as u8], &exports, &[10, 1, 0]]
                .concat();
        assert_eq!(keep(&module(), &["two"]).unwrap(), expected);
        assert_eq!(keep(&module(), &["one", "two"]).unwrap(), module());
    }

    #[test]
    fn what_is_no_module_is_an_error() {
        assert!(keep(b"elf", &[]).is_err());
        assert!(keep(&module(), &["three"]).is_err());
        let whole = module();
        for end in HEADER.len() + 1..whole.len() {
            // Between two sections a module may end; it has lost its exports then.
            assert!(keep(&whole[..end], &["one"]).is_err() || end >= whole.len() - 3, "{end}");
        }
    }
}
