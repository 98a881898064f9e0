//! Quantities as the system file writes them, for arguments and other files: `60s`, `50/s`, `30%`.

use damper_control::Nanos;
use damper_control::lever::Level;

use crate::units::{self, Mistake};

fn told(text: &str, mistake: Mistake) -> String {
    match mistake.suggestion {
        Some(suggestion) => format!("`{text}`: {}; write `{suggestion}`", mistake.message),
        None => format!("`{text}`: {}", mistake.message),
    }
}

/// A duration such as `500ms`, `60s` or `5min`.
///
/// # Errors
/// It is none; what to write instead, where that can be told.
pub fn duration(text: &str) -> Result<Nanos, String> {
    units::duration(text.trim()).map_err(|mistake| told(text, mistake))
}

/// A rate such as `50/s`, per second.
///
/// # Errors
/// It is none.
pub fn rate(text: &str) -> Result<f64, String> {
    units::rate(text.trim()).map_err(|mistake| told(text, mistake))
}

/// A share such as `30%`: 0.3.
///
/// # Errors
/// It is none.
pub fn share(text: &str) -> Result<f64, String> {
    units::share(text.trim()).map_err(|mistake| told(text, mistake))
}

/// What a lever lets in: a share such as `30%` or a rate such as `50/s`.
///
/// # Errors
/// It is neither.
pub fn level(text: &str) -> Result<Level, String> {
    if text.trim_end().ends_with('%') {
        let like = |mistake| format!("{mistake}; a share is such as 30%");
        return share(text).map(Level::Share).map_err(like);
    }
    rate(text).map(Level::Rate).map_err(|mistake| {
        if text.contains('/') {
            mistake
        } else {
            format!("`{text}` is neither a share such as 30% nor a rate such as 50/s")
        }
    })
}

/// A time that somebody asks for by hand, such as `90s` or `5min`; in a hurry, `5m`.
///
/// # Errors
/// It is none, or it is zero, or longer than a year.
pub fn span(text: &str) -> Result<Nanos, String> {
    let minutes = text.trim().strip_suffix('m').filter(|n| n.parse::<f64>().is_ok());
    let read = match minutes {
        Some(number) => duration(&format!("{number}min")),
        None => duration(text),
    };
    read.and_then(|span| match span {
        Nanos::ZERO => Err(format!("`{text}`: the time must be longer than 0")),
        span if span > Nanos::from_secs(31_536_000) => {
            Err(format!("`{text}`: the time ends at a year"))
        }
        span => Ok(span),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_need_their_units() {
        assert_eq!(duration(" 1.5s "), Ok(Nanos::from_millis(1500)));
        assert_eq!(rate("120/min"), Ok(2.0));
        assert_eq!(share("30%"), Ok(0.3));
        assert_eq!(
            duration("5m").unwrap_err(),
            "`5m`: `m` is not a unit of time here; write `5min`"
        );
        assert_eq!(rate("50").unwrap_err(), "`50`: a rate needs a unit; write `50/s`");
        assert_eq!(level("30%"), Ok(Level::Share(0.3)));
        assert_eq!(level("50/s"), Ok(Level::Rate(50.0)));
        assert!(level("130%").unwrap_err().ends_with("such as 30%"));
        assert!(level("50").unwrap_err().contains("neither a share"));
        assert_eq!((span("5m"), span("90s")), (span("5min"), Ok(Nanos::from_secs(90))));
        assert!(span("0s").is_err() && span("9000h").is_err());
        assert!(share("130%").is_err() && share("x").is_err());
    }
}
