//! What can go wrong with a statement, sorted by the one thing callers need: can it have had an effect?
//!
//! PostgreSQL's messages carry row values (`DETAIL: Key (…)=(…)`) and the pool's carry connection strings, so neither is
//! kept: only SQLSTATE and the names of constraint and table are.

use deadpool_postgres::PoolError;
use std::error::Error as _;
use thiserror::Error;
use tokio_postgres::error::SqlState;

/// A statement that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DbError {
    /// Nothing was sent: no connection could be had. Certainly no effect.
    #[error("database unavailable: {reason}")]
    Unavailable {
        /// What was tried; a fixed text or an SQLSTATE.
        reason: String,
    },
    /// The server refused the statement and undid it. Certainly no effect.
    #[error("database refused the statement: SQLSTATE {sqlstate}")]
    Refused {
        /// Five characters, see the appendix on error codes of PostgreSQL's manual.
        sqlstate: String,
        /// The constraint, where the server names it.
        constraint: Option<String>,
    },
    /// It was sent and no answer came. It may have had its effect, or may still have it.
    #[error("database connection lost: {reason}")]
    Lost {
        /// A fixed text.
        reason: &'static str,
    },
    /// The row was changed by somebody else, though it was locked or guarded: nothing was written.
    #[error("lost the race for a row")]
    LostRace,
    /// The database holds something this version cannot read.
    #[error("database row not understood: {column}")]
    Decode {
        /// The column.
        column: &'static str,
    },
}

impl DbError {
    /// For an error of taking a connection from the pool.
    #[must_use]
    pub fn connecting(error: &PoolError) -> Self {
        let reason = match error {
            PoolError::Timeout(_) => "no free connection in time".to_owned(),
            PoolError::Closed => "shutting down".to_owned(),
            PoolError::Backend(error) => match error.code() {
                Some(code) => format!("connection refused with SQLSTATE {}", code.code()),
                // Of the connection itself: refused, no such host, TLS. There is no server's message in it.
                None => format!("cannot connect: {error}"),
            },
            _ => "cannot prepare a connection".to_owned(),
        };
        Self::Unavailable { reason }
    }

    /// For an error of preparing a statement, which has no effect by itself.
    #[must_use]
    pub fn preparing(error: &tokio_postgres::Error) -> Self {
        match Self::running(error) {
            Self::Lost { .. } => {
                Self::Unavailable { reason: "connection lost before the statement was sent".to_owned() }
            }
            other => other,
        }
    }

    /// For an error of running a statement.
    #[must_use]
    pub fn running(error: &tokio_postgres::Error) -> Self {
        let Some(db_error) = error.as_db_error() else {
            // Values that do not fit their parameter fail before anything is sent; all else is the connection's.
            let local = error.source().is_some_and(<dyn std::error::Error>::is::<tokio_postgres::types::WrongType>);
            return if local {
                Self::Decode { column: "parameter" }
            } else {
                Self::Lost { reason: "connection closed" }
            };
        };
        let code = db_error.code();
        // Class 57P ends the connection, and class 08 is the connection: the transaction may be committed all the same
        // (an administrator's shutdown while it waits for a synchronous standby, for one).
        if code.code().starts_with("57P") || code.code().starts_with("08") {
            return Self::Lost { reason: "connection ended by the server" };
        }
        Self::Refused { sqlstate: code.code().to_owned(), constraint: db_error.constraint().map(str::to_owned) }
    }

    /// Whether the server ended the statement because it took too long, which undid it.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.is(&SqlState::QUERY_CANCELED)
    }

    /// Whether the same statement may succeed at once: a deadlock or a serialisation conflict with somebody else.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::LostRace)
            || self.is(&SqlState::T_R_DEADLOCK_DETECTED)
            || self.is(&SqlState::T_R_SERIALIZATION_FAILURE)
    }

    /// Whether a unique constraint refused the row.
    #[must_use]
    pub fn is_unique_violation(&self) -> bool {
        self.is(&SqlState::UNIQUE_VIOLATION)
    }

    /// Whether this error of a batch of so many is the answer to each of them. If not, the batch was undone for the sake of one
    /// of them, or for want of patience with a lock, and each is worth asking alone.
    #[must_use]
    pub fn is_for_all(&self, asked: usize) -> bool {
        match self {
            Self::Lost { .. } | Self::Unavailable { .. } => true,
            Self::Refused { .. } | Self::Decode { .. } | Self::LostRace => {
                asked == 1 && !self.is(&SqlState::LOCK_NOT_AVAILABLE)
            }
        }
    }

    /// Whether the database could not do it now, though nothing is wrong with the statement: a lock or its time ran
    /// out, it is out of resources (class 53), read-only (a primary turned standby), or being operated on (class 55).
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Lost { .. } => true,
            Self::Decode { .. } | Self::LostRace => false,
            Self::Refused { sqlstate, .. } => {
                let class = sqlstate.get(..2).unwrap_or_default();
                matches!(class, "53" | "55" | "58")
                    || self.is_conflict()
                    || self.is(&SqlState::QUERY_CANCELED)
                    || self.is(&SqlState::READ_ONLY_SQL_TRANSACTION)
            }
        }
    }

    /// Whether the connection must not be used again: its answer is still to come, it is ending, it belongs to a server
    /// that became read-only, or its prepared statements no longer fit the schema.
    #[must_use]
    pub fn spoils_the_connection(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Unavailable { .. })
            || self.is(&SqlState::READ_ONLY_SQL_TRANSACTION)
            || self.is(&SqlState::FEATURE_NOT_SUPPORTED)
            || self.is(&SqlState::INVALID_SQL_STATEMENT_NAME)
    }

    fn is(&self, code: &SqlState) -> bool {
        matches!(self, Self::Refused { sqlstate, .. } if sqlstate == code.code())
    }
}
