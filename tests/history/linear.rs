//! I6: every key is linearizable as a write-once register.
//!
//! A keyed POST is "write, if nothing is written; else read", and what it writes becomes known in two steps: which request
//! the key belongs to, as soon as it is claimed, and the answer, once there is one. So a key is two registers, each
//! write-once; a history is linearizable if every object in it is (Herlihy and Wing, 1990), so they are judged apart, and
//! that the answer belongs to the request is I2's business.
//!
//! | a client was told | the request's register | the answer's register |
//! | --- | --- | --- |
//! | 201, 402, or 200 to a change | wrote it, or found it written | the same |
//! | 200 to an order | wrote it, or found it written | found what another call wrote |
//! | 202, 409 in flight | wrote it, or found it written | found nothing; may write at any later time |
//! | 422 key reused | found another one written | – |
//! | nothing, or an unknown outcome | may write at any later time, or never | may write at any later time, or never |
//! | any other refusal | – | – |
//!
//! The answer's register is written by whoever settles the claim, a worker perhaps. That is the claiming call's late write:
//! it has had no definite answer by then. A late write's value is what others have seen, if they agree; if they do not,
//! nothing can save the history.

use crate::history::line::{Op, Said};
use crate::history::reader::{Call, End, History};
use crate::history::register::{Seen, Step, rule, search};
use crate::history::{Invariant, Verdict, Violation};

/// The search tries orders of so many steps at most; beyond that the rule alone decides. That both agree on small
/// histories of every kind is a test of its own, and looked at again here.
pub const SEARCHED_STEPS: usize = 7;

/// Judges every key.
pub fn check(history: &History, verdict: &mut Verdict) {
    for ((org, key), calls) in history.by_key() {
        verdict.keys += 1;
        for (register, steps) in [("request", requests(&calls)), ("answer", answers(&calls))] {
            let by_rule = rule(&steps);
            let mut wrong = by_rule.clone().err();
            if steps.len() > SEARCHED_STEPS {
                verdict.ruled += 1;
            } else {
                verdict.searched += 1;
                let by_search = search(&steps);
                if by_search != Ok(by_rule.is_ok()) {
                    wrong = Some(format!("the judges do not agree: {by_rule:?} and {by_search:?}"));
                }
            }
            if let Some(why) = wrong {
                let what =
                    format!("{key} of organisation {org} is not linearizable by its {register}: {why}; {steps:?}");
                verdict.violations.push(Violation::new(Invariant::I6, what));
            }
        }
    }
}

/// What an end says of a key.
enum Told<'a> {
    /// It is answered, and this is the answer.
    Answered(&'a Said),
    /// It belongs to this request, and is not answered yet.
    Unanswered,
    /// It belongs to another request.
    Reused,
    /// Nothing, and it may have been claimed.
    Nothing,
    /// This call cannot have claimed it.
    NotClaimed,
}

fn told(call: &Call) -> (Option<usize>, Told<'_>) {
    let Some((to, end)) = &call.end else { return (None, Told::Nothing) };
    let told = match end {
        End::Ok(said) => Told::Answered(said),
        End::NoAnswer(said) if said.status == Some(202) => Told::Unanswered,
        End::NoAnswer(_) => Told::Nothing,
        End::Fail(said) => match said.code.as_deref() {
            // A change may also have to wait for other work on its order, and is told the same.
            Some("request_in_flight") if call.invoke.op == Op::Order => Told::Unanswered,
            Some("request_in_flight") => Told::Nothing,
            Some("idempotency_key_reused") => Told::Reused,
            _ => Told::NotClaimed,
        },
    };
    (Some(*to), told)
}

fn requests(calls: &[&Call]) -> Vec<Step> {
    let mut values = Vec::new();
    let steps = calls.iter().filter_map(|call| {
        let value = number(&mut values, &call.invoke.request);
        let (to, seen) = match told(call) {
            (to, Told::Answered(_) | Told::Unanswered) => (to, Seen::Wrote(value)),
            (to, Told::Reused) => (to, Seen::Refused(value)),
            (_, Told::Nothing) => (None, Seen::Wrote(value)),
            (_, Told::NotClaimed) => return None,
        };
        Some(Step { from: call.from, to, seen })
    });
    steps.collect()
}

fn answers(calls: &[&Call]) -> Vec<Step> {
    let mut values = Vec::new();
    // Whatever was seen first is number 0, which is also what late writes wrote.
    let late = |call: &Call| Step { from: call.from, to: None, seen: Seen::Wrote(0) };
    let mut steps = Vec::new();
    for call in calls {
        match told(call) {
            (to, Told::Answered(said)) => {
                let value = number(&mut values, said.answer.as_deref().unwrap_or_default());
                let replayed = call.invoke.op == Op::Order && said.status == Some(200);
                let seen = if replayed { Seen::Found(value) } else { Seen::Wrote(value) };
                steps.push(Step { from: call.from, to, seen });
            }
            (to, Told::Unanswered) => {
                steps.push(Step { from: call.from, to, seen: Seen::Empty });
                steps.push(late(call));
            }
            (_, Told::Nothing) => steps.push(late(call)),
            (_, Told::Reused | Told::NotClaimed) => {}
        }
    }
    steps
}

fn number<'a>(values: &mut Vec<&'a str>, value: &'a str) -> usize {
    values.iter().position(|known| *known == value).unwrap_or_else(|| {
        values.push(value);
        values.len() - 1
    })
}
