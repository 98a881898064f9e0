use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn queues(deck: u32, hand: u32, length: u32, limit: u32) -> FairQueues {
    FairQueues::new(Dealer::try_new(deck, hand).unwrap(), length, limit)
}

fn hand(deck: u32, hand: u32, flow: u64) -> Vec<u32> {
    Dealer::try_new(deck, hand).unwrap().deal(mix(flow), &mut [0; MOST_HAND]).to_vec()
}

/// A flow whose hand of one of four queues is this queue.
fn flow_of(queue: u32) -> u64 {
    (0..).find(|flow| hand(4, 1, *flow) == [queue]).unwrap()
}

impl FairQueues {
    fn start_of(&self, queue: usize) -> u64 {
        self.queues[queue].next_start
    }
}

/// Two seats and two flows, by hand. R in units of 10 ns of a seat: 3 ms are 300,000.
#[test]
fn virtual_time_by_hand() {
    let (mut q, a, b) = (queues(4, 1, 50, 2), flow_of(0), flow_of(1));
    assert_eq!(q.join(MS(0), a), Some(0));
    assert_eq!(q.dispatch(MS(0)), Some(0));
    assert_eq!((q.r, q.start_of(0)), (0, 300_000));
    // One seat in use by one queue: R grows as time does.
    assert_eq!(q.join(MS(1), b), Some(1));
    assert_eq!((q.r, q.start_of(1)), (100_000, 100_000));
    assert_eq!(q.dispatch(MS(1)), Some(1));
    assert_eq!(q.start_of(1), 400_000);
    // Two seats, two queues: as time does.
    q.join(MS(2), a);
    q.join(MS(2), b);
    assert_eq!((q.r, q.start_of(0), q.start_of(1)), (200_000, 300_000, 400_000));
    assert!(!q.ready(), "no seat");
    // Four want a seat, two have one. The first took 4 ms in the place of 3.
    assert!(q.done(MS(4), 0, MS(4)));
    assert_eq!((q.r, q.start_of(0)), (400_000, 400_000));
    assert!(q.ready());
    // Both start at 400,000: the round goes on after queue 1, with 2, 3 and 0.
    assert_eq!(q.dispatch(MS(4)), Some(0));
    assert!(q.done(MS(5), 1, MS(4)));
    assert_eq!(q.dispatch(MS(5)), Some(1));
    assert_eq!((q.r, q.start_of(0), q.start_of(1)), (500_000, 700_000, 800_000));
    // It took 2 ms in the place of 3.
    assert!(q.done(MS(6), 0, MS(2)));
    assert_eq!((q.r, q.start_of(0)), (600_000, 600_000));
    // A queue that was idle starts at R, whatever it had.
    q.join(MS(9), a);
    assert_eq!((q.r, q.start_of(0)), (900_000, 900_000));
    // Two queues with one seat each, and one seat is free.
    assert_eq!((q.active, q.waiting(), q.executing()), (2, 1, 1));
    assert_eq!(q.dispatch(MS(9)), Some(0));
    assert_eq!(q.dispatch(MS(9)), None);
}

/// One seat of three queues: R grows by a third of time.
#[test]
fn progress_is_divided_among_active_queues() {
    let mut q = queues(4, 1, 50, 1);
    for queue in 0..3 {
        q.join(MS(0), flow_of(queue));
    }
    q.sync(MS(3));
    assert_eq!(q.r, 100_000);
    assert_eq!(q.progress_s(), 0.001);
    q.set_limit(MS(3), 2);
    q.sync(MS(6));
    assert_eq!(q.r, 300_000, "two thirds");
    q.set_limit(MS(6), 0);
    q.sync(MS(9));
    assert_eq!(q.r, 400_000, "without a seat it may use one");
    assert!(q.ready());
}

/// A queue whose one attempt is worked on for a second uses one of four seats. What it did not
/// use is not saved up: its next attempt starts at R as of when it came.
#[test]
fn no_windup() {
    let (mut q, slow, other) = (queues(4, 1, 50, 4), flow_of(0), flow_of(1));
    q.join(MS(0), slow);
    q.dispatch(MS(0));
    for _ in 0..10 {
        q.join(MS(0), other);
    }
    // 11 want four seats of two queues: R grows by two a second.
    q.join(MS(1000), slow);
    assert_eq!((q.r, q.start_of(0)), (200_000_000, 200_000_000));
    // Without the bound it would be at 300,000, and before the other for two seconds of a seat.
    assert_eq!(q.start_of(1), 0);
}

#[test]
fn the_newest_is_refused_when_its_queue_is_full() {
    let mut q = queues(4, 1, 3, 1);
    for _ in 0..3 {
        assert_eq!(q.join(MS(0), flow_of(2)), Some(2));
    }
    assert_eq!(q.join(MS(0), flow_of(2)), None);
    assert_eq!(q.join(MS(0), flow_of(3)), Some(3), "others have room");
    assert!(q.left(MS(0), 2));
    assert_eq!(q.join(MS(0), flow_of(2)), Some(2));
}

/// The least waiting queue of the hand; among equals the search begins one further each time.
#[test]
fn a_flow_fills_its_hand_evenly() {
    let mut q = queues(64, 6, 50, 1);
    let mut seen: BTreeMap<usize, u32> = BTreeMap::new();
    for _ in 0..300 {
        *seen.entry(q.join(MS(0), 7).unwrap()).or_default() += 1;
    }
    assert_eq!(q.join(MS(0), 7), None, "6 × 50 = 300 of one flow");
    let mut cards = hand(64, 6, 7);
    cards.sort_unstable();
    assert_eq!(seen.keys().map(|q| *q as u32).collect::<Vec<_>>(), cards);
    assert!(seen.values().all(|n| *n == 50));
    // An empty set of queues: the k-th attempt gets card k of the hand.
    let mut q = queues(64, 6, 50, 1);
    for card in hand(64, 6, 7) {
        assert_eq!(q.join(MS(0), 7), Some(card as usize));
    }
}

/// R starts over before it overflows: everything that is active is set back by as much.
#[test]
fn epochs() {
    let (mut q, a, b) = (queues(4, 1, 50, 10), flow_of(0), flow_of(1));
    for _ in 0..20 {
        q.join(MS(0), a);
    }
    // The clock jumps by 584 years, and back, three times; each counts as a quarter of the range.
    let mut far = || {
        q.sync(Nanos::ZERO);
        q.sync(Nanos::MAX);
        (q.r, q.epochs)
    };
    let quarter = u64::MAX - HIGH;
    assert_eq!(far(), (quarter, 0));
    assert_eq!(far(), (2 * quarter, 0));
    q.join(Nanos::MAX, b);
    assert_eq!(q.start_of(1), 2 * quarter);
    q.sync(Nanos::ZERO);
    q.sync(Nanos::MAX);
    assert_eq!((q.r, q.epochs()), (3 * quarter - BACK, 1));
    assert_eq!(q.start_of(1), 2 * quarter - BACK, "one quarter behind R, as before");
    assert_eq!(q.start_of(0), 0, "further behind than can be told");
    assert_eq!(q.dispatch(Nanos::MAX), Some(0));
}

#[test]
fn work_that_takes_for_ever_saturates() {
    let mut q = queues(4, 1, 50, 1);
    for _ in 0..20 {
        q.join(MS(0), flow_of(0));
        q.dispatch(MS(0));
        assert!(q.done(MS(0), 0, Nanos::MAX));
    }
    assert!(!q.done(MS(0), 0, MS(1)), "nothing is worked on");
    assert!(!q.done(MS(0), 99, MS(1)) && !q.left(MS(0), 99) && !q.left(MS(0), 0));
}

/// What a contest came to.
#[derive(Debug, Default)]
struct Contest {
    /// Work begun, in milliseconds of a seat: the elephant's and the mouse's.
    got: [u64; 2],
    /// The largest difference between the two at any time.
    gap: u64,
    /// The longest wait of the mouse.
    longest: u64,
}

fn distinct(a: u64, b: u64) -> bool {
    let a = hand(64, 6, a);
    hand(64, 6, b).iter().all(|card| !a.contains(card))
}

/// A server of `seats` for `ms` milliseconds. The elephant always has as many waiting as it may;
/// the mouse has up to `outstanding` attempts waiting or in work. Their hands are distinct, and
/// each attempt works for as long as `work` says of its flow.
fn contest(seats: u32, outstanding: u32, work: [u64; 2], ms: u64) -> Contest {
    let flows = [1u64, (2..).find(|f| distinct(1, *f)).unwrap()];
    let mut q = queues(64, 6, 50, seats);
    let mut owner = [0; 64];
    for card in hand(64, 6, flows[1]) {
        owner[card as usize] = 1;
    }
    let mut waiting = std::vec![VecDeque::new(); 64];
    let (mut busy, mut mice): (Vec<(u64, usize)>, u32) = (Vec::new(), 0);
    let mut told = Contest::default();
    for t in 0..ms {
        let now = MS(t);
        busy.retain(|(end, queue)| {
            let over = *end == t;
            if over {
                let who = owner[*queue];
                assert!(q.done(now, *queue, MS(work[who])));
                mice -= who as u32;
            }
            !over
        });
        while let Some(queue) = q.join(now, flows[0]) {
            waiting[queue].push_back(t);
        }
        while mice < outstanding {
            let Some(queue) = q.join(now, flows[1]) else { break };
            waiting[queue].push_back(t);
            mice += 1;
        }
        while q.ready() {
            let queue = q.dispatch(now).unwrap();
            let waited = t - waiting[queue].pop_front().unwrap();
            let who = owner[queue];
            if who == 1 {
                told.longest = told.longest.max(waited);
            }
            told.got[who] += work[who];
            busy.push((t + work[who], queue));
            assert!(busy.len() <= seats as usize);
        }
        told.gap = told.gap.max(told.got[0].abs_diff(told.got[1]));
    }
    told
}

/// One seat, 10 ms each. The elephant has six queues; a mouse that has one attempt at a time is
/// a seventh, one with two is two of eight, and one that fills its hand has half. In the order
/// of arrival it would have 1/301, and wait for 3 s.
#[test]
fn a_mouse_beside_an_elephant() {
    for (outstanding, got, longest) in [(1, 2850, 60), (2, 5000, 70), (6, 10_020, 110)] {
        let told = contest(1, outstanding, [10, 10], 20_000);
        assert_eq!((told.got[1], told.longest), (got, longest), "{outstanding} outstanding");
        assert_eq!(told.got[0] + told.got[1], 20_000);
    }
}

/// The 3 ms that are charged before it is known what an attempt takes let 59 ms of work get
/// ahead of 3 ms of work, but not without end.
#[test]
fn the_gap_does_not_grow_with_time() {
    for (ms, gap) in [(3000, 5609), (500_000, 7571), (1_000_000, 7571)] {
        assert_eq!(contest(19, u32::MAX, [59, 3], ms).gap, gap, "of {} ms of work", 19 * ms);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Both want more than there is: each has half of the seats' time, whatever the two work
    /// for. What they are apart does not grow with time: it is less than one attempt of each in
    /// every seat, times the queues of a hand and one more.
    #[test]
    fn two_that_fill_their_hands_have_half_each(
        seats in 1u32..20, elephant in 1u64..60, mouse in 1u64..60, ms in 1000u64..6000,
    ) {
        let told = contest(seats, u32::MAX, [elephant, mouse], ms);
        prop_assert!(told.gap <= 7 * u64::from(seats) * (elephant + mouse), "{told:?}");
    }

    /// A mouse that sends one after the other waits at most for two rounds of the elephant's
    /// queues, although the elephant has 300 waiting.
    #[test]
    fn a_mouse_waits_for_rounds_and_not_for_the_queue(
        seats in 1u32..20, elephant in 1u64..60, mouse in 1u64..60,
    ) {
        let told = contest(seats, 1, [elephant, mouse], 3000);
        prop_assert!(told.longest <= 2 * 6 * elephant.max(mouse), "{told:?}");
    }
}

proptest! {
    /// Whatever happens in whatever order at whatever time: what it counts is what there is.
    #[test]
    fn counts_are_what_there_is(
        deck in 1u32..130, length in 1u32..5, limit in 0u32..6,
        ops in prop::collection::vec((0u8..8, any::<u64>(), any::<u64>()), 0..400),
    ) {
        let mut q = queues(deck, deck.min(3), length, limit);
        let (mut waiting, mut executing) = (std::vec![0; deck as usize], std::vec![0; deck as usize]);
        for (op, now, x) in ops {
            // Half of the time the clock goes on by little, the other half it jumps.
            let now = if op & 1 == 0 { q.now + Nanos(now % 10_000_000) } else { Nanos(now) };
            let index = (x % u64::from(deck)) as usize;
            match op / 2 {
                0 => if let Some(i) = q.join(now, x % 7) {
                    waiting[i] += 1;
                },
                1 => if q.ready() {
                    let i = q.dispatch(now).unwrap();
                    waiting[i] -= 1;
                    executing[i] += 1;
                    prop_assert!(q.executing() <= limit.max(1));
                },
                2 => if q.left(now, index) {
                    waiting[index] -= 1;
                },
                _ => if q.done(now, index, Nanos(x)) {
                    executing[index] -= 1;
                },
            }
            prop_assert!(waiting.iter().all(|n| (0..=i64::from(length)).contains(n)));
            prop_assert_eq!(i64::from(q.waiting()), waiting.iter().sum::<i64>());
            prop_assert_eq!(i64::from(q.executing()), executing.iter().sum::<i64>());
            let active = waiting.iter().zip(&executing).filter(|(w, e)| *w + *e > 0).count();
            prop_assert_eq!(q.active as usize, active);
            prop_assert_eq!(q.first().is_some(), q.waiting() > 0);
            prop_assert!(q.r < HIGH);
        }
    }

    /// The search by fours finds what a search in a round over all queues finds.
    #[test]
    fn the_first_is_that_of_a_plain_search(
        deck in 1u32..200, robin in any::<usize>(), waits in prop::collection::vec((0u64..4, any::<bool>()), 200),
    ) {
        let mut q = queues(deck, 1, 1, 1);
        q.robin = robin % deck as usize;
        for (i, (start, waits)) in waits.iter().enumerate().take(deck as usize) {
            if *waits {
                q.keys[i] = *start;
                q.waiting += 1;
            }
        }
        let n = deck as usize;
        let round = (1..=n).map(|k| (q.robin + k) % n).filter(|i| waits[*i].1);
        prop_assert_eq!(q.first(), round.min_by_key(|i| waits[*i].0));
    }
}
