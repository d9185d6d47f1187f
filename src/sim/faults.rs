//! Words that make a call go wrong. A fault strikes the first call of a key; without a key, every call.

use std::time::Duration;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Done at once, answered late.
    Slow(Duration),
    /// Begun at once, done and answered late: until then nobody can see it.
    Late(Duration),
    /// Done, and the line is cut instead of an answer.
    LostAnswer,
    /// Not done, and the line is cut.
    LostRequest,
    /// 500 from in front of the service: not begun, so not stored. The next call is carried out.
    Error500ThenOk,
    /// Begun, not done, 500; as with Stripe the 500 is stored.
    Error500,
    /// Done, but 500; as with Stripe the 500 is stored.
    Error500Done,
    /// 409 as if the key were in use. The next call is carried out.
    Conflict409,
}

/// No call is held longer than this.
const MAX_WAIT: Duration = Duration::from_mins(10);

impl Fault {
    /// Reads a word: `slow_<ms>`, `late_<ms>`, `lost_answer`, `lost_request`, `error_500_then_ok`, `error_500`,
    /// `error_500_done`, `conflict_409`.
    pub fn parse(word: &str) -> Option<Self> {
        let fault = match word {
            "lost_answer" => Self::LostAnswer,
            "lost_request" => Self::LostRequest,
            "error_500_then_ok" => Self::Error500ThenOk,
            "error_500" => Self::Error500,
            "error_500_done" => Self::Error500Done,
            "conflict_409" => Self::Conflict409,
            _ => {
                let (name, milliseconds) = word.split_once('_')?;
                let wait = Duration::from_millis(milliseconds.parse().ok()?).min(MAX_WAIT);
                match name {
                    "slow" => Self::Slow(wait),
                    "late" => Self::Late(wait),
                    _ => return None,
                }
            }
        };
        Some(fault)
    }

    /// Whether the first call ends before anything is done, and the second is carried out.
    pub fn turns_away(self) -> bool {
        matches!(self, Self::LostRequest | Self::Error500ThenOk | Self::Conflict409)
    }
}

/// What a partner was told to do, by the word `sim_<kind>` in the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// What goes wrong.
    pub fault: Fault,
    /// The work is refused for good.
    pub declined: bool,
    /// Asked whether the work was done, the partner does not know.
    pub unknown: bool,
}

impl Behaviour {
    /// Nothing goes wrong.
    pub const GOOD: Self = Self { fault: Fault::None, declined: false, unknown: false };

    /// Reads a word: a fault's, `declined`, `unknown` (the answer is lost, and the partner cannot tell) or
    /// `lost_request_unknown` (the request is lost, and the partner cannot tell).
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "declined" => Some(Self { declined: true, ..Self::GOOD }),
            "unknown" => Some(Self { fault: Fault::LostAnswer, unknown: true, ..Self::GOOD }),
            "lost_request_unknown" => Some(Self { fault: Fault::LostRequest, unknown: true, ..Self::GOOD }),
            _ => Fault::parse(word).map(|fault| Self { fault, ..Self::GOOD }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(Fault::parse("slow_250"), Some(Fault::Slow(Duration::from_millis(250))));
        assert_eq!(Fault::parse("late_9999999999"), Some(Fault::Late(MAX_WAIT)));
        assert_eq!(Fault::parse("conflict_409"), Some(Fault::Conflict409));
        assert_eq!(Fault::parse("error_500_then_ok"), Some(Fault::Error500ThenOk));
        for wrong in ["", "slow", "slow_", "slow_x", "fast_1", "lost"] {
            assert_eq!(Fault::parse(wrong), None, "{wrong}");
        }
        let unknown = Behaviour::parse("unknown");
        assert_eq!(unknown, Some(Behaviour { fault: Fault::LostAnswer, declined: false, unknown: true }));
    }
}
