//! Replays the fuzz corpus: what fuzzing once found, or was once worth writing down, holds on every machine.

use crate::fuzz::{Property, TARGETS};
use crate::house_rules::source::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// More would make every checkout pay for what minimising saves.
const MOST_FILES: usize = 200;
const MOST_BYTES: usize = 4096;

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = root().join("fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Whether the property holds for the file; its own message tells why not.
fn holds(property: Property, file: &Path) -> bool {
    let input = fs::read(file).unwrap();
    std::panic::catch_unwind(|| property(&input)).is_ok()
}

#[test]
fn every_property_holds_for_its_whole_corpus() {
    let mut broken = Vec::new();
    for (name, property) in TARGETS {
        let files = corpus(name);
        broken.extend(files.into_iter().filter(|file| !holds(property, file)));
    }
    assert!(broken.is_empty(), "properties that do not hold: {broken:#?}");
}

#[test]
fn the_corpus_is_small() {
    for (name, _) in TARGETS {
        let files = corpus(name);
        assert!((5..=MOST_FILES).contains(&files.len()), "{name} has {} files", files.len());
        for file in files {
            assert!(fs::read(&file).unwrap().len() <= MOST_BYTES, "{} is too long", file.display());
        }
    }
}

#[test]
fn every_target_has_its_program_corpus_and_dictionary() {
    let expected: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for folder in ["fuzz/fuzz_targets", "fuzz/corpus", "fuzz/dictionaries"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let found: BTreeSet<_> = entries.map(|entry| name(entry.unwrap().path())).collect();
        assert_eq!(found, expected, "{folder}");
    }
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for name in expected {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is not built");
    }
}
