//! A tenant and the policies it chose.

use crate::domain::ids::OrgId;

/// Whether an organisation is for trying things out or for real trade. Part of every API key's text, so that the two
/// cannot be confused by a person either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// For development and rehearsals.
    Test,
    /// Real orders.
    Live,
}

/// What a request gets that carries another body under a key already used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMismatch {
    /// 422 `idempotency_key_reused`.
    Reject,
    /// The original answer, marked by `Idempotency-Mismatch: true`.
    ReturnOriginal,
}

/// The status of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayStatus {
    /// 200, so that a client can tell a replay from the first answer.
    Ok,
    /// The first answer's own status.
    Original,
}

/// One organisation as a request sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Org {
    /// The tenant.
    pub org_id: OrgId,
    /// Test or live.
    pub mode: Mode,
    /// Policy for another body under a used key.
    pub on_mismatch: OnMismatch,
    /// Policy for the status of replays.
    pub replay_status: ReplayStatus,
    /// How long a completed key is kept, in seconds; `None` is for ever.
    pub keys_kept_for_seconds: Option<i64>,
    /// How many new claims a second each server process lets through; `None` is unlimited.
    pub new_claims_per_second: Option<u32>,
}

/// Writes an enum's database and command-line spelling once, in both directions.
macro_rules! spelled {
    ($name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        impl $name {
            /// The spelling in the database and on the command line.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Reads that spelling; `None` for any other text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }

            /// Every spelling, in order of declaration.
            pub const ALL: &'static [&'static str] = &[$($text),+];
        }
    };
}
pub(crate) use spelled;

spelled!(Mode { Test = "test", Live = "live" });
spelled!(OnMismatch { Reject = "reject", ReturnOriginal = "return_original" });
spelled!(ReplayStatus { Ok = "200", Original = "original" });
