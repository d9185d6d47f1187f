//! Facts about a charge: brought to the one function that ends charges, as evidence that needs no lease.

use crate::app::charge::CHARGE_TIME;
use crate::app::charge::send::Heard;
use crate::app::charge::settle::{Finding, settle_in};
use crate::app::inbox::ACTOR;
use crate::app::inbox::apply::{Applying, Outcome};
use crate::app::inbox::evidence::{case, evidence};
use crate::db::error::DbError;
use crate::db::operations::OperationId;
use crate::db::payments::PaymentRow;
use crate::domain::case::NewCase;
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::fact::What;
use crate::domain::payment::ChargeFact;
use uuid::Uuid;

/// What a fact says about the charge of an attempt.
pub(super) fn finding(applying: &Applying<'_>, number: i32, attempt: Option<&PaymentRow>) -> Finding {
    let told = &applying.event.fact;
    let reference = told.reference.clone();
    let (fact, outcome) = match told.what {
        What::Succeeded if applying.fits(attempt) => (ChargeFact::Succeeded { reference }, "notified_succeeded"),
        What::Succeeded => (ChargeFact::Conflict { reference }, "notified_otherwise"),
        What::Canceled => (ChargeFact::Declined { reference, code: "canceled".to_owned() }, "notified_canceled"),
        _ => {
            let code = told.code.clone().unwrap_or_else(|| "code_not_given".to_owned());
            (ChargeFact::Declined { reference, code }, "notified_failed")
        }
    };
    Finding {
        id: OperationId::charge(applying.id.org_id, applying.order_id, number),
        token: None,
        heard: Heard { fact, outcome, retry_after: None },
        asked: false,
        actor: ACTOR.to_owned(),
        request_id: Uuid::now_v7(),
    }
}

/// Money by a payment that we did not make: the order's next attempt. If it pays the order, what we are still trying is then
/// only looked up and ended, as after every success.
pub(super) async fn new_attempt(applying: &Applying<'_>) -> Result<Finding, DbError> {
    let id = applying.id;
    let number = applying.payments.last().map_or(1, |newest| newest.attempt + 1);
    let finding = finding(applying, number, None);
    let reference = applying.event.fact.reference.as_deref().unwrap_or_default();
    let key = format!("ichido-{}", Uuid::now_v7());
    applying.tx.add_notified_attempt(&finding.id, (&id.provider, reference), &key, CHARGE_TIME).await?;
    Ok(finding)
}

impl Applying<'_> {
    /// Ends the charge, or leaves it to a person where amounts differ.
    pub(super) async fn settle(&self, finding: &Finding) -> Result<Outcome, DbError> {
        let settled = settle_in(self.app, self.tx, finding).await?;
        if matches!(finding.heard.fact, ChargeFact::Conflict { .. }) {
            let attempt = self.payments.iter().find(|it| Some(it.attempt) == finding.id.attempt());
            let new = case("amount_conflict", "compare the payment at the gateway with the order");
            let new = NewCase { evidence: evidence(&self.event, Some(&self.order), attempt), ..new };
            self.tx.open_case(&finding.id, Uuid::now_v7(), &new).await?;
            self.show().await?;
            return Ok(Outcome::of(EventOutcome::Conflict, "amount_conflict"));
        }
        Ok(Outcome::plain(if settled.is_some() { EventOutcome::Applied } else { EventOutcome::Stale }))
    }
}
