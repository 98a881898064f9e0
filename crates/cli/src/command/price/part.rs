//! Parts of a question that several machines work on, and how they are put together.
//!
//! A part has what was asked and what was measured; nothing is concluded before all parts are
//! there. So the result is, to the byte, what one run gives.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use damper_report::result::price::PART;
use damper_sim::{Counted, Estimate};

use super::{Answer, Exact, Measured, MeasuredPart, PricePart};

/// `2/5`: the third of five.
pub(super) fn shard(text: &str) -> anyhow::Result<[u32; 2]> {
    let parsed = text.split_once('/').and_then(|(part, of)| {
        Some([part.trim().parse::<u32>().ok()?, of.trim().parse::<u32>().ok()?])
    });
    match parsed {
        Some([part, of]) if part < of => Ok([part, of]),
        Some([_, of]) if of > 0 => {
            bail!("--shard: `{text}`: parts of {of} are counted from 0/{of} to {}/{of}", of - 1)
        }
        _ => bail!("--shard: `{text}`: expected a part and how many there are, such as 0/4"),
    }
}

pub(super) fn written(answer: &Answer, shard: [u32; 2]) -> PricePart {
    let exact = |[a, b, c]: [f64; 3]| [Exact(a), Exact(b), Exact(c)];
    let measured = answer.measured.iter().enumerate();
    let measured = measured.filter_map(|(place, m)| m.as_ref().map(|m| (place, m)));
    PricePart {
        damper_price_part: PART,
        question: answer.question.clone(),
        shard,
        advertised: answer.advertised.map(exact),
        advertised_requests: answer.requests,
        measured: measured
            .map(|(place, m)| MeasuredPart {
                place,
                hidden: m.hidden.map(|h| exact([h.mean, h.ci95[0], h.ci95[1]])),
                heals: m.heals,
                at_least: m.at_least,
                success: m
                    .success
                    .iter()
                    .map(|way| way.iter().map(|c| [c.good, c.ended]).collect())
                    .collect(),
                requests: m.requests,
            })
            .collect(),
    }
}

fn read(part: &MeasuredPart) -> Measured {
    Measured {
        hidden: part
            .hidden
            .map(|[mean, low, high]| Estimate { mean: mean.0, ci95: [low.0, high.0] }),
        heals: part.heals,
        at_least: part.at_least,
        success: part
            .success
            .iter()
            .map(|way| {
                way.iter().map(|[good, ended]| Counted { good: *good, ended: *ended }).collect()
            })
            .collect(),
        requests: part.requests,
    }
}

/// Puts parts together, after having seen that they are parts of one question and all of them.
pub(super) fn merge(paths: &[PathBuf]) -> anyhow::Result<Answer> {
    let mut answer: Option<(Answer, Vec<bool>, &PathBuf)> = None;
    for path in paths {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let part: PricePart = serde_json::from_str(&text).with_context(|| {
            format!("{}: expected a part that `damper price --shard` wrote", path.display())
        })?;
        if part.damper_price_part != PART {
            bail!(
                "{}: a part of form {}, and this is damper {} with form {PART}",
                path.display(),
                part.damper_price_part,
                env!("CARGO_PKG_VERSION")
            );
        }
        let advertised = part.advertised.map(|a| a.map(|e| e.0));
        let [index, of] = part.shard.map(|n| n as usize);
        let (all, seen, first) = answer.get_or_insert_with(|| {
            let answer = Answer {
                question: part.question.clone(),
                advertised,
                measured: vec![None; part.question.settings.len()],
                requests: part.advertised_requests,
                partial: false,
            };
            (answer, vec![false; of], path)
        });
        let same = all.question == part.question && all.advertised == advertised;
        if !same || seen.len() != of {
            bail!(
                "{} and {} are parts of different questions: the file, the options, the seed, the \
                 version and the number of parts have to be the same",
                first.display(),
                path.display()
            );
        }
        match seen.get_mut(index) {
            Some(true) => bail!("{}: part {index}/{of} is there twice", path.display()),
            Some(seen) => *seen = true,
            None => bail!("{}: there is no part {index} of {of}", path.display()),
        }
        for measured in &part.measured {
            let Some(place) = all.measured.get_mut(measured.place) else {
                bail!("{}: there is no setting {}", path.display(), measured.place);
            };
            *place = Some(read(measured));
        }
    }
    let Some((answer, seen, _)) = answer else { bail!("--merge: expected part files") };
    let missing: Vec<String> =
        (0..seen.len()).filter(|i| !seen[*i]).map(|i| format!("{i}/{}", seen.len())).collect();
    if !missing.is_empty() {
        bail!("parts are missing: {}", missing.join(", "));
    }
    if let Some(place) = answer.measured.iter().position(Option::is_none) {
        bail!("setting {place} is in none of the parts");
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_zero() {
        assert_eq!(shard("0/1").unwrap(), [0, 1]);
        assert_eq!(shard(" 3 / 4 ").unwrap(), [3, 4]);
        let wrong = |text: &str| shard(text).unwrap_err().to_string();
        assert!(wrong("4/4").contains("from 0/4 to 3/4"));
        for text in ["0/0", "1", "a/b", "-1/2", "1/2/3", ""] {
            assert!(wrong(text).contains("such as 0/4"), "{text}");
        }
    }
}
