//! The capacity bar on a terminal.

/// Three lines: marks above, the bar, marks below.
///
/// Stable is drawn solid, vulnerable shaded, overloaded light; `now` is marked above.
pub(crate) fn capacity(hidden: f64, advertised: f64, load: f64, width: usize) -> [String; 3] {
    let scale = advertised.max(load) * 1.1;
    let at = |x: f64| ((x / scale * width as f64).round() as usize).min(width - 1);
    let (h, a, now) = (at(hidden), at(advertised), at(load));
    let cell = |i: usize| match i {
        i if i < h => '█',
        i if i < a => '▒',
        _ => '░',
    };
    let bar = (0..width).map(cell).collect();
    let above = place(width, &[(now, format!("▼ now {}", super::rate(load)))]);
    let mut marks = vec![(a, format!("▲ advertised {}", super::rate(advertised)))];
    if h != a {
        marks.insert(0, (h, format!("▲ hidden {}", super::rate(hidden))));
    }
    [above, bar, place(width, &marks)]
}

/// Puts labels at columns; a label that would run out is turned to the left of its mark.
fn place(width: usize, labels: &[(usize, String)]) -> String {
    let mut out = vec![' '; width + 40];
    let mut free = 0;
    for (column, text) in labels {
        let length = text.chars().count();
        let turned = *column + length > width && *column + 1 >= length + free;
        let (start, chars): (usize, Vec<char>) = if turned {
            let (mark, rest) = text.split_at(text.char_indices().nth(2).map_or(0, |(i, _)| i));
            (*column + 1 - length, format!("{rest} {}", mark.trim()).chars().collect())
        } else {
            ((*column).max(free), text.chars().collect())
        };
        for (i, c) in chars.iter().enumerate() {
            if let Some(cell) = out.get_mut(start + i) {
                *cell = *c;
            }
        }
        free = start + chars.len() + 1;
    }
    out.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_where_they_belong() {
        let drawn = capacity(150.0, 300.0, 270.0, 66).join("\n");
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn extremes_fit() {
        for (hidden, advertised, load) in
            [(0.0, 300.0, 0.0), (300.0, 300.0, 1.0), (1.0, 300.0, 3000.0), (12.0, 3000.0, 50.0)]
        {
            for line in capacity(hidden, advertised, load, 66) {
                assert!(line.chars().count() <= 100, "{line}");
            }
        }
    }
}
