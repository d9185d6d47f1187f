//! An organisation with one of everything, each with a canary in it, and the names of all of it.

use crate::inbox::endpoint::{Endpoint, event, intent, rematch, settled};
use crate::openapi::Operation;
use crate::support::app::{Answer, TestApp, TestOrg, new_org, order_body};
use crate::support::contract::resolve;
use crate::support::payments::{World, open_case, use_gateway};
use crate::support::work::work;
use ichido::app::steps::set_policy::set_step_policy;
use ichido::db::deadline::Deadline;
use ichido::db::step_policies::StepPolicy;
use ichido::domain::step::StepKind;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

const STEPS: [StepKind; 4] =
    [StepKind::StockReservation, StepKind::ShipmentRequest, StepKind::ConfirmationMail, StepKind::AccountingEntry];
/// Rounds of the worker after which everything has ended.
const ROUNDS: usize = 100;

/// The organisation, with a world of its own behind it.
pub struct Filled {
    /// A token with every scope.
    pub org: TestOrg,
    /// Its gateway and its partners.
    pub world: World,
    /// Where its provider delivers.
    pub endpoint: Endpoint,
    /// What there is to name, by kind, as in [`crate::tenants::slots`].
    pub ids: BTreeMap<String, Vec<String>>,
    /// In each of its texts.
    pub canary: String,
}

impl Filled {
    /// Makes one, and waits until nothing in it is unfinished.
    pub async fn new(app: &TestApp, name: &str) -> Self {
        let (org, world) = (app.org(new_org()).await, World::start());
        let canary = format!("canary-{name}-{}", &Uuid::new_v4().simple().to_string()[..12]);
        use_gateway(&app.app, &org, &world.stripe()).await;
        let secret = SecretString::from(format!("psk_{canary}"));
        for kind in STEPS {
            let policy = policy(&world, kind, &canary);
            set_step_policy(&app.app, org.id, policy, Some(&secret), Deadline::of_request()).await.unwrap();
        }
        let endpoint = Endpoint::of_org(app, &org).await;
        endpoint.add(app, "TWO", &format!("whsec_{canary}")).await;
        let mut filled = Self { org, world, endpoint, ids: BTreeMap::new(), canary };
        filled.orders(app).await;
        filled.notifications(app).await;
        filled.finish(app).await;
        filled.cursors(app).await;
        filled
    }

    fn note(&mut self, kind: &str, id: impl Into<String>) {
        self.ids.entry(kind.to_owned()).or_default().push(id.into());
    }

    /// A body whose texts all hold the canary.
    fn body(&mut self, n: usize, method: Option<&str>) -> Value {
        let canary = &self.canary;
        let [reference, customer, email] =
            [format!("PO-{n}-{canary}"), format!("cus-{n}-{canary}"), format!("{n}-{canary}@example.com")];
        let mut body = order_body();
        body["order_reference"] = json!(reference);
        body["customer"] = json!({ "reference": customer, "email": email });
        body["lines"][0]["description"] = json!(canary);
        body["metadata"] = json!({ "note": canary });
        if let Some(method) = method {
            body["payment"] = json!({ "method": method });
        }
        self.note("order_reference", reference);
        self.note("customer", customer);
        self.note("email", email);
        body
    }

    /// A command under a key of its own.
    async fn command(&mut self, app: &TestApp, (path, route): (&str, &str), body: &Value) -> Answer {
        let key = format!("key-{}-{}", self.ids.get("key").map_or(0, Vec::len), self.canary);
        self.note("key", &key);
        let request = app.request(Method::POST, path).bearer_auth(&self.org.token).header("Idempotency-Key", key);
        app.send(request.json(body), route).await
    }

    async fn order(&mut self, app: &TestApp, method: Option<&str>) -> String {
        let body = self.body(self.ids.get("order").map_or(0, Vec::len), method);
        let answer = self.command(app, ("/v1/orders", "/v1/orders"), &body).await;
        let member = if answer.status == 402 { "order_id" } else { "id" };
        let id = answer.json()[member].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        self.note("order", &id);
        id
    }

    /// Unpaid, paid, declined, unknown, cancelled, told of, and two with a case.
    async fn orders(&mut self, app: &TestApp) {
        let unpaid = self.order(app, None).await;
        let etag = app.get_as(&self.org.token, &format!("/v1/orders/{unpaid}"), "/v1/orders/{order_id}").await;
        self.note("etag", etag.header("etag").unwrap());
        for method in ["pm_card_visa", "pm_card_chargeDeclined", "pm_sim_lost_answer"] {
            self.order(app, Some(method)).await;
        }
        let cancelled = self.order(app, Some("pm_card_visa")).await;
        self.note("payment", self.world.payment_of(&cancelled).await);
        let path = format!("/v1/orders/{cancelled}/cancel");
        assert_eq!(self.command(app, (&path, "/v1/orders/{order_id}/cancel"), &json!({})).await.status, 200);
        let sql = app.sql().await;
        for resolved in [false, true] {
            let order_id = self.order(app, None).await;
            let case_id = open_case(&sql, &self.org, &order_id).await;
            if resolved {
                let path = format!("/v1/reconciliation-cases/{case_id}/decisions");
                let decision = json!({ "decision": "mark_not_done", "reason": self.canary, "proof": self.canary });
                let route = "/v1/reconciliation-cases/{case_id}/decisions";
                assert_eq!(self.command(app, (&path, route), &decision).await.status, 200);
            }
            self.note("case", case_id);
        }
        let only_reads = app.token(self.org.id, &[ichido::domain::scope::Scope::OrdersRead]).await;
        self.note("api_key", only_reads.split('_').nth(2).unwrap());
    }

    /// One that pays an order, one that waits for its order, one that means nothing, and one that nobody signed.
    async fn notifications(&mut self, app: &TestApp) {
        let order_id = self.order(app, None).await;
        let told = [
            (format!("pi_{}_paid", self.canary), order_id),
            (format!("pi_{}_parked", self.canary), Uuid::now_v7().to_string()),
        ];
        for (payment, order_id) in told {
            let event = event("payment_intent.succeeded", &intent(&payment, &order_id, 2_400));
            let answer = self.endpoint.signed(app, event.to_string().as_bytes()).await.json();
            self.note("receipt", answer["receipt_id"].as_str().unwrap());
            self.note("notification", event["id"].as_str().unwrap());
            self.note("payment", payment);
        }
        assert_eq!(self.endpoint.signed(app, b"{}").await.status, 200);
        assert_eq!(self.endpoint.deliver(app, b"{}", Some("t=1,v1=00")).await.status, 400);
        self.note("endpoint", self.endpoint.id.to_string());
    }

    async fn finish(&mut self, app: &TestApp) {
        let sql = app.sql().await;
        settled(app).await;
        rematch(app).await;
        let unfinished = "SELECT count(*) FROM operations WHERE org_id = $1
            AND state IN ('waiting', 'ready', 'leased', 'retry_at', 'unknown')";
        for round in 0.. {
            work(app).await;
            if sql.query_one(unfinished, &[&self.org.id.0]).await.unwrap().get::<_, i64>(0) == 0 {
                break;
            }
            assert!(round < ROUNDS, "something never ends");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for row in sql.query("SELECT fact_key FROM events WHERE org_id = $1", &[&self.org.id.0]).await.unwrap() {
            self.note("fact", row.get::<_, String>(0));
        }
    }

    /// A cursor of every list that the contract has.
    async fn cursors(&mut self, app: &TestApp) {
        for operation in Operation::all() {
            let parameters = operation.definition["parameters"].as_array().into_iter().flatten().map(resolve);
            if parameters.into_iter().any(|parameter| parameter["name"] == "cursor") {
                let page = app.get_as(&self.org.token, &format!("{}?limit=1", operation.route), &operation.route).await;
                let cursor = page.json()["next_cursor"].as_str().unwrap_or_else(|| panic!("{page:?}")).to_owned();
                self.note(&format!("cursor of {}", operation.route), cursor);
            }
        }
    }
}

fn policy(world: &World, kind: StepKind, canary: &str) -> StepPolicy {
    let url = format!("{}/partners/{}", world.base, kind.as_str());
    StepPolicy {
        kind,
        url: url.clone(),
        honours_keys: true,
        status_url: Some(url),
        secret_sealed: None,
        owner: canary.to_owned(),
        corrector: canary.to_owned(),
        max_attempts: 20,
        time: Duration::from_hours(2),
    }
}
