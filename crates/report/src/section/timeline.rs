//! What happened around the trigger: rates, then delay and queue of the service in trouble.

use crate::format;
use crate::html::El;
use crate::result::{Graph, Series, ServiceSeries, Simulation};
use crate::svg::line::{Across, Level, Line, LineChart};

use super::section;

/// The part. `suspect` is the service whose queue is looked at first, if it is known.
pub(crate) fn part(run: &Simulation, graph: &Graph, suspect: Option<&str>) -> El {
    let heading = if run.series.trigger_s.is_some() {
        "What happened around the trigger"
    } else {
        "What happened over time"
    };
    let part = section("timeline", heading);
    let order = order(&run.series);
    if order.is_empty() {
        return part.child(El::new("p").class("empty").text("No series was recorded."));
    }
    let series = &run.series;
    let part = part.child(rates(series, &order, run.load_rps));
    match suspect.and_then(|name| series.services.get_key_value(name)).or_else(|| busiest(run)) {
        Some((name, service)) => part.children(queue(name, service, series, &order, graph)),
        None => part,
    }
}

/// Indices of the points with a finite time, in the order of time.
fn order(series: &Series) -> Vec<usize> {
    let time = |i: &usize| series.t_s.get(*i).copied().unwrap_or_default();
    let mut order: Vec<usize> =
        (0..series.t_s.len()).filter(|i| format::measured(time(i)).is_some()).collect();
    order.sort_by(|a, b| time(a).total_cmp(&time(b)));
    order
}

fn rates(series: &Series, order: &[usize], load: f64) -> El {
    let line = |name: &str, class, values: &[f64], filled| Line {
        name: name.to_owned(),
        class,
        values: pick(order, |i| values.get(i).copied()),
        print: format::rate,
        filled,
    };
    let lines: Vec<Line> = [
        line("goodput", "goodput", &series.goodput_rps, true),
        line("throughput", "throughput", &series.throughput_rps, false),
        line("attempts", "attempts", &series.attempts_rps, false),
        line("offered", "offered", &series.offered_rps, false),
    ]
    .into_iter()
    .filter(|line| line.values.iter().any(Option::is_some))
    .collect();
    let description = format!(
        "Lines over time at a load of {}. {}",
        format::rate(load),
        lines.iter().map(|l| extent(l, order, series)).collect::<Vec<_>>().join(" ")
    );
    let mut rates =
        chart(series, order, "rates", "Requests and attempts", "per second", description, lines);
    rates.height_px = 230.0;
    // On a linear axis a large amplification would press all other lines into the floor.
    let most =
        |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    rates.may_be_log = most(&series.attempts_rps) > 20.0 * most(&series.offered_rps);
    rates.draw()
}

fn queue(
    name: &str,
    service: &ServiceSeries,
    series: &Series,
    order: &[usize],
    graph: &Graph,
) -> Vec<El> {
    let shown = format::clip(name, 40);
    let delay = Line {
        name: "queue delay".to_owned(),
        class: "delay",
        values: pick(order, |i| service.queue_delay_s.get(i).copied().flatten()),
        print: format::seconds,
        filled: true,
    };
    let waiting = Line {
        name: "waiting attempts".to_owned(),
        class: "waiting",
        values: pick(order, |i| service.queue.get(i).map(|q| *q as f64)),
        print: format::number,
        filled: true,
    };
    let mut drawings = Vec::new();
    if delay.values.iter().any(Option::is_some) {
        let words = extent(&delay, order, series);
        let mut delays = chart(
            series,
            order,
            "delay",
            &format!("Queue delay of {shown}"),
            "",
            words,
            vec![delay],
        );
        delays.levels = patience(name, graph)
            .map(|at| Level { at, name: format!("callers give up after {}", format::seconds(at)) })
            .into_iter()
            .collect();
        delays.may_be_log = true;
        delays.print_axis = format::seconds_on_axis;
        drawings.push(delays.draw());
    }
    if waiting.values.iter().any(Option::is_some) {
        let words = extent(&waiting, order, series);
        let title = format!("Queue of {shown}");
        let mut lengths =
            chart(series, order, "queue", &title, "waiting attempts", words, vec![waiting]);
        lengths.height_px = 110.0;
        // Half an attempt cannot wait.
        lengths.least_high = 4.0;
        drawings.push(lengths.draw());
    }
    drawings
}

fn chart(
    series: &Series,
    order: &[usize],
    id: &'static str,
    title: &str,
    aside: &str,
    description: String,
    lines: Vec<Line>,
) -> LineChart {
    let interval_s = format::measured(series.interval_s).unwrap_or(0.0).max(0.0);
    let middle = |i: &usize| Some(series.t_s.get(*i)? + interval_s / 2.0);
    LineChart {
        id,
        title: title.to_owned(),
        aside: aside.to_owned(),
        description,
        height_px: 150.0,
        t_s: order.iter().filter_map(middle).collect(),
        interval_s,
        across: Across::time(),
        lines,
        seen: Vec::new(),
        trigger_s: series.trigger_s,
        levels: Vec::new(),
        may_be_log: false,
        least_high: 0.0,
        print_axis: format::number,
    }
}

/// Values in the order of time; what is missing, not a number or negative is a gap.
fn pick(order: &[usize], value: impl Fn(usize) -> Option<f64>) -> Vec<Option<f64>> {
    order.iter().map(|i| value(*i).and_then(format::measured).filter(|v| *v >= 0.0)).collect()
}

/// What a line does, in words.
fn extent(line: &Line, order: &[usize], series: &Series) -> String {
    let at = |i: usize| {
        let t = order.get(i).and_then(|i| series.t_s.get(*i)).copied().unwrap_or_default();
        format::moment(t)
    };
    let valued = || line.values.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?)));
    let least = valued().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = valued().max_by(|a, b| a.1.total_cmp(&b.1));
    match (valued().next(), least, most, valued().next_back()) {
        (Some(first), Some(least), Some(most), Some(last)) => format!(
            "{}: {} at first, least {} at {}, most {} at {}, {} at last.",
            line.name,
            (line.print)(first.1),
            (line.print)(least.1),
            at(least.0),
            (line.print)(most.1),
            at(most.0),
            (line.print)(last.1),
        ),
        _ => format!("{}: not measured.", line.name),
    }
}

/// The shortest timeout of a call into the service.
fn patience(service: &str, graph: &Graph) -> Option<f64> {
    graph
        .edges
        .iter()
        .filter(|e| e.to == service)
        .filter_map(|e| e.timeout_s.and_then(format::measured))
        .filter(|t| *t > 0.0)
        .min_by(f64::total_cmp)
}

/// The service with the longest queue, and of those without one the most utilised.
fn busiest(run: &Simulation) -> Option<(&String, &ServiceSeries)> {
    let load = |name: &String, s: &ServiceSeries| {
        let queue = s.queue.iter().max().copied().unwrap_or_default();
        let used = run.services.get(name).and_then(|r| format::measured(r.utilisation));
        (queue, used.unwrap_or_default())
    };
    run.series.services.iter().max_by(|a, b| {
        let (a, b) = (load(a.0, a.1), load(b.0, b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_put_in_order_and_what_is_no_time_is_left_out() {
        let series = Series { t_s: vec![3.0, f64::NAN, 1.0, f64::INFINITY], ..Series::default() };
        assert_eq!(order(&series), [2, 0]);
    }

    #[test]
    fn short_lists_and_strange_values_are_gaps() {
        let values = [1.0, f64::NAN, -3.0];
        let picked = pick(&[0, 1, 2, 3], |i| values.get(i).copied());
        assert_eq!(picked, [Some(1.0), None, None, None]);
    }

    #[test]
    fn the_longest_queue_is_looked_at() {
        let with = |queue: u64| ServiceSeries { queue: vec![0, queue], ..Default::default() };
        let mut run = Simulation::default();
        run.series.services = [("a", 3), ("b", 900), ("c", 0)]
            .map(|(name, queue)| (name.to_owned(), with(queue)))
            .into();
        assert_eq!(busiest(&run).unwrap().0, "b");
    }

    #[test]
    fn an_empty_series_says_so() {
        let markup = part(&Simulation::default(), &Graph::default(), Some("db")).to_markup();
        assert!(markup.contains("No series was recorded."));
    }
}
