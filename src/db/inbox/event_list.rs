//! `sql/query/events/list*.sql`: facts as they are shown.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::inbox::EventOutcome;
use crate::domain::inbox::fact::What;
use crate::domain::inbox::view::Event;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Which events a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only those of which this came.
    pub outcome: Option<EventOutcome>,
    /// Only those about this.
    pub what: Option<What>,
    /// Only this fact.
    pub fact_key: Option<String>,
    /// Only those about this order.
    pub order_id: Option<OrderId>,
}

impl Db {
    /// Events below a cursor, newest first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_events(
        &self,
        org: OrgId,
        filter: &EventFilter,
        below: Uuid,
        limit: i64,
        deadline: Deadline,
    ) -> Result<Vec<Event>, DbError> {
        let (outcome, what) = (filter.outcome.map(EventOutcome::as_str), filter.what.map(What::as_str));
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&org.0, &below, &limit, &outcome, &what, &filter.fact_key];
        let order = filter.order_id.map(|id| id.0);
        let statement = if order.is_some() {
            params.push(&order);
            &sql::EVENT_LIST_BY_ORDER
        } else {
            &sql::EVENT_LIST
        };
        self.rows(statement, &params, deadline).await?.iter().map(event_of).collect()
    }
}

fn event_of(row: &Row) -> Result<Event, DbError> {
    Ok(Event {
        event_id: column(row, "event_id")?,
        provider: column(row, "provider")?,
        fact_key: column(row, "fact_key")?,
        what: spelled(row, "what", What::parse)?,
        reference: column(row, "reference")?,
        amount: column(row, "amount")?,
        currency: column(row, "currency")?,
        provider_time: column(row, "provider_time")?,
        outcome: spelled(row, "outcome", EventOutcome::parse)?,
        reason: column(row, "reason")?,
        order_id: column::<Option<Uuid>>(row, "order_id")?.map(OrderId),
        deadline: column(row, "deadline")?,
        notification_ids: column(row, "notification_ids")?,
        created_at: column(row, "created_at")?,
        updated_at: column(row, "updated_at")?,
    })
}
