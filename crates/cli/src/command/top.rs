//! `damper top`.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

use damper_proxy::observe::view::StateView;

use super::admin::Admin;
use crate::args::{StateArg, TopArgs};
use crate::{exit, interrupt, print};

/// How often it asks.
const EVERY: Duration = Duration::from_secs(1);

/// Home, without clearing: what was there is overwritten, so that nothing flickers.
const HOME: &str = "\x1b[H";
/// Clears to the end of the line, to the end of the screen.
const LINE_END: &str = "\x1b[K\n";
const SCREEN_END: &str = "\x1b[J";
/// A screen of its own, without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<u8> {
    let admin = Admin::of(&args.admin)?;
    let first: StateView = admin.get("/state")?;
    let terminal = std::io::stdout().is_terminal();
    if args.once || !args.admin.json && !terminal {
        if args.admin.json {
            print::json(&first)?;
        } else {
            print::line(print::top(&first, admin.url()).trim_end());
        }
        let bad = args
            .fail_on
            .is_some_and(|least| first.hops.iter().any(|h| rank(&h.state) >= of(least)));
        return Ok(if bad { exit::GATE } else { exit::OK });
    }
    let ended = interrupt::flag();
    let mut state = Ok(first);
    if terminal && !args.admin.json {
        raw(ENTER);
    }
    let result = loop {
        if args.admin.json {
            match &state {
                Ok(state) => print::json_line(state)?,
                Err(_) => break state.map(|_| ()),
            }
        } else {
            show(&state, &admin);
        }
        std::thread::sleep(EVERY);
        if ended.load(Ordering::Relaxed) {
            break Ok(());
        }
        state = admin.get("/state");
    };
    if terminal && !args.admin.json {
        raw(LEAVE);
    }
    result.map(|()| exit::OK)
}

/// A proxy that is away for a while, since it restarts, is waited for.
fn show(state: &anyhow::Result<StateView>, admin: &Admin) {
    let text = match state {
        Ok(state) => print::top(state, admin.url()),
        Err(error) => format!("{error:#}\n\nasking again every second; Ctrl-C ends this\n"),
    };
    let mut frame = String::from(HOME);
    for line in text.lines() {
        frame.push_str(line);
        frame.push_str(LINE_END);
    }
    frame.push_str(SCREEN_END);
    raw(&frame);
}

fn raw(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

const fn of(state: StateArg) -> usize {
    match state {
        StateArg::Vulnerable => 1,
        StateArg::Overloaded => 2,
        StateArg::Metastable => 3,
    }
}

fn rank(state: &str) -> usize {
    let states = damper_proxy::observe::State::ALL;
    states.iter().position(|known| known.word() == state).unwrap_or(0)
}
