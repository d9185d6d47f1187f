//! Why a use case could not do what was asked, in terms that know no HTTP.

use crate::db::error::DbError;
use crate::domain::fields::FieldError;
use crate::domain::ids::OrderId;
use crate::domain::json::JsonError;
use thiserror::Error;

/// A refusal or failure. The edges turn it into an answer; none of it holds SQL, values or secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AppError {
    /// The body is no JSON, or JSON that could be read in two ways.
    #[error("the body is not valid JSON")]
    Json(JsonError),
    /// The body breaks the rules at these places.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The body asks for a payment and no gateway is configured.
    #[error("payment is not configured")]
    PaymentNotConfigured {
        /// What asked for it; a JSON pointer.
        pointer: &'static str,
    },
    /// No key, a wrong one, or one that has ended.
    #[error("not authenticated")]
    Unauthenticated,
    /// The first request under this key has not ended yet.
    #[error("a request with this key is still running")]
    InFlight {
        /// The order it is making.
        order_id: OrderId,
        /// When to ask again.
        retry_after_seconds: u64,
    },
    /// The order reference belongs to an order made under another key.
    #[error("an order with this reference exists")]
    ReferenceTaken {
        /// That order.
        order_id: OrderId,
    },
    /// The key belongs to another request.
    #[error("the key belongs to another request")]
    KeyReused {
        /// RFC 6901 pointers of the members that differ; empty when method, path or query do.
        differing: Vec<String>,
    },
    /// The organisation has used up its new claims for now.
    #[error("too many new claims")]
    RateLimited {
        /// When there will be room.
        retry_after_seconds: u64,
    },
    /// An attempt to pay is unsettled or has succeeded, or the order is cancelled.
    #[error("this order cannot be paid now")]
    PaymentNotPossible,
    /// The case was decided under another key.
    #[error("the case is resolved")]
    CaseResolved,
    /// A notification that nobody we know has signed, or not lately.
    #[error("the signature is not valid")]
    SignatureInvalid,
    /// There is no such thing in this organisation.
    #[error("not found")]
    NotFound,
    /// The database could not do it now; certainly nothing was done.
    #[error("not available")]
    Unavailable,
    /// It was sent to the database, and whether it was done could not be found out.
    #[error("the outcome is not known")]
    OutcomeUnknown,
    /// A fault of this program or its data.
    #[error("internal error")]
    Internal,
}

impl AppError {
    /// For a statement that only reads: a lost answer is as good as none.
    #[must_use]
    pub fn reading(error: &DbError) -> Self {
        if error.is_temporary() {
            tracing::warn!(%error, "database");
            Self::Unavailable
        } else {
            tracing::error!(%error, "database");
            Self::Internal
        }
    }
}

impl From<DbError> for AppError {
    /// As [`AppError::reading`]; where a lost answer of a statement that writes makes a difference, it is judged there.
    fn from(error: DbError) -> Self {
        Self::reading(&error)
    }
}
