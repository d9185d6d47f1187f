//! The whole state against the model: every list, every key, every effect at the gateway, and what was received of it.

use crate::case::{Case, key_text};
use crate::compare;
use crate::machine::Machine;
use crate::machine::order::{Back, Order, Refund, Truth};
use crate::operation::{Filter, KEYS, ORGS, SERVERS};
use crate::stage::STAGE;
use serde_json::{Value, json};

/// More pages than any list has.
const PAGES: usize = 200;

/// Panics when anything is not as the model says.
pub async fn judge(case: &Case, machine: &Machine) {
    for org in 0..ORGS {
        let server = org % SERVERS;
        list(case, machine, (org, Filter::All, 100), server).await;
        for key in 0..KEYS {
            self::key(case, machine, (org, key), server).await;
        }
        let count = "SELECT count(*) FROM receipts WHERE org_id = $1 AND signature = 'valid'";
        let receipts: i64 = STAGE.sql.query_one(count, &[&case.tenants[org].org.id.0]).await.unwrap().get(0);
        assert_eq!(receipts, machine.receipts[org], "notifications that were stored for organisation {org}");
        facts(case, machine, org).await;
    }
    for (number, order) in machine.orders.iter().enumerate() {
        effects(case, order, &case.ids[number]).await;
    }
}

/// Each thing that was told is one fact, however often it was told.
async fn facts(case: &Case, machine: &Machine, org: usize) {
    let told: usize = machine.orders_of(org).flat_map(|(_, order)| &order.payments).map(|it| it.told.len()).sum();
    let count = "SELECT count(*) FROM events WHERE org_id = $1";
    let facts: i64 = STAGE.sql.query_one(count, &[&case.tenants[org].org.id.0]).await.unwrap().get(0);
    assert_eq!(usize::try_from(facts), Ok(told), "facts that organisation {org} was told");
}

/// One charge for each payment that took money, and no more given back than was meant to be.
async fn effects(case: &Case, order: &Order, id: &str) {
    let (mut charges, mut refunds) = (Vec::new(), Vec::new());
    for effect in case.world.effects(id).await {
        assert_eq!(effect["count"], 1, "an effect that happened more than once: {effect}");
        let of_its_kind = if effect["kind"] == "charge" { &mut charges } else { &mut refunds };
        of_its_kind.push(effect["amount"].as_i64().unwrap());
    }
    let taken = order.payments.iter().filter(|it| it.truth == Truth::Taken);
    let expected: Vec<_> = taken.map(|_| order.amount()).collect();
    assert_eq!(charges, expected, "charges of order {id}");
    let mut expected = Vec::new();
    for payment in &order.payments {
        let by_others = if payment.back == Back::No { 0 } else { order.quarter() };
        if by_others > 0 {
            expected.push(by_others);
        }
        if payment.refund == Refund::Done {
            expected.push(order.amount() - by_others);
        }
    }
    refunds.sort_unstable();
    expected.sort_unstable();
    assert_eq!(refunds, expected, "refunds of order {id}");
}

/// What became of a key.
pub async fn key(case: &Case, machine: &Machine, (org, key): (usize, u8), server: usize) {
    let (app, route) = (STAGE.server(server), "/v1/idempotency-keys/{idempotency_key}");
    let path = format!("/v1/idempotency-keys/{}", key_text(key));
    let got = app.get_as(&case.tenants[org].org.token, &path, route).await;
    let Some(claim) = machine.claims.get(&(org, key)) else {
        assert_eq!((got.status, got.code().as_str()), (404, "not_found"), "nobody has key {key}");
        return;
    };
    let body = got.json();
    let state = if claim.stored.is_some() { "completed" } else { "in_progress" };
    let status = claim.stored.as_ref().map(|stored| stored.status);
    let expected = json!([state, case.ids[claim.order], status]);
    let shown = json!([body["state"], body["order_id"], body["response_status"]]);
    assert_eq!(shown, expected, "key {key} of organisation {org}");
}

fn shows(filter: Filter, order: &Order) -> bool {
    match filter {
        Filter::All => true,
        Filter::Status(status) => order.status == status,
        Filter::Customer(customer) => order.body.customer == customer,
        Filter::CustomerAndStatus(customer, status) => order.body.customer == customer && order.status == status,
        Filter::Reference(reference) => order.body.reference == Some(reference),
        Filter::NeedsReconciliation(flag) => order.needs_reconciliation == flag,
    }
}

fn query(filter: Filter) -> String {
    match filter {
        Filter::All => String::new(),
        Filter::Status(status) => format!("&status={}", status.as_str()),
        Filter::Customer(customer) => format!("&customer_reference={}", compare::customer(customer)),
        Filter::CustomerAndStatus(customer, status) => {
            format!("&customer_reference={}&status={}", compare::customer(customer), status.as_str())
        }
        Filter::Reference(reference) => format!("&order_reference={}", compare::reference(reference)),
        Filter::NeedsReconciliation(flag) => format!("&needs_reconciliation={flag}"),
    }
}

/// A list, from its first page to its last: the organisation's orders, newest first, and nobody else's.
pub async fn list(case: &Case, machine: &Machine, (org, filter, limit): (usize, Filter, u8), server: usize) {
    let app = STAGE.server(server);
    let mut seen: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    for _ in 0..PAGES {
        let path = format!("/v1/orders?limit={limit}{}{cursor}", query(filter));
        let page = app.get_as(&case.tenants[org].org.token, &path, "/v1/orders").await;
        assert_eq!(page.status, 200, "{}", page.json());
        let body = page.json();
        let orders = body["data"].as_array().unwrap();
        assert!(orders.len() <= usize::from(limit), "a page of {}", orders.len());
        seen.extend(orders.iter().cloned());
        let Some(next) = body["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let expected: Vec<_> = machine.orders_of(org).filter(|(_, order)| shows(filter, order)).collect();
    let ids: Vec<_> = seen.iter().map(|order| order["id"].as_str().unwrap()).collect();
    let expected_ids: Vec<_> = expected.iter().map(|(number, _)| case.ids[*number].as_str()).collect();
    assert_eq!(ids, expected_ids, "{filter:?} of organisation {org}, {limit} on a page");
    for ((number, order), shown) in expected.iter().zip(&seen) {
        compare::view(&order.view(), shown).unwrap_or_else(|why| panic!("order {number} in a list: {why}"));
    }
}
