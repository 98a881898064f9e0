//! Whatever comes in, nothing panics, and every problem points into its text.

use damper_system::{Problems, SystemFile};
use proptest::prelude::*;

const VALID: [&str; 4] = [
    include_str!("../files/hotel.yaml"),
    include_str!("../files/cache.yaml"),
    include_str!("../files/routes.yaml"),
    include_str!("../files/controls.yaml"),
];

/// Pieces that mean something to the parser.
const PIECES: [&str; 24] = [
    "{", "}", "[", "]", ":", ": ", "- ", "\n", "\n  ", "#", "&a ", "*a", "<<: ", "!", "|", ">",
    "\"", "'", "0", "-1", "5ms", "db", "~", "\t",
];

fn places(problems: &Problems, text: &str) -> Result<(), TestCaseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in problems {
        prop_assert!(problem.line >= 1 && problem.line <= lines.len(), "{problem}");
        let columns = lines[problem.line - 1].chars().count() + 1;
        prop_assert!(problem.column >= 1 && problem.column <= columns, "{problem}");
        prop_assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
        prop_assert!(!problem.message.is_empty());
    }
    Ok(())
}

fn try_all(text: &str) -> Result<(), TestCaseError> {
    let problems = match SystemFile::parse("x.yaml", text) {
        Err(problems) => problems,
        Ok(file) => match file.lower_with_warnings() {
            Ok((_, problems)) | Err(problems) => problems,
        },
    };
    places(&problems, text)?;
    // Some places may be far apart; drawing them must not panic either.
    let _ = (problems.render(true), problems.render(false));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_all(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn random_pieces(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..80)) {
        try_all(&pieces.concat())?;
    }

    #[test]
    fn mutated_files(
        which in 0..VALID.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, prop::sample::select(&PIECES[..])), 1..8),
    ) {
        let mut text: Vec<char> = VALID[which].chars().collect();
        for (at, remove, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + remove).min(text.len());
            text.splice(at..end, insert.chars());
        }
        try_all(&text.into_iter().collect::<String>())?;
    }

    #[test]
    fn moved_lines(which in 0..VALID.len(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let mut lines: Vec<&str> = VALID[which].lines().collect();
        let line = lines.remove(from.index(lines.len()));
        lines.insert(to.index(lines.len() + 1), line);
        try_all(&lines.join("\n"))?;
    }

    #[test]
    fn random_changes(path in "[a-z.\\[\\]\"' ->0-9]{0,30}", value in "\\PC{0,20}") {
        let mut file = SystemFile::parse("x.yaml", VALID[1]).unwrap();
        let change = format!("{path}={value}");
        let problems = match file.set(&change) {
            Err(problems) => problems,
            Ok(()) => match file.lower_with_warnings() {
                Ok((_, problems)) | Err(problems) => problems,
            },
        };
        for problem in &problems {
            let text = if problem.file == "--set" { change.as_str() } else { VALID[1] };
            prop_assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
        }
        let _ = problems.render(false);
    }
}
