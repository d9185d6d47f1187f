//! Asks as another organisation, and notes every answer from which it could learn something.

use super::asking::{Question, nobodys};
use super::filled::Filled;
use super::slots::{Means, Place, Slot};
use crate::inbox::endpoint::named;
use crate::openapi::Operation;
use crate::support::app::{Answer, TestApp, new_org, order_body};
use crate::support::payments::{World, open_case, use_gateway};
use ichido::app::inbox::endpoints::create_endpoint;
use ichido::db::deadline::Deadline;
use ichido::domain::scope::Scope;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// What the one who asks signs with.
pub const OTHER_SECRET: &str = "whsec_of_the_other";

/// The run so far.
pub struct Judge<'a> {
    /// The service.
    pub app: &'a TestApp,
    /// Whose things are asked for.
    pub theirs: &'a Filled,
    /// By which one could tell that they are there.
    pub telling: BTreeSet<String>,
    /// What whoever writes has been answered well about: the name that it gave a payment of its own, say, is its own.
    pub written: BTreeSet<String>,
    /// Questions.
    pub asked: u64,
    /// What was wrong.
    pub violations: Vec<String>,
}

/// An organisation that asks.
pub struct Asker {
    /// With the scopes that are tried.
    pub token: String,
    /// What it has, by kind.
    pub own: BTreeMap<String, String>,
}

impl Asker {
    /// A new organisation with an order and, as far as an operation needs them, a gateway, a case and an endpoint; with all of them
    /// for any operation.
    pub async fn new(app: &TestApp, world: &World, scopes: &[Scope], only: Option<&Operation>) -> Self {
        let org = app.org(new_org()).await;
        let needs = |part: &str| only.is_none_or(|operation| operation.route.contains(part));
        let token = app.token(org.id, scopes).await;
        let order = async |key| app.post_as(&org.token, key, &order_body()).await.id();
        let mut own = BTreeMap::from([("order".to_owned(), order("own").await)]);
        if needs("/payments") {
            use_gateway(&app.app, &org, &world.stripe()).await;
        }
        if needs("{case_id}") {
            let case = open_case(&app.sql().await, &org, &order("of-the-case").await).await;
            own.insert("case".to_owned(), case);
        }
        if needs("{endpoint_id}") {
            let id = create_endpoint(&app.app, org.id, &named("OWN", OTHER_SECRET), Deadline::of_request()).await;
            own.insert("endpoint".to_owned(), id.unwrap().to_string());
        }
        Self { token, own }
    }

    /// A request in which these stand where they are tried, and what has to be there is its own or new.
    pub fn question(&self, operation: &Operation, slots: &[Slot], tried: &[(&Slot, String)]) -> Question {
        let is_needed =
            |slot: &Slot| slot.place == Place::Path || slot.name == "Idempotency-Key" || operation.is_signed();
        let given = slots.iter().filter_map(|slot| {
            if let Some((_, value)) = tried.iter().find(|(each, _)| *each == slot) {
                return Some((slot.clone(), value.clone()));
            }
            let new = Uuid::now_v7().to_string();
            let value = match &slot.means {
                Means::Id(kind) if is_needed(slot) && slot.place == Place::Body && kind == "order" => new,
                Means::Id(kind) if is_needed(slot) => self.own.get(kind).cloned().unwrap_or(new),
                Means::Plain(values) if slot.place == Place::Path => values[0].clone(),
                _ => return None,
            };
            Some((slot.clone(), value))
        });
        Question { given: given.collect(), secret: OTHER_SECRET.to_owned() }
    }
}

impl Judge<'_> {
    /// Whatever it is asked for, and whoever asks: nothing of theirs is in the answer, and the server knows what to say.
    pub fn look(&mut self, operation: &Operation, question: &Question, answer: &Answer) {
        self.asked += 1;
        // Those who read are others than those who write.
        let nothing = BTreeSet::new();
        let written = if operation.method == "GET" { &nothing } else { &self.written };
        if let Some(secret) = question.leaked(answer, &self.telling, written) {
            self.wrong(operation, question, answer, &format!("tells {secret}"));
        }
        if answer.status >= 500 {
            self.wrong(operation, question, answer, "is no answer");
        }
    }

    /// Notes a violation.
    pub fn wrong(&mut self, operation: &Operation, question: &Question, answer: &Answer, what: &str) {
        let given: Vec<_> = question.given.iter().map(|(slot, value)| format!("{}={value}", slot.name)).collect();
        let body: String = String::from_utf8_lossy(&answer.body).chars().take(400).collect();
        let (method, route) = (&operation.method, &operation.route);
        self.violations.push(format!("{method} {route} with {given:?} {what}: {} {body}", answer.status));
    }

    /// Asks for what is theirs, and for the same as nobody has it; both have to be refused like this, or answered. `askers` are one
    /// for each question, or the same one for both.
    pub async fn compare(
        &mut self,
        operation: &Operation,
        slots: &[Slot],
        tried: &[(&Slot, String)],
        (askers, refused): ([&Asker; 2], Option<(u16, &str)>),
    ) {
        let nobody: Vec<_> = tried.iter().map(|(slot, value)| (*slot, nobodys(value))).collect();
        let questions = [askers[0].question(operation, slots, tried), askers[1].question(operation, slots, &nobody)];
        let mut answers = Vec::new();
        for (question, asker) in questions.iter().zip(askers) {
            let answer = question.ask(self.app, operation, &asker.token).await;
            self.look(operation, question, &answer);
            let fits = match refused {
                Some((status, code)) => answer.status == status && answer.code() == code,
                None => answer.status < 400,
            };
            if !fits {
                self.wrong(operation, question, &answer, &format!("has to be {refused:?}"));
            }
            answers.push(answer);
        }
        let [told, nothing] = [questions[0].told(&answers[0]), questions[1].told(&answers[1])];
        if told != nothing {
            self.wrong(operation, &questions[0], &answers[0], &format!("is told from nobody's, which is {nothing}"));
        }
    }
}
