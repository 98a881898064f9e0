//! Any bytes as the headers and word lists that strangers send.
#![no_main]

use damper_control::Nanos;
use damper_control::conditions::{Conditions, ErrorClass, GrpcStatus, StatusSet};
use damper_control::pushback::{
    Pushback, ResetFormat, amz_retry_after, envoy_reset, grpc_pushback, retry_after,
};
use libfuzzer_sys::fuzz_target;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

fuzz_target!(|data: &[u8]| {
    let cap = Nanos::from_secs(300);
    let now = Nanos::from_secs(1_700_000_000);
    let said = [
        retry_after(data, now, cap),
        grpc_pushback([data], cap),
        grpc_pushback(data.split(|b| *b == 0), cap),
        amz_retry_after(data).map(|p| p.bounded(cap)),
    ];
    for said in said.into_iter().flatten() {
        // Nobody waits for longer than the cap, whatever a stranger writes. (A hint adds no more
        // than its own bound to what the caller would wait anyway.)
        let hint = matches!(said, Pushback::Hint { above, .. } if above <= cap);
        assert!(hint || said.wait().is_none_or(|wait| wait <= cap), "{said:?}");
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(data.len() as u64);
    let headers = data.split(|b| *b == b'\n').enumerate().map(|(i, value)| {
        (if i % 2 == 0 { ResetFormat::Seconds } else { ResetFormat::UnixTimestamp }, value)
    });
    let reset = envoy_reset(headers, now, cap, &mut rng);
    // Up to half of the interval is added after the bound.
    let longest = cap.scale(1.5);
    assert!(reset.and_then(Pushback::wait).is_none_or(|wait| wait <= longest), "{reset:?}");

    let text = String::from_utf8_lossy(data);
    let _ = (GrpcStatus::parse(&text), ErrorClass::of(&text), StatusSet::parse(&text).is_ok());
    let _ = Conditions::statuses_leniently(&text);
    match Conditions::parse(&text) {
        Ok(strict) => assert_eq!(strict, Conditions::parse_leniently(&text)),
        Err(wrong) => assert!(text.contains(wrong.word) && wrong.at <= text.len()),
    }
});
