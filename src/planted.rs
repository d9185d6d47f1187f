//! Faults planted on purpose, so that the tests can be tested: `planted!("name", wrong, right)` is `right`, and nothing else, in
//! a build without the feature `planted`. With it, `ICHIDO_PLANTED` names the one fault that is switched on.
//!
//! `tests/teeth/` says for each which test has to catch it.

/// The fault, if it is switched on; else what is right.
#[cfg(feature = "planted")]
macro_rules! planted {
    (text $statement:expr) => {
        $crate::planted::text($statement)
    };
    (later $client:expr, $right:expr) => {
        if $crate::planted::is_on("acknowledged_before_commit") {
            $crate::planted::commit_later($client)
        } else {
            $right
        }
    };
    ($name:literal, $wrong:expr, $right:expr) => {
        if $crate::planted::is_on($name) { $wrong } else { $right }
    };
}

/// What is right: this build has no faults planted.
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    (text $statement:expr) => {
        $statement.text
    };
    (later $client:expr, $right:expr) => {
        $right
    };
    ($name:literal, $wrong:expr, $right:expr) => {
        $right
    };
}

/// Every planted fault.
pub const NAMES: &[&str] = &[
    // Ok is told, and COMMIT is sent after it.
    "acknowledged_before_commit",
    // Orders are placed whether or not their key was free.
    "claim_not_unique",
    // Whoever held a lease once may still write.
    "no_lease_token",
    // The gateway is called again under another key.
    "new_gateway_key",
    // A key is sent to the gateway however old it is.
    "gateway_key_for_ever",
    // A refund is sent again under another key.
    "refund_without_key",
    // An order is found whoever asks.
    "org_missing",
    // A replay shows the order as it is now.
    "replay_renders_anew",
    // Another price is the same request.
    "fingerprint_ignores_amount",
    // Any signature is as good as the right one.
    "signature_not_checked",
    // 200 although nothing was stored.
    "answered_before_stored",
    // Each delivery is a fact of its own.
    "event_key_not_unique",
    // A step is sent again to a partner who does not honour keys.
    "step_sent_again",
    // A refusal undoes what is done.
    "done_is_left",
    // Each page but the first lacks an order.
    "list_skips_row",
];

#[cfg(feature = "planted")]
pub use switched::{commit_later, is_on, text};

#[cfg(feature = "planted")]
mod switched {
    use crate::db::sql::Statement;
    use deadpool_postgres::Object;
    use std::sync::LazyLock;
    use std::time::Duration;

    /// The one that is switched on.
    static ON: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("ICHIDO_PLANTED").ok());

    /// How the fault that is switched on changes a statement: its name, what is replaced, by what.
    struct Change(&'static str, &'static str, &'static str, &'static str);

    const CHANGES: &[Change] = &[
        Change("org_missing", "orders/get", "WHERE org_id = $1 AND", "WHERE $1::bigint IS NOT NULL AND"),
        Change(
            "no_lease_token",
            "operations/move",
            "lease_token IS NOT DISTINCT FROM $6::uuid",
            "($6::uuid IS NULL OR lease_token IS NOT NULL)",
        ),
        Change(
            "claim_not_unique",
            "idempotency_keys/claim_with_order",
            "    FROM claim\n)",
            "    FROM (SELECT $1::bigint AS org_id, $5::uuid AS order_id) AS claim\n)",
        ),
        Change(
            "claim_not_unique",
            "idempotency_keys/claim_batch",
            "WHERE order_id IN (SELECT claim.order_id FROM claim)",
            "",
        ),
        Change(
            "list_skips_row",
            "orders/list",
            "LIMIT $3::bigint",
            "LIMIT $3::bigint OFFSET CASE WHEN $2 = 'ffffffff-ffff-ffff-ffff-ffffffffffff' THEN 0 ELSE 1 END",
        ),
    ];

    static TEXTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
        let is_on = |change: &&Change| is_on(change.0);
        let text = |Change(_, name, from, to): &Change| {
            let statement = crate::db::sql::ALL.iter().find(|statement| statement.name == *name);
            (*name, statement.map(|statement| statement.text.replace(from, to)).unwrap_or_default())
        };
        CHANGES.iter().filter(is_on).map(text).collect()
    });

    /// Whether a fault is switched on.
    #[must_use]
    pub fn is_on(name: &str) -> bool {
        ON.as_deref() == Some(name)
    }

    /// A statement's text, with the fault that is switched on.
    #[must_use]
    pub fn text(statement: &Statement) -> &str {
        let changed = TEXTS.iter().find(|(name, _)| *name == statement.name);
        changed.map_or(statement.text, |(_, text)| text)
    }

    /// Commits a moment later, and tells nobody whether it could.
    pub fn commit_later(client: Option<Object>) {
        drop(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if let Some(client) = client {
                let _ = client.batch_execute("COMMIT").await;
            }
        }));
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_change_is_of_a_statement_as_it_is() {
            for Change(fault, name, from, _) in CHANGES {
                let statement = crate::db::sql::ALL.iter().find(|statement| statement.name == *name);
                assert!(statement.is_some_and(|statement| statement.text.contains(from)), "{fault}: {name}");
                assert!(crate::planted::NAMES.contains(fault), "{fault}");
            }
        }
    }
}
