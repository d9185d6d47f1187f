//! Every operation of the contract, with each scope alone and all of them, and with everything that is another organisation's in
//! every place that takes it, one at a time and all at once.

use super::asking::Question;
use super::judge::{Asker, Judge, OTHER_SECRET};
use super::slots::{Means, Place, Slot, slots};
use crate::openapi::Operation;
use crate::support::payments::World;
use ichido::domain::scope::Scope;

/// A command changes who asks, so each has organisations of its own; of many names of a kind some are enough for it, and for
/// what is refused for want of a scope.
const OF_A_KIND: usize = 3;
/// What any place that takes a text takes.
const SHORTEST: usize = 64;

/// Goes through all of it.
pub async fn every_operation(judge: &mut Judge<'_>) {
    let world = World::start();
    for scopes in scope_sets() {
        let reader = Asker::new(judge.app, &world, &scopes, None).await;
        for operation in Operation::all().iter().filter(|operation| operation.needs_key()) {
            let slots = slots(operation);
            let may = scopes.iter().any(|scope| Some(scope.as_str()) == operation.scope());
            for tried in trials(judge, operation, &slots, may) {
                let in_path = tried.iter().any(|(slot, _)| slot.place == Place::Path);
                let refused = match (may, in_path) {
                    (false, _) => Some((403, "scope_missing")),
                    (true, true) => Some((404, "not_found")),
                    (true, false) => None,
                };
                if may && operation.method != "GET" {
                    let new = || Asker::new(judge.app, &world, &scopes, Some(operation));
                    let askers = [new().await, new().await];
                    judge.compare(operation, &slots, &tried, ([&askers[0], &askers[1]], refused)).await;
                } else {
                    judge.compare(operation, &slots, &tried, ([&reader, &reader], refused)).await;
                }
            }
        }
    }
    for operation in Operation::all().iter().filter(|operation| !operation.needs_key()) {
        if operation.is_signed() {
            deliveries(judge, operation, &world).await;
        } else {
            let asker = Asker::new(judge.app, &world, &[Scope::OrdersRead], Some(operation)).await;
            let question = asker.question(operation, &slots(operation), &[]);
            let answer = question.ask(judge.app, operation, "").await;
            judge.look(operation, &question, &answer);
        }
    }
}

fn scope_sets() -> Vec<Vec<Scope>> {
    let all: Vec<_> = Scope::ALL.iter().filter_map(|scope| Scope::parse(scope)).collect();
    let mut sets: Vec<_> = all.iter().map(|scope| vec![*scope]).collect();
    sets.push(all);
    sets
}

/// Nothing of theirs; each thing of theirs in each place that takes it; and one in every such place.
fn trials<'a>(judge: &Judge<'_>, operation: &Operation, slots: &'a [Slot], may: bool) -> Vec<Vec<(&'a Slot, String)>> {
    let most = if may && operation.method == "GET" { usize::MAX } else { OF_A_KIND };
    let (mut trials, mut all) = (vec![Vec::new()], Vec::new());
    for slot in slots {
        let values = match &slot.means {
            Means::Id(kind) => judge.theirs.ids.get(kind).unwrap_or_else(|| panic!("they have no {kind}")).clone(),
            Means::Text => judge
                .theirs
                .ids
                .values()
                .filter_map(|ids| ids.last().cloned())
                .filter(|id| id.len() <= SHORTEST)
                .collect(),
            Means::Plain(_) | Means::Made => continue,
        };
        trials.extend(values.iter().take(most).map(|value| vec![(slot, value.clone())]));
        all.push((slot, values[0].clone()));
    }
    if operation.needs_key() && slots.iter().any(|slot| slot.place == Place::Path) {
        // Without a key of theirs there is nothing of theirs but what stands there.
        trials.remove(0);
    }
    if all.len() > 1 {
        trials.push(all);
    }
    trials
}

/// Notifications that are signed by the other organisation: to its own endpoint, about what is theirs; and to theirs.
async fn deliveries(judge: &mut Judge<'_>, operation: &Operation, world: &World) {
    let slots = slots(operation);
    let (path, body): (Vec<_>, Vec<_>) = slots.iter().partition(|slot| slot.place == Place::Path);
    let body: Vec<Slot> = body.into_iter().cloned().collect();
    let app = judge.app;
    let new = || Asker::new(app, world, &[Scope::OrdersRead], Some(operation));
    for tried in trials(judge, operation, &body, true) {
        let askers = [new().await, new().await];
        judge.compare(operation, &slots, &tried, ([&askers[0], &askers[1]], None)).await;
    }
    let asker = new().await;
    for endpoint in [judge.theirs.endpoint.id.to_string(), uuid::Uuid::now_v7().to_string()] {
        let expected = if endpoint == judge.theirs.endpoint.id.to_string() { 400 } else { 404 };
        let Question { given, .. } = asker.question(operation, &slots, &[(path[0], endpoint)]);
        let question = Question { given, secret: OTHER_SECRET.to_owned() };
        let answer = question.ask(judge.app, operation, "").await;
        judge.look(operation, &question, &answer);
        if answer.status != expected {
            judge.wrong(operation, &question, &answer, &format!("has to be {expected}"));
        }
    }
}
