//! What a fact may change: the allow-list, written out as a golden file.

use crate::house_rules::source::root;
use ichido::domain::inbox::fact::What;
use ichido::domain::inbox::transition::{Circumstances, Success, decide};
use ichido::domain::inbox::{Classification, EventOutcome, Left, classify_again};
use ichido::domain::payment::PaymentState;
use std::fmt::Write;
use std::fs;

const CIRCUMSTANCES: [(&str, Circumstances); 4] = [
    ("fits", Circumstances { fits: true, success: Success::Untold }),
    ("differs", Circumstances { fits: false, success: Success::Untold }),
    ("success_told", Circumstances { fits: true, success: Success::Told }),
    ("success_before", Circumstances { fits: true, success: Success::ToldBefore }),
];

fn table() -> String {
    let mut table = String::new();
    for what in What::ALL {
        for state in [None].into_iter().chain(PaymentState::ALL.iter().map(|state| PaymentState::parse(state))) {
            let told = state.map_or("no_attempt", PaymentState::as_str);
            for (name, about) in CIRCUMSTANCES {
                let verdict = decide(What::parse(what).unwrap(), state, about).as_str();
                writeln!(table, "{what:<15} {told:<19} {name:<15} {verdict}").unwrap();
            }
        }
    }
    for outcome in EventOutcome::ALL {
        for (work, left) in
            [("work_finished", Left::Nothing), ("work_unfinished", Left::Work), ("for_a_person", Left::Person)]
        {
            let class = Classification::as_str(classify_again(EventOutcome::parse(outcome).unwrap(), left));
            writeln!(table, "again           {outcome:<19} {work:<15} {class}").unwrap();
        }
    }
    table
}

#[test]
fn the_table_is_the_golden_one() {
    let path = root().join("tests/it/golden/inbox.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, table()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), table(), "UPDATE_GOLDEN=1 renews it");
}

/// Whatever is told: money that was taken is neither taken again nor forgotten, and only success makes an attempt.
#[test]
fn no_fact_undoes_money_by_itself() {
    for line in table().lines().filter(|line| !line.starts_with("again")) {
        let [what, state, _, verdict] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
        let paid = ["succeeded", "partially_refunded", "refunded", "disputed"].contains(&state);
        assert!(verdict != "settle" || !paid, "{line}");
        assert!(verdict != "new_attempt" || (what == "succeeded" && state == "no_attempt"), "{line}");
        assert!(verdict != "recount" || paid, "{line}");
    }
}
