//! The parts of Stripe's answers that are read (API version [`super::API_VERSION`]). What is not listed is ignored.

use serde::Deserialize;

/// The metadata that says whose payment it is. Stripe's metadata are strings.
pub const ORG: &str = "ichido_org_id";
/// See [`ORG`].
pub const ORDER: &str = "ichido_order_id";
/// See [`ORG`].
pub const ATTEMPT: &str = "ichido_attempt";

/// A `payment_intent`.
#[derive(Debug, Deserialize)]
pub struct Intent {
    pub id: String,
    pub object: String,
    pub status: String,
    pub amount_received: Option<i64>,
    pub currency: Option<String>,
    pub livemode: Option<bool>,
    pub last_payment_error: Option<ApiErrorCodes>,
    pub metadata: Option<Metadata>,
}

/// A `refund`.
#[derive(Debug, Deserialize)]
pub struct Refund {
    pub id: String,
    pub object: String,
    pub status: Option<String>,
    pub amount: Option<i64>,
    pub currency: Option<String>,
    pub failure_reason: Option<String>,
    pub metadata: Option<Metadata>,
}

/// The metadata we wrote.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    #[serde(rename = "ichido_org_id")]
    pub org_id: Option<String>,
    #[serde(rename = "ichido_order_id")]
    pub order_id: Option<String>,
    #[serde(rename = "ichido_attempt")]
    pub attempt: Option<String>,
    /// The key a refund was asked for with.
    #[serde(rename = "ichido_refund_key")]
    pub refund_key: Option<String>,
}

/// Why a payment failed.
#[derive(Debug, Deserialize)]
pub struct ApiErrorCodes {
    pub code: Option<String>,
    pub decline_code: Option<String>,
}

/// The body of an error answer.
#[derive(Debug, Deserialize)]
pub struct ErrorBody {
    pub error: ApiError,
}

/// An error.
#[derive(Debug, Deserialize)]
pub struct ApiError {
    #[serde(rename = "type")]
    pub kind: String,
    pub code: Option<String>,
    pub decline_code: Option<String>,
    pub payment_intent: Option<Intent>,
}

/// A page of a list or of a search.
#[derive(Debug, Deserialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    pub has_more: bool,
}

/// Whether a text can be one of Stripe's ids. It then fits into a path as it is.
#[must_use]
pub fn is_id(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a text has the form of Stripe's codes; nothing else is handed on, since it goes into records and logs.
#[must_use]
pub fn is_code(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

/// The first of some texts that has the form of a code.
#[must_use]
pub fn first_code(texts: [Option<&str>; 3]) -> String {
    texts.into_iter().flatten().find(|text| is_code(text)).unwrap_or("code_not_given").to_owned()
}
