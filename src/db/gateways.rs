//! `sql/query/gateways`.

use crate::db::batch::{Asked, Batched};
use crate::db::claim_batch::timed;
use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;
use crate::metrics::Metrics;
use deadpool_postgres::Object;
use futures_util::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio_postgres::Row;

/// How an organisation reaches its gateway.
#[derive(Clone)]
pub struct GatewayRow {
    /// Which kind of gateway.
    pub provider: String,
    /// Where, without `/v1`.
    pub api_base: String,
    /// Its secret, sealed.
    pub secret_sealed: Vec<u8>,
    /// Test or live: where it may be.
    pub mode: Mode,
}

fn gateway_of(row: &Row) -> Result<GatewayRow, DbError> {
    Ok(GatewayRow {
        provider: column(row, "provider")?,
        api_base: column(row, "api_base")?,
        secret_sealed: column(row, "secret_sealed")?,
        mode: spelled(row, "mode", Mode::parse)?,
    })
}

/// Look-ups of gateways. Each payment asks anew, so that a change holds at once; those that ask at the same moment share a look.
pub struct GatewayFinds {
    /// The process's counters.
    pub metrics: Arc<Metrics>,
}

impl Batched for GatewayFinds {
    type Question = OrgId;
    type Answer = Option<GatewayRow>;

    fn weight(_: &OrgId) -> usize {
        size_of::<OrgId>()
    }

    fn ask<'a>(
        &'a self,
        client: &'a Object,
        orgs: &'a [OrgId],
    ) -> BoxFuture<'a, Result<Vec<Option<Self::Answer>>, DbError>> {
        Box::pin(async move {
            let distinct: HashSet<_> = orgs.iter().map(|org| org.0).collect();
            let distinct: Vec<_> = distinct.into_iter().collect();
            let rows = timed(&self.metrics, &sql::GATEWAY_FIND, client, &[&distinct]).await?;
            let found: HashMap<_, _> = rows
                .iter()
                .map(|row| Ok((OrgId(column(row, "org_id")?), gateway_of(row)?)))
                .collect::<Result<_, DbError>>()?;
            Ok(orgs.iter().map(|org| Some(found.get(org).cloned())).collect())
        })
    }
}

impl Db {
    /// The organisation's gateway, if it has one, looked up together with whoever else looks now.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_gateway(&self, org_id: OrgId, deadline: Deadline) -> Result<Option<GatewayRow>, DbError> {
        let org_id = match self.batches.gateways.ask(org_id, deadline).await? {
            Asked::Answered(found) => return Ok(found),
            Asked::Alone(org_id) => org_id,
        };
        let row = self.row(&sql::GATEWAY_FIND, &[&vec![org_id.0]], deadline).await?;
        row.as_ref().map(gateway_of).transpose()
    }

    /// Every gateway's sealed secret, with its organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn sealed_gateway_secrets(&self, deadline: Deadline) -> Result<Vec<(OrgId, Vec<u8>)>, DbError> {
        let rows = self.rows(&sql::GATEWAY_LIST, &[], deadline).await?;
        rows.iter().map(|row| Ok((OrgId(column(row, "org_id")?), column(row, "secret_sealed")?))).collect()
    }

    /// Sets it; `false` when there is no such organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn set_gateway(
        &self,
        org_id: OrgId,
        provider: &str,
        api_base: &str,
        secret_sealed: &[u8],
        deadline: Deadline,
    ) -> Result<bool, DbError> {
        failpoint!("admin/gateway/before_send");
        let row = self.row(&sql::GATEWAY_SET, &[&org_id.0, &provider, &api_base, &secret_sealed], deadline).await?;
        failpoint!("admin/gateway/committed");
        Ok(row.is_some())
    }
}
