//! `--help` is the manual: every command, every flag, every variable.

use crate::command_line::Program;
use crate::house_rules::source::files;
use std::collections::BTreeSet;

/// The help of the program and of every command below it, by the words that ask for it.
async fn manual() -> Vec<(String, String)> {
    let program = Program::bare();
    let (mut pages, mut ahead) = (Vec::new(), vec![String::new()]);
    while let Some(command) = ahead.pop() {
        let run = program.run(&format!("{command} --help")).await;
        assert!(run.status == 0 && run.stderr.is_empty(), "{command}: {run:?}");
        let commands = entries(section(&run.stdout, "Commands:")).into_iter().filter(|(name, _)| name != "help");
        for (name, text) in commands {
            assert!(!text.is_empty(), "{command} {name} is not explained");
            ahead.push(format!("{command} {name}").trim().to_owned());
        }
        pages.push((command, run.stdout));
    }
    pages
}

/// The lines below a heading, up to the next line that is not indented.
fn section<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| line.is_empty() || line.starts_with(' ')).collect()
}

/// The first word of each entry of a section, with its explanation.
fn entries(lines: Vec<&str>) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        let indent = line.len() - line.trim_start().len();
        let flag = line.trim_start().starts_with('-') && indent <= 6;
        if flag || (indent == 2 && !line.trim_start().starts_with('-')) {
            let (name, text) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
            entries.push((name.to_owned(), text.trim().to_owned()));
        } else if let Some((_, text)) = entries.last_mut() {
            text.push_str(line.trim());
        }
    }
    entries
}

#[tokio::test]
async fn every_command_and_every_flag_is_explained() {
    let pages = manual().await;
    let commands: BTreeSet<_> = pages.iter().map(|(command, _)| command.as_str()).collect();
    for known in ["dev", "serve", "worker", "migrate", "check", "org create", "key revoke", "cleanup", "sim"] {
        assert!(commands.contains(known), "{known}: {commands:?}");
    }
    let mut flags = 0;
    for (command, page) in &pages {
        assert!(!page.lines().next().unwrap().is_empty(), "{command} has no first line");
        for (flag, text) in entries(section(page, "Options:")) {
            flags += 1;
            let explained = text.split('[').next().unwrap().trim();
            assert!(
                explained.len() >= 10 || ["-h, --help", "-V, --version"].contains(&flag.as_str()),
                "{command} {flag}"
            );
        }
    }
    assert!(flags >= 40, "only {flags} flags were found");
}

#[tokio::test]
async fn every_admin_command_has_json_and_says_what_database_it_needs() {
    for (command, page) in manual().await {
        let without = [
            "",
            "dev",
            "serve",
            "worker",
            "sim",
            "org",
            "key",
            "gateway",
            "step",
            "order",
            "webhook-endpoint",
            "webhook-endpoint secret",
        ]
        .contains(&command.as_str());
        assert_eq!(page.contains("--json"), !without, "{command}");
    }
    let main = Program::bare().run("--help").await.stdout;
    for (name, text) in entries(section(&main, "Commands:")) {
        let alone = ["dev", "sim", "rehearse", "help"].contains(&name.as_str());
        assert_eq!(text.contains("(needs DATABASE_URL)"), !alone, "{name}: {text}");
    }
}

#[tokio::test]
async fn every_variable_that_the_program_reads_is_in_the_manual() {
    let manual: String = manual().await.into_iter().map(|(_, page)| page).collect();
    let mut read = BTreeSet::new();
    // What is not of the program that is released: a private PostgreSQL's, and that of faults planted for tests.
    let other = |path: &str| path.starts_with("src/embedded/") || path == "src/planted.rs";
    for source in files("src", ".rs").iter().filter(|source| !other(&source.path)) {
        let code = source.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let texts: Vec<_> = code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
        let is_name = |text: &&str| {
            let shaped = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            shaped && (text.starts_with("ICHIDO_") || text.ends_with("_URL"))
        };
        read.extend(texts.into_iter().filter(is_name).map(str::to_owned));
    }
    assert!(read.len() >= 7, "{read:?}");
    read.extend(["DATABASE_URL_FILE".to_owned(), "RUST_LOG".to_owned()]);
    let unknown: Vec<_> = read.iter().filter(|name| !manual.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "not in any --help: {unknown:?}");
}
