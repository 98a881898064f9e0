//! What cargo-nextest says of a run: the tests to look at, from the lines below its summary. Who reads the end of a
//! long log only must find their names there.

use std::fmt;

/// Tests that failed, or passed at a later try only.
#[derive(Default)]
pub(crate) struct Named {
    below_the_summary: bool,
    /// How each ended, and its name.
    tests: Vec<(String, String)>,
}

impl Named {
    /// Reads a line of what nextest prints to standard error.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim();
        if line.starts_with("Summary [") {
            self.below_the_summary = true;
        } else if self.below_the_summary
            && let Some((how, rest)) = line.split_once('[')
            && let Some((_, rest)) = rest.split_once(']')
        {
            // `(17/98)` stands between the time and the name in newer versions.
            let name = rest.trim_start();
            let name = match name.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some((_, name)) => name.trim_start(),
                None => name,
            };
            let test = (how.trim().to_lowercase(), name.to_owned());
            if !self.tests.contains(&test) {
                self.tests.push(test);
            }
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (how, name)) in self.tests.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name} ({how})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Named;

    fn named(text: &str) -> String {
        let mut named = Named::default();
        text.lines().for_each(|line| named.read(line));
        named.to_string()
    }

    #[test]
    fn tests_below_the_summary_are_named_once() {
        let text = "        PASS [   0.010s] (1/3) damper::it map::a
  TRY 1 FAIL [   0.010s] (2/3) damper::it map::b
     Summary [   0.030s] 3 tests run: 2 passed (1 flaky), 1 failed, 0 skipped
   FLAKY 2/2 [   0.010s] (2/3) damper::it map::b
  TRY 2 FAIL [   0.010s] (3/3) damper-sim splitting::c
  TRY 2 FAIL [   0.010s] (3/3) damper-sim splitting::c
error: test run failed";
        let expected = "damper::it map::b (flaky 2/2), damper-sim splitting::c (try 2 fail)";
        assert_eq!(named(text), expected);
    }

    #[test]
    fn older_versions_do_not_count() {
        let text = "Summary [ 1s] 1 test run\n FAIL [   0.010s] damper::it map::a";
        assert_eq!(named(text), "damper::it map::a (fail)");
    }

    #[test]
    fn nothing_is_named_where_all_passed() {
        let text = "        PASS [   0.010s] damper::it map::a\n     Summary [   0.030s] 1 test run: 1 passed";
        assert_eq!(named(text), "");
    }
}
