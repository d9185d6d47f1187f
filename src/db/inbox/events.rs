//! `sql/query/events` and `sql/query/event_aliases`: facts, until they are applied.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, one, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::inbox::fact::{Fact, What};
use crate::domain::inbox::{EventOutcome, Left};
use serde_json::Value;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Which fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventId {
    /// The tenant.
    pub org_id: OrgId,
    /// Who told it.
    pub provider: String,
    /// What makes it this fact.
    pub fact_key: String,
}

/// A fact to be kept.
pub struct NewEvent<'a> {
    /// For lists.
    pub event_id: Uuid,
    /// The fact.
    pub fact: &'a Fact,
    /// In ISO 4217 minor units, where it has an amount in that form.
    pub amount: Option<i64>,
    /// When it happened, by the provider's clock.
    pub provider_time: Option<OffsetDateTime>,
    /// The order, if there is one.
    pub order_id: Option<OrderId>,
    /// Pending or parked.
    pub outcome: EventOutcome,
    /// Seconds until its deadline.
    pub wait_seconds: f64,
}

/// A fact as a delivery finds it.
#[derive(Debug, Clone)]
pub struct KnownEvent {
    /// The provider's name for the payment.
    pub reference: Option<String>,
    /// The order that is named, whether there is one or not.
    pub named_order_id: Option<OrderId>,
    /// In ISO 4217 minor units.
    pub amount: Option<i64>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// The order.
    pub order_id: Option<OrderId>,
    /// What became of it.
    pub outcome: EventOutcome,
    /// What is left of the order's work.
    pub left: Left,
}

/// A fact under its lock.
#[derive(Debug, Clone)]
pub struct EventRow {
    /// The fact.
    pub fact: Fact,
    /// In ISO 4217 minor units.
    pub amount: Option<i64>,
    /// The order, if it was found.
    pub order_id: Option<OrderId>,
    /// What became of it.
    pub outcome: EventOutcome,
    /// Whether it has waited long enough.
    pub overdue: bool,
}

/// Where a fact belongs, as far as its two names tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderOf {
    /// The order that is named, if there is one.
    pub named: Option<OrderId>,
    /// The order whose payment it is.
    pub by_reference: Option<OrderId>,
}

impl OrderOf {
    /// The order that the money is known to be for, else the one that is named.
    #[must_use]
    pub fn order(self) -> Option<OrderId> {
        self.by_reference.or(self.named)
    }

    /// Whether the two names are of two orders.
    #[must_use]
    pub fn contradicts(self) -> bool {
        matches!((self.named, self.by_reference), (Some(named), Some(known)) if named != known)
    }
}

impl Tx {
    /// Adds a fact; `false` when it is known.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_event(&self, id: &EventId, new: &NewEvent<'_>) -> Result<bool, DbError> {
        let fact = new.fact;
        let params: [&(dyn ToSql + Sync); 14] = [
            &id.org_id.0,
            &id.provider,
            &id.fact_key,
            &new.event_id,
            &fact.what.as_str(),
            &fact.reference,
            &new.amount,
            &fact.currency,
            &new.provider_time,
            &fact.to_value(),
            &fact.order_id.map(|id| id.0),
            &new.order_id.map(|id| id.0),
            &new.outcome.as_str(),
            &new.wait_seconds,
        ];
        Ok(self.row(&sql::EVENT_ADD, &params).await?.is_some())
    }

    /// Notes one more notification that told of a fact, and which order and attempt that one names.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn add_alias(&self, id: &EventId, notification_id: &str, fact: &Fact) -> Result<(), DbError> {
        let named = fact.order_id.map(|id| id.0);
        let params: [&(dyn ToSql + Sync); 6] =
            [&id.org_id.0, &id.provider, &notification_id, &id.fact_key, &named, &fact.attempt];
        self.execute(&sql::EVENT_ALIAS_ADD, &params).await.map(|_| ())
    }

    /// A fact as it stands, not locked.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_event(&self, id: &EventId) -> Result<Option<KnownEvent>, DbError> {
        let row = self.row(&sql::EVENT_FIND, &[&id.org_id.0, &id.provider, &id.fact_key]).await?;
        row.map(|row| {
            Ok(KnownEvent {
                reference: column(&row, "reference")?,
                named_order_id: named(&row, "named_order_id")?.or(named(&row, "named_by_another")?),
                amount: column(&row, "amount")?,
                currency: column(&row, "currency")?,
                order_id: column::<Option<Uuid>>(&row, "order_id")?.map(OrderId),
                outcome: spelled(&row, "outcome", EventOutcome::parse)?,
                left: Left::of(column(&row, "unfinished")?, column(&row, "for_people")?),
            })
        })
        .transpose()
    }

    /// Which order a fact is about. Nothing is locked.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn order_of(
        &self,
        org: OrgId,
        provider: &str,
        named: Option<OrderId>,
        reference: Option<&str>,
    ) -> Result<OrderOf, DbError> {
        let named = named.map(|id| id.0);
        let row = self.row(&sql::EVENT_ORDER_OF, &[&org.0, &provider, &named, &reference]).await?;
        let Some(row) = row else { return Ok(OrderOf::default()) };
        let order = |name| column::<Option<Uuid>>(&row, name).map(|id| id.map(OrderId));
        Ok(OrderOf { named: order("named")?, by_reference: order("by_reference")? })
    }

    /// Locks a fact; its order comes first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn lock_event(&self, id: &EventId) -> Result<Option<EventRow>, DbError> {
        let row = self.row(&sql::EVENT_LOCK, &[&id.org_id.0, &id.provider, &id.fact_key]).await?;
        let Some(row) = row else { return Ok(None) };
        let mut event = event_of(&row, id.fact_key.clone())?;
        // The notification that came first may not have named what another one does.
        if event.fact.order_id.is_none() {
            event.fact.order_id = named(&row, "named_by_another")?;
            event.fact.attempt = column(&row, "attempt_by_another")?;
        }
        Ok(Some(event))
    }

    /// Locks every fact about one payment; the payment's order comes first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn events_of_payment(
        &self,
        org: OrgId,
        provider: &str,
        reference: &str,
    ) -> Result<Vec<EventRow>, DbError> {
        let rows = self.rows(&sql::EVENT_OF_PAYMENT, &[&org.0, &provider, &reference]).await?;
        rows.iter().map(|row| event_of(row, column(row, "fact_key")?)).collect()
    }

    /// Writes what came of a fact.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn settle_event(
        &self,
        id: &EventId,
        outcome: EventOutcome,
        reason: Option<&str>,
        order: Option<OrderId>,
    ) -> Result<(), DbError> {
        let order = order.map(|id| id.0);
        let params: [&(dyn ToSql + Sync); 6] =
            [&id.org_id.0, &id.provider, &id.fact_key, &outcome.as_str(), &reason, &order];
        one(self.execute(&sql::EVENT_SETTLE, &params).await?)
    }
}

impl Db {
    /// Facts of one organisation that wait and whose time has come.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn due_events(&self, org_id: OrgId, limit: i64, deadline: Deadline) -> Result<Vec<EventId>, DbError> {
        let rows = self.rows(&sql::EVENT_DUE, &[&org_id.0, &limit], deadline).await?;
        rows.iter()
            .map(|row| Ok(EventId { org_id, provider: column(row, "provider")?, fact_key: column(row, "fact_key")? }))
            .collect()
    }

    /// Takes one fact that is due; `false` when somebody else has it, or it is settled.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn take_event(&self, id: &EventId, deadline: Deadline) -> Result<bool, DbError> {
        let params: [&(dyn ToSql + Sync); 3] = [&id.org_id.0, &id.provider, &id.fact_key];
        Ok(self.row(&sql::EVENT_TAKE, &params, deadline).await?.is_some())
    }

    /// Notes the order of a fact that waited for one, so that it is applied soon.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn match_event(&self, id: &EventId, order: OrderId, deadline: Deadline) -> Result<(), DbError> {
        let params: [&(dyn ToSql + Sync); 4] = [&id.org_id.0, &id.provider, &id.fact_key, &order.0];
        self.rows(&sql::EVENT_MATCH, &params, deadline).await.map(|_| ())
    }

    /// Organisations with facts that wait and whose time has come.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn orgs_with_due_events(&self, deadline: Deadline) -> Result<Vec<OrgId>, DbError> {
        let rows = self.rows(&sql::EVENT_ORGS_WITH_DUE, &[], deadline).await?;
        rows.iter().map(|row| column(row, "org_id").map(OrgId)).collect()
    }
}

fn named(row: &Row, name: &'static str) -> Result<Option<OrderId>, DbError> {
    column::<Option<Uuid>>(row, name).map(|id| id.map(OrderId))
}

fn event_of(row: &Row, key: String) -> Result<EventRow, DbError> {
    let fact: Value = column(row, "fact")?;
    Ok(EventRow {
        fact: Fact::from_value(key, spelled(row, "what", What::parse)?, column(row, "reference")?, &fact),
        amount: column(row, "amount")?,
        order_id: column::<Option<Uuid>>(row, "order_id")?.map(OrderId),
        outcome: spelled(row, "outcome", EventOutcome::parse)?,
        overdue: column(row, "overdue")?,
    })
}
