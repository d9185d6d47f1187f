//! Payment methods: Stripe's own for tests (<https://docs.stripe.com/testing>), and `pm_sim_<fault>` of this world.

use crate::sim::faults::Fault;
use crate::sim::stripe::error::ApiError;

/// How a card answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Card {
    /// The money is taken.
    Succeeds,
    /// The bank will tell later.
    Processing,
    /// The customer is asked first.
    RequiresAction,
    /// The bank refuses.
    Declined(Decline),
}

/// Why a card is refused (<https://docs.stripe.com/declines/codes>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decline {
    /// `code` of the error.
    pub code: &'static str,
    /// `decline_code` of the error.
    pub reason: Option<&'static str>,
    /// For people.
    pub message: &'static str,
}

impl Decline {
    /// The bank gives no reason.
    pub const GENERIC: Self =
        Self { code: "card_declined", reason: Some("generic_decline"), message: "Your card was declined." };
    /// The customer would have to be asked, and the caller does not want that.
    pub const AUTHENTICATION: Self = Self {
        code: "authentication_required",
        reason: Some("authentication_required"),
        message: "Your card was declined. This transaction requires authentication.",
    };
}

fn declined(code: &'static str, reason: Option<&'static str>, message: &'static str) -> (Card, Fault) {
    (Card::Declined(Decline { code, reason, message }), Fault::None)
}

/// What a payment method does.
///
/// # Errors
///
/// `resource_missing`, as for a payment method that Stripe does not know.
pub fn find(id: &str) -> Result<(Card, Fault), ApiError> {
    if let Some(word) = id.strip_prefix("pm_sim_") {
        if word == "processing" {
            return Ok((Card::Processing, Fault::None));
        }
        let fault = Fault::parse(word).map(|fault| (Card::Succeeds, fault));
        return fault.ok_or_else(|| ApiError::missing("PaymentMethod", id, "payment_method"));
    }
    Ok(match id {
        "pm_card_visa" | "pm_card_visa_debit" | "pm_card_mastercard" | "pm_card_amex" | "pm_card_jcb" => {
            (Card::Succeeds, Fault::None)
        }
        "pm_card_chargeDeclined" | "pm_card_visa_chargeDeclined" => (Card::Declined(Decline::GENERIC), Fault::None),
        "pm_card_chargeDeclinedInsufficientFunds" | "pm_card_visa_chargeDeclinedInsufficientFunds" => {
            declined("card_declined", Some("insufficient_funds"), "Your card has insufficient funds.")
        }
        "pm_card_chargeDeclinedExpiredCard" => declined("expired_card", None, "Your card has expired."),
        "pm_card_chargeDeclinedProcessingError" => declined(
            "processing_error",
            None,
            "An error occurred while processing your card. Try again in a little bit.",
        ),
        "pm_card_authenticationRequired" => (Card::RequiresAction, Fault::None),
        _ => return Err(ApiError::missing("PaymentMethod", id, "payment_method")),
    })
}
