//! Random requests: any operation, any scopes, and in each place something of theirs, of one's own, of nobody's, nonsense or nothing.

use super::asking::{Question, nobodys};
use super::filled::Filled;
use super::judge::{Judge, OTHER_SECRET};
use super::slots::{Means, Place, Slot, slots};
use crate::openapi::Operation;
use ichido::domain::scope::Scope;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use uuid::Uuid;

/// What no place takes.
const NONSENSE: [&str; 9] =
    ["", "x", "%00", "../../x", "*", "' OR '1'='1", "019caddc-4f3a-7d15-9c42-83b6f0e2a91", "{}", "null"];

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Them,
    ThemOfAnotherKind,
    Itself,
    Nobody,
    Nonsense,
}

/// One random request.
struct Case {
    scopes: Vec<Scope>,
    question: Question,
    /// Of the same places.
    from: Vec<Source>,
}

/// So many of them, by organisations that have one of everything, too: one that only reads, and another one that writes, since
/// whoever has written a name of theirs down finds it in what is its own.
pub async fn random_cases(judge: &mut Judge<'_>, askers: [&Filled; 2], cases: u64, random: &mut StdRng) {
    let operations: Vec<_> = Operation::all().into_iter().filter(|it| it.needs_key() || it.is_signed()).collect();
    let mut tokens = [Vec::new(), Vec::new()];
    for set in 1..1 << Scope::ALL.len() {
        let names = Scope::ALL.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
        let scopes: Vec<_> = names.filter_map(|(_, name)| Scope::parse(name)).collect();
        for (asker, tokens) in askers.iter().zip(&mut tokens) {
            tokens.push((scopes.clone(), judge.app.token(asker.org.id, &scopes).await));
        }
    }
    for _ in 0..cases {
        let operation = operations.choose(random).unwrap();
        let who = usize::from(operation.method != "GET");
        let (scopes, token) = tokens[who].choose(random).unwrap();
        let case = case(judge.theirs, askers[who], operation, scopes, random);
        one(judge, operation, &case, token).await;
    }
}

fn case(theirs: &Filled, own: &Filled, operation: &Operation, scopes: &[Scope], random: &mut StdRng) -> Case {
    let (mut given, mut from) = (Vec::new(), Vec::new());
    for slot in slots(operation) {
        let is_path = slot.place == Place::Path;
        // Few filters at a time, so that some lists are not empty.
        let left_out = match slot.place {
            Place::Query => random.random_bool(0.7),
            Place::Header | Place::Body => random.random_bool(0.3),
            Place::Path => false,
        };
        if left_out {
            continue;
        }
        let source = *[
            Source::Them,
            Source::Them,
            Source::Itself,
            Source::Itself,
            Source::ThemOfAnotherKind,
            Source::Nobody,
            Source::Nonsense,
        ]
        .choose(random)
        .unwrap();
        let Some(value) = value(&slot, source, [theirs, own], random) else { continue };
        assert!(!is_path || !value.contains('/') || source == Source::Nonsense, "{value}");
        from.push(source);
        given.push((slot, value));
    }
    let question = Question { given, secret: OTHER_SECRET.to_owned() };
    Case { scopes: scopes.to_vec(), question, from }
}

fn value(slot: &Slot, source: Source, [theirs, own]: [&Filled; 2], random: &mut StdRng) -> Option<String> {
    if source == Source::Nonsense && slot.means != Means::Made {
        return Some((*NONSENSE.choose(random).unwrap()).to_owned());
    }
    let any = |of: &Filled, random: &mut StdRng| {
        let kinds: Vec<_> = of.ids.values().collect();
        kinds.choose(random).unwrap().choose(random).unwrap().clone()
    };
    Some(match (&slot.means, source) {
        (Means::Made, _) => return None,
        (Means::Plain(values), _) => values.choose(random).unwrap().clone(),
        (Means::Text, Source::Itself) => any(own, random),
        (Means::Text, _) | (Means::Id(_), Source::ThemOfAnotherKind) => any(theirs, random),
        (Means::Id(kind), Source::Itself) if kind == "key" && slot.place == Place::Header => Uuid::new_v4().to_string(),
        (Means::Id(kind), Source::Itself) => own.ids[kind].choose(random).unwrap().clone(),
        (Means::Id(kind), Source::Nobody) => nobodys(theirs.ids[kind].choose(random).unwrap()),
        (Means::Id(kind), _) => theirs.ids[kind].choose(random).unwrap().clone(),
    })
}

async fn one(judge: &mut Judge<'_>, operation: &Operation, case: &Case, token: &str) {
    let question = &case.question;
    let answer = question.ask(judge.app, operation, token).await;
    judge.look(operation, question, &answer);
    if operation.method != "GET" && answer.status < 400 {
        judge.written.extend(question.given.iter().map(|(_, value)| value.clone()));
    }
    let may = operation.is_signed() || case.scopes.iter().any(|scope| Some(scope.as_str()) == operation.scope());
    // Nothing in a path's place is another path.
    let is_routed = question.given.iter().all(|(slot, value)| slot.place != Place::Path || !value.is_empty());
    if !may && is_routed && (answer.status != 403 || answer.code() != "scope_missing") {
        judge.wrong(operation, question, &answer, "is answered without the scope");
    }
    let mut places = question.given.iter().zip(&case.from);
    let elsewhere = places.any(|((slot, _), from)| slot.place == Place::Path && *from != Source::Itself);
    if elsewhere && answer.status < 400 {
        judge.wrong(operation, question, &answer, "is of nobody, or of somebody else");
    }
    if operation.method == "GET" {
        as_nobodys(judge, operation, case, (token, &question.told(&answer))).await;
    }
}

/// What only reads is answered as if everything of theirs were nobody's.
async fn as_nobodys(judge: &mut Judge<'_>, operation: &Operation, case: &Case, (token, told): (&str, &str)) {
    let mut nobody = case.question.clone();
    for ((slot, value), from) in nobody.given.iter_mut().zip(&case.from) {
        let names = matches!(slot.means, Means::Id(_) | Means::Text);
        if names && matches!(from, Source::Them | Source::ThemOfAnotherKind) {
            *value = nobodys(value);
        }
    }
    let answer = nobody.ask(judge.app, operation, token).await;
    let nothing = nobody.told(&answer);
    if told != nothing {
        judge.wrong(operation, &case.question, &answer, &format!("is told from nobody's: {told} and {nothing}"));
    }
}
