//! `damper explain`.

use anyhow::bail;
use damper_scan::rules::pages::page;
use damper_scan::rules::{RULES, nearest};

use crate::args::ExplainArgs;
use crate::{exit, print};

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<u8> {
    let name = args.rule.as_str();
    let Some(page) = page(name) else {
        // Part of a name is likelier than a name with other letters: `jitter`, `budget`.
        let part = RULES.iter().map(|rule| rule.id).find(|id| name.len() > 2 && id.contains(name));
        let hint = part
            .or_else(|| nearest(name))
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        bail!("there is no rule `{name}`{hint} (`damper rules` lists them)");
    };
    print::line(page.trim_end());
    Ok(exit::OK)
}
