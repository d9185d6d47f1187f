//! A case as the API shows it.

use crate::domain::case::Case;
use crate::domain::ids::OrderId;
use crate::domain::reply::timestamp;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

/// The path of a case.
#[must_use]
pub fn location(case_id: Uuid) -> String {
    format!("/v1/reconciliation-cases/{case_id}")
}

/// A case's members, in the order of the documentation.
#[derive(Debug, Serialize)]
pub struct CaseView<'a> {
    id: Uuid,
    object: &'static str,
    order_id: OrderId,
    kind: &'a str,
    fact: &'a str,
    reason: &'a str,
    state: &'static str,
    owner: &'a str,
    corrector: &'a str,
    suggestion: &'a str,
    evidence: &'a Value,
    opened_at: String,
    deadline: String,
    decision: Option<&'a str>,
    decided_by: Option<&'a str>,
    decision_reason: Option<&'a str>,
    proof: Option<&'a str>,
    resolved_at: Option<String>,
}

impl<'a> CaseView<'a> {
    /// The view of one case.
    #[must_use]
    pub fn of(case: &'a Case) -> Self {
        Self {
            id: case.case_id,
            object: "reconciliation_case",
            order_id: case.order_id,
            kind: &case.kind,
            fact: &case.fact,
            reason: &case.reason,
            state: case.state.as_str(),
            owner: &case.owner,
            corrector: &case.corrector,
            suggestion: &case.suggestion,
            evidence: &case.evidence,
            opened_at: timestamp(case.opened_at),
            deadline: timestamp(case.deadline),
            decision: case.decision.as_deref(),
            decided_by: case.decided_by.as_deref(),
            decision_reason: case.reason_given.as_deref(),
            proof: case.proof.as_deref(),
            resolved_at: case.resolved_at.map(timestamp),
        }
    }
}

/// One case's bytes.
#[must_use]
pub fn body(case: &Case) -> Vec<u8> {
    // Serialising into memory fails only for maps with keys that are not strings; there are none.
    serde_json::to_vec(&CaseView::of(case)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::case::CaseState;
    use serde_json::json;
    use time::OffsetDateTime;

    #[test]
    fn a_case_is_shown_with_its_members_in_order() {
        let case = Case {
            case_id: Uuid::from_u128(5),
            order_id: OrderId(Uuid::from_u128(6)),
            kind: "charge".to_owned(),
            fact: "1".to_owned(),
            reason: "conflict".to_owned(),
            state: CaseState::Resolved,
            owner: "payments".to_owned(),
            corrector: "books".to_owned(),
            suggestion: "look".to_owned(),
            evidence: json!({ "amount": 1 }),
            opened_at: OffsetDateTime::UNIX_EPOCH,
            deadline: OffsetDateTime::UNIX_EPOCH,
            decision: Some("mark_done".to_owned()),
            decided_by: Some("key-1".to_owned()),
            reason_given: Some("seen".to_owned()),
            proof: None,
            resolved_at: Some(OffsetDateTime::UNIX_EPOCH),
        };
        let expected = r#"{"id":"00000000-0000-0000-0000-000000000005","object":"reconciliation_case",
            "order_id":"00000000-0000-0000-0000-000000000006","kind":"charge","fact":"1","reason":"conflict",
            "state":"resolved","owner":"payments","corrector":"books","suggestion":"look","evidence":{"amount":1},
            "opened_at":"1970-01-01T00:00:00.000000Z","deadline":"1970-01-01T00:00:00.000000Z",
            "decision":"mark_done","decided_by":"key-1","decision_reason":"seen","proof":null,
            "resolved_at":"1970-01-01T00:00:00.000000Z"}"#;
        let one_line: String = expected.lines().map(str::trim).collect();
        assert_eq!(String::from_utf8(body(&case)).unwrap(), one_line);
        let path = "/v1/reconciliation-cases/00000000-0000-0000-0000-000000000005";
        assert_eq!(location(case.case_id), path);
    }
}
