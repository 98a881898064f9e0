//! `damper lever`.

use damper_proxy::admin::{Done, Pull, Status, Word};

use super::admin::Admin;
use crate::args::{LeverAction, LeverArgs, PullArgs};
use crate::{exit, print};

pub(crate) fn run(args: &LeverArgs) -> anyhow::Result<u8> {
    let none = (None, None, None, None);
    let (word, args, (to, from, over, steps)) = match &args.action {
        LeverAction::Status(args) => {
            let admin = Admin::of(&args.admin)?;
            let status: Status = admin.get("/lever")?;
            if args.admin.json {
                print::json(&status)?;
            } else {
                print::line(print::lever_status(&status).trim_end());
            }
            return Ok(exit::OK);
        }
        LeverAction::Throttle(args) => {
            let to = args.to.clone().or_else(|| args.rate.clone());
            (Word::Throttle, &args.pull, (to, None, None, None))
        }
        LeverAction::Ramp(args) => {
            let (to, over) = (Some(args.to.clone()), Some(args.over.clone()));
            (Word::Ramp, &args.pull, (to, args.from.clone(), over, args.steps))
        }
        LeverAction::Pause(args) => (Word::Pause, args, none),
        LeverAction::Hold(args) => (Word::Hold, args, none),
        LeverAction::Open(args) => (Word::Open, args, none),
    };
    let admin = Admin::of(&args.admin)?;
    let pull = Pull { action: word, to, from, over, steps, ..pull(args)? };
    let done: Done = admin.post("/lever", &pull)?;
    if args.admin.json {
        print::json(&done)?;
    } else {
        print::line(print::pulled(&done, admin.url()).trim_end());
    }
    Ok(exit::OK)
}

fn pull(args: &PullArgs) -> anyhow::Result<Pull> {
    // Whoever became root is still who they were.
    let user = || ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let who = args.who.clone().or_else(user);
    Ok(Pull {
        action: Word::Open,
        hop: args.hop.clone(),
        classes: args.class.clone(),
        caller: args.caller.clone(),
        to: None,
        from: None,
        over: None,
        steps: None,
        lasts: args.lasts.clone(),
        who: who.ok_or_else(|| anyhow::anyhow!("say who pulls: --who NAME"))?,
        why: args.why.clone(),
    })
}
