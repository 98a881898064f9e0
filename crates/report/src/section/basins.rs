//! The plane of a service, queue against retries: two basins, the drift, where it rests.

use super::{cell, name_cell, section, table};
use crate::basins::lasting;
use crate::format;
use crate::html::El;
use crate::result::{Arrow, Basins, Plane, PlanePoint};
use crate::svg::axis::{self, Area};
use crate::svg::scale::Scale;
use crate::svg::{Figure, SPACE, label, pct, px, tip};

const AREA: Area = Area { top: 28.0, height: 380.0 };
/// The width for which arrows point in the right direction.
const USUAL_WIDTH_PX: f64 = 960.0;
/// The longest arrow.
const ARROW_PX: f64 = 17.0;

/// The part; one sentence if there is no loop.
pub(crate) fn part(result: &Basins) -> Option<El> {
    let part = section("basins", "The two basins");
    if let Some(why) = &result.nothing {
        return Some(part.child(El::new("p").class("empty").text(why.clone())));
    }
    let plane = result.plane.as_ref()?;
    let lead = El::new("p").class("lead").text(sentence(plane));
    Some(part.child(lead).child(figure(plane)))
}

fn sentence(plane: &Plane) -> String {
    let hidden = format::rate(plane.hidden_rps);
    if plane.tipping.is_some() {
        format!(
            "{} first attempts per second at {}, which alone could serve {}: above {hidden} it can rest \
             in two states. Left of the boundary the drift leads back to health, right of it the \
             retries of those who are late keep the queue longer than their patience.",
            format::number(plane.arrivals_rps),
            plane.service,
            format::rate(plane.capacity_rps),
        )
    } else if plane.healthy.is_none() {
        format!(
            "{} gets more first attempts than it can serve: it has no healthy state.",
            plane.service
        )
    } else {
        format!(
            "Below {hidden} at {}, every state leads back to health: there is one basin.",
            plane.service
        )
    }
}

fn figure(plane: &Plane) -> El {
    let (x, y) = frame(plane);
    let mut shapes = vec![basins(plane, x, y)];
    shapes.extend(axis::vertical(y, AREA, format::number));
    shapes.extend(axis::horizontal(x, AREA, format::number));
    shapes.push(label("0", AREA.top - 12.0, "start", "retries still to come").class("note"));
    let under = "attempts at the service, queued and in service";
    shapes.push(label("100%", AREA.bottom() + 38.0, "end", under).class("note"));
    let fastest = plane.drift.iter().map(|a| speed(a, x, y)).fold(0.0, f64::max);
    shapes.extend(plane.drift.iter().enumerate().filter_map(|(i, a)| {
        let drawn = arrow(a, x, y, fastest)?;
        // Every second one yields on a phone.
        Some(if i % 2 == 1 { drawn.class("roomy") } else { drawn })
    }));
    shapes.extend(marks(plane).into_iter().map(|mark| drawn(&mark, x, y)));
    let figure = Figure {
        id: "basin-plane",
        title: format!("Where {} drifts to", plane.service),
        aside: "arrows: drift of the mean, longer where it is faster".to_owned(),
        description: description(plane),
        legend: Some(legend(plane)),
        explore: "marks",
        data: None,
        table: Some(numbers(plane)),
    };
    figure.frame("axes", AREA.bottom() + 48.0, shapes)
}

/// Both axes.
fn frame(plane: &Plane) -> (Scale, Scale) {
    (Scale::linear(0.0, plane.frame[0]), Scale::linear(0.0, plane.frame[1]))
}

/// Both basins as areas, in a space that stretches with the plot.
fn basins(plane: &Plane, x: Scale, y: Scale) -> El {
    let inner = Area { top: 0.0, height: AREA.height };
    let place = |p: &PlanePoint| {
        format!("{} {}", px(x.fraction(p.queue) * SPACE), px(inner.y(y, p.waiting)))
    };
    let whole = |class: &'static str| {
        El::new("rect").attr("width", px(SPACE)).attr("height", px(inner.height)).class(class)
    };
    let mut space = El::new("svg")
        .attr("viewBox", format!("0 0 {} {}", px(SPACE), px(inner.height)))
        .attr("preserveAspectRatio", "none")
        .attr("y", px(AREA.top))
        .attr("width", "100%")
        .attr("height", px(inner.height))
        .attr("aria-hidden", "true");
    if plane.healthy.is_none() {
        return space.child(whole("basin collapse"));
    }
    let (Some(_), Some(last)) = (plane.tipping, plane.boundary.last()) else {
        return space.child(whole("basin health"));
    };
    space.push(whole("basin collapse"));
    let inside = plane.boundary.iter().take_while(|p| p.waiting <= y.high());
    let line: Vec<String> =
        inside.chain(crossing(&plane.boundary, y.high()).as_ref()).map(place).collect();
    let line = line.join(" L");
    let corner = place(&PlanePoint { queue: 0.0, waiting: last.waiting.min(y.high()) });
    let origin = place(&PlanePoint::default());
    let area = format!("M{origin} L{line} L{corner} Z");
    space.push(El::new("path").class("basin health").attr("d", area));
    space.child(El::new("path").class("line basin-edge").attr("d", format!("M{line}")))
}

/// Where the boundary leaves the picture at the top.
fn crossing(boundary: &[PlanePoint], top: f64) -> Option<PlanePoint> {
    let pair = boundary.windows(2).find(|p| p[0].waiting < top && p[1].waiting > top)?;
    let share = (top - pair[0].waiting) / (pair[1].waiting - pair[0].waiting);
    let queue = pair[0].queue + share * (pair[1].queue - pair[0].queue);
    Some(PlanePoint { queue, waiting: top })
}

/// How far an arrow leads in a second, in pixels of a usual screen: right and down.
fn pixels(arrow: &Arrow, x: Scale, y: Scale) -> (f64, f64) {
    (arrow.queue_per_s / x.high() * USUAL_WIDTH_PX, -arrow.waiting_per_s / y.high() * AREA.height)
}

fn speed(arrow: &Arrow, x: Scale, y: Scale) -> f64 {
    let (dx, dy) = pixels(arrow, x, y);
    dx.hypot(dy)
}

fn arrow(arrow: &Arrow, x: Scale, y: Scale, fastest: f64) -> Option<El> {
    let (dx, dy) = pixels(arrow, x, y);
    let speed = dx.hypot(dy);
    if !(speed.is_finite() && speed > 0.0 && fastest > 0.0) {
        return None;
    }
    // Slow ones stay visible: the cube root of the share.
    let length = ARROW_PX * (speed / fastest).cbrt().max(0.35);
    let (ux, uy) = (dx / speed, dy / speed);
    let (half_x, half_y) = (0.5 * length * ux, 0.5 * length * uy);
    let barb = |side: f64| {
        let (bx, by) = (-ux * 4.5 - side * uy * 2.8, -uy * 4.5 + side * ux * 2.8);
        format!("{} {}", px(half_x + bx), px(half_y + by))
    };
    let d = format!(
        "M{} {} L{} {} M{} L{} {} L{}",
        px(-half_x),
        px(-half_y),
        px(half_x),
        px(half_y),
        barb(1.0),
        px(half_x),
        px(half_y),
        barb(-1.0)
    );
    let frame = El::new("svg")
        .attr("x", pct(x.fraction(arrow.at.queue)))
        .attr("y", px(AREA.y(y, arrow.at.waiting)))
        .attr("overflow", "visible")
        .attr("aria-hidden", "true");
    Some(frame.child(El::new("path").class("drift").attr("d", d)))
}

/// A point with a name.
struct Mark {
    at: PlanePoint,
    name: &'static str,
    class: &'static str,
}

fn marks(plane: &Plane) -> Vec<Mark> {
    let mark = |at: Option<PlanePoint>, name, class| at.map(|at| Mark { at, name, class });
    let left = plane.trigger.as_ref().map(|t| t.left);
    [
        mark(plane.healthy, "healthy", "rest"),
        mark(plane.tipping, "tipping point", "saddle"),
        mark(plane.collapsed, "collapsed", "rest"),
        mark(left, "after the trigger", "left"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn drawn(mark: &Mark, x: Scale, y: Scale) -> El {
    let outside = mark.at.queue > x.high() || mark.at.waiting > y.high();
    let fraction = x.fraction(mark.at.queue);
    let (at, down) = (pct(fraction), AREA.y(y, mark.at.waiting));
    let (dx, anchor) = if fraction > 0.75 { ("-10", "end") } else { ("10", "start") };
    let text = if outside { format!("{}, outside", mark.name) } else { mark.name.to_owned() };
    let says = format!("{}: {}", mark.name, told(mark.at));
    // Names stand above their points; a low point's would cover the axis below it.
    El::new("g")
        .class(format!("spot {}", mark.class))
        .attr("tabindex", "-1")
        .child(tip(says))
        .child(
            El::new("circle")
                .attr("cx", at.clone())
                .attr("cy", px(down))
                .attr("r", "6")
                .class("disc"),
        )
        .child(label(at, down - 9.0, anchor, &text).attr("dx", dx).class("halo"))
}

fn told(at: PlanePoint) -> String {
    format!("{} attempts, {} retries to come", format::number(at.queue), format::number(at.waiting))
}

fn description(plane: &Plane) -> String {
    let points: Vec<String> =
        marks(plane).iter().map(|m| format!("{} at {}", m.name, told(m.at))).collect();
    format!(
        "A plane: attempts at the service across, retries still to come upwards, with arrows of \
         the drift. Marked: {}.",
        points.join("; ")
    )
}

fn legend(plane: &Plane) -> El {
    let swatch = |class: &'static str| {
        El::new("svg").attr("width", "16").attr("height", "12").attr("aria-hidden", "true").child(
            El::new("rect")
                .attr("width", "16")
                .attr("height", "12")
                .class(format!("basin {class}")),
        )
    };
    let item = |class, text| El::new("li").child(swatch(class)).text(text);
    let mut list = El::new("ul").class("legend");
    if plane.healthy.is_some() {
        list.push(item("health", "drifts back to health"));
    }
    if plane.tipping.is_some() || plane.healthy.is_none() {
        list.push(item("collapse", "drifts into collapse"));
    }
    list
}

fn numbers(plane: &Plane) -> El {
    let mut rows: Vec<Vec<El>> =
        marks(plane).iter().map(|m| vec![name_cell(m.name), cell(told(m.at))]).collect();
    let mut add = |name: &str, value: String| rows.push(vec![name_cell(name), cell(value)]);
    if let Some(duration) = &plane.collapse_after {
        add("collapses by chance after", lasting(duration));
    }
    if let Some(duration) = &plane.escape_after {
        add("recovers by chance after", lasting(duration));
    }
    if let Some(share) = plane.collapsed_share {
        add("share of time collapsed", format::percent(share));
    }
    if let Some(after) = &plane.trigger {
        add("recovery after the trigger", lasting(&after.recovery));
    }
    if let Some(mixing) = plane.mixing_s {
        add("mixing time", format::seconds(mixing));
    }
    table("basins", &["", "value"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane() -> Plane {
        let point = |queue, waiting| PlanePoint { queue, waiting };
        let arrow = |queue, waiting, queue_per_s, waiting_per_s| Arrow {
            at: point(queue, waiting),
            queue_per_s,
            waiting_per_s,
        };
        Plane {
            service: "db".into(),
            arrivals_rps: 20.0,
            capacity_rps: 30.0,
            hidden_rps: 15.0,
            healthy: Some(point(0.7, 0.0)),
            tipping: Some(point(30.0, 10.0)),
            boundary: vec![point(40.0, 0.0), point(30.0, 10.0), point(10.0, 20.0)],
            frame: [60.0, 20.0],
            drift: vec![arrow(0.0, 0.0, 20.0, 0.0), arrow(60.0, 20.0, 10.0, -5.0)],
            ..Plane::default()
        }
    }

    #[test]
    fn both_basins_and_their_edge_are_drawn() {
        let result = Basins { plane: Some(plane()), ..Basins::default() };
        let markup = part(&result).unwrap().to_markup();
        // 40, 30 and 10 of 60 across 1000; 0, 10 and 20 of 20 up 380.
        assert!(markup.contains("M666.67 380 L500 190 L166.67 0\""), "{markup}");
        assert!(markup.contains("tipping point: 30 attempts, 10 retries to come"));
        assert_eq!(markup.matches("class=\"drift\"").count(), 2);
    }

    #[test]
    fn one_basin_is_all_of_the_plane() {
        let one = Plane { tipping: None, boundary: Vec::new(), ..plane() };
        let markup = figure(&one).to_markup();
        assert!(!markup.contains("collapse"), "{markup}");
        assert!(markup.contains("basin health"));
        assert!(sentence(&one).starts_with("Below 15"));
    }

    #[test]
    fn nothing_known_is_nothing_drawn() {
        assert!(part(&Basins::default()).is_none());
        let strange =
            Plane { drift: vec![Arrow { queue_per_s: f64::NAN, ..Arrow::default() }], ..plane() };
        assert!(!figure(&strange).to_markup().contains("NaN"));
    }
}
