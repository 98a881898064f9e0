//! Transparent retries: attempts that no application has seen, and no policy counts.
//!
//! Source: gRFC A6, "transparent retries"; the bound on local ones is grpc-java's. Neither
//! limit nor budget know of them. (grpc-go allows one on the first attempt of a call only; A6
//! does not say that, so this does not do it.)

use crate::conditions::{Reply, Reset, Sent};

/// How far an attempt that has failed had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reached {
    /// It never left the client.
    Nothing,
    /// The callee's library, but not the application: REFUSED_STREAM, or GOAWAY with a lower
    /// last stream.
    Library,
    /// The load balancer's pick said to drop it.
    Dropped,
    /// The application, or nobody knows; also a pick that fails for now.
    Application,
}

/// What follows, as far as transparent retries go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Send it again at once.
    Again,
    /// It is for the retry policy.
    Policy,
    /// The call has failed, whatever the policy says.
    Fail,
}

/// The transparent retries of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transparent {
    from_library: bool,
    local: u16,
}

impl Transparent {
    /// Retries of attempts that never left the client, after which the call fails. A6 has no
    /// bound but the deadline; grpc-java gives up here, since a client that fails locally a
    /// thousand times over is broken.
    pub const MOST_LOCAL: u16 = 1000;

    /// What follows an attempt that came as far as `reached`. Ask before the policy, and only
    /// before the deadline.
    pub const fn after(&mut self, reached: Reached) -> Verdict {
        match reached {
            Reached::Nothing if self.local < Self::MOST_LOCAL => {
                self.local += 1;
                Verdict::Again
            }
            Reached::Library if !self.from_library => {
                self.from_library = true;
                Verdict::Again
            }
            Reached::Nothing | Reached::Dropped => Verdict::Fail,
            Reached::Library | Reached::Application => Verdict::Policy,
        }
    }
}

impl Reached {
    /// How far the attempt came that ended like this. A connection that could not be made is a
    /// pick that fails for now, and for the policy.
    #[must_use]
    pub const fn by(reply: &Reply<'_>) -> Self {
        match reply {
            Reply::Lost(lost) => match (lost.reset, lost.sent) {
                (Reset::RefusedStream | Reset::GoAway, _) => Self::Library,
                (Reset::Dropped, _) => Self::Dropped,
                (Reset::Closed | Reset::Http3PostConnect, Sent::Nothing) => Self::Nothing,
                _ => Self::Application,
            },
            Reply::Answer(_) => Self::Application,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_may_turn_a_call_away_once() {
        let mut call = Transparent::default();
        assert_eq!(call.after(Reached::Library), Verdict::Again);
        assert_eq!(call.after(Reached::Library), Verdict::Policy);
        assert_eq!(call.after(Reached::Nothing), Verdict::Again, "that is another case");
        assert_eq!(call.after(Reached::Library), Verdict::Policy);
    }

    #[test]
    fn what_never_left_is_sent_again_without_a_limit_that_matters() {
        let mut call = Transparent::default();
        for _ in 0..Transparent::MOST_LOCAL {
            assert_eq!(call.after(Reached::Nothing), Verdict::Again);
        }
        for _ in 0..2 {
            assert_eq!(call.after(Reached::Nothing), Verdict::Fail, "grpc-java: after 1000");
        }
        assert_eq!(call.after(Reached::Library), Verdict::Again);
    }

    #[test]
    fn a_dropped_call_fails_and_a_failed_pick_is_for_the_policy() {
        let mut call = Transparent::default();
        assert_eq!(call.after(Reached::Dropped), Verdict::Fail);
        assert_eq!(call.after(Reached::Application), Verdict::Policy);
        assert_eq!(call, Transparent::default());
    }

    #[test]
    fn ends_tell_how_far_an_attempt_came() {
        let lost = |r, s| Reached::by(&Reply::lost(r, s));
        assert_eq!(lost(Reset::RefusedStream, Sent::Something), Reached::Library);
        assert_eq!(lost(Reset::GoAway, Sent::Something), Reached::Library);
        assert_eq!(lost(Reset::Closed, Sent::Nothing), Reached::Nothing);
        assert_eq!(lost(Reset::Closed, Sent::Something), Reached::Application);
        assert_eq!(lost(Reset::Dropped, Sent::Nothing), Reached::Dropped);
        assert_eq!(lost(Reset::ConnectFailure, Sent::Nothing), Reached::Application);
        let answer = Reply::Answer(crate::conditions::Answer::http(503));
        assert_eq!(Reached::by(&answer), Reached::Application);
    }
}
