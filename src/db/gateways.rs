//! `sql/query/gateways`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;

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

impl Db {
    /// The organisation's gateway, if it has one.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_gateway(&self, org_id: OrgId, deadline: Deadline) -> Result<Option<GatewayRow>, DbError> {
        let row = self.row(&sql::GATEWAY_FIND, &[&org_id.0], deadline).await?;
        row.map(|row| {
            Ok(GatewayRow {
                provider: column(&row, "provider")?,
                api_base: column(&row, "api_base")?,
                secret_sealed: column(&row, "secret_sealed")?,
                mode: spelled(&row, "mode", Mode::parse)?,
            })
        })
        .transpose()
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
        let row = self.row(&sql::GATEWAY_SET, &[&org_id.0, &provider, &api_base, &secret_sealed], deadline).await?;
        Ok(row.is_some())
    }
}
