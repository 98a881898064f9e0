//! The tables of what is sent.

use super::RATE;
use crate::drill::tls::{ca, insecure};
use crate::schema::{Kind, Names, Section, otherwise, required};

pub(in crate::drill) static PART: Section = Section {
    name: "part",
    doc: "A part of the load. `bounds` hold for all parts together.",
    keys: &[
        required(
            "rate",
            Kind::Either(&[RATE, Kind::Map(Names::Class, &RATE)]),
            "requests per second; by class, the highest first",
        ),
        otherwise("target", Kind::Text, "that of the file", "where it goes"),
        otherwise(
            "protocol",
            Kind::Word(&["http1", "http2", "grpc"]),
            "that of the file",
            "what is spoken there",
        ),
        otherwise(
            "requests",
            Kind::Text,
            "those of the file",
            "a request file, from the folder of this one",
        ),
        ca("as the file says"),
        insecure("as the file says"),
    ],
};

pub(in crate::drill) static FOLLOWS: Section = Section {
    name: "followed-policy",
    doc: "A policy of a system file that callers follow: limits, conditions, backoff, budget, timeout, deadline.",
    keys: &[
        required("edge", Kind::Text, "whose: `caller -> callee`"),
        otherwise("file", Kind::Text, "`system`", "the system file, from the folder of this one"),
    ],
};
