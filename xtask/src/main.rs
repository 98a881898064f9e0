//! Damper command line.
fn main() {}
