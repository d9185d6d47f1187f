//! The one decision everything hangs on: what a request gets whose key was already claimed.

use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::ids::OrderId;
use crate::domain::operation::OperationState;
use crate::domain::org::{OnMismatch, Org, ReplayStatus};
use crate::domain::reply::StoredReply;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

/// A claim as it was found under a key.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundClaim {
    /// Version of the rules that made the fingerprint.
    pub fingerprint_version: i16,
    /// Hash of the request that claimed the key.
    pub fingerprint: Fingerprint,
    /// The order that was or is being made under the key.
    pub order_id: OrderId,
    /// The first answer; `None` while the first request is in progress.
    pub reply: Option<StoredReply>,
    /// The charge that the answer waits for.
    pub work: Option<Work>,
    /// When the key was claimed.
    pub created_at: OffsetDateTime,
    /// When its answer was stored.
    pub completed_at: Option<OffsetDateTime>,
    /// When the key may be removed; `None` is never.
    pub expires_at: Option<OffsetDateTime>,
}

/// The work that a claim in progress waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Which attempt to be paid.
    pub attempt: i32,
    /// Where it stands.
    pub state: OperationState,
    /// How often it was taken up.
    pub attempts: u32,
    /// Who holds it.
    pub lease_token: Option<Uuid>,
    /// Seconds until its lease ends or its next look is due, by the database's clock; below zero when that has passed.
    pub rest_seconds: f64,
    /// When its lease ends.
    pub lease_until: Option<OffsetDateTime>,
}

/// What to do about a key that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The claim is this very try's: its first sending was committed although no answer came back. Answer as new.
    Own,
    /// The same request was answered before: give that answer again.
    Replay,
    /// The claim is this very try's, and its work is leased to this process: go on with it.
    OwnWork,
    /// The same request is being worked on.
    InProgress {
        /// When its lease ends, in whole seconds, at least 1.
        retry_after_seconds: u64,
    },
    /// Nobody works on it: it waits for its next look, or for a person.
    Unsettled {
        /// When it makes sense to ask again, in whole seconds, at least 1.
        retry_after_seconds: u64,
    },
    /// Whoever worked on it is gone, or its next look is due: take it up.
    TakeOver {
        /// Which attempt to be paid.
        attempt: i32,
    },
    /// The key belongs to another request: refuse.
    Mismatch,
    /// The key belongs to another request, and the organisation wants its answer returned.
    ReturnOriginal,
    /// The claim's fingerprint was made by rules that this version does not know, so nothing can be said about it. Only while
    /// a newer version is being rolled out.
    OtherVersion,
}

/// What this very try minted for itself, by which it knows a claim of its own whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mine {
    /// The order's id.
    pub order_id: Option<OrderId>,
    /// The lease of its charge.
    pub lease_token: Option<Uuid>,
}

/// Decides. `mine` is the asking request's fingerprint, `minted` what this try would have put into a claim of its own.
///
/// A mismatch beats in-progress: a client that reuses a key learns so at once, not after waiting.
#[must_use]
pub fn decide(found: &FoundClaim, mine: &Fingerprint, minted: Mine, on_mismatch: OnMismatch) -> Decision {
    if found.fingerprint_version != fingerprint::VERSION {
        return Decision::OtherVersion;
    }
    let same = found.fingerprint == *mine;
    match (same, &found.reply, on_mismatch) {
        (true, Some(_), _) if minted.order_id == Some(found.order_id) => Decision::Own,
        (true, Some(_), _) => Decision::Replay,
        (true, None, _) => in_progress(found.work.as_ref(), minted.lease_token),
        (false, Some(_), OnMismatch::ReturnOriginal) => Decision::ReturnOriginal,
        (false, ..) => Decision::Mismatch,
    }
}

/// When a person decides, nobody knows how soon; this is how often it makes sense to ask, in seconds.
const PERSON_SECONDS: u64 = 60;

fn in_progress(work: Option<&Work>, my_token: Option<Uuid>) -> Decision {
    use OperationState as S;
    let Some(work) = work else {
        return Decision::InProgress { retry_after_seconds: 1 };
    };
    if work.state == S::Leased && my_token.is_some() && work.lease_token == my_token {
        return Decision::OwnWork;
    }
    let due = work.rest_seconds <= 0.0;
    let retry_after_seconds = whole_seconds(work.rest_seconds);
    match work.state {
        S::Leased | S::Ready | S::RetryAt | S::Unknown if due => Decision::TakeOver { attempt: work.attempt },
        S::Leased => Decision::InProgress { retry_after_seconds },
        S::Ready | S::RetryAt | S::Unknown | S::Waiting => Decision::Unsettled { retry_after_seconds },
        S::NeedsReconciliation => Decision::Unsettled { retry_after_seconds: PERSON_SECONDS },
        // It was settled between two reads; the next one finds the answer.
        S::Done | S::Failed => Decision::InProgress { retry_after_seconds: 1 },
    }
}

/// Cut to whole seconds, and at least 1: not longer than what is waited for, where that is possible.
fn whole_seconds(seconds: f64) -> u64 {
    Duration::try_from_secs_f64(seconds.max(0.0)).map_or(0, |wait| wait.as_secs()).max(1)
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
    use crate::domain::ids::OrgId;
    use crate::domain::org::Mode;
    use crate::domain::reply::ReplyHeaders;
    use uuid::Uuid;

    fn found(body: &str, finished: bool) -> FoundClaim {
        FoundClaim {
            fingerprint_version: 1,
            fingerprint: fingerprint("POST", "/v1/orders", None, body),
            order_id: OrderId(Uuid::from_u128(1)),
            reply: finished.then(|| StoredReply { status: 201, headers: ReplyHeaders::default(), body: Vec::new() }),
            work: None,
            created_at: OffsetDateTime::UNIX_EPOCH,
            completed_at: None,
            expires_at: None,
        }
    }

    #[test]
    fn every_row_of_the_table() {
        let mine = fingerprint("POST", "/v1/orders", None, "b1");
        let minted = |id| Mine { order_id: Some(OrderId(Uuid::from_u128(id))), lease_token: None };
        let (other_try, this_try) = (minted(2), minted(1));
        let (reject, original) = (OnMismatch::Reject, OnMismatch::ReturnOriginal);
        let table = [
            ("b1", true, other_try, reject, Decision::Replay),
            ("b1", true, other_try, original, Decision::Replay),
            ("b1", true, this_try, reject, Decision::Own),
            ("b1", false, other_try, reject, Decision::InProgress { retry_after_seconds: 1 }),
            ("b1", false, other_try, original, Decision::InProgress { retry_after_seconds: 1 }),
            ("b2", true, other_try, reject, Decision::Mismatch),
            ("b2", true, other_try, original, Decision::ReturnOriginal),
            ("b2", false, other_try, reject, Decision::Mismatch),
            // Nothing to return yet, so even this policy refuses.
            ("b2", false, other_try, original, Decision::Mismatch),
        ];
        for (body, finished, minted, policy, expected) in table {
            assert_eq!(decide(&found(body, finished), &mine, minted, policy), expected, "{body} {finished} {policy:?}");
        }
    }

    #[test]
    fn every_state_of_the_work_that_a_claim_waits_for() {
        use OperationState as S;
        let mine = fingerprint("POST", "/v1/orders", None, "b1");
        let (holder, other) = (Uuid::from_u128(7), Uuid::from_u128(8));
        let work = |state, rest_seconds| Work {
            attempt: 3,
            state,
            attempts: 1,
            lease_token: Some(holder),
            rest_seconds,
            lease_until: None,
        };
        let busy = |retry_after_seconds| Decision::InProgress { retry_after_seconds };
        let waits = |retry_after_seconds| Decision::Unsettled { retry_after_seconds };
        let table = [
            (S::Leased, 9.2, other, busy(9)),
            (S::Leased, 9.2, holder, Decision::OwnWork),
            (S::Leased, -0.1, other, Decision::TakeOver { attempt: 3 }),
            (S::Leased, -0.1, holder, Decision::OwnWork),
            (S::Unknown, 59.0, other, waits(59)),
            (S::Unknown, 59.0, holder, waits(59)),
            (S::Unknown, 0.0, other, Decision::TakeOver { attempt: 3 }),
            (S::RetryAt, 0.2, other, waits(1)),
            (S::RetryAt, -5.0, other, Decision::TakeOver { attempt: 3 }),
            (S::Ready, 0.0, other, Decision::TakeOver { attempt: 3 }),
            (S::NeedsReconciliation, 0.0, other, waits(PERSON_SECONDS)),
            (S::Done, 0.0, other, busy(1)),
            (S::Failed, 0.0, other, busy(1)),
        ];
        for (state, rest, token, expected) in table {
            let found = FoundClaim { work: Some(work(state, rest)), ..found("b1", false) };
            let minted = Mine { order_id: None, lease_token: Some(token) };
            assert_eq!(decide(&found, &mine, minted, OnMismatch::Reject), expected, "{state:?} {rest}");
        }
    }

    #[test]
    fn a_fingerprint_of_another_version_is_compared_with_nothing() {
        let mine = fingerprint("POST", "/v1/orders", None, "b1");
        let newer = FoundClaim { fingerprint_version: 2, ..found("b1", true) };
        assert_eq!(decide(&newer, &mine, Mine::default(), OnMismatch::ReturnOriginal), Decision::OtherVersion);
    }

    #[test]
    fn only_a_success_becomes_200_and_only_where_the_organisation_wants_it() {
        let org = |replay_status| Org {
            org_id: OrgId(1),
            mode: Mode::Test,
            on_mismatch: OnMismatch::Reject,
            replay_status,
            keys_kept_for_seconds: None,
            new_claims_per_second: None,
        };
        for (original, replayed) in [(200, 200), (201, 200), (202, 200), (299, 200), (300, 300), (402, 402), (409, 409)]
        {
            assert_eq!(replay_status(original, &org(ReplayStatus::Ok)), replayed);
            assert_eq!(replay_status(original, &org(ReplayStatus::Original)), original);
        }
    }
}
