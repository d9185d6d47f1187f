//! Which scenario reaches which failpoint, and in which ways each is struck.

use crate::case::Case;
use crate::people;
use crate::scenarios as play;
use crate::{locks, operators};
use futures_util::future::BoxFuture;
use ichido::failpoint::NAMES;
use rand::Rng;
use rand::rngs::StdRng;
use std::fmt;

/// What clients and people do.
pub struct Scenario {
    /// Its name in the table.
    pub name: &'static str,
    /// Failpoints that it reaches: names, or how they begin. At least twice each, but for what is in [`ONCE`].
    reaches: &'static [&'static str],
    /// Does it, and notes what has to come of it.
    pub play: for<'a> fn(&'a Case) -> BoxFuture<'a, ()>,
}

/// Each failpoint belongs to the first scenario that reaches it.
const SCENARIOS: &[Scenario] = &[
    Scenario { name: "orders", reaches: &["db/claims/"], play: |case| Box::pin(play::orders(case)) },
    Scenario { name: "crowd", reaches: &["db/charges/many"], play: |case| Box::pin(play::crowd(case)) },
    Scenario {
        name: "paid",
        reaches: &["db/charges/", "charge/first/", "charge/finish/", "steps/take/", "steps/first/", "steps/finish/"],
        play: |case| Box::pin(play::paid(case)),
    },
    Scenario { name: "declined", reaches: &["charge/settle/", "pay/"], play: |case| Box::pin(play::declined(case)) },
    Scenario { name: "lost", reaches: &["charge/recover/"], play: |case| Box::pin(play::lost(case)) },
    Scenario { name: "cancelled", reaches: &["cancel/", "refund/"], play: |case| Box::pin(play::cancelled(case)) },
    Scenario { name: "decided", reaches: &["decide/"], play: |case| Box::pin(play::decided(case)) },
    Scenario { name: "partner", reaches: &["steps/run/", "steps/record/"], play: |case| Box::pin(play::partner(case)) },
    Scenario { name: "forgetful", reaches: &["steps/note/"], play: |case| Box::pin(people::forgetful(case)) },
    Scenario { name: "strangers", reaches: &["inbox/unmatched/"], play: |case| Box::pin(people::strangers(case)) },
    Scenario { name: "found", reaches: &["inbox/tell/"], play: |case| Box::pin(play::found(case)) },
    Scenario { name: "contradicted", reaches: &["sweep/raise/"], play: |case| Box::pin(people::contradicted(case)) },
    Scenario { name: "notified", reaches: &["inbox/"], play: |case| Box::pin(play::notified(case)) },
    Scenario { name: "booked", reaches: &["book_refund/"], play: |case| Box::pin(play::booked(case)) },
    Scenario { name: "cleaned", reaches: &["clean_up/"], play: |case| Box::pin(play::cleaned(case)) },
    Scenario { name: "held", reaches: &["db/alone/claim/"], play: |case| Box::pin(locks::claims(case)) },
    Scenario { name: "held, paid", reaches: &["db/alone/charge/"], play: |case| Box::pin(locks::charges(case)) },
    Scenario { name: "left out", reaches: &["charge/alone/"], play: |case| Box::pin(locks::successes(case)) },
    Scenario { name: "forgotten", reaches: &["forget_bodies/"], play: |case| Box::pin(operators::forgotten(case)) },
    Scenario { name: "migrated", reaches: &["migrate/"], play: |case| Box::pin(operators::migrated(case)) },
    Scenario { name: "administered", reaches: &["admin/"], play: |case| Box::pin(operators::administered(case)) },
];

/// How the names of failpoints begin by which a process comes once at most: a command does one thing and ends.
const ONCE: &[&str] = &["admin/"];

/// Longer than a lease, so that others take over what is held up.
const DELAY: &str = "delay:4000";
const ACTIONS: [&str; 3] = ["abort", "error", DELAY];

/// What happens at a failpoint, once in each process.
#[derive(Debug, Clone)]
pub struct Strike {
    /// The failpoint.
    pub name: &'static str,
    action: &'static str,
    /// 0 the first time, 1 the second time.
    after: usize,
}

impl Strike {
    /// The variable's value.
    pub fn spec(&self) -> String {
        let Self { name, action, after } = self;
        let before = if *after == 0 { String::new() } else { format!("{after}*off->") };
        format!("{name}={before}1*return({action})->off")
    }

    /// Whether a process dies of it.
    pub fn is_abort(&self) -> bool {
        self.action == "abort"
    }

    /// What reaches it.
    pub fn scenario(&self) -> &'static Scenario {
        let reaches = |scenario: &&Scenario| scenario.reaches.iter().any(|start| self.name.starts_with(start));
        SCENARIOS.iter().find(reaches).unwrap_or_else(|| panic!("no scenario reaches {}", self.name))
    }

    /// Where it stands in the table.
    pub fn place(&self) -> (usize, usize, usize) {
        let action = ACTIONS.iter().position(|action| *action == self.action);
        (NAMES.iter().position(|name| *name == self.name).unwrap_or_default(), action.unwrap_or_default(), self.after)
    }

    /// A folder's name.
    pub fn directory(&self) -> String {
        self.to_string().replace(['/', ' ', ','], "_")
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = self.action.split(':').next().unwrap_or_default();
        write!(f, "{} {action} {}", self.name, if self.after == 0 { "first" } else { "second" })
    }
}

/// All ways for each failpoint, or one.
pub fn strikes(only: &str, full: bool, random: &mut StdRng) -> Vec<Strike> {
    let mut strikes = Vec::new();
    for &name in NAMES.iter().filter(|name| name.starts_with(only)) {
        let once = ONCE.iter().any(|start| name.starts_with(start));
        let times = if once { &[0][..] } else { &[0, 1] };
        let ways = ACTIONS.iter().flat_map(|action| times.iter().map(|&after| Strike { name, action, after }));
        let mut ways: Vec<_> = ways.collect();
        if !full {
            let chosen = random.random_range(0..ways.len());
            ways = vec![ways.swap_remove(chosen)];
        }
        strikes.extend(ways);
    }
    strikes
}
