//! What is allowed and yet defeats its own purpose.

use super::config::{Backoff, Config, Limit, Retry};

/// Envoy's backoff if the route says nothing.
const ENVOY: Backoff = Backoff { base_ms: 25, max_ms: Some(250) };

/// How many times 1 / capacity a delay must be at least: as `damper check` has it.
const LONG: f64 = 2.0;

/// What an operator should hear when the configuration is loaded.
#[must_use]
pub fn warnings(config: &Config) -> Vec<String> {
    let edges = config.edges.iter().enumerate();
    let edges = edges.map(|(n, edge)| (format!("edges[{n}].retry"), &edge.retry));
    [("retry".to_owned(), &config.retry)]
        .into_iter()
        .chain(edges)
        .filter_map(|(path, own)| short_delays(&path, own, &config.retry))
        .collect()
}

/// The trap of immediate retries: classes differ by how often they come back, and that is worth
/// something only if the destination has had time to do something else in between. Where no delay
/// is long against 1 / capacity, a bucket that is empty now is empty at once again, and all classes
/// are rejected alike.
fn short_delays(path: &str, own: &Retry, above: &Retry) -> Option<String> {
    let (limit, capacity) = (
        own.limit.as_ref().or(above.limit.as_ref())?,
        own.capacity_per_s.or(above.capacity_per_s)?,
    );
    let Limit::ByClass(by) = limit else { return None };
    let (most, least) = (by.values().max().copied()?, by.values().min().copied()?);
    if most == least {
        return None;
    }
    let backoff = own.backoff.or(above.backoff).unwrap_or(ENVOY);
    let mean = mean_delay_ms(backoff, most);
    let between = 1000.0 / capacity;
    (mean < LONG * between).then(|| {
        format!(
            "{path}: classes have different limits, and their retries come after {mean:.1} ms on \
             average, but the destination has room for another request only every {between:.1} ms \
             (1 / capacity_per_s): the priority has little or no effect; raise `retry_back_off` of \
             the route, and `{path}.backoff` with it"
        )
    })
}

/// The mean delay of so many retries. Envoy draws evenly from 0 to below a bound that doubles.
fn mean_delay_ms(backoff: Backoff, retries: u32) -> f64 {
    let (base, max) = (
        f64::from(backoff.base_ms),
        f64::from(backoff.max_ms.unwrap_or(backoff.base_ms.saturating_mul(10))),
    );
    let bounds = (0..retries).scan(base.min(max), |bound, _| {
        let now = *bound;
        *bound = (now * 2.0).min(max);
        Some((now - 1.0).max(0.0) / 2.0)
    });
    bounds.sum::<f64>() / f64::from(retries.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(json: &str) -> Vec<String> {
        warnings(&crate::filter::read(json.as_bytes()).unwrap())
    }

    #[test]
    fn delays_double_up_to_their_bound() {
        let envoy = Backoff { base_ms: 25, max_ms: None };
        assert_eq!(mean_delay_ms(envoy, 1), 12.0);
        let five = (12.0 + 24.5 + 49.5 + 99.5 + 124.5) / 5.0;
        assert!((mean_delay_ms(envoy, 5) - five).abs() < 1e-9);
        assert_eq!(mean_delay_ms(Backoff { base_ms: 1, max_ms: Some(1) }, 5), 0.0);
    }

    #[test]
    fn immediate_retries_are_a_trap_where_classes_differ() {
        let config = |limit: &str, base: u32| {
            format!(
                r#"{{"damper": 1, "position": "outbound", "classes": ["high", "low"], "retry":
                   {{"limit": {limit}, "capacity_per_s": 93.6, "backoff": {{"base_ms": {base}, "max_ms": {}}}}}}}"#,
                base * 10
            )
        };
        assert!(warned(&config(r#"{"high": 5, "low": 1}"#, 25)).is_empty());
        assert!(warned(&config("5", 1)).is_empty());
        let said = warned(&config(r#"{"high": 5, "low": 1}"#, 1));
        assert!(said.len() == 1 && said[0].starts_with("retry: classes"), "{said:?}");
    }

    #[test]
    fn edges_are_looked_at_with_what_stands_above_them() {
        let said = warned(
            r#"{"damper": 1, "position": "outbound", "classes": ["high", "low"],
                "retry": {"limit": {"high": 5, "low": 1}},
                "edges": [{"host": "slow", "retry": {"capacity_per_s": 2}}]}"#,
        );
        assert!(said.len() == 1 && said[0].starts_with("edges[0].retry: classes"), "{said:?}");
    }
}
