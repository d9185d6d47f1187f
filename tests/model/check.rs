//! The design holds, in every world that is looked at.

use crate::design::{Design, Flaw};
use crate::state::Left;
use crate::tally::Tally;
use stateright::{Checker, Expectation, HasDiscoveries, Model};
use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

/// No world is looked at for longer, or further: so many states, those counted that are met again.
const LIMIT: Duration = Duration::from_mins(10);
const MOST_STATES: usize = 60_000_000;

/// What was seen of a world.
pub struct Seen {
    /// How many states there are.
    pub states: usize,
    /// What does not hold, with the way there.
    pub wrong: Vec<(&'static str, String)>,
    /// What has to be possible and is.
    pub possible: BTreeSet<&'static str>,
}

/// Looks at every state of a world, or, where one property is looked for, until that does not hold.
pub fn look(design: &Design, until: Option<&'static str>) -> Seen {
    let started = Instant::now();
    let checker = design.clone().checker().threads(2).timeout(LIMIT).target_state_count(MOST_STATES);
    let enough = until.map_or(HasDiscoveries::All, |property| HasDiscoveries::AllOf(BTreeSet::from([property])));
    let checker = checker.finish_when(enough).spawn_bfs().join();
    let mut seen = Seen { states: checker.unique_state_count(), wrong: Vec::new(), possible: BTreeSet::new() };
    for (name, path) in checker.discoveries() {
        if checker.model().property(name).expectation == Expectation::Sometimes {
            seen.possible.insert(name);
        } else {
            let way: Vec<_> = path.into_actions().iter().map(|action| format!("{action:?}")).collect();
            seen.wrong.push((name, way.join("\n")));
        }
    }
    let took = started.elapsed();
    eprintln!(
        "{:?}, {} processes: {} states in {:.1} s",
        design.left,
        design.processes,
        seen.states,
        took.as_secs_f64()
    );
    let whole = took < LIMIT && checker.state_count() < MOST_STATES;
    assert!(until.is_some() || whole, "not all of it was looked at");
    seen
}

/// A world of two processes.
pub fn world(left: Left, flaw: Option<Flaw>) -> Design {
    Design { left, processes: 2, flaw }
}

/// Worlds that are small enough for every test run, and together have everything in them.
const SMALL: [Left; 4] = [
    Left { calls: 2, crashes: 1, losses: 1, notices: 1, cancels: 0, decisions: 0 },
    Left { calls: 1, crashes: 1, losses: 1, notices: 0, cancels: 1, decisions: 0 },
    Left { calls: 1, crashes: 0, losses: 2, notices: 2, cancels: 1, decisions: 0 },
    Left { calls: 1, crashes: 0, losses: 2, notices: 0, cancels: 0, decisions: 1 },
];

/// Larger ones, and how many processes they have.
const LARGE: [(Left, usize); 3] = [
    (Left { calls: 3, crashes: 2, losses: 2, notices: 2, cancels: 1, decisions: 0 }, 2),
    (Left { calls: 1, crashes: 1, losses: 2, notices: 1, cancels: 1, decisions: 1 }, 2),
    (Left { calls: 2, crashes: 1, losses: 1, notices: 0, cancels: 0, decisions: 0 }, 3),
];

#[test]
fn the_design_holds() {
    let mut worlds: Vec<_> = SMALL.into_iter().map(|left| (left, 2)).collect();
    if env::var("MODEL").is_ok_and(|value| value == "full") {
        worlds.extend(LARGE);
    }
    let (began, mut states, mut possible, mut wrong) = (Instant::now(), 0, BTreeSet::new(), 0);
    for (left, processes) in worlds {
        let seen = look(&Design { left, processes, flaw: None }, None);
        for (name, way) in &seen.wrong {
            eprintln!("not true: {name}, by this way:\n{way}");
        }
        wrong += seen.wrong.len();
        states += seen.states;
        possible.extend(seen.possible);
    }
    eprintln!("{states} states altogether");
    if let Some(file) = env::var_os("VERIFY_JSON") {
        let tally = Tally::of("design model", None, began.elapsed());
        Tally { operations: states, violations: wrong, ..tally }.append(Path::new(&file)).unwrap();
    }
    assert!(wrong == 0, "what does not hold is written above");
    let properties = world(SMALL[0].clone(), None).properties();
    let sometimes = properties.iter().filter(|property| property.expectation == Expectation::Sometimes);
    let missing: Vec<_> = sometimes.map(|property| property.name).filter(|name| !possible.contains(name)).collect();
    assert!(missing.is_empty(), "these worlds have too little in them: {missing:?}");
}
