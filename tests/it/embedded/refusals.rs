//! Messages.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ichido::embedded::{Binaries, EmbeddedError, Server, fetch};

use super::{answer, helper, options, quiet, refused, start};

#[test]
fn refusals_say_what_to_do() {
    let root = tempfile::tempdir().expect("a directory");
    let data_dir = root.path().join("data");
    let server = start(&data_dir);
    let message = refused(&data_dir).to_string();
    assert!(message.contains("in use by another Ichido") && message.contains("choose another"), "{message}");
    drop(server);
    // The number of a process that is no PostgreSQL: this one.
    fs::write(data_dir.join("postmaster.pid"), format!("{}\n{}\n", std::process::id(), data_dir.display()))
        .expect("to write");
    drop(start(&data_dir));
    let binaries = Binaries::find(&quiet).expect("binaries");
    let mut wrong = options(&data_dir);
    wrong.settings.push(("shared_buffers".to_owned(), "nonsense".to_owned()));
    let message = Server::start(&binaries, &wrong, &quiet).expect_err("a refusal").to_string();
    assert!(message.contains("postgres.log") && message.contains("shared_buffers"), "{message}");
    fs::write(root.path().join("file"), "").expect("to write");
    assert!(matches!(refused(root.path()), EmbeddedError::NotADataDirectory { .. }));
}

#[test]
fn pg_bin_is_obeyed_or_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let old = root.path().join("old");
    fs::create_dir(&old).expect("a directory");
    for program in ["initdb", "postgres"] {
        fs::write(old.join(program), "#!/bin/sh\necho 'postgres (PostgreSQL) 14.20'\n").expect("to write");
        fs::set_permissions(old.join(program), fs::Permissions::from_mode(0o755)).expect("to make it executable");
    }
    let new = fetch(&quiet).expect("PostgreSQL 18").bin_dir;
    for (pg_bin, expected) in
        [(&new, "18"), (&old, "PostgreSQL 14; Ichido needs 15"), (&root.path().into(), "no initdb")]
    {
        let data_dir = root.path().join("data");
        helper(&[], "find", &data_dir).env("PG_BIN", pg_bin).spawn().expect("the helper").wait().expect("its end");
        let (_, text) = answer(&data_dir);
        assert!(text.contains(expected), "{text}");
    }
}
