//! Every control in the same storm, and the page that shows it: `docs/controls-compared.md`.
//!
//! `cargo xtask docs` rewrites the page.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, reason = "it takes minutes, and says where it is")]

mod chain;
#[path = "../../../control/tests/jitter_experiment/contention.rs"]
mod contention;
mod deadlines;
mod facts;
mod measure;
mod page;
mod settings;
mod storm;

use damper_control::registry;

#[test]
fn every_control_can_be_named_in_the_storm() {
    assert_eq!(settings::strangers(), [""; 0]);
    registry::all().for_each(storm::accepts);
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn the_page_is_what_comes_out() {
    let page = page::Page {
        storm: storm::lines(),
        deadlines: deadlines::LAYERS.iter().map(deadlines::lines).collect(),
        chain: chain::lines(),
        contention: [10, 50, 100].into_iter().flat_map(contention::rows).collect(),
    };
    page.check();
    facts::of_the_storm(&page.storm);
    page.deadlines.iter().for_each(|lines| facts::of_the_deadlines(lines));
    facts::of_the_chain(&page.chain);
    facts::of_the_contention(&page.contention);
}
