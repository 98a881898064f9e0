//! `damper price` for people.

use damper_report::result::price::{Price, PricedBudget};

use super::table::table;
use super::{
    BOLD, DIM, count, line, paint, paragraph, percent, provenance, rate, seconds, thousands,
};

/// Controls whose defaults are told by name, since most people run one of them.
const WELL_KNOWN: [(&str, &str); 2] =
    [("envoy", "Envoy's default"), ("token-bucket", "gRPC's default")];

/// Prints the bounds, the frontier, the defaults and the recommendation.
pub(crate) fn price(r: &Price) {
    let of = |control: &str| r.settings.iter().find(|s| s.control == control);
    let hidden =
        |s: Option<&PricedBudget>| s.and_then(|s| s.hidden_rps).map_or("–".to_owned(), rate);
    line(&format!(
        "{}: hidden capacity {} without a budget, {} without retries, of {} advertised",
        paint(BOLD, &r.origin.system),
        hidden(of("none")),
        hidden(of("")),
        r.advertised_rps.map_or("–".to_owned(), rate)
    ));
    line("");
    let at = share(r.judged_at);
    line(&format!(
        "{} at {at} errors: hidden capacity after {}, and the success it costs",
        paint(BOLD, "The frontier"),
        r.trigger
    ));
    frontier(r);
    line("");
    defaults(r);
    line("");
    recommendation(r, &at);
    shares(r);
    line("");
    for text in [
        format!(
            "Price: success lost against unlimited retries at {}, in percentage points, with room \
             for everything but the errors; bursts last {} and fail {} of what comes then.",
            rate(r.load_rps),
            seconds(r.burst_length_s),
            share(r.burst_failure)
        ),
        "`≤`: none was seen, and it is no more than that (95 %).".to_owned(),
    ] {
        line(&paint(DIM, &text));
    }
    provenance(
        &r.origin,
        &format!(
            "{} of {} requests, {} requests simulated",
            count(r.replications as usize, "replication"),
            thousands(r.requests_per_replication),
            thousands(r.simulated_requests)
        ),
    );
}

fn frontier(r: &Price) {
    let mut on: Vec<&PricedBudget> = r.settings.iter().filter(|s| s.frontier).collect();
    on.sort_by(|a, b| {
        let hidden = |s: &PricedBudget| s.hidden_rps.unwrap_or(0.0);
        hidden(b).total_cmp(&hidden(a)).then(a.price.total_cmp(&b.price))
    });
    let bare = |x: f64| rate(x).trim_end_matches("/s").to_owned();
    let rows: Vec<Vec<String>> = on
        .into_iter()
        .map(|s| {
            let mut cells = vec![
                s.budget.trim_start_matches("{kind: ").trim_end_matches('}').to_owned(),
                s.hidden_rps.map_or("none".to_owned(), |h| {
                    format!("{}{}", if s.at_least { "≥ " } else { "" }, rate(h))
                }),
                s.hidden_ci95.map_or(String::new(), |c| format!("{}–{}", bare(c[0]), bare(c[1]))),
            ];
            let judged = s.prices.iter().filter(|p| is(p.errors, r.judged_at));
            cells.extend(judged.map(|p| points(p.price, p.price_ci95)));
            cells
        })
        .collect();
    table(&["budget", "hidden", "95 %", "independent", "bursts"], &rows);
}

/// What the recommended setting and the well-known defaults cost at every share of errors.
fn shares(r: &Price) {
    let recommended = r.settings.iter().find(|s| r.recommended.as_ref() == Some(&s.budget));
    let mut told: Vec<(&str, &PricedBudget)> =
        recommended.into_iter().map(|s| ("recommended", s)).collect();
    for (control, name) in WELL_KNOWN {
        told.extend(default(r, control).map(|s| (name, s)));
    }
    let Some((_, first)) = told.first() else { return };
    let head: Vec<&str> = ["points at"].into_iter().chain(told.iter().map(|(n, _)| *n)).collect();
    let rows: Vec<Vec<String>> = first
        .prices
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let kind = if p.bursty { "in bursts" } else { "independent" };
            let prices = told.iter().map(|(_, s)| {
                s.prices.get(i).map_or("–".to_owned(), |p| points(p.price, p.price_ci95))
            });
            [format!("{} {kind}", share(p.errors))].into_iter().chain(prices).collect()
        })
        .collect();
    line("");
    table(&head, &rows);
}

fn is(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// What a source ships, by the control's name: as the registry has it, or as somebody asked for it.
fn default<'a>(r: &'a Price, control: &str) -> Option<&'a PricedBudget> {
    r.settings.iter().find(|s| s.default && s.control == control)
}

/// A price in percentage points; a bound where none was seen.
fn points(price: f64, ci95: [f64; 2]) -> String {
    let digits = |share: f64| match share.abs() * 100.0 {
        p if p >= 1.0 => format!("{:.2}", share * 100.0),
        p if p >= 0.01 => format!("{:.3}", share * 100.0),
        _ => format!("{:.4}", share * 100.0),
    };
    if ci95[0] <= 0.0 && ci95[1] >= 0.0 {
        format!("≤ {}", digits(ci95[1]))
    } else {
        digits(price)
    }
}

fn defaults(r: &Price) {
    for (control, name) in WELL_KNOWN {
        let Some(s) = default(r, control) else { continue };
        let lies = match &s.dominated_by {
            None => "it is on the frontier".to_owned(),
            Some(by) => format!("{by} gains no less for no more"),
        };
        paragraph(&format!(
            "{name} {}: hidden capacity {}, price {} points; {lies}.",
            s.budget,
            s.hidden_rps.map_or("none".to_owned(), rate),
            points(s.price, s.price_ci95)
        ));
    }
}

fn recommendation(r: &Price, at: &str) {
    let most = r.most_lost * 100.0;
    let found = r.settings.iter().find(|s| r.recommended.as_ref() == Some(&s.budget));
    // Of what was not measured nothing is known.
    let of = if r.origin.partial { " of what was measured" } else { "" };
    match found {
        None if r.origin.partial => {
            line(&format!("{} not known, as it was interrupted.", paint(BOLD, "Recommended:")));
        }
        None => line(&format!(
            "{} no setting costs at most {most} points at {at} errors.",
            paint(BOLD, "Recommended:")
        )),
        Some(s) => {
            line(&format!(
                "{} {}, the most hidden capacity{of} for at most {most} points at {at} errors",
                paint(BOLD, "Recommended:"),
                s.budget
            ));
            let price = points(s.price, s.price_ci95);
            let hidden = s.hidden_rps.map_or("none".to_owned(), rate);
            line(&format!("  hidden capacity {hidden}, price {price} points"));
            let set: Vec<String> = s.set.iter().map(|s| format!("--set '{s}'")).collect();
            line(&format!("  {}", set.join(" ")));
        }
    }
}

/// `0.01 %`, `5 %`.
fn share(share: f64) -> String {
    let text = percent(share);
    let digits = text.trim_end_matches(" %");
    if digits.contains('.') {
        format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_points_are_short() {
        assert_eq!(share(0.0001), "0.01 %");
        assert_eq!(share(0.01), "1 %");
        assert_eq!(share(0.5), "50 %");
        assert_eq!(points(0.0123, [0.012, 0.0126]), "1.23");
        assert_eq!(points(0.000_123, [0.000_12, 0.000_13]), "0.012");
        assert_eq!(points(0.0, [-0.000_01, 0.000_01]), "≤ 0.0010");
    }
}
