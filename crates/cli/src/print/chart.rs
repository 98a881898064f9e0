//! A chart over time for a terminal: what was offered as dots, what was good as bars.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anstyle::AnsiColor;

use super::{DIM, line, paint};

/// What is drawn: rates over equal steps of time.
pub(crate) struct Chart {
    pub(crate) offered: Vec<f64>,
    pub(crate) good: Vec<f64>,
    /// Length of all of it in seconds.
    pub(crate) length_s: f64,
    /// Start and end of the trigger in seconds.
    pub(crate) trigger_s: Option<(f64, f64)>,
}

const WIDTH: usize = 72;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Time that a drawing takes as a whole.
const DRAWN_IN: Duration = Duration::from_millis(2500);

impl Chart {
    /// The series in as many columns as are drawn.
    pub(crate) fn columns(&self) -> (Vec<f64>, Vec<f64>) {
        (in_columns(&self.offered), in_columns(&self.good))
    }

    /// The lines of the chart, with only the first `until` columns drawn.
    fn lines(&self, height: usize, until: usize) -> Vec<String> {
        let (offered, good) = self.columns();
        let top = offered.iter().chain(&good).fold(0.0, |a: f64, b| a.max(*b)).max(1e-9);
        let scale = |x: f64| x / top * height as f64;
        let mut out = Vec::new();
        for row in (0..height).rev() {
            let cell = |i: usize| {
                if i >= until {
                    return ' ';
                }
                let filled = ((scale(good[i]) - row as f64) * 8.0).round().clamp(0.0, 8.0) as usize;
                let dot = (scale(offered[i]) - 1e-9).max(0.0) as usize == row;
                if filled == 0 && dot { '·' } else { BLOCKS[filled] }
            };
            let label = match row {
                r if r + 1 == height => format!("{top:>7.0}/s"),
                0 => format!("{:>9}", "0"),
                _ => " ".repeat(9),
            };
            let cells: String = (0..offered.len()).map(cell).collect();
            // Without colours nothing is left at the end of a line but what is drawn.
            out.push(match (label.trim_end(), cells.trim_end()) {
                ("", "") => String::new(),
                (label, "") => paint(DIM, label),
                (_, cells) => format!("{} {}", paint(DIM, &label), paint(GREEN, cells)),
            });
        }
        out.push(self.axis(offered.len()));
        out
    }

    /// The axis of time, with the trigger on it.
    fn axis(&self, columns: usize) -> String {
        let at = |s: f64| ((s / self.length_s * columns as f64) as usize).min(columns);
        let span = self.trigger_s.map(|(from, to)| (at(from), at(to).max(at(from) + 1)));
        let mark = |i: usize| match span {
            Some((from, to)) if (from..to).contains(&i) => '▲',
            _ => '─',
        };
        let bar: String = (0..columns).map(mark).collect();
        format!("{}{bar} {:.0} s", " ".repeat(10), self.length_s)
    }

    /// Draws it: step by step on a terminal, all at once elsewhere.
    pub(crate) fn draw(&self, height: usize, live: bool) {
        let columns = self.columns().0.len();
        if columns == 0 {
            return;
        }
        if live && std::io::stdout().is_terminal() {
            let pause = DRAWN_IN / columns as u32;
            for until in 1..columns {
                for l in self.lines(height, until) {
                    line(&l);
                }
                std::thread::sleep(pause);
                let _ = write!(anstream::stdout(), "\x1b[{}A\x1b[J", height + 1);
            }
        }
        for l in self.lines(height, columns) {
            line(&l);
        }
        let trigger = if self.trigger_s.is_some() { "   ▲ trigger" } else { "" };
        line(&paint(DIM, &format!("{}· offered   █ good{trigger}", " ".repeat(10))));
    }
}

const GREEN: anstyle::Style = AnsiColor::Green.on_default();

/// Means over so many values that what is left fits into the width.
fn in_columns(values: &[f64]) -> Vec<f64> {
    let each = values.len().div_ceil(WIDTH).max(1);
    values.chunks(each).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_looks_like_one() {
        let good = |i: usize| if i < 60 { 270.0 } else { 20.0 };
        let chart = Chart {
            offered: (0..180).map(|i| if i < 90 { 270.0 } else { 200.0 }).collect(),
            good: (0..180).map(good).collect(),
            length_s: 180.0,
            trigger_s: Some((60.0, 62.0)),
        };
        let lines: Vec<String> = chart
            .lines(6, 60)
            .iter()
            .map(|l| anstream::adapter::strip_str(l).to_string())
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    /// More columns than values, and values of zero.
    #[test]
    fn a_short_or_silent_series_is_drawn() {
        for values in [vec![], vec![0.0], vec![1.0, 0.0]] {
            let chart =
                Chart { offered: values.clone(), good: values, length_s: 1.0, trigger_s: None };
            let n = chart.columns().0.len();
            assert_eq!(chart.lines(4, n).len(), 5);
        }
    }
}
