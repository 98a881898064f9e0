//! Counters of two scrapes: what was counted between them.

use std::collections::HashMap;

use crate::read::Metric;

/// A metric with its labels, in one order.
fn key(metric: &Metric) -> (String, Vec<(String, String)>) {
    let mut labels = metric.labels.clone();
    labels.sort();
    (metric.name.clone(), labels)
}

/// Takes off what had been counted before. A counter that is lower than it was has begun anew, with
/// its process: then it counts as it is, which is a lower bound. Returns how many these are. Several
/// lines of one name and labels are taken in their order.
pub(crate) fn subtract(metrics: &mut [Metric], before: &[Metric]) -> u64 {
    let mut known: HashMap<_, Vec<f64>> = HashMap::new();
    for metric in before.iter().rev().filter(|metric| metric.value.is_finite()) {
        known.entry(key(metric)).or_default().push(metric.value);
    }
    let mut anew = 0;
    for metric in metrics {
        let Some(was) = known.get_mut(&key(metric)).and_then(Vec::pop) else { continue };
        if metric.value >= was {
            metric.value -= was;
        } else {
            anew += 1;
        }
    }
    anew
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::text::metric;

    #[test]
    fn counters_count_from_the_earlier_scrape_on() {
        let of = |text: &str| text.lines().filter_map(metric).collect::<Vec<_>>();
        let before = of("a{x=\"1\",y=\"2\"} 10\nb 100\ntwice 1\ntwice 2\n");
        let mut after = of("a{y=\"2\",x=\"1\"} 25\nb 7\nnew 3\ntwice 5\ntwice 9\n");
        assert_eq!(subtract(&mut after, &before), 1, "b began anew");
        let values: Vec<_> = after.iter().map(|metric| metric.value).collect();
        assert_eq!(values, [15.0, 7.0, 3.0, 4.0, 7.0]);
    }
}
