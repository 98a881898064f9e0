//! Mechanisms of a service: one section of the file each. Only the simulator knows them.

use damper_control::Nanos;

use crate::model::{
    Autoscale, Election, ErrorLog, Failover, Health, Lease, Mechanisms, Pauses, Pool, PoolOrder,
    Service, ServiceId, Start, Starting,
};
use crate::node::Entry;
use crate::problem::Draft;
use crate::read::{Fields, Reader};
use crate::schema::Section;

pub(crate) mod tables;

use tables::{AUTOSCALE, ELECTION, ERROR_LOG, FAILOVER, HEALTH, LEASE, PAUSES, POOL, START};

/// The section of a key, if it is there and is one.
fn part<'n>(
    reader: &mut Reader<'_>,
    f: &Fields<'n>,
    key: &str,
    section: &'static Section,
) -> Option<Fields<'n>> {
    let entry = f.entry(key)?;
    if entry.value.is_map() {
        return reader.section(&entry.value, section, entry.key.span);
    }
    reader.value(f, key);
    None
}

/// All mechanisms of one service.
pub(crate) fn lower(reader: &mut Reader<'_>, f: &Fields<'_>, instances: u32) -> Mechanisms {
    let mechanisms = Mechanisms {
        health: health(reader, f),
        autoscale: autoscale(reader, f, instances),
        pauses: pauses(reader, f),
        start: start(reader, f),
        lease: lease(reader, f),
        election: election(reader, f),
        failover: failover(reader, f),
        pool: pool(reader, f),
        error_log: error_log(reader, f),
        calls_as: reader.id(f, "calls_as").map(|c| c as u8),
    };
    warn(reader, f, &mechanisms, instances);
    mechanisms
}

fn health(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Health> {
    let h = part(reader, f, "health", &HEALTH)?;
    Some(Health {
        interval: reader.duration(&h, "interval").unwrap_or(Nanos::from_secs(5)),
        timeout: reader.duration(&h, "timeout").unwrap_or(Nanos::from_secs(1)),
        unhealthy: reader.count32(&h, "unhealthy").unwrap_or(2),
        healthy: reader.count32(&h, "healthy").unwrap_or(2),
        removed_for: reader.duration(&h, "removed_for").unwrap_or(Nanos::ZERO),
        panic: reader.number(&h, "panic").unwrap_or(0.0),
        restart: reader.flag(&h, "restart").unwrap_or(false),
    })
}

fn autoscale(reader: &mut Reader<'_>, f: &Fields<'_>, instances: u32) -> Option<Autoscale> {
    let a = part(reader, f, "autoscale", &AUTOSCALE)?;
    let max = reader.count32(&a, "max").unwrap_or(instances);
    let scale = Autoscale {
        min: reader.count32(&a, "min").unwrap_or(1),
        max,
        target: reader.number(&a, "target").unwrap_or(0.6),
        interval: reader.duration(&a, "interval").unwrap_or(Nanos::from_secs(15)),
        provision: reader.duration(&a, "provision").unwrap_or(Nanos::from_secs(60)),
        at_once: reader.count32(&a, "at_once").unwrap_or(u32::MAX),
        tolerance: reader.number(&a, "tolerance").unwrap_or(0.1),
        starting: match reader.word(&a, "starting") {
            Some("busy") => Starting::Busy,
            _ => Starting::Idle,
        },
        up_after: reader.duration(&a, "up_after").unwrap_or(Nanos::ZERO),
        down_after: reader.duration(&a, "down_after").unwrap_or(Nanos::from_secs(300)),
        up_times: reader.number(&a, "up_times").unwrap_or(2.0),
        up_by: reader.count32(&a, "up_by").unwrap_or(4),
        up_every: reader.duration(&a, "up_every").unwrap_or(Nanos::from_secs(15)),
    };
    if !(scale.min <= instances && instances <= max) {
        reader.error(
            Draft::new(a.at, "it starts with a number of instances that it does not allow")
                .found(format!("{instances} instances, from {} to {max}", scale.min))
                .expected("`instances:` from `min` to `max`"),
        );
        return None;
    }
    Some(scale)
}

fn pauses(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Pauses> {
    let p = part(reader, f, "pauses", &PAUSES)?;
    Some(Pauses {
        heap: reader.count32(&p, "heap")?,
        base: reader.duration(&p, "base").unwrap_or(Nanos::ZERO),
        per_live: reader.duration(&p, "per_live")?,
    })
}

fn start(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Start> {
    let s = part(reader, f, "start", &START)?;
    let from = reader.id(&s, "from").map(|id| ServiceId(id as u32));
    let calls = reader.count32(&s, "calls").unwrap_or(1);
    if from.is_none()
        && let Some(entry) = s.entry("calls")
    {
        reader.warn(
            Draft::new(entry.key.span, "`calls` does nothing: it does not say whom it calls")
                .expected("`from:` the name of a service"),
        );
    }
    Some(Start {
        takes: reader.duration(&s, "takes").unwrap_or(Nanos::ZERO),
        calls: from.map(|from| (from, calls)),
        again: reader.duration(&s, "again").unwrap_or(Nanos::from_secs(1)),
        cold_for: reader.duration(&s, "cold_for").unwrap_or(Nanos::ZERO),
        cold: reader.number(&s, "cold").unwrap_or(1.0),
    })
}

fn lease(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Lease> {
    let l = part(reader, f, "lease", &LEASE)?;
    let from = ServiceId(reader.id(&l, "from")? as u32);
    let (every, lasts) = (reader.duration(&l, "every")?, reader.duration(&l, "lasts")?);
    if lasts <= every {
        reader.error(
            Draft::new(l.span("lasts"), "this lease is over before it is renewed")
                .found(format!("renewed every {} s", every.as_secs_f64()))
                .expected("`lasts` above `every`"),
        );
        return None;
    }
    let again = reader.duration(&l, "again").unwrap_or(Nanos::from_secs(1));
    Some(Lease { from, every, lasts, again })
}

fn election(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Election> {
    let e = part(reader, f, "election", &ELECTION)?;
    Some(Election {
        heartbeat: reader.duration(&e, "heartbeat").unwrap_or(Nanos::from_secs(1)),
        timeout: reader.duration(&e, "timeout").unwrap_or(Nanos::from_secs(3)),
        takes: reader.duration(&e, "takes")?,
    })
}

fn failover(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Failover> {
    let o = part(reader, f, "failover", &FAILOVER)?;
    Some(Failover {
        to: ServiceId(reader.id(&o, "to")? as u32),
        below: reader.number(&o, "below").unwrap_or(0.5),
        window: reader.duration(&o, "window").unwrap_or(Nanos::from_secs(10)),
        back_after: reader.duration(&o, "back_after").unwrap_or(Nanos::from_secs(60)),
    })
}

fn pool(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Pool> {
    let p = part(reader, f, "pool", &POOL)?;
    let order = match reader.word(&p, "order")? {
        "mru" => PoolOrder::MostRecent,
        _ => PoolOrder::LeastRecent,
    };
    Some(Pool { order, max_age: reader.duration(&p, "max_age") })
}

fn error_log(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<ErrorLog> {
    let l = part(reader, f, "error_log", &ERROR_LOG)?;
    let to = ServiceId(reader.id(&l, "to")? as u32);
    Some(ErrorLog {
        to,
        lines: reader.count32(&l, "lines").unwrap_or(1),
        abandoned: reader.flag(&l, "abandoned").unwrap_or(false),
    })
}

/// Error logs that lead back to where they begin: there a failure to write is a failure to write,
/// without an end, all at one instant.
pub(crate) fn log_circles(reader: &mut Reader<'_>, entries: &[Entry], services: &[Service]) {
    let next = |s: usize| services[s].mechanisms.error_log.map(|l| l.to.0 as usize);
    for (s, entry) in entries.iter().enumerate() {
        let way: Vec<usize> = std::iter::successors(next(s), |at| next(*at).filter(|_| *at != s))
            .take(services.len())
            .collect();
        // Each circle is told once, at the first of its services.
        let first = way.last() == Some(&s) && way.iter().all(|at| *at >= s);
        if let Some(log) = entry.value.child("error_log").filter(|_| first) {
            let names: Vec<&str> =
                [s].iter().chain(&way).map(|at| services[*at].name.as_str()).collect();
            reader.error(
                Draft::new(log.key.span, "this error log leads back to itself, without an end")
                    .found(format!("`{}`", names.join(" -> ")))
                    .expected("a service whose own failures are not written here"),
            );
        }
    }
}

/// What is written and does nothing.
fn warn(reader: &mut Reader<'_>, f: &Fields<'_>, m: &Mechanisms, instances: u32) {
    let one = instances == 1 && m.autoscale.is_none();
    if let Some(entry) = f.entry("pool").filter(|_| one && m.pool.is_some()) {
        reader.warn(
            Draft::new(entry.key.span, "a pool of connections to one instance chooses nothing")
                .expected("`instances:` above 1"),
        );
    }
    if let (Some(_), Some(entry)) = (&m.pool, f.entry("balance")) {
        reader.warn(
            Draft::new(entry.key.span, "`balance` does nothing: the pool chooses the instance")
                .expected("one of the two"),
        );
    }
}
