//! Looking payments and refunds up by our own metadata: when absence is proven, and when it is not.

use super::{ORDER, SHORT, intent, stripe, stripe_within, succeeded};
use crate::support::scripted_http::{ScriptedHttp, Step};
use ichido::domain::ids::{OrderId, OrgId};
use ichido::gateway::outcome::reason;
use ichido::gateway::{FindRefundRequest, FindRequest, Lookup, Outcome};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use time::macros::datetime;

const SENT_AT: OffsetDateTime = datetime!(2026-11-29 12:00 UTC);

fn find_after(seconds: i64) -> FindRequest {
    FindRequest {
        org_id: OrgId(7),
        order_id: OrderId::parse(ORDER).unwrap(),
        attempt: 1,
        amount: 2_400,
        currency: "JPY".to_owned(),
        first_sent_at: SENT_AT,
        last_sent_at: SENT_AT,
        now: SENT_AT + time::Duration::seconds(seconds),
    }
}

fn page(data: &[Value], has_more: bool) -> Step {
    Step::json(200, &json!({"object": "list", "data": data, "has_more": has_more}))
}

async fn find_with(steps: Vec<Step>, after_seconds: i64) -> (Lookup, Vec<String>) {
    let server = ScriptedHttp::start(steps).await;
    let lookup = stripe(&server.base).find(find_after(after_seconds)).await;
    (lookup, server.sent().into_iter().map(|sent| sent.line).collect())
}

#[tokio::test]
async fn a_hit_of_the_search_is_read_again() {
    // Search may still tell of an earlier state.
    let steps =
        vec![page(&[intent("pi_1", "processing", "1")], false), Step::json(200, &intent("pi_1", "succeeded", "1"))];
    let (lookup, lines) = find_with(steps, 600).await;
    assert_eq!(lookup, Lookup::Found(succeeded("pi_1")));
    let search = format!(
        "GET /v1/payment_intents/search?query=metadata%5B%27ichido_order_id%27%5D%3A%27{ORDER}%27+AND+metadata%5B%27\
         ichido_org_id%27%5D%3A%277%27+AND+metadata%5B%27ichido_attempt%27%5D%3A%271%27&limit=10"
    );
    assert_eq!(lines, [search.as_str(), "GET /v1/payment_intents/pi_1"]);
}

#[tokio::test]
async fn what_search_does_not_know_yet_is_found_in_the_list() {
    let foreign = |order: &str, org: &str, attempt: &str| {
        let mut other = intent("pi_9", "succeeded", attempt);
        other["metadata"] = json!({"ichido_order_id": order, "ichido_org_id": org, "ichido_attempt": attempt});
        other
    };
    let first = [foreign(ORDER, "8", "1"), foreign("other", "7", "1"), intent("pi_8", "succeeded", "2")];
    let mut bare = intent("pi_7", "succeeded", "1");
    bare["metadata"] = json!({});
    let steps = vec![page(&[], false), page(&first, true), page(&[bare, intent("pi_1", "succeeded", "1")], false)];
    let (lookup, lines) = find_with(steps, 10).await;
    assert_eq!(lookup, Lookup::Found(succeeded("pi_1")));
    // From two minutes before the first sending to four after the last.
    let list = "GET /v1/payment_intents?created%5Bgte%5D=1795953480&created%5Blte%5D=1795953840&limit=50";
    assert_eq!(lines[1..], [list.to_owned(), format!("{list}&starting_after=pi_8")]);
}

#[tokio::test]
async fn absence_is_proven_only_by_a_whole_list_and_after_two_minutes() {
    let nothing = || vec![page(&[], false), page(&[intent("pi_8", "succeeded", "2")], false)];
    let rest = Some(Duration::from_secs(1));
    let too_soon = Lookup::Unknown { reason: reason::TOO_SOON, retry_after: rest };
    assert_eq!(find_with(nothing(), 119).await.0, too_soon);
    assert_eq!(find_with(nothing(), 120).await.0, Lookup::NotFound);
    // A clock that ran backwards proves nothing.
    assert!(matches!(find_with(nothing(), -5).await.0, Lookup::Unknown { reason: reason::TOO_SOON, .. }));
    let endless = (0..25).map(|at| page(&[intent(&format!("pi_x{at}"), "succeeded", "2")], true));
    let steps: Vec<_> = [page(&[], false)].into_iter().chain(endless).collect();
    let (lookup, lines) = find_with(steps, 600).await;
    assert_eq!(lookup, Lookup::unknown(reason::TOO_MANY));
    assert_eq!(lines.len(), 21);
    let repeating = page(&[intent("pi_8", "succeeded", "2")], true);
    let steps = vec![page(&[], false), repeating.clone(), repeating];
    assert_eq!(find_with(steps, 600).await.0, Lookup::unknown(reason::CONTRADICTORY));
}

#[tokio::test]
async fn questions_that_fail_prove_nothing() {
    let broken = [
        (Step::json(500, &json!({})), reason::SERVER_ERROR),
        (Step::json(401, &json!({})), reason::LOOKUP_REFUSED),
        (Step::json(429, &json!({})), reason::RATE_LIMITED),
        (Step::json(200, &json!({"data": []})), reason::UNREADABLE),
        (Step::json(302, &json!({})), reason::UNEXPECTED_STATUS),
        (Step::CloseAfterRequest, reason::CONNECTION_LOST),
        (Step::Endless, reason::OVERSIZED),
    ];
    for (step, expected) in broken {
        assert_eq!(find_with(vec![step.clone()], 600).await.0, Lookup::unknown(expected), "search: {expected}");
        let listed = find_with(vec![page(&[], false), step], 600).await.0;
        assert_eq!(listed, Lookup::unknown(expected), "list: {expected}");
    }
    // Not every account has the search; the list then answers alone.
    for status in [400, 403, 404] {
        let steps = vec![Step::json(status, &json!({})), page(&[], false)];
        assert_eq!(find_with(steps, 600).await.0, Lookup::NotFound);
    }
    let hit = page(&[intent("pi_1", "succeeded", "1")], false);
    let missing = Step::json(404, &json!({"error": {"type": "invalid_request_error", "code": "resource_missing"}}));
    assert_eq!(find_with(vec![hit, missing], 600).await.0, Lookup::unknown(reason::CONTRADICTORY));
}

#[tokio::test]
async fn all_calls_of_one_question_share_one_deadline() {
    let late = |step| Step::Late(SHORT * 2 / 3, Box::new(step));
    // One page in time, and a second one that would be, had it the whole time for itself.
    let pages = [page(&[], false), page(&[intent("pi_8", "succeeded", "2")], true), page(&[], false)];
    let server = ScriptedHttp::start(pages.map(late)).await;
    let begun = Instant::now();
    let lookup = stripe_within(&server.base, SHORT).find(find_after(600)).await;
    assert_eq!(lookup, Lookup::unknown(reason::TIMEOUT));
    assert!((SHORT..SHORT * 10).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_payment_that_moved_money_speaks_for_its_attempt() {
    let list = |data: &[Value]| vec![page(&[], false), page(data, false)];
    let cancelled = || intent("pi_0", "canceled", "1");
    let found = find_with(list(&[cancelled(), intent("pi_1", "succeeded", "1")]), 600).await.0;
    assert_eq!(found, Lookup::Found(succeeded("pi_1")));
    let found = find_with(list(&[cancelled(), intent("pi_2", "processing", "1")]), 600).await.0;
    let processing = Outcome::Processing { reference: "pi_2".to_owned(), status: "processing" };
    assert_eq!(found, Lookup::Found(processing));
    let twice = [intent("pi_1", "succeeded", "1"), intent("pi_2", "succeeded", "1")];
    let found = find_with(list(&twice), 600).await.0;
    assert!(matches!(found, Lookup::Found(Outcome::Conflict { reason: reason::FOUND_TWICE, .. })), "{found:?}");
}

#[tokio::test]
async fn a_refund_is_found_by_the_key_it_was_asked_for_with() {
    let refund = |id: &str, key: &str| {
        json!({"id": id, "object": "refund", "status": "succeeded", "amount": 2400, "currency": "jpy",
               "metadata": {"ichido_refund_key": key}})
    };
    let request = |seconds| FindRefundRequest {
        key: "refund-1".to_owned(),
        reference: "pi_1".to_owned(),
        amount: 2_400,
        currency: "JPY".to_owned(),
        last_sent_at: SENT_AT,
        now: SENT_AT + time::Duration::seconds(seconds),
    };
    let two = || page(&[refund("re_1", "refund-0"), refund("re_2", "refund-1")], false);
    let one = || page(&[refund("re_1", "refund-0")], false);
    let server = ScriptedHttp::start([two(), one(), one()]).await;
    let gateway = stripe(&server.base);
    assert_eq!(gateway.find_refund(request(5)).await, Lookup::Found(succeeded("re_2")));
    assert!(matches!(gateway.find_refund(request(5)).await, Lookup::Unknown { reason: reason::TOO_SOON, .. }));
    assert_eq!(gateway.find_refund(request(600)).await, Lookup::NotFound);
    assert_eq!(server.sent()[0].line, "GET /v1/refunds?payment_intent=pi_1&limit=50");
}
