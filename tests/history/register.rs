//! A write-once register, and whether what was seen of it can have happened in some order.
//!
//! Two judges who know nothing of each other: [`rule`] decides by comparing moments, however many steps there are;
//! [`search`] hands a few steps to stateright's linearizability tester, which tries the orders one by one.

use stateright::semantics::write_once_register::{WORegister, WORegisterOp as Op, WORegisterRet as Ret};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester};

/// One step at the register, between two moments. Every moment is of one step only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// It was taken after this moment.
    pub from: usize,
    /// It was taken before this one; `None`: at any later time, or never, and what it saw nobody knows.
    pub to: Option<usize>,
    /// What it did or saw.
    pub seen: Seen,
}

/// What a step did or saw. Values are numbers, since only their being equal matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It wrote this value, or found it written.
    Wrote(usize),
    /// It was refused, since another value than this one was written.
    Refused(usize),
    /// It found nothing.
    Empty,
    /// It found this value, and was not the one who wrote it.
    Found(usize),
}

/// Decides by moments. There has to be one at which the value was written: after a writer began and every step that found
/// nothing began, before the first step ended that saw it. That is enough, since all steps of one kind may be taken at
/// that end of their time which is best for them.
///
/// # Errors
///
/// The reason in words.
pub fn rule(steps: &[Step]) -> Result<(), String> {
    let writers = steps.iter().filter_map(|step| match step.seen {
        Seen::Wrote(value) => Some(value),
        _ => None,
    });
    let mut values: Vec<_> = writers.collect();
    values.sort_unstable();
    values.dedup();
    // Nothing seen: nothing was written, and what may still be written comes later.
    if !steps.iter().any(sees_a_value) {
        return Ok(());
    }
    let mut reasons: Vec<_> = values.into_iter().map(|value| written(value, steps)).collect();
    if reasons.iter().any(Result::is_ok) {
        return Ok(());
    }
    reasons.pop().unwrap_or_else(|| Err("a value was seen that nobody can have written".to_owned()))
}

/// Whether a step ended and has seen that something was written.
fn sees_a_value(step: &Step) -> bool {
    step.to.is_some() && step.seen != Seen::Empty
}

/// Whether it can have been this value.
fn written(value: usize, steps: &[Step]) -> Result<(), String> {
    let contradicts = |seen| match seen {
        Seen::Wrote(other) | Seen::Found(other) => other != value,
        Seen::Refused(other) => other == value,
        Seen::Empty => false,
    };
    if steps.iter().any(|step| step.to.is_some() && contradicts(step.seen)) {
        return Err("different values were seen".to_owned());
    }
    let begun = steps.iter().filter(|step| step.seen == Seen::Wrote(value)).map(|step| step.from).min();
    let Some(begun) = begun else { return Err("nobody wrote it".to_owned()) };
    let seen_by = steps.iter().filter(|step| sees_a_value(step)).filter_map(|step| step.to).min();
    let Some(seen_by) = seen_by else { return Ok(()) };
    if begun > seen_by {
        return Err("it was seen before anybody can have written it".to_owned());
    }
    let empty = steps.iter().filter(|step| step.to.is_some() && step.seen == Seen::Empty);
    match empty.map(|step| step.from).max() {
        Some(empty) if empty > seen_by => Err("it was seen, and later it was not there".to_owned()),
        _ => Ok(()),
    }
}

/// Decides by trying orders. The time grows with the factorial of the number of steps.
///
/// # Errors
///
/// When the steps are no history at all.
pub fn search(steps: &[Step]) -> Result<bool, String> {
    let mut moments: Vec<(usize, usize, bool)> = Vec::new();
    // What has no end says something only if it may write.
    let counts = |step: &Step| step.to.is_some() || matches!(step.seen, Seen::Wrote(_));
    for (number, step) in steps.iter().enumerate().filter(|(_, step)| counts(step)) {
        moments.push((step.from, number, false));
        moments.extend(step.to.map(|to| (to, number, true)));
    }
    moments.sort_unstable();
    let mut tester = LinearizabilityTester::new(WORegister::<usize>(None));
    for (_, number, ends) in moments {
        let Some(step) = steps.get(number) else { continue };
        let (op, ret) = operation(step.seen);
        // Each step is a thread of its own: one without an end never makes room for the next.
        if ends { tester.on_return(number, ret) } else { tester.on_invoke(number, op) }?;
    }
    Ok(tester.is_consistent())
}

fn operation(seen: Seen) -> (Op<usize>, Ret<usize>) {
    match seen {
        Seen::Wrote(value) => (Op::Write(value), Ret::WriteOk),
        Seen::Refused(value) => (Op::Write(value), Ret::WriteFail),
        Seen::Empty => (Op::Read, Ret::ReadOk(None)),
        Seen::Found(value) => (Op::Read, Ret::ReadOk(Some(value))),
    }
}
