//! The page of `damper price`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::price::{Price, PriceAt, PricedBudget};
use crate::section::facts::{self, Fact};
use crate::section::{cell, name_cell, provenance, scrolling, section, table, verdict};
use crate::svg::Figure;
use crate::svg::scatter::{Faint, Scatter, Spot};

/// Controls whose defaults are told by name, since most people run one of them.
const WELL_KNOWN: [(&str, &str); 2] =
    [("envoy", "Envoy's default"), ("token-bucket", "gRPC's default")];

/// One self-contained HTML page: the frontier as a picture and a table, and every setting. Accepts
/// any value, as [`headroom_html`](crate::headroom_html) does.
pub fn price_html(result: &Price) -> String {
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(result.origin.partial));
    parts.push(head(result));
    let told = told(result);
    parts.push(chosen(result, &told));
    parts.push(all(result));
    let bursts = format!(
        "{} on average, in which {} of attempts fail",
        format::seconds(result.burst_length_s),
        format::percent(result.burst_failure)
    );
    let how = [
        ("trigger", result.trigger.clone()),
        ("load", format::rate(result.load_rps)),
        ("bursts", bursts),
        ("replications", result.replications.to_string()),
        ("requests each", format::count(result.requests_per_replication)),
        ("simulated requests", format::count(result.simulated_requests)),
    ];
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Price", &result.origin.system), parts)
}

/// What a setting is besides a setting: `Envoy's default`, `recommended`.
fn also(setting: &PricedBudget, result: &Price) -> String {
    let mut words: Vec<&str> = Vec::new();
    let named =
        WELL_KNOWN.iter().find(|(control, _)| setting.default && *control == setting.control);
    words.extend(named.map(|(_, words)| *words));
    if setting.default && named.is_none() {
        words.push("a default");
    }
    if result.recommended.as_ref() == Some(&setting.budget) {
        words.push("recommended");
    }
    words.join(", ")
}

/// The settings with numbers: the frontier, the two references, the well-known defaults and the
/// recommended one.
fn told(result: &Price) -> Vec<&PricedBudget> {
    let known = |s: &PricedBudget| s.default && WELL_KNOWN.iter().any(|(c, _)| *c == s.control);
    let reference = |s: &PricedBudget| s.control.is_empty() || s.control == "none";
    let recommended = |s: &PricedBudget| result.recommended.as_ref() == Some(&s.budget);
    let mut told: Vec<&PricedBudget> = result
        .settings
        .iter()
        .filter(|s| s.frontier || known(s) || reference(s) || recommended(s))
        .collect();
    told.sort_by(|a, b| a.price.total_cmp(&b.price));
    told
}

fn head(result: &Price) -> El {
    let at = format::percent(result.judged_at);
    let recommended =
        result.settings.iter().find(|s| result.recommended.as_ref() == Some(&s.budget));
    let measured = if result.origin.partial { "were measured and " } else { "" };
    let text = match recommended {
        Some(s) => format!(
            "{} has the most hidden capacity of those that {measured}lose at most {} of requests \
             at {at} errors.",
            s.budget,
            format::percent(result.most_lost)
        ),
        None if result.origin.partial => {
            "It was interrupted before a setting could be recommended.".to_owned()
        }
        None => format!(
            "No setting loses at most {} of requests at {at} errors.",
            format::percent(result.most_lost)
        ),
    };
    let of = |control: &str| result.settings.iter().find(|s| s.control == control);
    let hidden = |s: Option<&PricedBudget>| format::rate_or_none(s.and_then(|s| s.hidden_rps));
    let mut figures = vec![
        Fact::new("without a budget", hidden(of("none")), "heals by itself below"),
        Fact::new("without retries", hidden(of("")), "the most that a budget can reach"),
    ];
    if let Some(s) = recommended {
        figures.push(Fact::new(
            "recommended",
            format::rate_or_none(s.hidden_rps),
            s.budget.clone(),
        ));
        let note = format!("of requests at {at} errors");
        figures.push(Fact::new("its price", format::percent(s.price), note));
    }
    El::new("header")
        .child(verdict::kicker("Price", &result.origin.system))
        .child(El::new("p").class("verdict").text(text))
        .child(facts::row(&figures))
}

fn at(setting: &PricedBudget, share: f64, bursty: bool) -> Option<&PriceAt> {
    setting.prices.iter().find(|p| (p.errors - share).abs() < 1e-12 && p.bursty == bursty)
}

fn plane(result: &Price, told: &[&PricedBudget], bursty: bool) -> El {
    let share = format::percent(result.judged_at);
    let (id, kind) = if bursty { ("bursts", "in bursts") } else { ("independent", "independent") };
    let place = |s: &PricedBudget| {
        let price = at(s, result.judged_at, bursty).and_then(|p| format::measured(p.price))?;
        Some((price * 100.0 + 0.0, format::measured(s.hidden_rps?)?))
    };
    let says = |s: &PricedBudget, x: f64, y: f64| {
        format!("{}: {}, {} points", s.budget, format::rate(y), format::number(x))
    };
    let spots: Vec<Spot> = told
        .iter()
        .zip(1..)
        .filter_map(|(s, number)| {
            let (x, y) = place(s)?;
            let interval = at(s, result.judged_at, bursty).map(|p| p.price_ci95.map(|e| e * 100.0));
            Some(Spot {
                number,
                x,
                y,
                x_interval: format::ordered(interval),
                y_interval: format::ordered(s.hidden_ci95),
                says: format!("{number}, {}", says(s, x, y)),
            })
        })
        .collect();
    let number = |s: &PricedBudget| told.iter().any(|t| std::ptr::eq(*t, s));
    let others = result.settings.iter().filter(|s| !number(s));
    let others = others
        .filter_map(|s| {
            let (x, y) = place(s)?;
            Some(Faint { x, y, says: says(s, x, y) })
        })
        .collect();
    let words: Vec<&str> = spots.iter().map(|s| s.says.as_str()).collect();
    let figure = Figure {
        id,
        title: format!("{share} of attempts fail, {kind}"),
        aside: "numbers as in the table; up and to the left is better".to_owned(),
        description: words.join(". "),
        legend: None,
        explore: "marks",
        data: None,
        table: None,
    };
    let scatter = Scatter {
        spots,
        others,
        print_x: format::number,
        print_y: format::number,
        x_name: "price: success lost, percentage points →",
        y_name: "↑ hidden capacity, per second",
    };
    figure.frame("axes", Scatter::HEIGHT_PX, scatter.draw())
}

fn price(price: f64, interval: [f64; 2]) -> String {
    let text = format::points_bare(price);
    match format::ordered(Some(interval)) {
        Some([low, high]) if low <= 0.0 && high >= 0.0 => {
            format!("none seen, ≤ {}", format::points_bare(high).trim_start_matches('+'))
        }
        Some([low, high]) => format!(
            "{} ({} to {})",
            text.trim_start_matches('+'),
            format::points_bare(low).trim_start_matches('+'),
            format::points_bare(high).trim_start_matches('+')
        ),
        None => text,
    }
}

fn hidden(setting: &PricedBudget) -> String {
    let rate = format::rate_or_none(setting.hidden_rps);
    match format::interval(setting.hidden_ci95, format::number) {
        Some(interval) => format!("{rate} ({interval})"),
        None => rate,
    }
}

fn chosen(result: &Price, told: &[&PricedBudget]) -> El {
    let rows = told.iter().zip(1..).map(|(s, number)| {
        let dominated =
            s.dominated_by.as_ref().map(|by| match told.iter().position(|t| t.budget == *by) {
                Some(place) => format!("no, {} is better", place + 1),
                None => format!("no, {} is better", bare(by)),
            });
        vec![
            name_cell(&format!("{number}  {}", bare(&s.budget))),
            cell(hidden(s)),
            cell(price(s.price, s.price_ci95)),
            cell(dominated.unwrap_or_else(|| "yes".to_owned())),
            cell(also(s, result)),
        ]
    });
    let price = format!("price at {}, points", format::percent(result.judged_at));
    let grid =
        table("the frontier", &["budget", "hidden capacity", &price, "on the frontier", ""], rows);
    section("frontier", "The frontier, and where the defaults lie")
        .child(plane(result, told, false))
        .child(plane(result, told, true))
        .child(grid)
}

/// A setting without its braces: `envoy, percent: 20%`.
fn bare(budget: &str) -> &str {
    budget.strip_prefix("{kind: ").and_then(|rest| rest.strip_suffix('}')).unwrap_or(budget)
}

fn all(result: &Price) -> El {
    let mut columns = vec!["budget".to_owned(), "hidden capacity".to_owned()];
    if let Some(first) = result.settings.first() {
        columns.extend(first.prices.iter().map(|p| {
            let kind = if p.bursty { "bursts" } else { "independent" };
            format!("{} {kind}", format::percent(p.errors))
        }));
    }
    let head = El::new("tr")
        .children(columns.iter().map(|c| El::new("th").attr("scope", "col").text(c.clone())));
    let body = result.settings.iter().map(|s| {
        let prices = s.prices.iter().map(|p| cell(price(p.price, p.price_ci95)));
        El::new("tr").child(name_cell(bare(&s.budget))).child(cell(hidden(s))).children(prices)
    });
    let grid =
        El::new("table").child(El::new("thead").child(head)).child(El::new("tbody").children(body));
    section("all", "Every setting, price in percentage points").child(scrolling("all", grid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(budget: &str, hidden: f64, lost: f64, frontier: bool) -> PricedBudget {
        PricedBudget {
            budget: budget.into(),
            control: budget.into(),
            hidden_rps: Some(hidden),
            hidden_ci95: Some([hidden - 2.0, hidden + 2.0]),
            price: lost,
            price_ci95: [lost - 0.001, lost + 0.001],
            prices: vec![PriceAt {
                errors: 0.01,
                bursty: true,
                price: lost,
                price_ci95: [lost - 0.001, lost + 0.001],
                ..PriceAt::default()
            }],
            frontier,
            ..PricedBudget::default()
        }
    }

    #[test]
    fn a_price_that_may_be_none_says_how_much_it_may_be() {
        assert_eq!(price(0.0, [-0.00002, 0.00002]), "none seen, ≤ 0.002");
        assert_eq!(price(0.0031, [0.0029, 0.0033]), "0.31 (0.29 to 0.33)");
    }

    #[test]
    fn the_frontier_and_what_people_run_have_numbers() {
        let mut envoy = setting("envoy", 200.0, 0.006, false);
        envoy.default = true;
        envoy.dominated_by = Some("b".into());
        let result = Price {
            judged_at: 0.01,
            settings: vec![
                setting("none", 150.0, 0.0, true),
                setting("b", 250.0, 0.004, true),
                setting("c", 240.0, 0.005, false),
                envoy,
            ],
            recommended: Some("b".into()),
            ..Price::default()
        };
        let told: Vec<&str> = told(&result).iter().map(|s| s.budget.as_str()).collect();
        assert_eq!(told, ["none", "b", "envoy"]);
        let page = price_html(&result);
        for words in ["Envoy&#39;s default", "no, 2 is better", "recommended", "class=\"faint\""] {
            assert!(page.contains(words), "{words}");
        }
    }

    /// Of what was not measured nothing is concluded.
    #[test]
    fn an_interrupted_one_recommends_of_what_was_measured() {
        let mut result = Price::default();
        result.origin.partial = true;
        let page = price_html(&result);
        assert!(page.contains("interrupted before a setting"), "{page}");
        assert!(!page.contains("No setting loses"), "{page}");
        result.settings.push(setting("b", 250.0, 0.004, true));
        result.recommended = Some("b".into());
        assert!(price_html(&result).contains("of those that were measured and lose"));
    }

    #[test]
    fn nothing_is_a_page_and_names_are_escaped() {
        assert!(price_html(&Price::default()).contains("No setting loses"));
        let hostile = Price {
            settings: vec![setting("<script>", f64::NAN, f64::INFINITY, true)],
            ..Price::default()
        };
        assert!(!price_html(&hostile).contains("<script>:"));
    }
}
