//! Which pull is in force at which door, by class: one that ends by itself opens only what nobody has
//! pulled since.

use std::collections::BTreeMap;

/// The numbers of pulls, by door and class.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    last: u64,
    in_force: BTreeMap<(String, String), u64>,
}

impl Pulls {
    /// Counts a pull; its number. No classes are all of them.
    pub(super) fn pulled(&mut self, doors: &[&str], classes: &[String], all: &[String]) -> u64 {
        self.last += 1;
        let classes = if classes.is_empty() { all } else { classes };
        for door in doors {
            for class in classes {
                self.in_force.insert(((*door).to_owned(), class.clone()), self.last);
            }
        }
        self.last
    }

    /// Classes of a door that still belong to a pull.
    pub(super) fn left_of(&self, number: u64, door: &str) -> Vec<String> {
        let own = |((at, _), pull): &(&(String, String), &u64)| at == door && **pull == number;
        self.in_force.iter().filter(own).map(|((_, class), _)| class.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_pull_that_ends_opens_what_nobody_has_pulled_since() {
        let (all, mut pulls) = (names(&["high", "low"]), Pulls::default());
        let first = pulls.pulled(&["db", "web"], &[], &all);
        let again = pulls.pulled(&["db"], &[], &all);
        assert!(pulls.left_of(first, "db").is_empty(), "renewed: the first one's time is nobody's");
        assert_eq!(pulls.left_of(first, "web"), all);
        let other = pulls.pulled(&["db"], &names(&["low"]), &all);
        assert_eq!(pulls.left_of(again, "db"), ["high"], "another class in between is no end");
        assert_eq!(pulls.left_of(other, "db"), ["low"]);
    }
}
