//! `caches:`: what stands in front of a service.

use crate::model::{Cache, CacheMode, Fill, ServiceId};
use crate::node::Entry;
use crate::problem::Draft;
use crate::read::{Fields, Reader};
use crate::schema::{Kind, Names, Section, optional, required};

pub(crate) static CACHE: Section = Section {
    name: "cache",
    doc: "A cache. Calling it is calling its store through it.",
    keys: &[
        required("store", Kind::Name(Names::Service), "the service behind it"),
        optional(
            "mode",
            Kind::Word(&["look-aside", "read-through"]),
            "look-aside",
            "who asks the store after a miss: the caller, or the cache (once for each key)",
        ),
        required(
            "hit_rate",
            Kind::Share { zero: true },
            "requests for hot keys; the others always miss",
        ),
        required(
            "hot_keys",
            Kind::Count { min: 1, max: 50_000_000 },
            "how many hot keys there are, asked for uniformly",
        ),
        optional(
            "fill",
            Kind::Word(&["in-time", "always"]),
            "in-time",
            "which replies fill a look-aside cache: those whose caller still waits, or late ones too",
        ),
    ],
};

pub(crate) fn lower(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Cache> {
    let entries = fields.node("caches").and_then(|n| n.entries());
    let entries = entries.unwrap_or_default();
    entries.iter().map(|entry| cache(reader, entry)).collect()
}

fn cache(reader: &mut Reader<'_>, entry: &Entry) -> Cache {
    let mut cache = Cache {
        name: entry.key.text.clone(),
        store: ServiceId(0),
        mode: CacheMode::LookAside,
        hit_rate: 0.0,
        hot_keys: 1,
        fill: Fill::InTime,
    };
    let Some(f) = reader.section(&entry.value, &CACHE, entry.key.span) else {
        return cache;
    };
    cache.store = ServiceId(reader.id(&f, "store").unwrap_or(0) as u32);
    if reader.word(&f, "mode") == Some("read-through") {
        cache.mode = CacheMode::ReadThrough;
    }
    cache.hit_rate = reader.number(&f, "hit_rate").unwrap_or(0.0);
    cache.hot_keys = reader.count32(&f, "hot_keys").unwrap_or(1);
    if reader.word(&f, "fill") == Some("always") {
        cache.fill = Fill::Always;
    }
    if cache.mode == CacheMode::ReadThrough
        && let Some(fill) = f.entry("fill")
    {
        reader.warn(
            Draft::new(
                fill.key.span,
                "`fill` does nothing: a read-through cache is filled by every reply",
            )
            .expected("no `fill`, or `mode: look-aside`"),
        );
    }
    cache
}
