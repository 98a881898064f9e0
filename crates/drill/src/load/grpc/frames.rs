//! Messages on the wire: a byte for compression, four for the length, the message itself.

use bytes::BufMut as _;

/// What is before a message.
const HEAD: usize = 5;

/// What came in replies of gRPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Messages.
    pub messages: u64,
    /// Their bytes, without what is before each.
    pub bytes: u64,
}

impl Received {
    pub(in crate::load) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// Appends a message, not compressed; `None`: it is too long to be one.
pub(in crate::load) fn frame(message: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let length = u32::try_from(message.len()).ok()?;
    into.reserve(message.len() + HEAD);
    into.put_u8(0);
    into.put_u32(length);
    into.put_slice(message);
    Some(())
}

/// Counts the messages of a reply as its pieces come, whose borders are not those of messages.
#[derive(Debug, Default)]
pub(in crate::load) struct Frames {
    head: [u8; HEAD],
    /// Bytes of the head so far.
    filled: usize,
    /// Bytes of the message that are still to come.
    left: usize,
    received: Received,
}

impl Frames {
    pub(in crate::load) fn read(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.left == 0 && self.filled < HEAD {
                let (head, rest) = piece.split_at(piece.len().min(HEAD - self.filled));
                self.head[self.filled..self.filled + head.len()].copy_from_slice(head);
                self.filled += head.len();
                piece = rest;
                if self.filled < HEAD {
                    return;
                }
                let [_, length @ ..] = self.head;
                self.left = u32::from_be_bytes(length) as usize;
            }
            let taken = self.left.min(piece.len());
            piece = &piece[taken..];
            self.left -= taken;
            self.received.bytes += taken as u64;
            if self.left == 0 {
                self.received.messages += 1;
                self.filled = 0;
            }
        }
    }

    /// What came, if its last message is whole.
    pub(in crate::load) fn whole(&self) -> Option<Received> {
        (self.filled == 0).then_some(self.received)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_are_counted_however_they_are_cut(
            messages in proptest::collection::vec(0_usize..40, 0..6),
            cut in 1_usize..12,
        ) {
            let mut wire = Vec::new();
            for length in &messages {
                frame(&vec![7; *length], &mut wire).unwrap();
            }
            let mut frames = Frames::default();
            wire.chunks(cut).for_each(|piece| frames.read(piece));
            let bytes = messages.iter().sum::<usize>() as u64;
            let received = Received { messages: messages.len() as u64, bytes };
            prop_assert_eq!(frames.whole(), Some(received));
            // One byte less is no whole reply.
            if let Some((_, shorter)) = wire.split_last() {
                let mut frames = Frames::default();
                frames.read(shorter);
                prop_assert_eq!(frames.whole(), None);
            }
        }
    }
}
