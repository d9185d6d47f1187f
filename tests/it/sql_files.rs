//! Every statement file: listed, prepared, documented, and bound to one organisation.

mod one_org;
mod plans;
mod plans_of_inbox;
mod plans_of_work;

use crate::house_rules::source::files;
use crate::support::postgres;
use ichido::db::sql::ALL;
use std::collections::BTreeSet;

/// The lines of the comment that a statement begins with, without `--`.
fn header(text: &str) -> Vec<&str> {
    text.lines().map_while(|line| line.strip_prefix("--")).map(str::trim).collect()
}

/// The reason why a statement is not bound to one organisation, where it gives one.
fn exemption(text: &str) -> Option<&str> {
    header(text).first()?.strip_prefix("exempt:").map(str::trim)
}

/// The numbers of the `$n` in a text.
fn parameters(text: &str) -> BTreeSet<usize> {
    let after = text.split('$').skip(1);
    after.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).collect()
}

#[test]
fn the_list_and_the_folder_are_the_same() {
    let listed: BTreeSet<_> = ALL.iter().map(|statement| statement.name.to_owned()).collect();
    let name = |path: &str| path.strip_prefix("sql/query/").unwrap().strip_suffix(".sql").unwrap().to_owned();
    let found: BTreeSet<_> = files("sql/query", "").iter().map(|source| name(&source.path)).collect();
    assert_eq!(listed, found);
    assert_eq!(listed.len(), ALL.len(), "a file is listed twice");
}

#[test]
fn every_statement_is_run_by_a_function() {
    let sources = files("src/db", ".rs");
    let list = sources.iter().find(|source| source.path == "src/db/sql.rs").unwrap();
    let constants: Vec<_> = list
        .text
        .lines()
        .filter_map(|line| Some((line.trim().split_once(" = \"")?.0, line.ends_with("\","))))
        .filter(|(_, is_entry)| *is_entry)
        .map(|(constant, _)| format!("sql::{constant}"))
        .collect();
    assert_eq!(constants.len(), ALL.len());
    let used = |constant: &String| {
        let named = |text: &str| {
            text.match_indices(constant.as_str())
                .any(|(at, name)| !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        sources.iter().any(|source| named(&source.text))
    };
    let unused: Vec<_> = constants.iter().filter(|constant| !used(constant)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn every_statement_begins_with_what_it_is_for() {
    for statement in ALL {
        let header = header(statement.text);
        let first = header.first().copied().unwrap_or_default();
        assert!(first.len() >= 15, "{}: no comment that tells what it does", statement.name);
        if let Some(reason) = exemption(statement.text) {
            assert!(reason.split(' ').count() >= 4, "{}: the exemption gives no reason", statement.name);
        }
    }
}

#[tokio::test]
async fn every_statement_is_prepared_and_names_its_parameters() {
    let client = postgres::connect(&postgres::database().await).await;
    for statement in ALL {
        let prepared = client.prepare(statement.text).await;
        let prepared = prepared.unwrap_or_else(|error| panic!("{}: {:?}", statement.name, error.as_db_error()));
        let expected: BTreeSet<_> = (1..=prepared.params().len()).collect();
        let named = parameters(&header(statement.text).join("\n"));
        assert_eq!(named, expected, "{}: parameters that its comment names, and those it has", statement.name);
    }
}

#[test]
fn parameters_are_found_in_a_comment() {
    let text = "-- What.\n--\n-- $1 org_id, $2 key,\n-- $10 limit\nSELECT $3";
    assert_eq!(parameters(&header(text).join("\n")), [1, 2, 10].into());
    assert_eq!(exemption("-- exempt: because of this.\nSELECT"), Some("because of this."));
    assert_eq!(exemption("-- What.\n-- exempt: too late\nSELECT"), None);
}
