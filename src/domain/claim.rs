//! The one decision everything hangs on: what a request gets whose key was already claimed.

use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::ids::OrderId;
use crate::domain::org::{OnMismatch, Org, ReplayStatus};
use crate::domain::reply::StoredReply;
use time::OffsetDateTime;

/// A claim as it was found under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundClaim {
    /// Version of the rules that made the fingerprint.
    pub fingerprint_version: i16,
    /// Hash of the request that claimed the key.
    pub fingerprint: Fingerprint,
    /// The order that was or is being made under the key.
    pub order_id: OrderId,
    /// The first answer; `None` while the first request is in progress.
    pub reply: Option<StoredReply>,
    /// When the key was claimed.
    pub created_at: OffsetDateTime,
    /// When its answer was stored.
    pub completed_at: Option<OffsetDateTime>,
    /// When the key may be removed; `None` is never.
    pub expires_at: Option<OffsetDateTime>,
}

/// What to do about a key that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The claim is this very try's: its first sending was committed although no answer came back. Answer as new.
    Own,
    /// The same request was answered before: give that answer again.
    Replay,
    /// The same request is being worked on.
    InProgress,
    /// The key belongs to another request: refuse.
    Mismatch,
    /// The key belongs to another request, and the organisation wants its answer returned.
    ReturnOriginal,
    /// The claim's fingerprint was made by rules that this version does not know, so nothing can be said about it. Only while
    /// a newer version is being rolled out.
    OtherVersion,
}

/// Decides. `mine` is the asking request's fingerprint, `my_order_id` the id that this try minted for itself.
///
/// A mismatch beats in-progress: a client that reuses a key learns so at once, not after waiting.
#[must_use]
pub fn decide(found: &FoundClaim, mine: &Fingerprint, my_order_id: OrderId, on_mismatch: OnMismatch) -> Decision {
    if found.fingerprint_version != fingerprint::VERSION {
        return Decision::OtherVersion;
    }
    let same = found.fingerprint == *mine;
    match (same, &found.reply, on_mismatch) {
        (true, Some(_), _) if found.order_id == my_order_id => Decision::Own,
        (true, Some(_), _) => Decision::Replay,
        (true, None, _) => Decision::InProgress,
        (false, Some(_), OnMismatch::ReturnOriginal) => Decision::ReturnOriginal,
        (false, ..) => Decision::Mismatch,
    }
}

/// The status of a replay under an organisation's policy.
#[must_use]
pub fn replay_status(original: u16, org: &Org) -> u16 {
    // Only a success becomes 200: a stored refusal stays what it was.
    let becomes_ok = org.replay_status == ReplayStatus::Ok && (200..300).contains(&original);
    if becomes_ok { 200 } else { original }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::fingerprint;
    use crate::domain::reply::ReplyHeaders;
    use uuid::Uuid;

    fn found(body: &str, finished: bool) -> FoundClaim {
        FoundClaim {
            fingerprint_version: 1,
            fingerprint: fingerprint("POST", "/v1/orders", None, body),
            order_id: OrderId(Uuid::from_u128(1)),
            reply: finished.then(|| StoredReply { status: 201, headers: ReplyHeaders::default(), body: Vec::new() }),
            created_at: OffsetDateTime::UNIX_EPOCH,
            completed_at: None,
            expires_at: None,
        }
    }

    #[test]
    fn every_row_of_the_table() {
        let mine = fingerprint("POST", "/v1/orders", None, "b1");
        let (other_try, this_try) = (OrderId(Uuid::from_u128(2)), OrderId(Uuid::from_u128(1)));
        let (reject, original) = (OnMismatch::Reject, OnMismatch::ReturnOriginal);
        let table = [
            ("b1", true, other_try, reject, Decision::Replay),
            ("b1", true, other_try, original, Decision::Replay),
            ("b1", true, this_try, reject, Decision::Own),
            ("b1", false, other_try, reject, Decision::InProgress),
            ("b1", false, other_try, original, Decision::InProgress),
            ("b2", true, other_try, reject, Decision::Mismatch),
            ("b2", true, other_try, original, Decision::ReturnOriginal),
            ("b2", false, other_try, reject, Decision::Mismatch),
            // Nothing to return yet, so even this policy refuses.
            ("b2", false, other_try, original, Decision::Mismatch),
        ];
        for (body, finished, order, policy, expected) in table {
            assert_eq!(decide(&found(body, finished), &mine, order, policy), expected, "{body} {finished} {policy:?}");
        }
    }

    #[test]
    fn a_fingerprint_of_another_version_is_compared_with_nothing() {
        let mine = fingerprint("POST", "/v1/orders", None, "b1");
        let newer = FoundClaim { fingerprint_version: 2, ..found("b1", true) };
        let order_id = OrderId(Uuid::from_u128(2));
        assert_eq!(decide(&newer, &mine, order_id, OnMismatch::ReturnOriginal), Decision::OtherVersion);
    }
}
