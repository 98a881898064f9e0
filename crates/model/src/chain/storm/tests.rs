use super::*;
#[test]
fn probe() {
    for (l, mu, tau, k, room) in [
        (3.5, 10., 1., 3., 40),
        (4., 10., 1., 3., 40),
        (7., 10., 1., 1., 40),
        (5., 10., 1., 1., 40),
        (16., 30., 0.6, 1., 60),
    ] {
        let s = Storm {
            arrival_rate: l,
            service_rate: mu,
            workers: 1,
            spread: 1.0,
            timeout: tau,
            pause: 0.0,
            retries: k,
            room,
        };
        println!("{l} {k}: work {:.2e} {:?} {:?}", s.work(), s.solve(), s.basins().tipping);
        println!(
            "  rec_at {} coll_at {} {:?}",
            s.recovered_at(),
            s.collapsed_at(),
            s.basins().collapsed
        );
    }
    for load in [10.0, 12.0, 14.0] {
        let s = Storm {
            arrival_rate: load,
            service_rate: 30.0,
            workers: 1,
            spread: 1.0,
            timeout: 1.0,
            pause: 0.0,
            retries: 1.0,
            room: 200,
        };
        let f = s.after(
            &[Phase { seconds: 5.0, load: 1.0, capacity: 0.0, refuses: false }],
            false,
            1e4,
        );
        println!("{load}: {f:?} chain {:?}", s.recovery_from(f.queue, f.waiting));
    }
}
