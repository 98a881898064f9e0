//! Changes that were tried: what each gains, what it costs, and how to make it.

use super::section;
use crate::format;
use crate::html::El;
use crate::result::{Headroom, Remedy};
use crate::svg::Figure;
use crate::svg::bar::Bar;
use crate::svg::scale::Scale;
use crate::svg::scatter::{Scatter, Spot};

/// The part; nothing if nothing was tried.
pub(crate) fn part(result: &Headroom) -> Option<El> {
    if result.remedies.is_empty() {
        return None;
    }
    let part =
        section("remedies", "What changes it, and at what price")
            .child(El::new("p").class("lead").text(
            "Price: the change in success under a 1\u{a0}% transient error rate without overload. \
             The mark on a bar is hidden capacity as it is now. Each \
             change is a command-line argument; combine them and run again.",
        ));
    let part = part.child(list(result));
    Some(match plane(result) {
        Some(plane) => part.child(plane),
        None => part,
    })
}

/// The first remedy, if the system needs one and it helps.
pub(crate) fn best(result: &Headroom) -> Option<&Remedy> {
    if result.state == "stable" {
        return None;
    }
    let before = result.hidden_rps.and_then(format::measured)?;
    result.remedies.first().filter(|r| match r.hidden_rps {
        None => true,
        Some(after) => format::measured(after).is_some_and(|after| after > before),
    })
}

fn list(result: &Headroom) -> El {
    let reached = |r: &Remedy| gained_to(r, result);
    let most = result
        .remedies
        .iter()
        .filter_map(reached)
        .chain([result.advertised_rps.unwrap_or(0.0), result.hidden_rps.unwrap_or(0.0)])
        .filter_map(format::measured)
        .fold(0.0, f64::max);
    let scale = Scale::linear(0.0, most);
    let head = ["#", "change", "hidden capacity", "price", "what it does", "apply"]
        .map(|name| El::new("th").attr("scope", "col").attr("role", "columnheader").text(name));
    let rows =
        result.remedies.iter().zip(1..).map(|(remedy, number)| row(remedy, number, result, scale));
    let table = El::new("table")
        .class("remedies")
        .attr("role", "table")
        .child(
            El::new("thead")
                .attr("role", "rowgroup")
                .child(El::new("tr").attr("role", "row").children(head)),
        )
        .child(El::new("tbody").attr("role", "rowgroup").children(rows));
    super::scrolling("remedies", table)
}

fn row(remedy: &Remedy, number: usize, result: &Headroom, scale: Scale) -> El {
    // Roles are written out: on a phone the rows become cards, and a table that is laid out
    // as blocks would no longer be read as one.
    let td = |name: &'static str| El::new("td").attr("role", "cell").attr("data-label", name);
    let hidden = td("hidden capacity").child(El::new("span").class("number").text(
        match remedy.hidden_rps {
            Some(hidden) => format::rate(hidden),
            None => "every load tried".to_owned(),
        },
    ));
    let hidden = match format::interval(remedy.hidden_ci95, format::number) {
        Some(interval) => hidden.child(El::new("span").class("aside").text(format!(" {interval}"))),
        None => hidden,
    };
    let hidden = match gained_to(remedy, result) {
        Some(value) => hidden.child(
            Bar { value, interval: remedy.hidden_ci95, before: result.hidden_rps }.draw(scale),
        ),
        None => hidden,
    };
    let difference = remedy.success_after - remedy.success_before;
    let price = td("price").child(El::new("span").class("number").text(format::points(difference)));
    let price = match format::interval(Some(remedy.price_ci95), format::points_bare) {
        Some(interval) => price.child(El::new("span").class("aside").text(format!(" {interval}"))),
        None => price,
    };
    let price = price.child(El::new("div").class("aside").text(format!(
        "{} → {}",
        format::percent(remedy.success_before),
        format::percent(remedy.success_after)
    )));
    El::new("tr")
        .attr("role", "row")
        .child(td("#").class("place").text(number.to_string()))
        .child(
            El::new("th")
                .attr("scope", "row")
                .attr("role", "rowheader")
                .text(format::clip(&remedy.name, 120)),
        )
        .child(hidden)
        .child(price)
        .child(td("what it does").text(remedy.verdict.clone()))
        .child(td("apply").class("apply").children(apply(remedy)))
}

fn apply(remedy: &Remedy) -> Option<El> {
    let words: Vec<String> =
        remedy.set.iter().map(|set| format!("--set {}", shell_word(set))).collect();
    (!words.is_empty()).then(|| {
        El::new("div")
            .class("copy")
            .child(breakable(El::new("code").attr("tabindex", "0"), &words.join(" ")))
    })
}

/// Text that may be broken behind the dots and equal signs of a path.
fn breakable(place: El, text: &str) -> El {
    let mut place = place;
    let mut piece = String::new();
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        piece.push(c);
        let word_next = letters.peek().is_some_and(|next| next.is_alphabetic());
        if c == '=' || (c == '.' && word_next) {
            place = place.text(std::mem::take(&mut piece)).child(El::new("wbr"));
        }
    }
    place.text(piece)
}

/// Quoted for a shell where it needs to be.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Where the change takes hidden capacity; a system that recovered from every load is put
/// at its advertised capacity.
fn gained_to(remedy: &Remedy, result: &Headroom) -> Option<f64> {
    remedy.hidden_rps.or(remedy.advertised_rps).or(result.advertised_rps).and_then(format::measured)
}

fn plane(result: &Headroom) -> Option<El> {
    let before = result.hidden_rps.and_then(format::measured)?;
    let spots: Vec<Spot> = result
        .remedies
        .iter()
        .zip(1..)
        .filter_map(|(remedy, number)| spot(remedy, number, before, result))
        .collect();
    if spots.is_empty() {
        return None;
    }
    let words: Vec<&str> = spots.iter().map(|s| s.says.as_str()).collect();
    let figure = Figure {
        id: "price",
        title: "Capacity gained against price paid".to_owned(),
        aside: "numbers as in the table; up and to the left is better".to_owned(),
        description: words.join(". "),
        legend: None,
        explore: "marks",
        data: None,
        table: None,
    };
    let scatter = Scatter {
        spots,
        others: Vec::new(),
        print_x: format::number,
        print_y: format::number,
        x_name: "price: success lost, percentage points →",
        y_name: "↑ hidden capacity gained, per second",
    };
    Some(figure.frame("axes", Scatter::HEIGHT_PX, scatter.draw()))
}

fn spot(remedy: &Remedy, number: usize, before: f64, result: &Headroom) -> Option<Spot> {
    let gain = gained_to(remedy, result)? - before;
    let price = format::measured((remedy.success_before - remedy.success_after) * 100.0)?;
    let flipped =
        format::ordered(Some(remedy.price_ci95)).map(|[low, high]| [-high * 100.0, -low * 100.0]);
    Some(Spot {
        number,
        // Minus zero would print as such.
        x: price + 0.0,
        y: gain,
        x_interval: flipped,
        y_interval: format::ordered(remedy.hidden_ci95).map(|ends| ends.map(|end| end - before)),
        says: format!(
            "{number}, {}: {} gained, success {}",
            remedy.name,
            format::rate(gain),
            format::points(-price / 100.0)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(name: &str, hidden: Option<f64>, after: f64) -> Remedy {
        Remedy {
            name: name.into(),
            set: vec!["policies.default.retry.limit=0".into(), "services.db.order=lifo now".into()],
            hidden_rps: hidden,
            hidden_ci95: hidden.map(|h| [h - 5.0, h + 5.0]),
            success_before: 0.9999,
            success_after: after,
            price_ci95: [after - 0.9999 - 0.0004, after - 0.9999 + 0.0004],
            verdict: "breaks the loop".into(),
            ..Remedy::default()
        }
    }

    #[test]
    fn arguments_survive_a_shell() {
        assert_eq!(shell_word("a.b=0"), "a.b=0");
        assert_eq!(shell_word("a -> b=it's"), r"'a -> b=it'\''s'");
        assert_eq!(shell_word("$(reboot)"), "'$(reboot)'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_remedy_that_does_not_help_is_not_recommended() {
        let mut result = Headroom {
            state: "vulnerable".into(),
            hidden_rps: Some(150.0),
            remedies: vec![remedy("backoff", Some(150.0), 0.9999)],
            ..Headroom::default()
        };
        assert!(best(&result).is_none());
        result.remedies = vec![remedy("no retry", None, 0.99)];
        assert_eq!(best(&result).unwrap().name, "no retry");
        result.state = "stable".into();
        assert!(best(&result).is_none());
    }

    #[test]
    fn table_and_plane() {
        let result = Headroom {
            hidden_rps: Some(150.0),
            advertised_rps: Some(300.0),
            remedies: vec![remedy("no retry", None, 0.99), remedy("budget", Some(270.0), 0.9995)],
            ..Headroom::default()
        };
        let markup = list(&result).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
        assert!(plane(&result).is_some());
    }
}
