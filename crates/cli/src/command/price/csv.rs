//! Every setting with every price, for spreadsheets and notebooks.

use std::fmt::Write as _;

use damper_report::result::price::Price;

use crate::command::csv::quoted;

/// One row for a setting and a kind of errors.
pub(super) fn of(result: &Price) -> String {
    let mut out = String::from(
        "budget,control,default,frontier,recommended,hidden_rps,hidden_low,hidden_high,gained_rps,\
         errors,bursty,scaled,success,price,price_low,price_high\n",
    );
    for s in &result.settings {
        let hidden = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        let setting = format!(
            "{},{},{},{},{},{},{},{},{}",
            quoted(&s.budget),
            quoted(&s.control),
            s.default,
            s.frontier,
            result.recommended.as_ref() == Some(&s.budget),
            hidden(s.hidden_rps),
            hidden(s.hidden_ci95.map(|c| c[0])),
            hidden(s.hidden_ci95.map(|c| c[1])),
            s.gained_rps
        );
        for p in &s.prices {
            let _ = writeln!(
                out,
                "{setting},{},{},{},{},{},{},{}",
                p.errors, p.bursty, p.scaled, p.success, p.price, p.price_ci95[0], p.price_ci95[1]
            );
        }
    }
    out
}
