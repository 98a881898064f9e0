//! The page: `docs/controls-compared.md`.

use crate::contention::{self, Row};
use crate::measure::repository;
use crate::{chain, deadlines, storm};

/// Everything that is on it.
pub(crate) struct Page {
    pub(crate) storm: Vec<storm::Line>,
    /// By number of layers.
    pub(crate) deadlines: Vec<Vec<deadlines::Line>>,
    pub(crate) chain: Vec<chain::Line>,
    pub(crate) contention: Vec<Row>,
}

impl Page {
    fn markdown(&self) -> String {
        let deadlines: String = deadlines::LAYERS
            .iter()
            .zip(&self.deadlines)
            .map(|(layers, lines)| format!("### {}\n\n{}\n", layers.title, deadlines::table(lines)))
            .collect();
        include_str!("page.md")
            .replace("{version}", env!("CARGO_PKG_VERSION"))
            .replace("{groups}", self.groups().trim_end())
            .replace("{storm}", storm::table(&self.storm).trim())
            .replace("{told}", storm::told().trim_end())
            .replace("{deadlines}", deadlines.trim_end())
            .replace("{chain}", chain::table(&self.chain).trim_end())
            .replace("{near}", &self.near())
            .replace("{trials}", &chain::TRIALS.to_string())
            .replace("{others}", &chain::OTHERS.to_string())
            .replace("{contention}", contention::table(&self.contention).trim_end())
    }

    /// Controls by what they do to the loop.
    fn groups(&self) -> String {
        let plain = &self.storm[0];
        let group = |title: &str, of: &dyn Fn(&storm::Line) -> bool| {
            let names: Vec<String> = self
                .storm
                .iter()
                .filter(|l| l.entry.is_some() && of(l))
                .map(|l| format!("[{0}](controls/{0}.md)", l.control()))
                .collect();
            if names.is_empty() {
                String::new()
            } else {
                format!("- **{title}**: {}\n", names.join(", "))
            }
        };
        group("Bounds the loop", &|l| l.bounds() && !l.serves_less(plain))
            + &group("Bounds the loop, and serves less than the system could", &|l| {
                l.bounds() && l.serves_less(plain)
            })
            + &group("Weakens it", &|l| l.verdict == "weakens it")
            + &group("Only reschedules it", &|l| l.verdict == "only reschedules it")
            + &group("Leaves it as it is", &|l| l.verdict == "leaves it")
            + &group("Makes it worse, or never heals", &|l| {
                !l.bounds()
                    && !["weakens it", "only reschedules it", "leaves it"].contains(&l.verdict)
            })
    }

    /// Which budgets are within one point of no retry under correlated failure.
    fn near(&self) -> String {
        let none = self.chain[0].success[2].mean;
        let (near, far): (Vec<_>, Vec<_>) = self
            .chain
            .iter()
            .filter(|l| l.budget.is_some())
            .partition(|l| (l.success[2].mean - none).abs() < 0.01);
        let near: Vec<&str> = near.iter().map(|l| l.strategy.as_str()).collect();
        let far: Vec<String> = far
            .iter()
            .map(|l| format!("{} ({:+.1})", l.strategy, 100.0 * (l.success[2].mean - none)))
            .collect();
        format!(
            "Within one point of no retry: {}. Further away: {}.",
            near.join(", "),
            far.join(", ")
        )
    }

    /// Compares the page with the file, or rewrites it.
    pub(crate) fn check(&self) {
        let path = repository().join("docs/controls-compared.md");
        let wanted = self.markdown();
        if std::env::var_os("DAMPER_BLESS").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found == wanted {
            return;
        }
        for (line, (a, b)) in
            found.lines().zip(wanted.lines()).enumerate().filter(|(_, (a, b))| a != b)
        {
            eprintln!("line {}\n- {a}\n+ {b}", line + 1);
        }
        panic!("docs/controls-compared.md is not what comes out: run cargo xtask docs");
    }
}
