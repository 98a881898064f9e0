//! The known faults of published limits: the faithful form shows each, and ours do not, in the
//! same scenario. The scenarios run on a service with workers and a first-come queue ([`Plant`]).

use super::plant::{Plant, dropped, ms, reading, success};
use super::*;
use crate::testing::Zero;

const SECOND: Nanos = Nanos::from_secs(1);

fn seconds(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

fn aimd() -> Limit {
    Aimd::try_new(20, 20, 200, 0.9, seconds(5)).unwrap().into()
}

fn vegas() -> Limit {
    Vegas::try_new(20, 1000, 1.0, 30.0).unwrap().into()
}

fn vegas_windowed(probe_multiplier: f64) -> Limit {
    let inner = Vegas::try_new(20, 1000, 1.0, probe_multiplier).unwrap();
    Windowed::try_new(inner, WindowedConfig::default()).unwrap().into()
}

fn gradient() -> Limit {
    Gradient::try_new(GradientConfig::default()).unwrap().into()
}

fn gradient2(max: u32) -> Gradient2 {
    Gradient2::try_new(Gradient2Config { max, ..Gradient2Config::default() }).unwrap()
}

fn gradient2_windowed() -> Limit {
    Windowed::try_new(gradient2(1000), WindowedConfig::default()).unwrap().into()
}

fn envoy() -> Limit {
    EnvoyGradient::try_new(EnvoyGradientConfig::default()).unwrap().into()
}

fn failsafe() -> Limit {
    FailsafeAdaptive::try_new(FailsafeAdaptiveConfig::default()).unwrap().into()
}

fn guarded() -> Limit {
    Guarded::try_new(GuardedConfig::default()).unwrap().into()
}

fn guarded_up_to(max_healthy_rtt: Nanos) -> Limit {
    Guarded::try_new(GuardedConfig { max_healthy_rtt, ..GuardedConfig::default() }).unwrap().into()
}

fn queue_delay() -> Limit {
    QueueDelay::try_new(QueueDelayConfig::default()).unwrap().into()
}

/// Twenty workers of 10 ms: two thousand a second.
fn twenty_workers(limit: Limit, rate: f64) -> Plant {
    Plant::new(limit, 20, rate)
}

/// The same sample again and again, admitted just now with the limit full.
fn repeat(limit: &mut Limit, times: u64, sample: Sample) -> u32 {
    for i in 0..times {
        let now = ms(i);
        let in_flight = limit.limit();
        limit.record(now, &Sample { started: now, in_flight, ..sample }, &mut Zero);
    }
    limit.limit()
}

/// concurrency-limits PR 134.
mod a_queue_term_against_the_gradient {
    use super::*;

    #[test]
    fn gradient2_grows_although_its_gradient_says_shrink() {
        let config = Gradient2Config { initial: 10, min: 1, ..Gradient2Config::default() };
        let mut limit = Limit::from(Gradient2::try_new(config).unwrap());
        for _ in 0..600 {
            limit.record(ms(0), &success(ms(10), 1), &mut Zero);
        }
        // 1.5 × 10 / 18.75 = 0.8; 10 × 0.8 + 4 is more than 10.
        let grown = repeat(&mut limit, 5, success(Nanos(18_750_000), 0));
        assert!(grown > 10, "{grown}");
    }

    #[test]
    fn under_mild_overload_gradient2_climbs_without_end() {
        let mut p = twenty_workers(gradient2(1000).into(), 2400.0);
        p.run(seconds(60), ms(10));
        assert_eq!(p.limit(), 1000, "half a second of queue for 10 ms of work");
        assert!(p.run(seconds(10), ms(10)).latency_s > 0.45);
    }

    #[test]
    fn ours_keep_a_short_queue_and_the_workers_busy() {
        for limit in [guarded(), queue_delay()] {
            let mut p = twenty_workers(limit, 2400.0);
            p.run(seconds(10), ms(10));
            let seen = p.run(seconds(60), ms(10));
            assert!(seen.highest <= 65 && seen.latency_s < 0.022, "{seen:?}");
            assert!(seen.good > 119_000, "of 120 000: {seen:?}");
        }
    }
}

/// concurrency-limits 137.
mod everything_times_out_at_the_same_moment {
    use super::*;

    #[test]
    fn gradient2_takes_it_for_normal() {
        assert_eq!(repeat(&mut gradient2(1000).into(), 5_000, dropped(seconds(5), 0)), 1000);
    }

    #[test]
    fn failsafe_does_not_move_at_all() {
        assert_eq!(repeat(&mut failsafe(), 5_000, dropped(seconds(5), 0)), 20);
    }

    #[test]
    fn aimd_and_ours_go_down() {
        assert_eq!(repeat(&mut aimd(), 5_000, dropped(seconds(5), 0)), 20, "its minimum");
        assert_eq!(repeat(&mut guarded(), 5_000, dropped(seconds(5), 0)), 4);
        let waited = Sample { queued: seconds(5), ..dropped(seconds(5), 0) };
        assert_eq!(repeat(&mut queue_delay(), 5_000, waited), 1);
    }
}

/// concurrency-limits 165, failsafe-go 127, envoy 38338.
mod the_baseline_learns_the_incident {
    use super::*;

    /// A minute of health, then work that takes ten times as long for ten minutes.
    fn incident(limit: Limit) -> (Plant, [(u32, f64, u64); 5]) {
        let mut p = twenty_workers(limit, 1500.0);
        p.run(seconds(60), ms(10));
        let minutes = [(); 5].map(|()| {
            let seen = p.run(seconds(120), ms(100));
            (p.limit(), seen.latency_s, seen.good)
        });
        (p, minutes)
    }

    #[test]
    fn gradient2_learns_its_own_queue() {
        let mut p = twenty_workers(gradient2(200).into(), 2400.0);
        p.run(seconds(60), ms(10));
        let long = reading(&p.limiter, "long_rtt_s");
        assert!(long > 0.09, "ten times the work: {long}");
    }

    #[test]
    fn gradient2_behind_windows_recovers_in_the_middle_of_it() {
        let (_, minutes) = incident(gradient2_windowed());
        let limits = minutes.map(|(limit, ..)| limit);
        assert!(limits[4] >= 45 && limits.is_sorted(), "{limits:?}");
        assert!(minutes[4].1 > 0.2 && minutes[4].1 > 1.9 * minutes[1].1, "{minutes:?}");
    }

    #[test]
    fn vegas_takes_a_probe_under_load_for_no_load() {
        // A probe every 30 × limit windows takes ten minutes; every 2 × limit shows it sooner.
        let mut p = twenty_workers(vegas_windowed(2.0), 2400.0);
        p.run(seconds(30), ms(10));
        let (limit, base) = (p.limit(), reading(&p.limiter, "min_rtt_s"));
        p.run(seconds(1_200), ms(10));
        let (later, risen) = (p.limit(), reading(&p.limiter, "min_rtt_s"));
        assert!(base < 0.0105 && risen > 1.5 * base, "{base} {risen}");
        assert!(f64::from(later) > 1.5 * f64::from(limit), "{limit} {later}");
    }

    #[test]
    fn envoy_measures_the_incident() {
        let (p, _) = incident(envoy());
        assert!(reading(&p.limiter, "min_rtt_s") > 0.09);
    }

    #[test]
    fn failsafe_averages_its_queue_into_the_baseline() {
        let mut p = twenty_workers(failsafe(), 2400.0);
        p.run(seconds(120), ms(10));
        assert!(reading(&p.limiter, "base_rtt_s") > 0.03 && p.limit() > 60);
    }

    #[test]
    fn guarded_does_not_drift_and_keeps_the_workers_busy() {
        let (mut p, minutes) = incident(guarded());
        for (limit, latency, good) in &minutes[1..] {
            assert!(*limit <= 55 && *latency < 0.22, "{minutes:?}");
            assert!(*good > 23_500, "of 24 000: {minutes:?}");
        }
        p.run(seconds(5), ms(10));
        let seen = p.run(seconds(60), ms(10));
        assert_eq!(seen.refused, 0, "{seen:?}");
    }

    #[test]
    fn guarded_with_a_healthy_latency_stays_down_until_it_is_over() {
        let (mut p, minutes) = incident(guarded_up_to(ms(30)));
        for (limit, ..) in minutes {
            assert_eq!(limit, 4);
        }
        assert!(reading(&p.limiter, "base_rtt_s") <= 0.03);
        p.run(seconds(5), ms(10));
        assert_eq!(p.run(seconds(60), ms(10)).refused, 0);
    }

    #[test]
    fn queue_delay_has_no_baseline_to_learn() {
        let (mut p, minutes) = incident(queue_delay());
        for (limit, latency, good) in minutes {
            assert!(limit <= 45 && latency < 0.15, "{minutes:?}");
            assert!(good > 23_800, "of 24 000: {minutes:?}");
        }
        p.run(seconds(5), ms(10));
        assert_eq!(p.run(seconds(60), ms(10)).refused, 0);
    }
}

/// concurrency-limits 176.
mod quick_rejections_look_like_low_latency {
    use super::*;

    fn rejections(mut limit: Limit) -> u32 {
        repeat(&mut limit, 1_000, success(ms(10), 0));
        let rejected = success(Nanos(100_000), 0);
        repeat(&mut limit, 10_000, Sample { outcome: Some(Outcome::Rejected), ..rejected })
    }

    #[test]
    fn gradient2_and_envoy_grow_while_everything_is_refused() {
        assert_eq!(rejections(gradient2(1000).into()), 1000);
        assert_eq!(rejections(envoy()), 1000);
    }

    #[test]
    fn vegas_takes_one_for_the_latency_without_load() {
        let mut limit = vegas();
        repeat(&mut limit, 100, success(ms(10), 0));
        let before = limit.limit();
        let rejected = Sample { outcome: Some(Outcome::Rejected), ..success(Nanos(100_000), 0) };
        assert_eq!(repeat(&mut limit, 1, rejected), before, "the drop itself is overlooked");
        assert!(repeat(&mut limit, 400, success(ms(10), 0)) < before / 2, "and success is a queue");
    }

    #[test]
    fn ours_do_not() {
        assert_eq!(rejections(guarded()), 4, "they are drops");
        let mut limit = queue_delay();
        repeat(&mut limit, 250, Sample { queued: ms(50), ..success(ms(60), 0) });
        let before = limit.limit();
        let rejected = Sample { outcome: Some(Outcome::Rejected), ..success(Nanos(100_000), 0) };
        assert!(repeat(&mut limit, 1_000, rejected) <= before, "they say nothing");
    }
}

/// concurrency-limits 35.
mod no_slow_start {
    use super::*;

    /// A thousand workers of 100 ms, eight thousand attempts a second: 800 at a time.
    fn refused(limit: Limit) -> [f64; 2] {
        let mut p = Plant::new(limit, 1000, 8000.0);
        [4, 6].map(|span| {
            let seen = p.run(seconds(span), ms(100));
            seen.refused as f64 / seen.arrived as f64
        })
    }

    #[test]
    fn vegas_behind_windows_and_failsafe_refuse_nine_of_ten_for_long() {
        for limit in [vegas_windowed(30.0), failsafe(), gradient2_windowed()] {
            let refused = refused(limit);
            assert!(refused[1] > 0.9, "{refused:?}");
        }
    }

    #[test]
    fn ours_double_until_there_is_a_queue() {
        for limit in [guarded(), queue_delay()] {
            let refused = refused(limit);
            assert!(refused[0] < 0.7 && refused[1] == 0.0, "{refused:?}");
        }
    }
}

/// envoy 8337, 9007.
mod a_measurement_refuses_healthy_traffic {
    use super::*;

    fn healthy(limit: Limit) -> (u64, u32) {
        let mut p = twenty_workers(limit, 1500.0);
        p.run(seconds(30), ms(10));
        let seen = p.run(seconds(120), ms(10));
        (seen.refused, seen.lowest)
    }

    #[test]
    fn envoy_and_the_first_gradient_do() {
        let (refused, lowest) = healthy(envoy());
        assert!(refused > 100 && lowest == 3, "{refused} {lowest}");
        let (refused, lowest) = healthy(gradient());
        assert!(refused > 100 && lowest < 10, "{refused} {lowest}");
    }

    #[test]
    fn ours_measure_in_passing() {
        for limit in [guarded(), queue_delay()] {
            let (refused, lowest) = healthy(limit);
            assert_eq!(refused, 0);
            assert!(lowest > 30, "{lowest}");
        }
    }
}

/// Why a minimum is no baseline where work varies.
mod work_of_varying_length {
    use super::*;

    fn served(limit: Limit) -> u64 {
        let mut p = twenty_workers(limit, 2400.0);
        p.exponential = true;
        p.run(seconds(10), ms(10));
        p.run(seconds(60), ms(10)).good
    }

    #[test]
    fn vegas_starves_its_workers() {
        let served = served(vegas());
        assert!(served < 60_000, "of 120 000: {served}");
    }

    #[test]
    fn ours_do_not() {
        for limit in [guarded(), queue_delay()] {
            let served = served(limit);
            assert!(served > 116_000, "of 120 000: {served}");
        }
    }

    #[test]
    fn guarded_does_not_lose_its_baseline_over_time() {
        let mut p = twenty_workers(guarded(), 2400.0);
        p.exponential = true;
        p.run(seconds(600), ms(10));
        let base = reading(&p.limiter, "base_rtt_s");
        assert!((0.005..0.02).contains(&base), "{base}");
        assert!(p.run(SECOND, ms(10)).good > 1_800);
    }
}

/// What an answer to the faults must not cost: goodput on services of other shapes.
mod services_of_every_shape {
    use super::*;

    /// Share of what could be served that was, and the latency in units of work.
    fn served(limit: Limit, (workers, work, load): (usize, u64, f64), random: bool) -> (f64, f64) {
        let capacity = workers as f64 * 1000.0 / work as f64;
        let mut p = Plant::new(limit, workers, load * capacity);
        p.exponential = random;
        p.run(seconds(60), ms(work));
        let seen = p.run(seconds(600), ms(work));
        let possible = load.min(1.0) * capacity * 600.0;
        (seen.good as f64 / possible, seen.latency_s * 1000.0 / work as f64)
    }

    /// Workers, milliseconds of work, load as a share of capacity.
    const SHAPES: [(usize, u64, f64); 8] = [
        (1, 200, 0.7),
        (1, 200, 2.0),
        (4, 200, 0.7),
        (4, 200, 1.2),
        (4, 200, 3.0),
        (4, 1000, 0.8),
        (2, 1, 0.8),
        (100, 200, 0.8),
    ];

    #[test]
    fn ours_serve_what_can_be_served() {
        for shape in SHAPES {
            for random in [false, true] {
                for limit in [guarded(), queue_delay()] {
                    let (share, latency) = served(limit, shape, random);
                    assert!(share > 0.9 && latency < 8.0, "{shape:?} {random} {share} {latency}");
                }
            }
        }
    }

    #[test]
    fn a_limit_that_is_too_high_serves_nobody_under_overload() {
        let fixed = Fixed::try_new(1000).unwrap();
        assert_eq!(served(fixed.into(), (4, 200, 1.2), false).0, 0.0);
    }
}
