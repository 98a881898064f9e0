use super::*;

const START: Nanos = Nanos::from_secs(1_700_000_000);

fn tick(worker: &mut Worker, host: &mut Fake, now: Nanos) {
    host.now = now;
    worker.tick(host);
}

/// How many of a hundred low requests the lever lets in.
fn let_in(worker: &mut Worker) -> usize {
    let low = [("x-damper-class", "low")];
    (0..100).filter(|_| ask(worker, &low).2 == Verdict::Continue).count()
}

/// A clock that is kept exact steps back by a little: time does not.
#[test]
fn time_does_not_go_back_by_a_little() {
    let (mut worker, mut host) = (worker("outbound", ""), Fake::default());
    tick(&mut worker, &mut host, START + Nanos::from_secs(5));
    tick(&mut worker, &mut host, START + Nanos::from_millis(4_100));
    assert_eq!(worker.now, START + Nanos::from_secs(5));
    tick(&mut worker, &mut host, START + Nanos::from_millis(5_100));
    assert_eq!(worker.now, START + Nanos::from_millis(5_100));
}

/// A clock that was an hour ahead and is corrected: nothing waits for that hour to pass again.
#[test]
fn a_corrected_clock_freezes_nothing() {
    let rest = r#""retry": {"limit": 5, "pushback": true,
                            "budget": {"kind": "ratio", "percent": 0, "min_per_s": 1}},
                  "lever": {"low": {"ramp": {"from": 0, "to": 1, "over_s": 10}}}"#;
    let (mut worker, mut host) = (worker("outbound", rest), Fake::default());
    let high = [(":authority", "callee"), ("x-damper-class", "high")];
    let ahead = START + Nanos::from_secs(3600);
    tick(&mut worker, &mut host, ahead);
    // Asked for time, and out of budget, in that hour; and the lever is pulled.
    for _ in 0..20 {
        let (_, mut call, _) = ask(&mut worker, &high);
        answer(&mut worker, &mut call, &[(":status", "503"), ("x-envoy-attempt-count", "6")]);
    }
    let (_, mut call, _) = ask(&mut worker, &high);
    answer(&mut worker, &mut call, &[(":status", "503"), ("retry-after", "60")]);
    let pulled = br#"{"low": {"ramp": {"from": 0.5, "to": 1, "over_s": 10}}}"#;
    host.shared.insert(LEVER_KEY.into(), [&ahead.0.to_le_bytes(), &pulled[..]].concat());
    let granted = |worker: &mut Worker| {
        let (host, _, _) = ask(worker, &high);
        host.header(headers::MAX_RETRIES).unwrap().to_owned()
    };
    assert_eq!(granted(&mut worker), "0");

    let now = START + Nanos::from_secs(2);
    tick(&mut worker, &mut host, now);
    assert_eq!(worker.now, now);
    assert_eq!(granted(&mut worker), "5");
    assert_eq!(let_in(&mut worker), 50, "the ramp begins now");
    tick(&mut worker, &mut host, now + Nanos::from_secs(10));
    assert_eq!(let_in(&mut worker), 100, "and goes on");
}

/// What outbound has told by the wrong time does not hold until that comes again.
#[test]
fn overloaded_does_not_outlive_a_wrong_clock() {
    let (mut inbound, mut host) = (worker("inbound", ""), Fake::default());
    for (until_s, overloaded) in [(3600, false), (2, true), (0, false)] {
        let until = START + Nanos::from_secs(until_s);
        host.shared.insert(OVERLOADED_KEY.into(), until.0.to_le_bytes().to_vec());
        for _ in 0..SHARED_TICKS {
            tick(&mut inbound, &mut host, START);
        }
        assert_eq!(inbound.overloaded, overloaded, "{until_s}");
    }
}
