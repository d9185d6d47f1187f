//! Which operations are possible, and how often each is tried.

use super::{Back, Books, KEYS, Machine, Refund, Status, Truth};
use crate::machine::answer::Kind;
use crate::operation::{Body, Command, Delivery, Filter, Method, News, ORGS, Operation, Place, Request, SERVERS, Way};
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::select;
use proptest::strategy::Union;

const CUSTOMERS: u8 = 2;
const REFERENCES: u8 = 4;

/// One operation after what has happened.
pub fn operations(state: &Machine) -> BoxedStrategy<Operation> {
    let server = || 0..SERVERS;
    let org = || 0..ORGS;
    let orders = state.orders.len();
    let mut choices = vec![
        (12, send(create(), state)),
        (
            1,
            (org(), 0..KEYS, server()).prop_map(|(org, key, server)| Operation::Malformed { org, key, server }).boxed(),
        ),
        (2, (org(), 0..KEYS, server()).prop_map(|(org, key, server)| Operation::Look { org, key, server }).boxed()),
        (4, list().boxed()),
        (3, Just(Operation::Later).boxed()),
        (4, server().prop_map(|server| Operation::Work { server }).boxed()),
        (1, server().prop_map(|server| Operation::Restart { server }).boxed()),
        (1, server().prop_map(|server| Operation::Expire { server }).boxed()),
    ];
    if orders > 0 {
        let pay = (0..orders, method()).prop_map(|(order, method)| Request::Pay { order, method });
        let cancel = (0..orders).prop_map(|order| Request::Cancel { order });
        let get = (org(), 0..orders, server()).prop_map(|(org, order, server)| Operation::Get { org, order, server });
        choices.extend([(6, send(pay.boxed(), state)), (4, send(cancel.boxed(), state)), (3, get.boxed())]);
    }
    let used: Vec<_> = state
        .claims
        .iter()
        .map(|((org, key), claim)| Command { org: *org, key: *key, request: claim.request })
        .collect();
    if !used.is_empty() {
        let again = (select(used.clone()), way(), server());
        choices.push((8, again.prop_map(|(command, way, server)| Operation::Send { command, way, server }).boxed()));
        let other = (select(used), create(), server()).prop_map(|(used, request, server)| Operation::Send {
            command: Command { request, ..used },
            way: Way::Once,
            server,
        });
        choices.push((3, other.boxed()));
    }
    choices.extend(of_the_gateway(state));
    let possible = state.clone();
    Union::new_weighted(choices).prop_filter("not possible", move |it| is_possible(&possible, it)).boxed()
}

/// What happens at the gateway, and what it tells.
fn of_the_gateway(state: &Machine) -> Vec<(u32, BoxedStrategy<Operation>)> {
    let mut choices = Vec::new();
    let mut of = |weight, all: Vec<Operation>| {
        let possible: Vec<_> = all.into_iter().filter(|it| is_possible(state, it)).collect();
        if !possible.is_empty() {
            choices.push((weight, select(possible).boxed()));
        }
    };
    let places = state.places();
    let both = |place| [true, false].map(|succeeds| Operation::Decide { place, succeeds });
    of(3, places.iter().copied().flat_map(both).collect());
    of(2, (0..state.orders.len()).map(|order| Operation::PaidElsewhere { order }).collect());
    of(2, places.iter().map(|place| Operation::GiveBack { place: *place }).collect());
    let deliveries = [Delivery::InTurn(1), Delivery::InTurn(2), Delivery::AtOnce(3), Delivery::Forged];
    let all_news = [News::Success, News::Failure, News::EarlierFailure, News::Back];
    let told = |place: Place| {
        let of = move |news| deliveries.map(|delivery| Operation::Tell { place, news, delivery, server: 0 });
        all_news.into_iter().flat_map(of)
    };
    of(8, places.iter().copied().flat_map(told).collect());
    choices
}

fn method() -> impl Strategy<Value = Method> {
    select(vec![Method::Succeeds, Method::Declined, Method::LostAnswer, Method::LostRequest, Method::Processing])
}

fn way() -> impl Strategy<Value = Way> {
    select(vec![Way::Once, Way::Once, Way::Once, Way::Race, Way::HangUp])
}

fn create() -> BoxedStrategy<Request> {
    let body = (1..4_u8, 0..CUSTOMERS, option::weighted(0.3, 0..REFERENCES), option::weighted(0.6, method()));
    let body = body.prop_map(|(price, customer, reference, method)| Body { price, customer, reference, method });
    body.prop_map(Request::Create).boxed()
}

/// Mostly under a new key.
fn send(request: BoxedStrategy<Request>, state: &Machine) -> BoxedStrategy<Operation> {
    let all = (0..ORGS).flat_map(|org| (0..KEYS).map(move |key| (org, key)));
    let mut free: Vec<_> = all.filter(|key| !state.claims.contains_key(key)).collect();
    if free.is_empty() {
        free.push((0, 0));
    }
    let command = (select(free), request, way(), 0..SERVERS);
    let command = command.prop_map(|((org, key), request, way, server)| {
        let command = Command { org, key, request };
        Operation::Send { command, way, server }
    });
    command.boxed()
}

fn list() -> impl Strategy<Value = Operation> {
    let statuses = [Status::Received, Status::PaymentFailed, Status::Confirmed, Status::Cancelled];
    let status = || select(statuses.to_vec());
    let filter = Union::new([
        Just(Filter::All).boxed(),
        status().prop_map(Filter::Status).boxed(),
        (0..CUSTOMERS).prop_map(Filter::Customer).boxed(),
        (0..CUSTOMERS, status()).prop_map(|(customer, status)| Filter::CustomerAndStatus(customer, status)).boxed(),
        (0..REFERENCES).prop_map(Filter::Reference).boxed(),
        any::<bool>().prop_map(Filter::NeedsReconciliation).boxed(),
    ]);
    let all = (0..ORGS, filter, 1..4_u8, 0..SERVERS);
    all.prop_map(|(org, filter, limit, server)| Operation::List { org, filter, limit, server })
}

/// Whether an operation can happen, and its outcome is certain.
pub fn is_possible(state: &Machine, operation: &Operation) -> bool {
    match *operation {
        Operation::Send { command, way, .. } => can_send(state, command, way),
        Operation::Get { order, .. } => order < state.orders.len(),
        // Nobody pays what is paid or cancelled already, at the time.
        Operation::PaidElsewhere { order } => state.orders.get(order).is_some_and(|order| {
            matches!(order.status, Status::Received | Status::PaymentFailed)
                && order.payments.iter().all(|it| it.books != Books::Nothing)
        }),
        Operation::Decide { place, .. } => state.payment(place).is_some_and(|it| it.truth == Truth::Deciding),
        Operation::GiveBack { place } => state.payment(place).is_some_and(|it| {
            let is_wanted = !state.orders[place.order].cancel_requested;
            is_wanted && it.truth == Truth::Taken && it.back == Back::No && it.refund == Refund::No
        }),
        Operation::Tell { place, news, .. } => state.payment(place).is_some_and(|it| match news {
            News::Success => it.truth == Truth::Taken,
            News::Failure => matches!(it.truth, Truth::Refused | Truth::Ended),
            News::EarlierFailure => it.truth == Truth::Taken && it.attempt.is_some(),
            News::Back => it.back != Back::No,
        }),
        Operation::Malformed { .. }
        | Operation::Look { .. }
        | Operation::List { .. }
        | Operation::Later
        | Operation::Work { .. }
        | Operation::Restart { .. }
        | Operation::Expire { .. } => true,
    }
}

fn can_send(state: &Machine, command: Command, way: Way) -> bool {
    let (Request::Pay { order, .. } | Request::Cancel { order }) = command.request else {
        return way == Way::Once || is_certain(state, command, way);
    };
    let Some(found) = state.orders.get(order) else { return false };
    // What was given back and is not counted would be given back a second time, and refused there.
    let is_unsure = found.payments.iter().any(|it| matches!(it.back, Back::Untold | Back::Parked));
    let cancels = matches!(command.request, Request::Cancel { .. });
    !(cancels && is_unsure) && (way == Way::Once || is_certain(state, command, way))
}

/// Whether it makes no difference which of two sendings comes first. Of a request whose client hung up it is only known that it was
/// carried out when its key was free before.
fn is_certain(state: &Machine, command: Command, way: Way) -> bool {
    let claim = state.claims.get(&(command.org, command.key));
    if way == Way::HangUp {
        return claim.is_none() && state.clone().send(command).kind != Kind::Refused;
    }
    let waits = claim.and_then(|claim| Some(Place { order: claim.order, payment: claim.payment? }));
    waits.and_then(|place| state.payment(place)).is_none_or(|it| !it.due)
}
