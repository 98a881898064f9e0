//! What is kept of a span.

use crate::names::Sym;

/// Which side of a call a span is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not told.
    #[default]
    Unspecified,
    /// Work within a service.
    Internal,
    /// A service works on a request.
    Server,
    /// A caller waits for a reply.
    Client,
    /// A caller hands a message over.
    Producer,
    /// A service works on a message.
    Consumer,
}

/// How something ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// Well.
    #[default]
    Success,
    /// Turned away: 429, 503, `RESOURCE_EXHAUSTED`, `UNAVAILABLE`.
    Rejected,
    /// Given up: 408, 504, `DEADLINE_EXCEEDED`, `CANCELLED`, or an error type that says so.
    TimedOut,
    /// Anything else that is an error.
    Failed,
    /// An error that came from further down.
    Downstream,
}

impl End {
    /// All that are not well, in the order of their numbers.
    pub(crate) const BAD: [Self; 4] =
        [Self::Rejected, Self::TimedOut, Self::Failed, Self::Downstream];

    /// What the system file calls it.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Rejected => "rejected",
            Self::TimedOut => "timeout",
            Self::Failed => "failed",
            Self::Downstream => "downstream",
        }
    }

    /// Whether it is not well.
    #[must_use]
    pub(crate) fn is_bad(self) -> bool {
        self != Self::Success
    }
}

/// A span, small enough for millions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Span {
    /// Its trace.
    pub(crate) trace: u128,
    /// Its own number; 0 is none.
    pub(crate) id: u64,
    /// The span above it; 0 is none.
    pub(crate) parent: u64,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    /// The same; not before `start`.
    pub(crate) end: u64,
    /// Who reports it.
    pub(crate) service: Sym,
    /// The operation.
    pub(crate) name: Sym,
    /// Whom it calls, if it says so.
    pub(crate) peer: Sym,
    /// Attempts before this one, if it says so.
    pub(crate) resends: Option<u16>,
    /// Which side of a call.
    pub(crate) kind: Kind,
    /// How it ended.
    pub(crate) end_as: End,
    /// One attempt of a call that the span above it stands for (gRFC A72).
    pub(crate) attempt: bool,
    /// A transparent retry of gRPC, which no policy counts.
    pub(crate) transparent: bool,
    /// The id may be that of the caller's span, too (Zipkin).
    pub(crate) shared: bool,
}

impl Span {
    /// Whether it is the caller's side.
    #[must_use]
    pub(crate) fn calls(&self) -> bool {
        matches!(self.kind, Kind::Client | Kind::Producer)
    }

    /// Nanoseconds.
    #[must_use]
    pub(crate) fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// A number of 64 bits in hexadecimal, or one made of the text if it is none.
pub(crate) fn id(text: &str) -> u64 {
    let number = trace_id(text);
    (number as u64) ^ ((number >> 64) as u64)
}

/// The same of 128 bits.
pub(crate) fn trace_id(text: &str) -> u128 {
    if text.len() <= 32 && !text.is_empty() {
        let mut number = 0_u128;
        let hex = text.bytes().all(|b| {
            let digit = char::from(b).to_digit(16);
            number = number << 4 | u128::from(digit.unwrap_or(0));
            digit.is_some()
        });
        if hex {
            return number;
        }
    }
    if text.is_empty() {
        return 0;
    }
    // FNV-1a: ids that are not hexadecimal (base64, decimal with signs) only have to differ.
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_hexadecimal_or_hashed() {
        assert_eq!(id("00000000000000a1"), 0xa1);
        assert_eq!(id(""), 0);
        assert_eq!(trace_id("0af7651916cd43dd8448eb211c80319c") >> 124, 0);
        assert_ne!(id("CvdlGRbNQ90="), id("CvdlGRbNQ91="));
        assert!(size_of::<Span>() <= 96, "{}", size_of::<Span>());
    }
}
