//! Sums, samples and intervals.

/// Count, mean, variance and extremes of numbers as they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) mean: f64,
    squares: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, mean: 0.0, squares: 0.0, least: f64::INFINITY, most: 0.0 }
    }
}

impl Moments {
    pub(crate) fn add(&mut self, x: f64) {
        self.count += 1;
        let from = x - self.mean;
        self.mean += from / self.count as f64;
        self.squares += from * (x - self.mean);
        self.least = self.least.min(x);
        self.most = self.most.max(x);
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.squares += other.squares + apart * apart * n * m / (n + m);
        self.mean += apart * m / (n + m);
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    pub(crate) fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// Standard deviation over mean.
    pub(crate) fn cv(&self) -> f64 {
        if self.mean > 0.0 { self.deviation() / self.mean } else { 0.0 }
    }

    /// 95 % interval of the mean.
    pub(crate) fn interval(&self) -> [f64; 2] {
        let half = 1.96 * self.deviation() / (self.count.max(1) as f64).sqrt();
        [(self.mean - half).max(0.0), self.mean + half]
    }
}

/// A sample of at most so many of the numbers that came, each as likely as the others. Chance
/// comes from a counter: the same input gives the same sample.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) values: Vec<f64>,
    seen: u64,
    most: usize,
    state: u64,
}

impl Sample {
    pub(crate) fn new(most: usize) -> Self {
        Self { values: Vec::new(), seen: 0, most, state: 0x9E37_79B9_7F4A_7C15 }
    }

    pub(crate) fn add(&mut self, x: f64) {
        self.seen += 1;
        if self.values.len() < self.most {
            self.values.push(x);
            return;
        }
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let at = ((u128::from(z ^ (z >> 31)) * u128::from(self.seen)) >> 64) as usize;
        if let Some(place) = self.values.get_mut(at) {
            *place = x;
        }
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        other.values.iter().for_each(|x| self.add(*x));
    }

    /// In order.
    pub(crate) fn sorted(&self) -> Vec<f64> {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// The value below which this share of sorted values lies.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// 95 % interval of a share (Wilson).
pub(crate) fn share_interval(part: u64, whole: u64) -> [f64; 2] {
    if whole == 0 {
        return [0.0, 1.0];
    }
    let (z, n) = (1.96_f64, whole as f64);
    let p = part as f64 / n;
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let below = 1.0 + z * z / n;
    [((middle - half) / below).max(0.0), ((middle + half) / below).min(1.0)]
}

/// 95 % interval of the rate of events that come by chance.
pub(crate) fn rate_interval(count: u64, seconds: f64) -> [f64; 2] {
    let half = 1.96 * (count as f64).sqrt();
    [(count as f64 - half).max(0.0) / seconds, (count as f64 + half) / seconds]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_two_parts_are_those_of_the_whole() {
        let numbers: Vec<f64> = (1..=100).map(|n| f64::from(n * n % 37)).collect();
        let of = |numbers: &[f64]| {
            let mut m = Moments::default();
            numbers.iter().for_each(|x| m.add(*x));
            m
        };
        let whole = of(&numbers);
        let mut parts = of(&numbers[..30]);
        parts.absorb(&of(&numbers[30..]));
        assert!((whole.mean - parts.mean).abs() < 1e-9);
        assert!((whole.deviation() - parts.deviation()).abs() < 1e-9);
        assert_eq!((whole.count, whole.least, whole.most), (parts.count, parts.least, parts.most));
    }

    #[test]
    fn a_sample_is_fair() {
        let mut sample = Sample::new(1_000);
        (0..100_000).for_each(|n| sample.add(f64::from(n)));
        let sorted = sample.sorted();
        assert_eq!(sorted.len(), 1_000);
        // The median of 1,000 of 100,000 numbers: within four standard errors, 1,600.
        assert!((quantile(&sorted, 0.5) - 50_000.0).abs() < 6_400.0);
    }

    #[test]
    fn intervals_of_shares() {
        let [low, high] = share_interval(0, 100);
        assert!(low < 1e-9 && (high - 0.037).abs() < 0.001, "{low} {high}");
        let [low, high] = share_interval(50, 100);
        assert!((low - 0.404).abs() < 0.001 && (high - 0.596).abs() < 0.001);
    }
}
