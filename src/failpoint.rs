//! Places at which a crash, a lost answer or a long wait makes a difference: `failpoint!("file/moment")`. Without the build
//! feature `failpoints` the macro expands to nothing; with it, the variable `FAILPOINTS` says what happens where.
//!
//! Only what is listed in [`NAMES`] may be used, and once; a test compares the list with the sources. `tests/sweep/` goes
//! through all of them.

/// Every failpoint, by file and moment.
pub const NAMES: &[&str] = &[
    // One order without payment, or many in one statement.
    "db/claims/before_send",
    "db/claims/one_committed",
    "db/claims/many_committed",
    // The same with a payment.
    "db/charges/before_send",
    "db/charges/one_committed",
    "db/charges/many_committed",
    // Claims that did not fit into their batch, or whose batch was undone.
    "db/alone/claim/before_send",
    "db/alone/claim/committed",
    "db/alone/charge/before_send",
    "db/alone/charge/committed",
    // The first call to the gateway, and what becomes of its answer.
    "charge/first/before_call",
    "charge/first/answered",
    "charge/finish/before_commit",
    "charge/finish/committed",
    // A success that could not be recorded together with others.
    "charge/alone/taken",
    "charge/settle/before_commit",
    "charge/settle/committed",
    // A charge whose holder is gone, or that is asked about.
    "charge/recover/taken",
    "charge/recover/before_commit",
    "charge/recover/noted",
    "charge/recover/answered",
    // Commands on an order.
    "pay/begin/before_commit",
    "pay/begin/committed",
    "cancel/before_commit",
    "cancel/committed",
    "decide/before_commit",
    "decide/committed",
    // Money that goes back.
    "refund/taken",
    "refund/before_commit",
    "refund/noted",
    "refund/answered",
    "refund/record/before_commit",
    "refund/record/committed",
    // Steps: first sendings, many at once.
    "steps/take/before_send",
    "steps/take/committed",
    "steps/first/before_call",
    "steps/first/answered",
    "steps/finish/before_commit",
    "steps/finish/committed",
    // Steps alone.
    "steps/run/taken",
    "steps/run/before_commit",
    "steps/run/noted",
    "steps/run/answered",
    "steps/record/before_commit",
    "steps/record/committed",
    // A step that a person lets be sent again.
    "steps/note/before_commit",
    "steps/note/committed",
    // Notifications.
    "inbox/receive/before_commit",
    "inbox/receive/stored",
    "inbox/apply/begin",
    "inbox/apply/before_commit",
    "inbox/apply/committed",
    "inbox/unmatched/before_commit",
    "inbox/unmatched/committed",
    // What the gateway's books hold and ours do not.
    "book_refund/before_commit",
    "book_refund/committed",
    "inbox/tell/before_commit",
    "inbox/tell/committed",
    "sweep/raise/before_commit",
    "sweep/raise/committed",
    // Keys past their time.
    "clean_up/before_delete",
    "clean_up/deleted",
    // Deliveries past theirs.
    "forget_bodies/before_update",
    "forget_bodies/emptied",
    // Each step of the schema's history.
    "migrate/before_commit",
    "migrate/committed",
    // What an operator sets; each command comes by once.
    "admin/org/before_send",
    "admin/org/committed",
    "admin/key/before_send",
    "admin/key/committed",
    "admin/gateway/before_send",
    "admin/gateway/committed",
    "admin/step/before_send",
    "admin/step/committed",
    "admin/endpoint/before_send",
    "admin/endpoint/without_secret",
    "admin/endpoint/committed",
];

/// Stops, fails or delays the function that it stands in, if `FAILPOINTS` says so; only in functions whose error can be made of
/// [`DbError`](crate::db::error::DbError).
#[cfg(feature = "failpoints")]
macro_rules! failpoint {
    ($name:literal) => {
        $crate::failpoint::reach($name).await?;
    };
}

/// Nothing: this build has no failpoints.
#[cfg(not(feature = "failpoints"))]
macro_rules! failpoint {
    ($name:literal) => {};
}

#[cfg(feature = "failpoints")]
pub use armed::reach;

#[cfg(feature = "failpoints")]
mod armed {
    use crate::db::error::DbError;
    use fail::FailScenario;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::sync::OnceLock;
    use std::time::Duration;

    /// A file to which each place that is reached adds a line: process, name, and what happens there.
    const LOG: &str = "FAILPOINTS_LOG";

    /// Does what `FAILPOINTS` says: `return(abort)` ends the process, `return(error)` loses the connection to the database,
    /// `return(delay:MILLIS)` waits. How often and when is what the syntax of the crate `fail` is for, as in
    /// `db/claims/before_send=1*off->1*return(abort)`.
    ///
    /// # Errors
    ///
    /// [`DbError::Lost`].
    pub async fn reach(name: &str) -> Result<(), DbError> {
        static READ: OnceLock<()> = OnceLock::new();
        // For as long as the process lives.
        READ.get_or_init(|| std::mem::forget(FailScenario::setup()));
        let what = struck(name);
        note(name, what.as_deref().unwrap_or("-"));
        match what.as_deref() {
            None => Ok(()),
            Some("abort") => std::process::abort(),
            Some("error") => Err(DbError::Lost { reason: "failpoint" }),
            Some(wait) => {
                let millis = wait.strip_prefix("delay:").and_then(|millis| millis.parse().ok()).unwrap_or_default();
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Ok(())
            }
        }
    }

    /// What happens here now, if anything.
    fn struck(name: &str) -> Option<String> {
        fail::fail_point!(name, |what| what);
        None
    }

    fn note(name: &str, what: &str) {
        let Some(path) = std::env::var_os(LOG) else { return };
        let line = format!("{} {name} {what}\n", std::process::id());
        // One write, so that lines of several processes do not mix. A run that misses a line complains of it.
        let _ = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
