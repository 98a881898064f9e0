//! TLS with what load goes to: whose certificates are believed.

use std::path::{Path, PathBuf};

use super::Place;
use super::read::text;
use crate::node::quoted;
use crate::problem::Draft;
use crate::read::{Fields, Reader};
use crate::requests::Knows;
use crate::schema::{Key, Kind, otherwise};

/// Whose certificates are believed of a target with `https://`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Believes {
    /// Those of the authorities of the system that the drill runs on.
    #[default]
    System,
    /// Those of the authorities in a file (PEM), from the current folder.
    Authorities(PathBuf),
    /// Any: whoever answers is taken for the target.
    Anything,
}

const CA: &str = "ca";
const INSECURE: &str = "insecure";

/// The key of the file or of a part that names authorities.
pub(super) const fn ca(absent: &'static str) -> Key {
    let doc = "`https://`: a file with the authorities whose certificates are believed (PEM), from the folder of this one";
    otherwise(CA, Kind::Text, absent, doc)
}

/// The key of the file or of a part that does without.
pub(super) const fn insecure(absent: &'static str) -> Key {
    otherwise(INSECURE, Kind::Flag, absent, "`https://`: any certificate is believed")
}

/// Whether load goes there over TLS.
pub(super) fn wants(target: &Place) -> bool {
    matches!(target, Place::At(url) if url.tls)
}

/// What a section says of certificates, if it says anything.
pub(super) fn said(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    base: &Path,
    knows: &dyn Knows,
) -> Option<Believes> {
    let ca = text(reader, f, CA);
    let insecure = f.has(INSECURE).then(|| reader.flag(f, INSECURE)).flatten();
    match (ca, insecure) {
        (Some(_), Some(true)) => {
            let draft = Draft::new(f.span(INSECURE), "`ca` and `insecure` exclude each other");
            reader.error(draft.expected("one of the two"));
            None
        }
        (None, Some(true)) => Some(Believes::Anything),
        (None, Some(false)) => Some(Believes::System),
        (None, None) => None,
        (Some(name), _) => {
            let path = base.join(&name);
            let why = match path.is_file() {
                true => knows.authorities(&path).err(),
                false => Some("there is no such file with certificates".to_owned()),
            };
            if let Some(why) = why {
                let draft = Draft::new(f.span(CA), why).found(quoted(&name));
                reader.error(draft.expected(
                    "a file with certificates of authorities (PEM), from the folder of this one",
                ));
            }
            Some(Believes::Authorities(path))
        }
    }
}

/// Certificates are of use to nobody without TLS: whoever says something of them believes it is there.
pub(super) fn without(reader: &mut Reader<'_>, f: &Fields<'_>) {
    for key in [CA, INSECURE] {
        if f.has(key) {
            let message = format!("`{key}` is for a target with `https://`");
            let draft = Draft::new(super::read::key_span(f, key), message);
            reader.error(draft.expected(format!("`https://` in `target`, or no `{key}`")));
        }
    }
}
