//! The rungs of the lab: what each runs, what is to be seen, and the figure that shows it.

mod drill;
mod rungs;
pub(crate) mod stage;

use stage::{Seen, Stage};

/// One rung.
pub(crate) struct Rung {
    pub(crate) number: u32,
    pub(crate) title: &'static str,
    /// What it is about, before it is run.
    pub(crate) about: &'static str,
    /// Why it is so.
    pub(crate) why: &'static str,
    /// Its system file (of the last: its plan): where it is in the repository, and its text.
    pub(crate) path: &'static str,
    pub(crate) file: &'static str,
    pub(crate) run: fn(&Stage<'_>) -> anyhow::Result<Seen>,
}

/// All rungs, in the order in which they are climbed.
pub(crate) const RUNGS: &[Rung] = &[
    Rung {
        number: 1,
        title: "Collapse in miniature",
        about: "A database of 300/s, asked for 270. It is silent for two seconds. Callers wait one \
                second and try once more.",
        why: "While it was silent everybody timed out and tried again. What it then serves are \
              attempts whose callers have gone: by the time it gets to one, its second is over. \
              Each of those callers sends a second attempt, so that 540 arrive each second where \
              300 are served, and the queue stays longer than anybody's patience. The silence \
              started it; the retries keep it going.",
        path: "examples/lab/1-collapse.yaml",
        file: include_str!("../../../examples/lab/1-collapse.yaml"),
        run: rungs::collapse,
    },
    Rung {
        number: 2,
        title: "Hidden capacity",
        about: "The same database. At which load does it heal by itself? Once with one retry, once \
                with two.",
        why: "While the loop runs every request becomes 1 + k attempts. It ends by itself only \
              where all of those can be served: below capacity / (1 + k). Nothing on a dashboard \
              shows that number while all is well.",
        path: "examples/lab/2-hidden-capacity.yaml",
        file: include_str!("../../../examples/lab/2-hidden-capacity.yaml"),
        run: rungs::hidden,
    },
    Rung {
        number: 3,
        title: "Backoff does not help",
        about: "The collapse of rung 1 without a delay before the retry, and with exponential \
                backoff and full jitter.",
        why: "Backoff says when a retry is sent, not whether. The same number of attempts arrives, \
              only more evenly. Jitter is worth having against waves; it is no bound.",
        path: "examples/lab/3-backoff.yaml",
        file: include_str!("../../../examples/lab/3-backoff.yaml"),
        run: rungs::backoff,
    },
    Rung {
        number: 4,
        title: "The token bucket and its price",
        about: "Retries are paid from a bucket of 10 tokens that refills by 0.1 with each success. \
                What does that buy, and what does it cost?",
        why: "When everything fails the bucket is empty, and nobody retries: the loop has nothing to \
              run on. The price is paid on good days: errors in a row empty the bucket, too, and the \
              ones after them are not retried.",
        path: "examples/lab/4-token-bucket.yaml",
        file: include_str!("../../../examples/lab/4-token-bucket.yaml"),
        run: rungs::bucket,
    },
    Rung {
        number: 5,
        title: "Shedding by priority, at the server",
        about: "Three times the capacity arrives. A quarter of the capacity's worth of it is \
                checkouts, the rest can wait.",
        why: "A server that takes what comes serves everybody equally late. One that refuses the low \
              class as soon as there is a queue has short waits for the high class, and refusals cost \
              it nothing. Callers cannot do that for it: none of them knows the others.",
        path: "examples/lab/5-priority-shedding.yaml",
        file: include_str!("../../../examples/lab/5-priority-shedding.yaml"),
        run: rungs::shedding,
    },
    Rung {
        number: 6,
        title: "The drill on a real system",
        about: "The collapse of rung 1, with servers that are processes on this machine: a blip of \
                two seconds, seven seconds in which nobody does anything, then the lever. It takes \
                about three quarters of a minute.",
        why: "Nothing brings it back but less load: 400 attempts arrive where 300 are served, and \
              the queue is longer than anybody waits. Throttled to a tenth, the queue empties at 280 \
              a second, and what is let in is served while somebody still waits for it. That is the \
              sign to wait for; opened before, it collapses again. The ramp gives the rest back \
              slowly enough to stop if it were wrong.",
        path: "examples/lab/6-drill.yaml",
        file: include_str!("../../../examples/lab/6-drill.yaml"),
        run: drill::drill,
    },
];
