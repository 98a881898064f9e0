//! What a page promises, seen from outside.

use damper_report::result::{Graph, GraphEdge, Headroom, Node, ServiceSeries};
use damper_report::{headroom_html, simulate_html};

use crate::samples;

#[test]
fn the_same_result_gives_the_same_page() {
    assert_eq!(headroom_html(&samples::retry_storm()), headroom_html(&samples::retry_storm()));
}

#[test]
fn nothing_comes_from_the_network() {
    for page in [headroom_html(&samples::five_layers()), simulate_html(&samples::hotel())] {
        assert!(page.contains("default-src &#39;none&#39;"));
        let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
        for word in ["http://", "https://", "@import", "src=", "fetch(", "XMLHttpRequest"] {
            assert!(!without_namespace.contains(word), "{word}");
        }
    }
}

#[test]
fn the_headline_says_what_the_reader_must_know() {
    let page = headroom_html(&samples::retry_storm());
    for words in [
        "VULNERABLE",
        "At 270/s this system is <strong>vulnerable</strong>",
        "outage of db for 2s",
        "It heals by itself below <b>150/s (147–153)</b>",
        "--set services.",
        "only reschedules it",
        "examples/retry-storm.yaml",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn every_chart_has_a_role_a_name_and_a_description() {
    let page = headroom_html(&samples::retry_storm());
    let charts = page.matches("role=\"img\"").count();
    assert_eq!(charts, 6, "capacity, rates, delay, queue, calls, price");
    assert_eq!(page.matches("-title\">").count(), charts);
    assert_eq!(page.matches("<desc id=").count(), charts);
    assert!(page.matches("<details").count() >= charts - 1);
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "ids are unique");
}

#[test]
fn an_interrupted_run_says_so() {
    let mut result = samples::retry_storm();
    assert!(!headroom_html(&result).contains("Partial result"));
    result.origin.partial = true;
    result.remedies.clear();
    result.shown = None;
    let page = headroom_html(&result);
    assert!(page.contains("Partial result"));
    assert!(!page.contains("id=\"remedies\""));
}

#[test]
fn ten_thousand_points_make_a_page_that_can_be_mailed() {
    let mut result = samples::hotel();
    let n = 10_000;
    let series = &mut result.run.series;
    series.t_s = (0..n).map(f64::from).collect();
    let noise: Vec<f64> = (0..n).map(|i| f64::from(i * 7919 % 1009)).collect();
    series.offered_rps.clone_from(&noise);
    series.attempts_rps.clone_from(&noise);
    series.goodput_rps.clone_from(&noise);
    series.throughput_rps.clone_from(&noise);
    let service = ServiceSeries {
        queue_delay_s: noise.iter().map(|v| Some(v / 100.0)).collect(),
        queue: noise.iter().map(|v| *v as u64).collect(),
        ..ServiceSeries::default()
    };
    series.services = [("db".to_owned(), service)].into();
    let page = simulate_html(&result);
    assert!(page.len() < 600_000, "{} bytes", page.len());
}

#[test]
fn sixty_nodes_are_drawn_and_sixty_one_are_listed() {
    let graph = |n: usize| Graph {
        nodes: (0..n).map(|i| Node { name: format!("service-{i}"), ..Node::default() }).collect(),
        edges: (1..n)
            .map(|i| GraphEdge {
                from: format!("service-{}", i / 3),
                to: format!("service-{i}"),
                ..GraphEdge::default()
            })
            .collect(),
    };
    let page = |n| headroom_html(&Headroom { graph: graph(n), ..Headroom::default() });
    assert!(page(60).contains("id=\"call-graph\""));
    assert!(page(61).contains("too many to draw") && !page(61).contains("id=\"call-graph\""));
}

/// WCAG AA: text at 4.5 to 1, lines and marks at 3 to 1, in both themes.
#[test]
fn colours_are_told_apart_from_their_ground() {
    let css = include_str!("../../src/assets/report.css");
    let dark_at = css.find("prefers-color-scheme: dark").expect("a dark theme");
    let print_at = css.find("@media print").expect("a print theme");
    for (theme, part) in
        [("light", &css[..dark_at]), ("dark", &css[dark_at..]), ("print", &css[print_at..])]
    {
        let colour = |name: &str| {
            let at = part.find(&format!("--{name}:")).unwrap_or_else(|| panic!("{theme} {name}"));
            let value = part[at..].split([':', ';']).nth(1).expect("a value").trim();
            luminance(value)
        };
        let check = |front: &str, back: &str, least: f64| {
            let (a, b) = (colour(front), colour(back));
            let ratio = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(ratio >= least, "{theme}: {front} on {back} is {ratio:.2}, wanted {least}");
        };
        for back in ["paper", "card"] {
            for front in ["ink", "muted", "link"] {
                check(front, back, 4.5);
            }
        }
        for state in ["stable", "vulnerable", "overloaded"] {
            check(&format!("{state}-ink"), state, 4.5);
            check("ink", state, 4.5);
        }
        for heat in ["heat-0", "heat-1", "heat-2", "heat-3"] {
            check("ink", heat, 4.5);
        }
        check("heat-4-ink", "heat-4", 4.5);
        check("ink", "code", 4.5);
        check("attempts", "card", 4.5);
        for mark in ["good", "offered", "throughput", "edge", "level", "trigger-edge"] {
            check(mark, "card", 3.0);
        }
    }
}

fn luminance(hex: &str) -> f64 {
    let hex = hex.trim_start_matches('#');
    let wide: String =
        if hex.len() == 3 { hex.chars().flat_map(|c| [c, c]).collect() } else { hex.to_owned() };
    let channel = |i: usize| {
        let value = f64::from(u8::from_str_radix(&wide[i..i + 2], 16).expect("hex")) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}
