//! The closed list of errors: code, status, and what a client may conclude from each.

use serde::Serialize;

/// Whether the request had its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Executed {
    /// Certainly not.
    No,
    /// It had.
    Yes,
    /// Nobody knows yet; the same request under the same key tells.
    Unknown,
}

/// One kind of problem, as `/problems` publishes it.
#[derive(Debug, Serialize)]
pub struct Kind {
    /// For machines; never changes its meaning.
    pub code: &'static str,
    /// HTTP status.
    pub status: u16,
    /// For people.
    pub title: &'static str,
    /// What it means and what to do.
    pub detail: &'static str,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Whether the request had its effect.
    #[serde(skip)]
    pub executed: Executed,
    /// Whether a client may start afresh under a new key: only where nothing was done under the old one that costs anything.
    #[serde(skip)]
    pub safe_new_key: bool,
}

macro_rules! kinds {
    ($($constant:ident = $code:literal $status:literal $title:literal $detail:literal
        retryable $retryable:literal executed $executed:ident safe_new_key $safe:literal;)+) => {
        $(
            #[doc = concat!("`", $code, "`")]
            pub static $constant: Kind = Kind {
                code: $code,
                status: $status,
                title: $title,
                detail: $detail,
                retryable: $retryable,
                executed: Executed::$executed,
                safe_new_key: $safe,
            };
        )+

        /// All of them: there are no others.
        pub static KINDS: &[&Kind] = &[$(&$constant),+];
    };
}

kinds! {
    INVALID_REQUEST = "invalid_request" 400 "The request is not valid"
        "The members or parameters under errors are not valid. Correct them; this request has not used the key."
        retryable false executed No safe_new_key false;
    IDEMPOTENCY_KEY_MISSING = "idempotency_key_missing" 400 "The idempotency key is missing"
        "Send the header Idempotency-Key with a key that you keep for every try."
        retryable false executed No safe_new_key true;
    IDEMPOTENCY_KEY_INVALID = "idempotency_key_invalid" 400 "The idempotency key is not valid"
        "Send exactly one Idempotency-Key line of 1 to 255 visible ASCII characters."
        retryable false executed No safe_new_key true;
    PAYMENT_NOT_CONFIGURED = "payment_not_configured" 400 "Payment is not configured"
        "This organisation has no payment gateway."
        retryable false executed No safe_new_key false;
    SIGNATURE_INVALID = "signature_invalid" 400 "The signature is not valid"
        "No secret of this endpoint has signed these bytes within the last five minutes. Nothing was done."
        retryable false executed No safe_new_key false;
    UNAUTHENTICATED = "unauthenticated" 401 "Not authenticated"
        "Send the header Authorization: Bearer with a valid API key."
        retryable false executed No safe_new_key false;
    PAYMENT_DECLINED = "payment_declined" 402 "The payment was declined"
        "The gateway refused the payment. The order exists and can be paid by another attempt."
        retryable false executed Yes safe_new_key true;
    SCOPE_MISSING = "scope_missing" 403 "The API key lacks a scope"
        "The API key is valid and may not do this. Use a key with the scope that the operation needs."
        retryable false executed No safe_new_key false;
    NOT_FOUND = "not_found" 404 "Not found"
        "There is nothing at this path, or nothing that your organisation may see."
        retryable false executed No safe_new_key false;
    METHOD_NOT_ALLOWED = "method_not_allowed" 405 "The method is not allowed"
        "This path has other methods; Allow names them."
        retryable false executed No safe_new_key false;
    REQUEST_TIMEOUT = "request_timeout" 408 "The request took too long to arrive"
        "The body did not arrive in time. Send the same request again with the same key."
        retryable true executed No safe_new_key false;
    REQUEST_IN_FLIGHT = "request_in_flight" 409 "A request with this key is still running"
        "Wait as long as Retry-After says and send the same request with the same key."
        retryable true executed No safe_new_key false;
    ORDER_REFERENCE_TAKEN = "order_reference_taken" 409 "An order with this reference exists"
        "Your organisation has an order with this order_reference, made under another key; order_id names it."
        retryable false executed No safe_new_key false;
    PAYMENT_NOT_POSSIBLE = "payment_not_possible" 409 "The order cannot be paid now"
        "An attempt to pay it is unsettled or has succeeded, it is cancelled or to be cancelled, or there is nothing to pay. Look at the order."
        retryable false executed No safe_new_key false;
    CASE_RESOLVED = "case_resolved" 409 "The case is resolved"
        "Somebody decided this case under another key. Look at the case."
        retryable false executed No safe_new_key false;
    LENGTH_REQUIRED = "length_required" 411 "Content-Length is required"
        "Send the body with Content-Length and without Transfer-Encoding."
        retryable false executed No safe_new_key false;
    BODY_TOO_LARGE = "body_too_large" 413 "The body is too large"
        "A body may have 262144 bytes at most."
        retryable false executed No safe_new_key false;
    MEDIA_TYPE_NOT_SUPPORTED = "media_type_not_supported" 415 "The media type is not supported"
        "Send the body as Content-Type: application/json."
        retryable false executed No safe_new_key false;
    ENCODING_NOT_SUPPORTED = "encoding_not_supported" 415 "The content encoding is not supported"
        "Send the body without Content-Encoding."
        retryable false executed No safe_new_key false;
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused" 422 "The key belongs to another request"
        "This key was first used with another request. Find out which of the two was meant before you use a new key."
        retryable false executed No safe_new_key false;
    RATE_LIMITED = "rate_limited" 429 "Too many new orders"
        "Wait as long as Retry-After says and send the same request with the same key."
        retryable true executed No safe_new_key false;
    HEADERS_TOO_LARGE = "headers_too_large" 431 "The headers are too large"
        "The headers of a request may have 16384 bytes at most."
        retryable false executed No safe_new_key false;
    INTERNAL_ERROR = "internal_error" 500 "Internal error"
        "The server has a fault. Send the same request again with the same key."
        retryable true executed Unknown safe_new_key false;
    UNAVAILABLE = "unavailable" 503 "Not available at the moment"
        "Nothing was done. Wait as long as Retry-After says and send the same request again."
        retryable true executed No safe_new_key false;
    OUTCOME_UNKNOWN = "outcome_unknown" 503 "The outcome is not known"
        "The order may have been recorded. Send the same request again with the same key; never with a new one."
        retryable true executed Unknown safe_new_key false;
}
