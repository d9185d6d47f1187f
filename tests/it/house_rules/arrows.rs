//! Which layer may use which. Nothing points back up.

use crate::house_rules::source::{code_of, files, is_word};
use std::iter::Peekable;
use std::str::Chars;

/// What each module of the crate may use of the others. A longer path allows only that item.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &["domain"]),
    ("metrics", &[]),
    ("clock", &[]),
    ("budget", &[]),
    // Settings are made of what they are for.
    ("config", &["app::gateways::PaymentSettings", "domain"]),
    ("telemetry", &[]),
    ("gateway", &["gateway", "domain"]),
    ("db", &["budget", "db", "domain", "metrics"]),
    ("app", &["app", "budget", "clock", "db", "domain", "gateway", "metrics"]),
    // Of the database, the edge sees the moment by which a request ends, what `/readyz` tells, and the shape of a filter.
    (
        "http",
        &[
            "http",
            "app",
            "budget",
            "domain",
            "db::deadline::Deadline",
            "db::migrate::SchemaState",
            "db::cases::CaseFilter",
            "db::orders::OrderFilter",
            "db::inbox::event_list::EventFilter",
            "db::inbox::receipts::ReceiptFilter",
        ],
    ),
    ("worker", &["app"]),
    ("embedded", &[]),
    // The judge believes nobody.
    ("sim", &["sim"]),
    ("startup", &["app", "clock", "db", "metrics"]),
    (
        "cli",
        &["cli", "app", "clock", "config", "db", "domain", "embedded", "http", "sim", "startup", "telemetry", "worker"],
    ),
    // What they stand in for: a lost answer, another statement.
    ("failpoint", &["failpoint", "db::error::DbError"]),
    ("planted", &["planted", "db::sql"]),
    ("lib", &[]),
    ("main", &[]),
];

/// Names that a layer must not say: what is somebody else's business, and for `domain` all that is not pure.
const FOREIGN: &[(&str, &[&str])] = &[
    ("domain", &["async", "await", "tokio", "actix_web", "tokio_postgres", "deadpool_postgres", "tracing", "rand"]),
    (
        "domain",
        &["now_utc", "now_local", "now_v7", "new_v4", "Instant", "SystemTime", "thread", "env", "fs", "process"],
    ),
    ("db", &["actix_web"]),
    ("app", &["actix_web", "tokio_postgres", "deadpool_postgres", "sql"]),
    ("http", &["tokio_postgres", "deadpool_postgres", "Pool", "sql"]),
    ("worker", &["actix_web", "tokio_postgres", "deadpool_postgres", "db"]),
    ("sim", &["tokio_postgres", "deadpool_postgres", "sql"]),
];

/// The top-level module that a file of `src` belongs to.
fn layer(path: &str) -> &str {
    path["src/".len()..].split(['/', '.']).next().unwrap()
}

#[test]
fn no_layer_uses_what_is_above_it() {
    let mut wrong = Vec::new();
    for source in files("src", ".rs") {
        let layer = layer(&source.path);
        let (_, allowed) = ARROWS.iter().find(|(name, _)| *name == layer).unwrap_or_else(|| {
            panic!("{layer} is a new module: say in {} what it may use", file!());
        });
        let code = code_of(&source.text);
        for path in paths(&code) {
            let fits = |allowed: &&str| path == **allowed || path.starts_with(&format!("{allowed}::"));
            if !allowed.iter().any(fits) {
                wrong.push(format!("{}: crate::{path}", source.path));
            }
        }
        // As many steps up as lead to the layer itself, and no more.
        let depth = source.path.trim_end_matches("/mod.rs").matches('/').count();
        if code.contains(&"super::".repeat(depth)) && !code.contains(&format!("use {}*", "super::".repeat(depth))) {
            wrong.push(format!("{}: {}", source.path, "super::".repeat(depth)));
        }
    }
    assert!(wrong.is_empty(), "not allowed:\n{}", wrong.join("\n"));
}

#[test]
fn every_allowed_arrow_is_used() {
    let sources = files("src", ".rs");
    for (name, allowed) in ARROWS {
        let of_layer = sources.iter().filter(|source| layer(&source.path) == *name);
        let used: Vec<_> = of_layer.flat_map(|source| paths(&code_of(&source.text))).collect();
        for arrow in *allowed {
            let fits = |path: &String| path == arrow || path.starts_with(&format!("{arrow}::"));
            assert!(used.iter().any(fits), "{name} does not use {arrow} any more: take it from the list");
        }
    }
}

#[test]
fn no_layer_says_what_is_not_its_business() {
    let mut wrong = Vec::new();
    for source in files("src", ".rs") {
        let code = code_of(&source.text);
        let words: Vec<_> = code.split(|c: char| !is_word(c)).collect();
        for (_, foreign) in FOREIGN.iter().filter(|(name, _)| *name == layer(&source.path)) {
            let said = foreign.iter().filter(|name| words.contains(*name));
            wrong.extend(said.map(|name| format!("{}: {name}", source.path)));
        }
    }
    assert!(wrong.is_empty(), "not this layer's business:\n{}", wrong.join("\n"));
}

#[test]
fn handlers_ask_use_cases_and_not_the_database() {
    let reaching: Vec<_> = files("src/http", ".rs")
        .into_iter()
        .filter(|source| code_of(&source.text).split_whitespace().collect::<String>().contains(".db."))
        .map(|source| source.path)
        .collect();
    // The probes ask about the database itself.
    assert_eq!(reaching, ["src/http/health.rs"]);
}

/// Every path in the code that begins with `crate::`, without that, groups written out.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        if !code[..at].ends_with(is_word) {
            expand("", &mut code[at + start.len()..].chars().peekable(), &mut found);
        }
    }
    found
}

fn expand(prefix: &str, rest: &mut Peekable<Chars<'_>>, found: &mut Vec<String>) {
    let mut path = prefix.to_owned();
    loop {
        while rest.next_if(|c| c.is_whitespace()).is_some() {}
        if rest.next_if_eq(&'{').is_some() {
            loop {
                while rest.next_if(|c| c.is_whitespace()).is_some() {}
                if rest.next_if_eq(&'}').is_some() || rest.peek().is_none() {
                    return;
                }
                expand(&path, rest, found);
                // A new name, or the comma.
                while rest.next_if(|c| !matches!(c, ',' | '}')).is_some() {}
                rest.next_if_eq(&',');
            }
        }
        while let Some(c) = rest.next_if(|c| is_word(*c) || *c == '*') {
            path.push(c);
        }
        if rest.next_if_eq(&':').is_none() || rest.next_if_eq(&':').is_none() {
            found.push(path);
            return;
        }
        path.push_str("::");
    }
}

#[test]
fn groups_are_written_out() {
    let code = "use crate::a::{self, b::C as D, e::{f, g,},};\nlet x: crate::h::I = crate::j::k::<u8>(); pub(crate) fn l(); mycrate::m;";
    let found = paths(code);
    assert_eq!(found, ["a::self", "a::b::C", "a::e::f", "a::e::g", "h::I", "j::k::"]);
}
