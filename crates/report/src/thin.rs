//! Thinning: ten thousand points drawn on a thousand pixels, without losing a spike.

/// A run of values over time, sorted, without gaps in its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) t: f64,
    /// `None`: nothing was measured here; the line is interrupted.
    pub(crate) value: Option<f64>,
}

/// At most `4 * buckets` points: of every bucket the first, the smallest, the largest and
/// the last, in the order of time, so that each column of pixels is covered as it would be
/// by all of them. A bucket with a gap keeps one.
pub(crate) fn min_max(points: &[Point], buckets: usize) -> Vec<Point> {
    if buckets == 0 || points.len() <= buckets.saturating_mul(2) {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(buckets * 4);
    for bucket in spans(points.len(), buckets) {
        let Some(slice) = points.get(bucket) else {
            continue;
        };
        let by_value = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
        let valued = || slice.iter().enumerate().filter_map(|(i, p)| Some((i, p.value?)));
        let mut at: Vec<usize> = [
            valued().next(),
            valued().min_by(by_value),
            valued().max_by(by_value),
            valued().next_back(),
        ]
        .into_iter()
        .flatten()
        .map(|(i, _)| i)
        .collect();
        at.extend(slice.iter().position(|p| p.value.is_none()));
        at.sort_unstable();
        at.dedup();
        kept.extend(at.into_iter().filter_map(|i| slice.get(i).copied()));
    }
    kept
}

/// Index ranges of at most `buckets` pieces of nearly equal size.
pub(crate) fn spans(len: usize, buckets: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let pieces = buckets.min(len).max(1);
    (0..pieces).map(move |k| (k * len / pieces)..((k + 1) * len / pieces))
}

/// Mean of what was measured in a slice.
pub(crate) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let (sum, n) = values.iter().flatten().fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        values
            .into_iter()
            .zip(0_u32..)
            .map(|(v, i)| Point { t: f64::from(i), value: v.is_finite().then_some(v) })
            .collect()
    }

    #[test]
    fn few_points_are_left_alone() {
        let all = points([1.0, 5.0, 2.0]);
        assert_eq!(min_max(&all, 100), all);
        assert_eq!(min_max(&[], 100), []);
        assert_eq!(min_max(&all, 0), all);
    }

    #[test]
    fn a_single_spike_among_ten_thousand_survives() {
        let mut values = vec![1.0; 10_000];
        values[7_777] = 99.0;
        values[3_333] = -5.0;
        let all = points(values);
        let kept = min_max(&all, 500);
        assert!(kept.len() <= 2_000, "{}", kept.len());
        let peak = kept.iter().filter_map(|p| p.value).fold(f64::MIN, f64::max);
        let dip = kept.iter().filter_map(|p| p.value).fold(f64::MAX, f64::min);
        assert_eq!((peak, dip), (99.0, -5.0));
        assert!(kept.windows(2).all(|w| w[0].t < w[1].t), "order of time");
        assert_eq!(kept.first(), all.first());
        assert_eq!(kept.last(), all.last());
    }

    #[test]
    fn a_gap_stays_a_gap() {
        let values = (0..10_000).map(|i| if (4_000..4_500).contains(&i) { f64::NAN } else { 1.0 });
        let kept = min_max(&points(values), 500);
        assert!(kept.iter().any(|p| p.value.is_none() && (4_000.0..4_500.0).contains(&p.t)));
    }

    #[test]
    fn spans_cover_everything_once() {
        for (len, buckets) in [(0, 3), (1, 3), (10, 3), (10_000, 640)] {
            let all: Vec<_> = spans(len, buckets).flatten().collect();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }
}
