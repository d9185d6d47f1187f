//! Documents name only what exists.

use crate::house_rules::source::{Source, root};
use std::fs;

/// Folders whose paths are looked up.
const FOLDERS: [&str; 5] = ["src/", "sql/", "tests/", "tools/", "benches/"];

/// The documents for people: Markdown in the root, and the one beside the SQL.
fn documents() -> Vec<Source> {
    let in_root = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<_> = in_root.filter(|name| name.strip_suffix(".md").is_some()).collect();
    paths.push("sql/README.md".to_owned());
    paths.sort();
    paths.into_iter().map(|path| Source { text: fs::read_to_string(root().join(&path)).unwrap(), path }).collect()
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut wrong = Vec::new();
    for document in documents() {
        let (spans, _) = code_in(&document.text);
        let named = spans.iter().filter_map(|span| path_in(span));
        let missing = named.filter(|path| !root().join(path).exists());
        wrong.extend(missing.map(|path| format!("{}: {path}", document.path)));
    }
    assert!(wrong.is_empty(), "these do not exist:\n{}", wrong.join("\n"));
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut wrong = Vec::new();
    for document in documents() {
        let folder = root().join(&document.path).parent().unwrap().to_owned();
        for link in links_in(&document.text) {
            let outside = link.contains("://") || link.starts_with('#') || link.starts_with("mailto:");
            let path = link.split('#').next().unwrap();
            if !outside && !folder.join(path).exists() {
                wrong.push(format!("{}: {link}", document.path));
            }
        }
    }
    assert!(wrong.is_empty(), "these lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_target_that_a_document_names_is_in_the_makefile() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let mut wrong = Vec::new();
    for document in documents() {
        let (spans, blocks) = code_in(&document.text);
        let targets = spans.iter().chain(&blocks).filter_map(|line| target_in(line));
        let missing = targets.filter(|target| !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))));
        wrong.extend(missing.map(|target| format!("{}: make {target}", document.path)));
    }
    assert!(wrong.is_empty(), "no such targets:\n{}", wrong.join("\n"));
}

/// The inline code spans, and the lines of the code blocks.
fn code_in(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut spans, mut blocks, mut inside) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            blocks.push(line.to_owned());
        } else {
            spans.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    (spans, blocks)
}

/// The path that a span is; of a pattern such as `sql/query/<table>/*.sql` the folder before it.
fn path_in(span: &str) -> Option<String> {
    let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder)) && !span.contains(char::is_whitespace);
    let span = is_path.then_some(span)?;
    let fixed = match span.find(['<', '*', '{', '…']) {
        Some(pattern) => &span[..=span[..pattern].rfind('/')?],
        None => span,
    };
    // A line number behind a colon.
    Some(fixed.split(':').next()?.to_owned())
}

/// The targets of links `[…](target)`.
fn links_in(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

/// The target that a line like `make lint` or `$ make bench QUICK=1` asks for.
fn target_in(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("$ ");
    let mut words = line.strip_prefix("make ")?.split_whitespace();
    words.find(|word| !word.contains('='))
}

#[test]
fn names_are_found_in_a_document() {
    let text = "Use `src/lib.rs:3` and `make lint`, not `make` or to make sense of [it](a.md#b).\n```\n$ make X=1 bench\n\
                src/not/looked/at\n```\nSee `sql/query/<table>/<verb>.sql` and `src/app and more`.";
    let (spans, blocks) = code_in(text);
    let paths: Vec<_> = spans.iter().filter_map(|span| path_in(span)).collect();
    assert_eq!(paths, ["src/lib.rs", "sql/query/"]);
    let targets: Vec<_> = spans.iter().chain(&blocks).filter_map(|line| target_in(line)).collect();
    assert_eq!(targets, ["lint", "bench"]);
    assert_eq!(links_in(text), ["a.md#b"]);
}
