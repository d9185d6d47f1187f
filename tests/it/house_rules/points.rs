//! The places of `failpoint!` and `planted!`, and that a release has neither.

use crate::house_rules::source::files;
use ichido::{failpoint, planted};
use std::fs;

/// What stands in quotes right behind `start`, wherever that is in the sources, but for the module that defines it.
fn used(start: &str, but: &str) -> Vec<String> {
    let mut found = Vec::new();
    for source in files("src", ".rs").iter().filter(|source| source.path != but) {
        // White space between, where the formatter broke the line.
        let text: String = source.text.split_whitespace().collect();
        let ends = text.split(start).skip(1).filter_map(|rest| rest.strip_prefix('"')?.split('"').next());
        found.extend(ends.map(str::to_owned));
    }
    found.sort_unstable();
    found
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn every_failpoint_is_listed_and_used_once() {
    assert_eq!(used("failpoint!(", "src/failpoint.rs"), sorted(failpoint::NAMES));
}

#[test]
fn every_planted_fault_is_listed_and_planted() {
    let module = fs::read_to_string("src/planted.rs").unwrap();
    let mut planted_somewhere = used("planted!(", "src/planted.rs");
    let changes =
        module.split("Change(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    planted_somewhere.extend(changes.map(str::to_owned));
    planted_somewhere.extend(
        module.contains("is_on(\"acknowledged_before_commit\")").then(|| "acknowledged_before_commit".to_owned()),
    );
    planted_somewhere.sort_unstable();
    planted_somewhere.dedup();
    assert_eq!(planted_somewhere, sorted(planted::NAMES));
}

#[test]
fn a_build_without_the_features_has_no_trace_of_them() {
    let program = fs::read(env!("CARGO_BIN_EXE_ichido")).unwrap();
    let program = String::from_utf8_lossy(&program);
    for (mark, is_built_in) in [
        ("ICHIDO_PLANTED", cfg!(feature = "planted")),
        ("FAILPOINTS_LOG", cfg!(feature = "failpoints")),
        (failpoint::NAMES[0], cfg!(feature = "failpoints")),
    ] {
        assert_eq!(program.contains(mark), is_built_in, "{mark}");
    }
}
