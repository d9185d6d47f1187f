//! The house rules, held by reading the sources: layers, sizes, what may not be left behind, and documents that name only
//! what exists.

mod arrows;
mod documents;
mod points;
pub mod source;

use source::{code_of, files, functions, root, rust_files};
use std::fs;

const MOST_LINES_IN_A_FILE: usize = 300;
const MOST_LINES_IN_A_FUNCTION: usize = 60;

#[test]
fn files_and_functions_are_short() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for source in rust_files() {
        let lines = source.text.lines().count();
        if lines > MOST_LINES_IN_A_FILE {
            wrong.push(format!("{} has {lines} lines", source.path));
        }
        let functions = functions(&code_of(&source.text));
        seen += functions.len();
        let long = functions.into_iter().filter(|function| function.lines > MOST_LINES_IN_A_FUNCTION);
        wrong.extend(long.map(|long| format!("{}:{} {} has {} lines", source.path, long.line, long.name, long.lines)));
    }
    assert!(seen > 300, "only {seen} functions were found");
    assert!(wrong.is_empty(), "too long:\n{}", wrong.join("\n"));
}

#[test]
fn nothing_is_left_for_later_and_no_test_is_switched_off() {
    let in_code = ["todo!", "unimplemented!", "#[ignore", "dbg!"];
    // Written in two halves: this file is looked at too.
    let in_text = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let mut wrong = Vec::new();
    for source in rust_files().iter().chain(&files("sql", ".sql")) {
        let code = code_of(&source.text);
        let found = in_code.iter().filter(|mark| code.contains(**mark));
        let found = found.chain(in_text.iter().filter(|mark| source.text.contains(**mark)));
        wrong.extend(found.map(|mark| format!("{}: {mark}", source.path)));
    }
    assert!(wrong.is_empty(), "left behind:\n{}", wrong.join("\n"));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let places = [
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
        concat!("/tm", "p/"),
        concat!("/wo", "rk/"),
    ];
    let mut sources = rust_files();
    sources.extend(files("sql", ""));
    for name in ["Makefile", "Cargo.toml", "clippy.toml", "openapi.yaml"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        sources.push(source::Source { path: name.to_owned(), text });
    }
    let mut wrong = Vec::new();
    for source in sources {
        let found = places.iter().filter(|place| source.text.contains(**place));
        wrong.extend(found.map(|place| format!("{}: {place}", source.path)));
    }
    assert!(wrong.is_empty(), "paths of one machine:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<_> =
        rust_files().into_iter().filter(|source| !source.text.starts_with("//! ")).map(|source| source.path).collect();
    assert!(silent.is_empty(), "without a first line that begins with `//! `: {silent:?}");
    let map = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let unexplained: Vec<_> =
        map.lines().filter(|line| line.starts_with("pub mod ") && line.matches("; // ").count() != 1).collect();
    assert!(unexplained.is_empty(), "lines of the map without their one remark: {unexplained:?}");
}

#[test]
fn every_file_is_part_of_the_program() {
    let all = rust_files();
    let text_of = |path: &str| all.iter().find(|source| source.path == path).map(|source| &source.text);
    let mut dead = Vec::new();
    for source in &all {
        let (folder, name) = source.path.strip_suffix(".rs").unwrap().rsplit_once('/').unwrap();
        if ["main", "lib"].contains(&name) {
            continue;
        }
        let (folder, name) = if name == "mod" { folder.rsplit_once('/').unwrap() } else { (folder, name) };
        let parents = [
            format!("{folder}/mod.rs"),
            format!("{folder}.rs"),
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
        ];
        let declares = |text: &String| {
            text.lines().any(|line| line.trim().trim_start_matches("pub ").starts_with(&format!("mod {name};")))
        };
        // Beside its parent, or a folder that several test programs share.
        let by_path = [format!("#[path = \"{name}.rs\"]"), format!("#[path = \"../{name}/mod.rs\"]")];
        let leads_here = |text: &str| by_path.iter().any(|path| text.contains(path));
        let named = all.iter().any(|other| leads_here(&other.text) && other.path.starts_with(folder));
        if !named && !parents.iter().filter_map(|parent| text_of(parent)).any(declares) {
            dead.push(source.path.clone());
        }
    }
    assert!(dead.is_empty(), "declared by nobody: {dead:?}");
}
