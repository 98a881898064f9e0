//! What `damper price` finds.

use serde::{Deserialize, Serialize};

use super::Origin;

/// Every budget with what it gains and what it costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The trigger, in words.
    pub trigger: String,
    /// Load at which success is measured: that of the file.
    pub load_rps: f64,
    /// Highest load that is served without retries and without a trigger. `None`: interrupted.
    pub advertised_rps: Option<f64>,
    /// Its 95 % interval.
    pub advertised_ci95: Option<[f64; 2]>,
    /// Replications behind each figure.
    pub replications: u32,
    /// Requests of one replication behind each figure of success.
    pub requests_per_replication: u64,
    /// Mean length of a burst of errors.
    pub burst_length_s: f64,
    /// The probability that an attempt within a burst fails.
    pub burst_failure: f64,
    /// The share of errors at which settings are compared.
    pub judged_at: f64,
    /// The most that the recommended setting may lose there, as a share of requests.
    pub most_lost: f64,
    /// What was priced: unlimited retries, none, then the budgets of the registry.
    pub settings: Vec<PricedBudget>,
    /// The setting with the most hidden capacity that loses no more than that, by its `budget`.
    pub recommended: Option<String>,
    /// Simulated requests, over all runs.
    pub simulated_requests: u64,
}

/// A setting of the retry budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PricedBudget {
    /// As a system file writes it; `no budget` and `no retries` for the two references.
    pub budget: String,
    /// The name of the control; empty for no retries.
    pub control: String,
    /// Whether it is what its source ships.
    pub default: bool,
    /// The same as `--set` arguments.
    pub set: Vec<String>,
    /// Hidden capacity; `None`: it recovers from no load that was tried.
    pub hidden_rps: Option<f64>,
    /// Its 95 % interval.
    pub hidden_ci95: Option<[f64; 2]>,
    /// It recovers from every load that was tried, so that hidden is advertised capacity.
    pub heals_everywhere: bool,
    /// Hidden capacity may be higher: some runs were given up.
    pub at_least: bool,
    /// Hidden capacity beyond that without a budget.
    pub gained_rps: f64,
    /// Success lost against unlimited retries.
    pub prices: Vec<PriceAt>,
    /// The price that counts in comparisons: at `judged_at` the worse of independent errors and
    /// bursts, as a share of requests.
    pub price: f64,
    /// Its 95 % interval.
    pub price_ci95: [f64; 2],
    /// No other setting gains as much for as little.
    pub frontier: bool,
    /// Where one does: the cheapest that does.
    pub dominated_by: Option<String>,
}

/// What one kind of transient errors costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceAt {
    /// Share of attempts that fail.
    pub errors: f64,
    /// Whether they come in bursts.
    pub bursty: bool,
    /// Share of requests that succeed all the same.
    pub success: f64,
    /// Success with unlimited retries minus that, as a share of requests.
    pub price: f64,
    /// Its 95 % interval.
    pub price_ci95: [f64; 2],
    /// Bursts this rare were simulated more often, and what they cost was scaled.
    pub scaled: bool,
}

/// Version of the form of a part file.
pub const PART: u32 = 1;

/// What one of several runs measured: `damper price --shard`. Not a result to be read, but what
/// `--merge` puts together. Numbers that are not whole are text, so that none is rounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PricePart {
    /// Version of this form.
    pub damper_price_part: u32,
    /// What was asked; the same in all parts.
    pub question: PriceQuestion,
    /// Which part it is, and of how many.
    pub shard: [u32; 2],
    /// Advertised capacity: mean and interval. The same in all parts, as each needs it.
    pub advertised: Option<[Exact; 3]>,
    /// Requests simulated to find that.
    pub advertised_requests: u64,
    /// What was measured.
    pub measured: Vec<MeasuredPart>,
}

/// What was asked, as far as the answer depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceQuestion {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// A number for the system as it was understood.
    pub fingerprint: String,
    /// The trigger, in words.
    pub trigger: String,
    /// Load of the file.
    pub load_rps: Exact,
    /// Replications.
    pub replications: u32,
    /// Requests of one replication.
    pub requests: u64,
    /// Seconds.
    pub burst_length_s: Exact,
    /// Share.
    pub burst_failure: Exact,
    /// Share.
    pub judged_at: Exact,
    /// Share.
    pub most_lost: Exact,
    /// Ways in which attempts fail: share, share that is simulated.
    pub errors: Vec<([Exact; 2], bool)>,
    /// What is priced: as written, control, whether it is a default, assignments.
    pub settings: Vec<(String, String, bool, Vec<String>)>,
}

/// What the runs of one setting gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPart {
    /// Its place among the settings.
    pub place: usize,
    /// Hidden capacity: mean and interval.
    pub hidden: Option<[Exact; 3]>,
    /// It recovers from every load.
    pub heals: bool,
    /// Some runs were given up.
    pub at_least: bool,
    /// By way, by replication: good and ended requests.
    pub success: Vec<Vec<[u64; 2]>>,
    /// Requests simulated.
    pub requests: u64,
}

/// A number as the shortest text that reads back as the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exact(pub f64);

impl Serialize for Exact {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:?}", self.0))
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map(Self)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is no number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_last_bit() {
        for value in [0.1 + 0.2, 1e-300, f64::MAX, -0.0, 149.606_712_345_678_9, 1.0 / 3.0] {
            let text = serde_json::to_string(&Exact(value)).unwrap();
            let back: Exact = serde_json::from_str(&text).unwrap();
            assert_eq!(back.0.to_bits(), value.to_bits(), "{text}");
        }
        assert!(serde_json::from_str::<Exact>("\"many\"").is_err());
    }
}
