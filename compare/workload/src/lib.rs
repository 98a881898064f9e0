//! What `cargo xtask compare sim` simulates: the numbers of both workloads, one source of
//! randomness and one output format. The peers differ in their engine and in nothing else.
//!
//! `mm1-storm`: an M/M/1 queue whose clients give up after a timeout and retry at once. A
//! short spike fills the queue; from then on every reply comes too late, each lateness makes
//! another attempt, and the attempts keep the queue full.
//!
//! `mm1`: the plain queue at 90 % load, without clients that give up.

/// Nanoseconds in a second; time is integer nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// Requests per second that a server finishes on average.
pub const SERVICE_RATE: f64 = 10.0;
/// Requests per second of `mm1-storm`.
pub const STORM_RATE: f64 = 9.3;
/// Requests per second of `mm1`.
pub const PLAIN_RATE: f64 = 9.0;
/// Requests per second during the spike.
pub const SPIKE_RATE: f64 = 30.0;
/// When the spike starts and ends.
pub const SPIKE: [u64; 2] = [60 * SECOND, 65 * SECOND];
/// Attempts that may wait; one more is in service.
pub const QUEUE: usize = 100;
/// How long a client waits for the reply to an attempt.
pub const TIMEOUT: u64 = 4 * SECOND;
/// Retries after the first attempt.
pub const RETRIES: u8 = 3;

/// Which workload, for how long, with which seed: `<mm1|mm1-storm> SECONDS SEED <fused|parts>`.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// Clients and server as parts that exchange messages, as the engine's documentation has
    /// it. Otherwise one hand-made part that does everything: the engine's lower bound.
    pub parts: bool,
    /// Clients give up and retry.
    pub storm: bool,
    /// Simulated time.
    pub horizon: u64,
    /// Of everything random.
    pub seed: u64,
}

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn read() -> Result<Self, String> {
        let usage = "expected: <mm1|mm1-storm> SECONDS SEED <fused|parts>";
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [workload, seconds, seed, shape] = &words[..] else {
            return Err(usage.into());
        };
        Ok(Self {
            parts: match shape.as_str() {
                "fused" => false,
                "parts" => true,
                other => return Err(format!("unknown shape `{other}`; {usage}")),
            },
            storm: match workload.as_str() {
                "mm1" => false,
                "mm1-storm" => true,
                other => return Err(format!("unknown workload `{other}`; {usage}")),
            },
            horizon: seconds.parse::<u64>().map_err(|e| format!("{seconds}: {e}; {usage}"))?
                * SECOND,
            seed: seed.parse().map_err(|e| format!("{seed}: {e}; {usage}"))?,
        })
    }
}

/// xoshiro256++, seeded by splitmix64: fast, and the same for every peer.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// A stream that is a function of the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut x = seed;
        Self(std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// An exponential time with this rate per second, in whole nanoseconds, at least one.
    pub fn exponential(&mut self, rate: f64) -> u64 {
        let uniform = ((self.next() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
        ((-uniform.ln() / rate * SECOND as f64) as u64).max(1)
    }

    /// Time from `now` to the next arrival. A Poisson process has no memory, so a gap that
    /// would cross an edge of the spike is cut there and drawn again with the other rate.
    pub fn arrival(&mut self, now: u64, storm: bool) -> u64 {
        if !storm {
            return self.exponential(PLAIN_RATE);
        }
        let mut at = now;
        loop {
            let (rate, edge) = match at {
                t if t < SPIKE[0] => (STORM_RATE, SPIKE[0]),
                t if t < SPIKE[1] => (SPIKE_RATE, SPIKE[1]),
                _ => (STORM_RATE, u64::MAX),
            };
            let next = at.saturating_add(self.exponential(rate));
            if next < edge {
                return next - now;
            }
            at = edge;
        }
    }

    /// Time that one attempt needs of the server.
    pub fn service(&mut self) -> u64 {
        self.exponential(SERVICE_RATE)
    }
}

/// What came out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Requests that arrived.
    pub requests: u64,
    /// Requests with a reply within the timeout of one of their attempts.
    pub good: u64,
    /// Attempts, first ones included.
    pub attempts: u64,
    /// Attempts that the server finished.
    pub served: u64,
    /// Of those, the ones whose client had gone.
    pub wasted: u64,
    /// Events that the engine delivered to the model.
    pub events: u64,
}

impl Counts {
    /// Prints them as one line of JSON.
    pub fn print(&self) {
        let Self { requests, good, attempts, served, wasted, events } = self;
        println!(
            "{{\"requests\":{requests},\"good\":{good},\"attempts\":{attempts},\
             \"served\":{served},\"wasted\":{wasted},\"events\":{events}}}"
        );
    }
}

/// Attempts in flight, by a number that is used again when the attempt is over. Cheaper than
/// the hash map that one would reach for first.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Keeps `value` and gives its number.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.entries[id as usize] = value;
            id
        } else {
            self.entries.push(value);
            (self.entries.len() - 1) as u32
        }
    }

    /// The value with this number.
    pub fn get(&mut self, id: u32) -> &mut T {
        &mut self.entries[id as usize]
    }

    /// Frees the number.
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }
}
