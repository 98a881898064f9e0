//! `damper headroom --cost`: what it costs to run stable, and what each change saves.

use anyhow::bail;
use damper_report::result::{Cost, Headroom, Provisioned};
use damper_sim::{Estimate, provision};
use damper_system::quantity;

/// What a unit of capacity costs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnitCost {
    /// As it was given.
    given: String,
    /// `EUR`, `$`; empty: none was given.
    currency: String,
    /// Of 1/s of capacity, per hour.
    per_hour: f64,
}

/// Hours in what a cost can be for. A month is a twelfth of 365 days.
const HOURS: [(&str, f64); 6] =
    [("h", 1.0), ("hour", 1.0), ("d", 24.0), ("day", 24.0), ("month", 730.0), ("year", 8760.0)];

const EXPECTED: &str = "expected an amount per time for 1/s of capacity, such as 0.05/h or 12 EUR/month, or for \
                        more of it, such as '0.40/h for 30/s'";

/// `0.05/h`, `$0.05/h`, `0.05 EUR/h`, `30 EUR/month for 50/s`.
pub(super) fn parse(text: &str) -> anyhow::Result<UnitCost> {
    let (cost, unit) = match text.split_once(" for ") {
        Some((cost, unit)) => (cost, Some(unit.trim())),
        None => (text, None),
    };
    let Some((amount, time)) = cost.rsplit_once('/') else {
        bail!("--cost: `{text}` has no time: {EXPECTED}");
    };
    let time = time.trim();
    let Some((_, hours)) = HOURS.iter().find(|(name, _)| *name == time) else {
        let names = HOURS.map(|(name, _)| name).join(", ");
        bail!("--cost: `{time}` is no time ({names}): {EXPECTED}");
    };
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let amount = amount.trim();
    let start = amount.find(digit).unwrap_or(amount.len());
    let end = amount.rfind(digit).map_or(start, |at| at + 1);
    let (before, number) = amount.split_at(start);
    let (number, after) = number.split_at(end.saturating_sub(start));
    let currency: Vec<&str> =
        [before.trim(), after.trim()].into_iter().filter(|s| !s.is_empty()).collect();
    let value = number.parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0);
    let is_currency = |c: &str| c.chars().count() <= 4 && !c.chars().any(|c| "+-.,%/".contains(c));
    let (Some(value), true) =
        (value, currency.len() <= 1 && currency.iter().all(|c| is_currency(c)))
    else {
        bail!("--cost: `{amount}` is no amount above zero: {EXPECTED}");
    };
    let unit = match unit {
        Some(rate) => {
            quantity::rate(rate).map_err(|e| anyhow::anyhow!("--cost: {e}: {EXPECTED}"))?
        }
        None => 1.0,
    };
    if unit <= 0.0 || !unit.is_finite() {
        bail!("--cost: capacity of {unit}/s costs nothing: {EXPECTED}");
    }
    Ok(UnitCost {
        given: text.to_owned(),
        currency: currency.concat(),
        per_hour: value / hours / unit,
    })
}

/// Puts the costs into a result: of what there is, of what the load takes, of running stable, and
/// with each change.
pub(super) fn add(result: &mut Headroom, unit: &UnitCost) {
    let Some(advertised) = result.advertised_rps else { return };
    let load = result.load_rps;
    let of = |mean: Option<f64>, ci95: Option<[f64; 2]>| {
        provisioned(load, advertised, mean?, ci95?, unit)
    };
    let stable = of(result.hidden_rps, result.hidden_ci95);
    for remedy in &mut result.remedies {
        remedy.cost = of(remedy.hidden_rps, remedy.hidden_ci95).map(|p| Provisioned {
            saved_per_hour: stable.as_ref().map(|s| s.per_hour - p.per_hour),
            ..p
        });
    }
    result.cost = Some(Cost {
        given: unit.given.clone(),
        currency: unit.currency.clone(),
        per_rps_hour: unit.per_hour,
        now_per_hour: advertised * unit.per_hour,
        serving_per_hour: load * unit.per_hour,
        headroom_per_hour: stable.as_ref().map(|s| s.per_hour - load * unit.per_hour),
        stable,
    });
}

fn provisioned(
    load: f64,
    advertised: f64,
    mean: f64,
    ci95: [f64; 2],
    unit: &UnitCost,
) -> Option<Provisioned> {
    let p = provision(load, advertised, Estimate { mean, ci95 })?;
    Some(Provisioned {
        scale: p.scale.mean,
        capacity_rps: p.capacity.mean,
        per_hour: p.capacity.mean * unit.per_hour,
        per_hour_ci95: p.capacity.ci95.map(|c| c * unit.per_hour),
        saved_per_hour: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_report::result::Remedy;

    #[test]
    fn costs_are_read_with_their_units() {
        for (text, currency, per_hour) in [
            ("0.05/h", "", 0.05),
            ("$0.05/h", "$", 0.05),
            ("0.05 EUR/h", "EUR", 0.05),
            ("24/day", "", 1.0),
            ("€ 730 / month", "€", 1.0),
            ("8760 USD/year", "USD", 1.0),
            ("0.40/h for 20/s", "", 0.02),
        ] {
            let unit = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(unit.currency, currency, "{text}");
            assert!((unit.per_hour - per_hour).abs() < 1e-12, "{text}: {unit:?}");
        }
    }

    #[test]
    fn what_is_no_cost_is_told_what_one_is() {
        for text in [
            "0.05",
            "0.05/s",
            "0.05/fortnight",
            "/h",
            "-1/h",
            "0/h",
            "a lot/h",
            "1.2.3/h",
            "EUR 5 EUR/h",
            "5%/h",
            "0.05/h for 30",
            "0.05/h for 0/s",
            "",
            "5/h for",
            "1e400/h",
            "NaN/h",
            "inf/h",
        ] {
            let error = parse(text).map_or_else(|e| e.to_string(), |u| panic!("{text}: {u:?}"));
            assert!(error.contains("0.05/h"), "{text}: {error}");
        }
    }

    /// 270/s on 300/s that heals below 150/s, at 0.05 an hour: 15 now, 13.50 to serve, 27 to be
    /// stable; a budget that lets it heal at 270/s saves 12.
    #[test]
    fn costs_by_hand() {
        let mut result = Headroom {
            advertised_rps: Some(300.0),
            hidden_rps: Some(150.0),
            hidden_ci95: Some([135.0, 165.0]),
            load_rps: 270.0,
            remedies: vec![
                Remedy {
                    hidden_rps: Some(270.0),
                    hidden_ci95: Some([270.0; 2]),
                    ..Remedy::default()
                },
                Remedy::default(),
            ],
            ..Headroom::default()
        };
        add(&mut result, &parse("0.05/h").unwrap());
        let cost = result.cost.unwrap();
        let stable = cost.stable.unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(cost.now_per_hour, 15.0);
        close(cost.serving_per_hour, 13.5);
        close(stable.per_hour, 27.0);
        close(cost.headroom_per_hour.unwrap(), 13.5);
        close(stable.per_hour_ci95[1], 30.0);
        let saved = result.remedies[0].cost.as_ref().unwrap();
        close(saved.per_hour, 15.0);
        close(saved.saved_per_hour.unwrap(), 12.0);
        assert_eq!(result.remedies[1].cost, None);
    }
}
