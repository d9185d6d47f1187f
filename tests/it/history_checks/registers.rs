//! The two judges of a register agree, whatever they are shown.

use crate::history::register::{Seen, Step, rule, search};
use proptest::prelude::*;

/// Steps at different moments: a shuffled row of moments is dealt out, two for each step.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = (0..4_u8, 0..3_usize, prop::bool::weighted(0.75));
    prop::collection::vec(kind, 1..=6).prop_flat_map(|kinds| {
        let moments: Vec<usize> = (0..kinds.len() * 2).collect();
        (Just(kinds), Just(moments).prop_shuffle()).prop_map(|(kinds, moments)| {
            let step = |((kind, value, ends), pair): ((u8, usize, bool), &[usize])| {
                let seen = match kind {
                    0 => Seen::Wrote(value),
                    1 => Seen::Refused(value),
                    2 => Seen::Empty,
                    _ => Seen::Found(value),
                };
                Step { from: pair[0].min(pair[1]), to: ends.then_some(pair[0].max(pair[1])), seen }
            };
            kinds.into_iter().zip(moments.chunks(2)).map(step).collect()
        })
    })
}

/// Mostly of one value, so that many of them can have happened.
fn likely_steps() -> impl Strategy<Value = Vec<Step>> {
    steps().prop_map(|steps| {
        let seen = |seen| match seen {
            Seen::Wrote(value) => Seen::Wrote(value / 2),
            Seen::Found(_) => Seen::Found(0),
            Seen::Refused(_) => Seen::Refused(1),
            Seen::Empty => Seen::Empty,
        };
        steps.into_iter().map(|step| Step { seen: seen(step.seen), ..step }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_rule_and_the_search_agree(steps in prop_oneof![steps(), likely_steps()]) {
        let by_rule = rule(&steps);
        prop_assert_eq!(search(&steps), Ok(by_rule.is_ok()), "{:?}", by_rule);
    }
}

#[test]
fn both_verdicts_are_common_among_what_they_are_shown() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let verdicts: Vec<_> =
        (0..400).map(|_| rule(&likely_steps().new_tree(&mut runner).unwrap().current()).is_ok()).collect();
    let good = verdicts.iter().filter(|good| **good).count();
    assert!((60..340).contains(&good), "{good} of 400 are good");
}
