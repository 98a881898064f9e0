//! A failure in the log costs less than a success, in the same run. `benches/meters.rs` has the
//! numbers.
#![allow(clippy::disallowed_types)] // what is measured is time

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use damper_proxy::meters::{MeterLayer, Meters};
use damper_proxy::observe::{Format, Kind, Line, Log};
use damper_tower::{ByHeader, Door, DoorLayer, Http, LeverLayer, RespondLayer, SharedLever};
use http::{Request, Response};
use tower::{Layer as _, Service as _};

/// The quickest of five rounds, of so many each.
fn quickest(mut one: impl FnMut()) -> Duration {
    let round = |_| {
        let began = Instant::now();
        (0..50_000).for_each(|_| one());
        began.elapsed()
    };
    (0..5).map(round).min().unwrap()
}

#[test]
#[ignore = "slow: compares two costs on a machine that should be idle"]
fn a_failure_in_the_log_is_cheaper_than_a_success() {
    let works =
        tower::service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
    let inner = RespondLayer::default().layer(DoorLayer::new(Door::new()).layer(works));
    let inner = RespondLayer::default().layer(LeverLayer::new(SharedLever::default()).layer(inner));
    let meters = MeterLayer::new(Meters::new(1), Http::default(), ByHeader::default());
    let mut service = meters.layer(inner);
    let mut context = Context::from_waker(Waker::noop());
    let success = quickest(|| {
        let future = pin!(service.call(Request::new(())));
        assert!(future.poll(&mut context).is_ready());
    });
    for format in [Format::Text, Format::Json] {
        let log = Log::to(format, std::io::sink()).unwrap();
        let error = std::io::Error::from_raw_os_error(104);
        let failure = quickest(|| {
            log.write(Kind::Upstream, || Line {
                hop: Some("front -> db"),
                path: Some("/v1/orders"),
                message: "no reply",
                error: Some(&error),
                ..Line::default()
            });
        });
        println!("success {success:?}, failure in the log as {format:?} {failure:?}");
        assert!(failure < success, "{format:?}: {failure:?}, a success {success:?}");
    }
}
