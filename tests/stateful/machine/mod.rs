//! The reference model: orders, keys and money of two organisations, as the contract promises them, without a database.

pub mod answer;
mod choice;
pub mod order;

use crate::operation::{Command, Delivery, KEYS, Method, News, ORGS, Operation, Place, Request, Status, Way};
use answer::{Answer, Claim, Kind, Stored, differing};
use order::{Back, Books, Order, Payment, Refund, Truth};
use proptest::strategy::{BoxedStrategy, Just, Strategy};
use proptest_state_machine::ReferenceStateMachine;
use std::collections::BTreeMap;

/// Everything that has happened, as far as anybody may notice it.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// In the order in which they were made, whoever's they are.
    pub orders: Vec<Order>,
    /// Who has which key of which organisation.
    pub claims: BTreeMap<(usize, u8), Claim>,
    /// What the last operation has to be answered, and if it was sent twice, the second time.
    pub answers: Vec<Answer>,
    /// Notifications that were accepted, by organisation.
    pub receipts: [i64; ORGS],
    claimed: usize,
}

impl Machine {
    /// The payment.
    pub fn payment(&self, place: Place) -> Option<&Payment> {
        self.orders.get(place.order)?.payments.get(place.payment)
    }

    /// The organisation's orders, newest first.
    pub fn orders_of(&self, org: usize) -> impl Iterator<Item = (usize, &Order)> {
        self.orders.iter().enumerate().rev().filter(move |(_, order)| order.org == org)
    }

    /// A command, and its answer.
    fn send(&mut self, command: Command) -> Answer {
        let Command { org, key, request } = command;
        if self.claims.contains_key(&(org, key)) {
            return self.taken(command);
        }
        match request {
            Request::Create(body) => {
                let same = |order: &&Order| body.reference.is_some() && order.body.reference == body.reference;
                if let Some((first, _)) = self.orders_of(org).find(|(_, order)| same(order)) {
                    return Answer::refused(409, "order_reference_taken", Some(first));
                }
                self.orders.push(Order::new(org, body));
                self.begin(command, self.orders.len() - 1, body.method)
            }
            Request::Pay { order, .. } | Request::Cancel { order } if self.orders[order].org != org => {
                Answer::refused(404, "not_found", None)
            }
            Request::Pay { order, method } if self.orders[order].is_payable() => {
                self.begin(command, order, Some(method))
            }
            Request::Pay { .. } => Answer::refused(409, "payment_not_possible", None),
            Request::Cancel { order } => {
                self.orders[order].cancel();
                let claim = self.claim(command, order, None);
                self.store(claim, 200);
                self.stored((org, key), Kind::First)
            }
        }
    }

    /// A claim with an attempt to pay, if it is to be paid.
    fn begin(&mut self, command: Command, order: usize, method: Option<Method>) -> Answer {
        let payment = method.map(|method| self.orders[order].pay(method));
        let claim = self.claim(command, order, payment);
        match payment {
            None => self.store(claim, 201),
            Some(payment) => self.complete(Place { order, payment }),
        }
        match self.claims[&claim].stored {
            Some(_) => self.stored(claim, Kind::First),
            None => Answer::accepted(order, self.orders[order].view()),
        }
    }

    fn claim(&mut self, command: Command, order: usize, payment: Option<usize>) -> (usize, u8) {
        self.claimed += 1;
        let claim = Claim { number: self.claimed, request: command.request, order, payment, stored: None };
        self.claims.insert((command.org, command.key), claim);
        (command.org, command.key)
    }

    /// Stores an answer that shows the order as it stands.
    fn store(&mut self, key: (usize, u8), status: u16) {
        if let Some(claim) = self.claims.get_mut(&key) {
            let view = (status != 402).then(|| self.orders[claim.order].view());
            claim.stored.get_or_insert(Stored { status, view });
        }
    }

    /// Stores the answer of the claim that waits for a payment, if it is settled. Once stored it never changes.
    fn complete(&mut self, place: Place) {
        let waits = |claim: &Claim| claim.order == place.order && claim.payment == Some(place.payment);
        let found = self.claims.iter().find(|(_, claim)| waits(claim)).map(|(key, _)| *key);
        match (found, self.orders[place.order].payments[place.payment].books) {
            (Some(key), Books::Paid) => self.store(key, 201),
            (Some(key), Books::Declined) => self.store(key, 402),
            _ => {}
        }
    }

    /// The stored answer, as an answer of a kind. Only the first organisation turns successes into 200.
    fn stored(&self, key: (usize, u8), kind: Kind) -> Answer {
        let claim = &self.claims[&key];
        let stored = claim.stored.clone().unwrap_or(Stored { status: 0, view: None });
        let replays = matches!(kind, Kind::Replay { .. } | Kind::Mismatch { .. });
        let status = if replays && key.0 == 0 && stored.status == 201 { 200 } else { stored.status };
        let code = (stored.status == 402).then_some("payment_declined");
        let (order, number) = (Some(claim.order), Some(claim.number));
        Answer { status, kind, code, order, view: stored.view, differing: Vec::new(), claim: number }
    }

    /// What a command gets whose key somebody has.
    fn taken(&mut self, command: Command) -> Answer {
        let key = (command.org, command.key);
        let claim = self.claims[&key].clone();
        if claim.request != command.request {
            let where_ = differing(&claim.request, &command.request);
            return match &claim.stored {
                Some(stored) if command.org == 1 && where_.is_some() => {
                    self.stored(key, Kind::Mismatch { original: stored.status })
                }
                _ => Answer {
                    differing: where_.unwrap_or_default(),
                    ..Answer::refused(422, "idempotency_key_reused", None)
                },
            };
        }
        if let Some(payment) = claim.payment
            && self.orders[claim.order].payments[payment].due
        {
            self.ask(Place { order: claim.order, payment });
        }
        match &self.claims[&key].stored {
            Some(stored) => self.stored(key, Kind::Replay { original: stored.status }),
            None => Answer::accepted(claim.order, self.orders[claim.order].view()),
        }
    }

    fn ask(&mut self, place: Place) {
        if self.orders[place.order].ask(place.payment) {
            self.complete(place);
        }
    }

    /// The worker: asks about what is due, gives back, and counts what was told too early.
    fn work(&mut self) {
        for place in self.places() {
            if self.payment(place).is_some_and(|it| it.due && it.is_open()) {
                self.ask(place);
            }
        }
        for place in self.places() {
            let order = &mut self.orders[place.order];
            let amount = order.amount();
            let payment = &mut order.payments[place.payment];
            if payment.refund == Refund::Asked {
                (payment.refund, payment.refunded) = (Refund::Done, amount);
            }
            if payment.back == Back::Parked {
                order.count_back(place.payment);
            }
        }
    }

    fn tell(&mut self, place: Place, news: News, delivery: Delivery) {
        let times = match delivery {
            Delivery::Forged => return,
            Delivery::InTurn(times) | Delivery::AtOnce(times) => i64::from(times),
        };
        let order = &mut self.orders[place.order];
        self.receipts[order.org] += times;
        let settled = order.hear(place.payment, news);
        if settled {
            // The stored answer shows the order as it was settled, before anything that follows.
            self.complete(place);
        }
        self.orders[place.order].hear_back(place.payment, news, settled);
    }

    /// Every payment.
    pub fn places(&self) -> Vec<Place> {
        let of = |(order, it): (usize, &Order)| (0..it.payments.len()).map(move |payment| Place { order, payment });
        self.orders.iter().enumerate().flat_map(of).collect()
    }

    fn after(&mut self, operation: &Operation) {
        self.answers.clear();
        match *operation {
            Operation::Send { command, way, .. } => {
                for _ in 0..if way == Way::Once { 1 } else { 2 } {
                    let answer = self.send(command);
                    self.answers.push(answer);
                }
            }
            Operation::Malformed { .. } => self.answers.push(Answer::refused(400, "invalid_request", None)),
            Operation::Later => {
                let open = self.orders.iter_mut().flat_map(|order| &mut order.payments).filter(|it| it.is_open());
                open.for_each(|it| (it.due, it.old) = (true, true));
            }
            Operation::Work { .. } => self.work(),
            Operation::Expire { .. } => self.claims.retain(|(org, _), claim| *org == 1 || claim.stored.is_none()),
            Operation::Decide { place, succeeds } => {
                let truth = if succeeds { Truth::Taken } else { Truth::Refused };
                self.orders[place.order].payments[place.payment].truth = truth;
            }
            Operation::PaidElsewhere { order } => self.orders[order].paid_elsewhere(),
            Operation::GiveBack { place } => {
                self.orders[place.order].payments[place.payment].back = Back::Untold;
            }
            Operation::Tell { place, news, delivery, .. } => self.tell(place, news, delivery),
            Operation::Get { .. } | Operation::Look { .. } | Operation::List { .. } | Operation::Restart { .. } => {}
        }
    }
}

impl ReferenceStateMachine for Machine {
    type State = Self;
    type Transition = Operation;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Operation> {
        choice::operations(state)
    }

    fn apply(mut state: Self, operation: &Operation) -> Self {
        state.after(operation);
        state
    }

    fn preconditions(state: &Self, operation: &Operation) -> bool {
        choice::is_possible(state, operation)
    }
}
