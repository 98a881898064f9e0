//! The page of `damper solve --basins`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::{Basins, Lasting};
use crate::section::{basins, provenance, verdict};

/// One self-contained HTML page with the two basins. Accepts any value, as
/// [`headroom_html`](crate::headroom_html) does.
pub fn basins_html(result: &Basins) -> String {
    let heading = El::new("h1")
        .text("Basins of ")
        .child(El::new("span").class("system").text(result.origin.system.clone()));
    let mut parts = vec![El::new("header").child(heading)];
    parts.extend(basins::part(result));
    let how = [("load", format::rate(result.load_rps))];
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Basins", &result.origin.system), parts)
}

/// Longer than this is told as a power of ten, in seconds: 300 million years.
const BEYOND: f64 = 1e16;

/// A duration in words, with what it means where seconds say little: `2.5e7 s (290 days)`, `beyond
/// reach: more than 10^40 s`, `never`, or a dash if it is not known.
pub fn lasting(duration: &Lasting) -> String {
    let beyond = |power: f64| format!("beyond reach: more than 10^{power:.0} s");
    match (duration.seconds.filter(|s| s.is_finite()), duration.beyond_power_of_ten) {
        _ if duration.never => "never".to_owned(),
        (Some(seconds), _) if seconds >= BEYOND => beyond(seconds.log10().floor()),
        (Some(seconds), _) if seconds >= 100.0 * 86_400.0 => {
            let years = seconds / (365.25 * 86_400.0);
            let told = if years < 1.5 {
                format!("{:.0} days", seconds / 86_400.0)
            } else if years < 1e4 {
                format!("{} years", format::number(two_digits(years)))
            } else {
                format!("{years:.0e} years")
            };
            format!("{seconds:.1e} s ({told})")
        }
        (Some(seconds), _) if seconds >= 172_800.0 => {
            format!("{} days", format::number(two_digits(seconds / 86_400.0)))
        }
        (Some(seconds), _) => format::seconds(seconds).replace('\u{a0}', " "),
        (None, Some(power)) => beyond(power),
        (None, None) => format::NONE.to_owned(),
    }
}

fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_say_what_they_mean() {
        let told = |seconds| lasting(&Lasting { seconds: Some(seconds), ..Lasting::default() });
        assert_eq!(told(12.34), "12.3 s");
        assert_eq!(told(3600.0), "60 min");
        assert_eq!(told(864_000.0), "10 days");
        assert_eq!(told(2.5e7), "2.5e7 s (289 days)");
        assert_eq!(told(3.2e9), "3.2e9 s (100 years)");
        assert_eq!(told(2.9475e12), "2.9e12 s (9e4 years)");
        assert_eq!(told(3e40), "beyond reach: more than 10^40 s");
        assert_eq!(told(f64::NAN), "–");
        let power = Lasting { beyond_power_of_ten: Some(300.0), ..Lasting::default() };
        assert_eq!(lasting(&power), "beyond reach: more than 10^300 s");
        assert_eq!(lasting(&Lasting { never: true, ..Lasting::default() }), "never");
    }

    #[test]
    fn a_page_without_basins_says_why() {
        let page = basins_html(&Basins {
            nothing: Some("no loop <here>".to_owned()),
            ..Basins::default()
        });
        assert!(page.contains("no loop &lt;here&gt;"));
    }
}
