use std::sync::atomic::AtomicBool;

use super::*;

const SIDE: u32 = 128;

fn find(most: u32, ask: &(dyn Fn(f64, f64, u32) -> usize + Sync)) -> Refined {
    let unit = |i: u32| f64::from(i) / f64::from(SIDE);
    let ask = |(x, y): Place, replication| Some(ask(unit(x), unit(y), replication));
    let question = Question { ask: &ask, same: &|p| p, side: SIDE, coarse: 8, most, ordered: true };
    let stop = AtomicBool::new(false);
    refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} })
}

/// Squares whose points differ, by the points that were asked.
fn mixed(found: &Refined) -> Vec<Square> {
    let q =
        Question { ask: &|_, _| None, same: &|p| p, side: SIDE, coarse: 8, most: 1, ordered: true };
    found.squares.iter().copied().filter(|s| found.agreed(&q, *s).is_none()).collect()
}

/// A boundary that is known: y = x² + 0.1. Every cell that it crosses is of the finest, every
/// other answer is right, and it took a small part of a grid.
#[test]
fn a_curve_is_followed_to_the_resolution() {
    let curve = |x: f64| x * x + 0.1;
    let found = find(24, &|x, y, _| usize::from(y > curve(x)));
    let mut crossed = 0;
    for square in mixed(&found) {
        assert_eq!(square.size, 1, "{square:?}");
        let unit = |i: u32| f64::from(i) / f64::from(SIDE);
        let (low, high) = (curve(unit(square.x)), curve(unit(square.x + 1)));
        assert!(low <= unit(square.y + 1) && high >= unit(square.y), "{square:?}");
        crossed += 1;
    }
    // The curve climbs by 0.9 over 0.949 of the width.
    assert!((200..=240).contains(&crossed), "{crossed} cells");
    let area: u32 = found.squares.iter().map(|s| s.size * s.size).sum();
    assert_eq!(area, SIDE * SIDE, "the cells are the plane");
    // 129² points at once each, and four times along the curve.
    let grid = u64::from((SIDE + 1) * (SIDE + 1));
    assert!(5 * found.points.len() as u64 <= grid, "{} points", found.points.len());
    assert!(5 * found.asked() < 2 * (grid + 3 * 2 * crossed), "{} runs", found.asked());
}

/// A boundary that enters and leaves through one side of a coarse cell is seen by following.
#[test]
fn a_bulge_between_coarse_points_is_followed() {
    let inside = |x: f64, y: f64| y < 0.3 + 0.1 * (x * 24.0).sin();
    let found = find(4, &|x, y, _| usize::from(inside(x, y)));
    for i in 0..SIDE {
        // Down each column the answer turns where it must.
        let x = f64::from(i) / f64::from(SIDE);
        let turn = 0.3 + 0.1 * (x * 24.0).sin();
        let here = mixed(&found).into_iter().filter(|s| s.x == i || s.x + 1 == i);
        let near = here.map(|s| (f64::from(s.y) + 0.5) / f64::from(SIDE) - turn);
        let best = near.map(f64::abs).fold(f64::INFINITY, f64::min);
        assert!(best <= 1.0 / f64::from(SIDE), "at {x}: {best} from {turn}");
    }
}

/// One answer in eight is wrong. Where all is clear that costs little; at the boundary points
/// are asked until they are decided.
#[test]
fn wrong_answers_are_outvoted() {
    let wrong = |x: f64, y: f64, replication: u32| {
        let mixed = ((x * 977.0 + y * 1361.0 + f64::from(replication) * 1.7) * 311.0).sin();
        (mixed.abs() * 1e4) % 8.0 < 1.0
    };
    let found = find(40, &|x, y, r| usize::from((x > 0.4) != wrong(x, y, r)));
    let off: Vec<_> = found
        .points
        .iter()
        .filter(|((x, _), v)| (f64::from(*x) / f64::from(SIDE) > 0.4) != (v.answer() == 1))
        .collect();
    let decided = off.iter().filter(|(_, v)| v.decided()).count();
    assert!(20 * decided <= found.points.len(), "{decided} of {}", found.points.len());
    let far = mixed(&found).into_iter().filter(|s| !(48..56).contains(&s.x)).count();
    assert!(far <= 12, "{far} cells far from the boundary");
    let most = found.points.values().map(|v| v.asked()).max();
    assert!(most.unwrap() <= 40 && most.unwrap() > 4);
}

#[test]
fn a_plane_of_one_answer_takes_the_coarse_points() {
    let found = find(24, &|_, _, _| 2);
    assert_eq!((found.points.len(), found.asked()), (81, 81));
    assert_eq!(found.squares.len(), 64);
}

/// Four times the same is the least that decides; seven of eight do, six of eight do not.
#[test]
fn intervals_by_hand() {
    let [low, high] = wilson(4, 4);
    assert!((low - 4.0 / (4.0 + 3.841_459)).abs() < 1e-9 && (high - 1.0).abs() < 1e-9);
    assert!(!Votes([3, 0, 0, 0]).decided() && Votes([4, 0, 0, 0]).decided());
    assert!(Votes([1, 7, 0, 0]).decided() && !Votes([2, 6, 0, 0]).decided());
    assert_eq!(Votes([2, 2, 0, 0]).answer(), 0);
    assert_eq!(wilson(0, 0), [0.0, 1.0]);
}

/// Values that are whole numbers are asked once, however many points have them.
#[test]
fn points_with_the_same_values_are_one() {
    let ask = |(x, _): Place, _| Some(usize::from(x >= 64));
    let same = |(x, y): Place| (x / 32 * 32, y / 64 * 64);
    let question =
        Question { ask: &ask, same: &same, side: 128, coarse: 8, most: 4, ordered: true };
    let stop = AtomicBool::new(false);
    let found = refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} });
    assert_eq!(found.points.len(), 5 * 3);
}

#[test]
fn interrupted_it_keeps_what_was_found() {
    let stop = AtomicBool::new(false);
    let ask = |(x, _): Place, replication| {
        if replication == 3 {
            stop.store(true, Ordering::Relaxed);
            return None;
        }
        Some(usize::from(x > 60))
    };
    let question =
        Question { ask: &ask, same: &|p| p, side: 128, coarse: 8, most: 8, ordered: true };
    let found = refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} });
    assert_eq!(found.points.len(), 81);
}

fn runs(ordered: bool, most: u32, ask: &(dyn Fn(f64, f64, u32) -> usize + Sync)) -> Refined {
    let unit = |i: u32| f64::from(i) / f64::from(SIDE);
    let ask = |(x, y): Place, replication| Some(ask(unit(x), unit(y), replication));
    let question = Question { ask: &ask, same: &|p| p, side: SIDE, coarse: 8, most, ordered };
    let stop = AtomicBool::new(false);
    refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} })
}

/// The same boundaries, from a fraction of the runs: one that leans, and a straight one behind it.
#[test]
fn points_speak_for_others_where_more_is_worse() {
    let truth = |x: f64, y: f64| {
        if x > 0.93 { 2 } else { usize::from(y > 0.15 / x) }
    };
    let (few, all) =
        (runs(true, 24, &|x, y, _| truth(x, y)), runs(false, 24, &|x, y, _| truth(x, y)));
    assert_eq!((few.violated, all.violated), (None, None));
    assert_eq!(mixed(&few), mixed(&all));
    for (place, answer) in &few.inferred {
        let unit = |i: u32| f64::from(i) / f64::from(SIDE);
        assert_eq!(*answer, truth(unit(place.0), unit(place.1)), "{place:?}");
    }
    assert!(
        3 * few.points.len() < 2 * all.points.len(),
        "{} {}",
        few.points.len(),
        all.points.len()
    );
    // Along a boundary that leans nobody is harder than his neighbour: runs there are repeats.
    assert!(4 * few.asked() < 3 * all.asked(), "{} of {}", few.asked(), all.asked());
    assert!(few.checked.len() * 6 > few.inferred.len() / 4, "{} are checked", few.checked.len());
}

/// In the other direction it is the same: more workers heal more.
#[test]
fn an_axis_may_be_better_upwards() {
    let truth = |x: f64, y: f64| usize::from(y < 0.15 / (1.05 - x));
    let found = runs(true, 24, &|x, y, _| truth(x, y));
    assert_eq!(found.violated, None);
    assert_eq!(mixed(&found), mixed(&runs(false, 24, &|x, y, _| truth(x, y))));
    assert!(!found.inferred.is_empty());
}

/// A band across in which it heals again, beyond where it does not: nothing is inferred.
#[test]
fn where_more_is_not_worse_every_point_is_asked_and_it_is_said() {
    let band = |x: f64, y: f64| usize::from(x + y > 0.7 && x + y < 1.3);
    let found = runs(true, 24, &|x, y, _| band(x, y));
    let violation = found.violated.expect("it heals again");
    assert!(found.inferred.is_empty());
    assert_eq!(mixed(&found), mixed(&runs(false, 24, &|x, y, _| band(x, y))));
    let at = |(x, y): Place| found.points[&(x, y)].answer();
    assert_eq!((at(violation.easier), at(violation.harder)), (1, 0));
}

/// A boundary that chance blurs: shares fall from one to zero over a tenth of the width. Both ways
/// find it within what is blurred, and points in its middle are left open.
#[test]
fn a_blurred_boundary_is_found_where_it_is() {
    let share = |x: f64, y: f64| ((0.6 - x - 0.1 * y) * 10.0 + 0.5).clamp(0.0, 1.0);
    let dice = |x: f64, y: f64, replication: u32| {
        let place = (x * 128.0) as u64 * 129 + (y * 128.0) as u64;
        let mut z = (place << 8 | u64::from(replication)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 11) as f64 / (1u64 << 53) as f64
    };
    let ask = |x: f64, y: f64, r: u32| usize::from(dice(x, y, r) >= share(x, y));
    let (few, all) = (runs(true, 24, &ask), runs(false, 24, &ask));
    for found in [&few, &all] {
        assert_eq!(found.violated, None);
        for square in mixed(found) {
            let unit = |i: u32| f64::from(i) / f64::from(SIDE);
            let middle = share(unit(square.x), unit(square.y));
            assert!((0.02..0.98).contains(&middle), "{square:?}: {middle}");
        }
    }
    assert!(few.asked() < all.asked(), "{} of {}", few.asked(), all.asked());
    assert!(few.points.values().any(|votes| votes.open()));
}
