//! The service beside the model: carries each operation out over HTTP, and holds what comes back to what the model says.

use crate::compare;
use crate::gateway;
use crate::judge;
use crate::machine::Machine;
use crate::machine::answer::{Answer, Kind};
use crate::operation::{Command, ORGS, Operation, Request, SERVERS, Way};
use crate::stage::{RUNTIME, STAGE, Tenant};
use crate::support::app::Answer as Got;
use crate::support::payments::World;
use crate::support::wire::Wire;
use futures_util::future::join_all;
use proptest_state_machine::StateMachineTest;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a client goes on when it is told that somebody else works on its request, and how long anything else may take.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take until a request is taken up whose client hung up. Not every one has to be: it is sent again.
const TAKEN_UP: Duration = Duration::from_secs(2);
/// How long between two looks.
pub const POLL: Duration = Duration::from_millis(2);

/// What is known of the service in one case.
pub struct Case {
    /// A world of its own: what was lost is looked for in all that happened there lately.
    pub world: World,
    pub tenants: [Tenant; ORGS],
    /// The ids of the model's orders.
    pub ids: Vec<String>,
    /// The bytes that each claim has stored, once they were seen.
    bytes: HashMap<usize, Vec<u8>>,
    /// The gateway's names of payments that were made without us.
    pub elsewhere: HashMap<(usize, usize), String>,
    /// The gateway's names of what was given back there.
    pub given_back: HashMap<(usize, usize), Value>,
}

impl StateMachineTest for Case {
    type SystemUnderTest = Self;
    type Reference = Machine;

    fn init_test(_: &Machine) -> Self {
        // Before the runtime is entered: the stage is set in it.
        let stage = LazyLock::force(&STAGE);
        let (world, tenants) = RUNTIME.block_on(async {
            let world = World::start();
            let tenants = stage.tenants(&world).await;
            (world, tenants)
        });
        let (ids, bytes, elsewhere, given_back) = Default::default();
        Self { world, tenants, ids, bytes, elsewhere, given_back }
    }

    fn apply(mut case: Self, machine: &Machine, operation: Operation) -> Self {
        RUNTIME.block_on(case.carry_out(machine, operation));
        case
    }

    fn teardown(case: Self, machine: Machine) {
        RUNTIME.block_on(judge::judge(&case, &machine));
    }
}

/// The text of a key.
pub fn key_text(key: u8) -> String {
    format!("key-{key}")
}

impl Case {
    async fn carry_out(&mut self, machine: &Machine, operation: Operation) {
        match operation {
            Operation::Send { command, way, server } => self.send(machine, command, way, server).await,
            Operation::Malformed { org, key, server } => {
                let app = STAGE.server(server);
                let body = json!({ "customer": { "reference": "c-0" }, "currency": "JPY", "lines": [] });
                let got = app.post_as(&self.tenants[org].org.token, &key_text(key), &body).await;
                self.expect(&machine.answers[0], &got).unwrap();
            }
            Operation::Get { org, order, server } => self.get(machine, org, order, server).await,
            Operation::Look { org, key, server } => judge::key(self, machine, (org, key), server).await,
            Operation::List { org, filter, limit, server } => {
                judge::list(self, machine, (org, filter, limit), server).await;
            }
            Operation::Later => self.later(machine).await,
            Operation::Work { server } => self.work(machine, &STAGE.server(server)).await,
            Operation::Restart { server } => STAGE.restart(server).await,
            Operation::Expire { server } => self.expire(&STAGE.server(server)).await,
            Operation::Decide { place, succeeds } => gateway::decide(self, machine, place, succeeds).await,
            Operation::PaidElsewhere { order } => gateway::pay(self, machine, order).await,
            Operation::GiveBack { place } => gateway::give_back(self, machine, place).await,
            Operation::Tell { place, news, delivery, server } => {
                gateway::tell(self, machine, (place, news, delivery), server).await;
                self.settled(machine).await;
                self.get(machine, machine.orders[place.order].org, place.order, server).await;
            }
        }
    }

    async fn send(&mut self, machine: &Machine, command: Command, way: Way, server: usize) {
        match way {
            Way::Once => {
                let got = self.post(&command, server).await;
                self.expect(&machine.answers[0], &got).unwrap();
            }
            Way::Race => {
                let got = join_all((0..SERVERS).map(|server| self.post(&command, server))).await;
                self.expect_race(&machine.answers, &got);
            }
            Way::HangUp => {
                self.hang_up(&command, server).await;
                let got = self.insist(&command, server).await;
                let told = self.expect(&machine.answers[1], &got);
                told.or_else(|why| self.expect(&machine.answers[0], &got).map_err(|other| format!("{why}; {other}")))
                    .unwrap();
            }
        }
        if let Some(order) = machine.answers[0].order {
            self.get(machine, command.org, order, server).await;
        }
    }

    /// One of the answers is the first one; the other one is what a retry gets, or that somebody else works on it.
    fn expect_race(&mut self, answers: &[Answer], got: &[Got]) {
        let [first, second] = answers else { panic!("a race has two answers") };
        let works = matches!(first.kind, Kind::First | Kind::Accepted);
        let is_held = |got: &Got| works && got.status == 409 && got.code() == "request_in_flight";
        let mut why = Vec::new();
        for (one, other) in [(&got[0], &got[1]), (&got[1], &got[0])] {
            let told = self.expect(first, one);
            let told = told.and_then(|()| if is_held(other) { Ok(()) } else { self.expect(second, other) });
            match told {
                Ok(()) => return,
                Err(wrong) => why.push(wrong),
            }
        }
        panic!("neither way round: {why:?}");
    }

    /// Holds an answer to the model, learns the id of a new order and the bytes that are stored.
    fn expect(&mut self, expected: &Answer, got: &Got) -> Result<(), String> {
        let named = compare::answer(expected, got, &self.ids)?;
        if let (Some(order), Some(id)) = (expected.order, named)
            && order == self.ids.len()
        {
            self.ids.push(id);
        }
        if let Some(claim) = expected.claim {
            let stored = self.bytes.entry(claim).or_insert_with(|| got.body.clone());
            if *stored != got.body {
                let (one, two) = (String::from_utf8_lossy(stored), String::from_utf8_lossy(&got.body));
                return Err(format!("other bytes than before: {one} and now {two}"));
            }
        }
        Ok(())
    }

    /// The path, its template in the contract, and the body.
    fn request_of(&self, request: &Request) -> (String, &'static str, Value) {
        match request {
            Request::Create(body) => ("/v1/orders".to_owned(), "/v1/orders", compare::body_of(*body)),
            Request::Pay { order, method } => {
                let path = format!("/v1/orders/{}/payments", self.ids[*order]);
                (path, "/v1/orders/{order_id}/payments", json!({ "method": method.name() }))
            }
            Request::Cancel { order } => {
                (format!("/v1/orders/{}/cancel", self.ids[*order]), "/v1/orders/{order_id}/cancel", json!({}))
            }
        }
    }

    async fn post(&self, command: &Command, server: usize) -> Got {
        let (path, route, body) = self.request_of(&command.request);
        let app = STAGE.server(server);
        let request = app.request(Method::POST, &path).bearer_auth(&self.tenants[command.org].org.token);
        app.send(request.header("Idempotency-Key", key_text(command.key)).json(&body), route).await
    }

    async fn insist(&self, command: &Command, server: usize) -> Got {
        let began = Instant::now();
        loop {
            let got = self.post(command, server).await;
            if got.status != 409 || got.code() != "request_in_flight" {
                return got;
            }
            assert!(began.elapsed() < PATIENCE, "still in flight");
            sleep(POLL).await;
        }
    }

    /// Sends a request and closes the connection; then waits for its key to be claimed, so that it does not come later.
    async fn hang_up(&self, command: &Command, server: usize) {
        let (path, _, body) = self.request_of(&command.request);
        let (app, body) = (STAGE.server(server), body.to_string());
        let (token, key, length) = (&self.tenants[command.org].org.token, key_text(command.key), body.len());
        let mut wire = Wire::to(&app).await;
        wire.send(format!(
            "POST {path} HTTP/1.1\r\nHost: ichido\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Idempotency-Key: {key}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
        .await;
        drop(wire);
        let claimed = "SELECT count(*) FROM idempotency_keys WHERE org_id = $1 AND idempotency_key = $2";
        let (org, began) = (self.tenants[command.org].org.id.0, Instant::now());
        while STAGE.sql.query_one(claimed, &[&org, &key]).await.unwrap().get::<_, i64>(0) == 0
            && began.elapsed() < TAKEN_UP
        {
            sleep(POLL).await;
        }
    }

    /// An order as an organisation sees it, twice: the second time it has not changed.
    async fn get(&self, machine: &Machine, org: usize, order: usize, server: usize) {
        let (app, route) = (STAGE.server(server), "/v1/orders/{order_id}");
        let path = format!("/v1/orders/{}", self.ids[order]);
        let got = app.get_as(&self.tenants[org].org.token, &path, route).await;
        let found = &machine.orders[order];
        if found.org != org {
            assert_eq!(got.status, 404, "another organisation's order {order}");
            assert_eq!(got.code(), "not_found");
            return;
        }
        assert_eq!(got.status, 200, "order {order}");
        compare::view(&found.view(), &got.json()).unwrap_or_else(|why| panic!("order {order}: {why}"));
        let again = app.request(Method::GET, &path).bearer_auth(&self.tenants[org].org.token);
        let again = app.send(again.header("If-None-Match", got.header("ETag").unwrap()), route).await;
        assert_eq!(again.status, 304, "order {order} has changed by itself");
    }
}
