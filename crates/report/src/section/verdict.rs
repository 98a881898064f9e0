//! The headline: in which state the system is, in a sentence.

use super::{facts, remedies};
use crate::format;
use crate::html::El;
use crate::result::{Headroom, Simulate};

/// The head of a headroom report.
pub(crate) fn headroom(result: &Headroom) -> El {
    let mut header = head(&result.origin.system, &result.state, sentence(result));
    if let Some(first) = remedies::best(result) {
        header.push(way_back(first));
    }
    header.child(facts::of_headroom(result))
}

/// The head of a report of one run.
pub(crate) fn simulate(result: &Simulate) -> El {
    let run = &result.run;
    let load = format::rate(run.load_rps);
    let mut sentence = El::new("p").class("verdict").text(format!("At {load} this system "));
    sentence = match run.state.as_str() {
        "metastable" => sentence
            .text("is ")
            .child(El::new("strong").text("metastable"))
            .text(": it did not recover after ")
            .child(trigger(&result.trigger))
            .text(" had gone."),
        "overloaded" => sentence
            .text("is ")
            .child(El::new("strong").text("overloaded"))
            .text(": more is offered than it can serve, with or without a trigger."),
        "stable" if result.trigger.is_empty() => {
            sentence.text("is ").child(El::new("strong").text("stable")).text(".")
        }
        "stable" => {
            let after = run.recovery_s.and_then(format::measured).map(format::seconds);
            let sentence = sentence
                .text("is ")
                .child(El::new("strong").text("stable"))
                .text(": it recovered by itself ");
            let sentence = match after {
                Some(after) => sentence.text(format!("{after} after ")),
                None => sentence.text("after "),
            };
            sentence.child(trigger(&result.trigger)).text(" had gone.")
        }
        other => {
            sentence.text("is in state ").child(El::new("strong").text(known(other))).text(".")
        }
    };
    let mut header = El::new("header")
        .child(kicker("Simulation", &result.origin.system))
        .child(badge(&run.state))
        .child(sentence);
    if !run.reason.is_empty() {
        header.push(El::new("p").class("way-back").text(run.reason.clone()));
    }
    header.child(facts::of_simulate(result))
}

/// A banner over a result that was interrupted.
pub(crate) fn partial(partial: bool) -> Option<El> {
    partial.then(|| {
        El::new("p")
            .class("banner")
            .attr("role", "note")
            .child(El::new("strong").text("Partial result. "))
            .text("The run was interrupted; this is what had been measured until then.")
    })
}

/// The title of the page.
pub(crate) fn title(kind: &str, system: &str) -> String {
    format!("{kind}: {} – Damper", known(system))
}

fn head(system: &str, state: &str, sentence: El) -> El {
    El::new("header").child(kicker("Headroom", system)).child(badge(state)).child(sentence)
}

/// Kind of the report and name of the system.
pub(crate) fn kicker(kind: &'static str, system: &str) -> El {
    El::new("h1")
        .child(El::new("span").text(kind))
        .text(" ")
        .child(El::new("span").class("system").text(known(system)))
}

/// State as a word with a shape of its own, so that colour is not needed.
fn badge(state: &str) -> El {
    let (class, d) = match state {
        "stable" => ("stable", "M8 1a7 7 0 1 0 0 14a7 7 0 1 0 0-14ZM4.5 8.2l2.4 2.4 4.6-5"),
        "vulnerable" => ("vulnerable", "M8 1.5L15.2 14.5H0.8ZM8 6v4.2M8 12v1"),
        "metastable" => (
            "overloaded",
            "M5 1.5h6l4 4v5l-4 4h-6l-4-4v-5ZM5.2 9.5a3 3 0 1 0 .3-3.4M5.2 3.8v2.6h2.6",
        ),
        "overloaded" => ("overloaded", "M5 1.5h6l4 4v5l-4 4h-6l-4-4v-5ZM5.5 5.5l5 5M10.5 5.5l-5 5"),
        _ => ("unknown", "M2 2h12v12h-12ZM5 8h6"),
    };
    let icon = El::new("svg")
        .attr("viewBox", "0 0 16 16")
        .attr("width", "18")
        .attr("height", "18")
        .attr("aria-hidden", "true")
        .child(El::new("path").attr("d", d));
    El::new("p").class(format!("badge {class}")).child(icon).text(known(state).to_uppercase())
}

fn sentence(result: &Headroom) -> El {
    let load = format::rate(result.load_rps);
    let p = El::new("p").class("verdict").text(format!("At {load} this system is "));
    let p = p.child(El::new("strong").text(known(&result.state)));
    let limit = result.hidden_rps.and_then(format::measured).map(|hidden| {
        match format::interval(result.hidden_ci95, format::number) {
            Some(interval) => format!("{} ({interval})", format::rate(hidden)),
            None => format::rate(hidden),
        }
    });
    let advertised = result.advertised_rps.and_then(format::measured).map(format::rate);
    match (result.state.as_str(), limit) {
        ("vulnerable", Some(limit)) => p
            .text(": ")
            .child(trigger(&result.trigger))
            .text(" would hold it down after it has gone. It heals by itself below ")
            .child(El::new("b").text(limit))
            .text("."),
        ("vulnerable", None) => {
            p.text(": ").child(trigger(&result.trigger)).text(" would hold it down.")
        }
        ("stable", Some(limit)) => p
            .text(": it recovers by itself from ")
            .child(trigger(&result.trigger))
            .text(", and would up to ")
            .child(El::new("b").text(limit))
            .text("."),
        ("stable", None) => p
            .text(": it recovers by itself from ")
            .child(trigger(&result.trigger))
            .text(", at every load that was tried."),
        ("overloaded", _) => {
            let p = p.text(": more is offered than it can serve");
            match advertised {
                Some(advertised) => {
                    p.text(", ").child(El::new("b").text(advertised)).text(", trigger or not.")
                }
                None => p.text(", trigger or not."),
            }
        }
        _ => p.text("."),
    }
}

fn way_back(remedy: &crate::result::Remedy) -> El {
    let to = match remedy.hidden_rps.and_then(format::measured) {
        Some(hidden) => format!("raises it to {}", format::rate(hidden)),
        None => "lets it recover from every load that was tried".to_owned(),
    };
    El::new("p")
        .class("way-back")
        .text("First remedy: ")
        .child(El::new("b").text(remedy.name.clone()))
        .text(format!(
            " {to}; success under 1\u{a0}% errors changes by {}. ",
            format::points(remedy.success_after - remedy.success_before)
        ))
        .child(El::new("a").attr("href", "#remedies").text("All remedies"))
}

fn trigger(words: &str) -> El {
    match words {
        "" => El::new("span").text("the trigger"),
        words => El::new("span").text("the trigger “").child(El::new("em").text(words)).text("”"),
    }
}

fn known(word: &str) -> &str {
    if word.trim().is_empty() { "unnamed" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Origin, Simulation};

    fn at(state: &str, hidden: Option<f64>) -> Headroom {
        Headroom {
            origin: Origin { system: "shop".into(), ..Origin::default() },
            trigger: "outage of db for 2s".into(),
            state: state.into(),
            load_rps: 270.0,
            hidden_rps: hidden,
            hidden_ci95: hidden.map(|h| [h - 3.0, h + 3.0]),
            advertised_rps: Some(300.0),
            ..Headroom::default()
        }
    }

    fn plain(el: &El) -> String {
        let markup = el.to_markup();
        let mut text = String::new();
        let mut inside = false;
        for c in markup.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                c if !inside => text.push(c),
                _ => {}
            }
        }
        text.trim().to_owned()
    }

    #[test]
    fn verdicts_in_a_sentence() {
        let sentences: Vec<String> = [
            at("vulnerable", Some(150.0)),
            at("vulnerable", None),
            at("stable", Some(290.0)),
            at("stable", None),
            at("overloaded", Some(150.0)),
            at("<odd>", None),
            at("", None),
        ]
        .iter()
        .map(|r| plain(&sentence(r)))
        .collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn verdicts_of_a_run() {
        let run = |state: &str, trigger: &str, recovery_s| Simulate {
            trigger: trigger.into(),
            run: Simulation {
                state: state.into(),
                recovery_s,
                load_rps: 270.0,
                ..Simulation::default()
            },
            ..Simulate::default()
        };
        let pages: Vec<String> = [
            run("metastable", "outage of db for 2s", None),
            run("stable", "outage of db for 2s", Some(3.25)),
            run("stable", "", None),
            run("overloaded", "", None),
        ]
        .iter()
        .map(|r| plain(&simulate(r)))
        .collect();
        insta::assert_snapshot!(pages.join("\n---\n"));
    }
}
