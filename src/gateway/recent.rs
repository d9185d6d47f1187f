//! What a gateway has taken and given back lately, for comparing its books with ours.

use crate::domain::ids::{OrderId, OrgId};
use time::OffsetDateTime;

/// Asks for a page of what was made since a moment, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentRequest {
    /// Who asks: what others made in the same account is told apart.
    pub org_id: OrgId,
    /// Not later than the first one of interest, by the gateway's clock.
    pub since: OffsetDateTime,
    /// Only those of this payment; for refunds.
    pub payment: Option<String>,
    /// [`RecentPage::next`] of the page before.
    pub after: Option<String>,
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentPage<T> {
    /// Newest first.
    pub items: Vec<T>,
    /// What the next page comes after; `None` on the last.
    pub next: Option<String>,
}

/// A page, or one of [`crate::gateway::outcome::reason`] why there is none. Asking again does no harm.
pub type Recent<T> = Result<RecentPage<T>, &'static str>;

/// Whose it is, by the metadata that we write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Nothing says that it is of an Ichido.
    Nobody,
    /// Another organisation's.
    Other,
    /// This organisation's, or so it says.
    Ours {
        /// The order, where the name is one.
        order_id: Option<OrderId>,
        /// The attempt, likewise.
        attempt: Option<i32>,
    },
}

/// A payment as the gateway lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenPayment {
    /// The gateway's reference.
    pub reference: String,
    /// Whose.
    pub owner: Owner,
    /// Whether the money was taken.
    pub taken: bool,
    /// What was taken, in ISO 4217 minor units; `None` when it cannot be said in those.
    pub amount: Option<i64>,
    /// ISO 4217 code, upper case; empty when it is not three letters.
    pub currency: String,
}

/// Where a refund stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundState {
    /// The money is on its way back.
    Given,
    /// It did not go, or came back.
    Failed,
    /// Not decided.
    Open,
}

/// A refund as the gateway lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRefund {
    /// The gateway's reference.
    pub reference: String,
    /// The gateway's reference of the payment, where it names one.
    pub payment: Option<String>,
    /// Whose.
    pub owner: Owner,
    /// The key it was asked for with, if it was one of ours.
    pub key: Option<String>,
    /// Where it stands.
    pub state: RefundState,
    /// In ISO 4217 minor units; `None` when it cannot be said in those.
    pub amount: Option<i64>,
    /// ISO 4217 code, upper case; empty when it is not three letters.
    pub currency: String,
}
