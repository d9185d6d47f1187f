//! `sql/query/webhook_endpoints` and `sql/query/webhook_secrets`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::{Db, sql};
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

/// A secret as it is kept.
#[derive(Clone)]
pub struct SealedSecret {
    /// Its name, one for each secret of an endpoint.
    pub label: String,
    /// Sealed.
    pub sealed: Vec<u8>,
}

/// An endpoint with the secrets that count.
pub struct Endpoint {
    /// The tenant.
    pub org_id: OrgId,
    /// Whose notifications come to it.
    pub provider: String,
    /// Test or live.
    pub mode: Mode,
    /// Active ones and retiring ones, newest first.
    pub secrets: Vec<SealedSecret>,
}

/// An endpoint as it is listed.
pub struct ListedEndpoint {
    /// The endpoint.
    pub endpoint_id: Uuid,
    /// Whose notifications come to it.
    pub provider: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// Its secrets, oldest first.
    pub secrets: Vec<ListedSecret>,
}

/// A secret as it is listed.
pub struct ListedSecret {
    /// Its name.
    pub label: String,
    /// `active`, `retiring` or `retired`.
    pub state: String,
    /// When it stops counting, or did.
    pub retires_at: Option<OffsetDateTime>,
}

/// A secret of any endpoint.
pub struct StoredSecret {
    /// The tenant.
    pub org_id: OrgId,
    /// The endpoint.
    pub endpoint_id: Uuid,
    /// The secret.
    pub secret: SealedSecret,
}

impl Db {
    /// Makes an endpoint; `false` when there is no such organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn create_endpoint(
        &self,
        org: OrgId,
        endpoint: Uuid,
        provider: &str,
        deadline: Deadline,
    ) -> Result<bool, DbError> {
        failpoint!("admin/endpoint/before_send");
        let made = self.row(&sql::WEBHOOK_ENDPOINT_CREATE, &[&org.0, &endpoint, &provider], deadline).await?.is_some();
        failpoint!("admin/endpoint/without_secret");
        Ok(made)
    }

    /// The endpoint that a delivery names.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn find_endpoint(&self, endpoint: Uuid, deadline: Deadline) -> Result<Option<Endpoint>, DbError> {
        let rows = self.rows(&sql::WEBHOOK_ENDPOINT_FIND, &[&endpoint], deadline).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        Ok(Some(Endpoint {
            org_id: OrgId(column(first, "org_id")?),
            provider: column(first, "provider")?,
            mode: spelled(first, "mode", Mode::parse)?,
            secrets: secrets(&rows)?,
        }))
    }

    /// An organisation's endpoints, oldest first.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn list_endpoints(&self, org: OrgId, deadline: Deadline) -> Result<Vec<ListedEndpoint>, DbError> {
        let mut endpoints: Vec<ListedEndpoint> = Vec::new();
        for row in self.rows(&sql::WEBHOOK_ENDPOINT_LIST, &[&org.0], deadline).await? {
            let endpoint_id = column(&row, "endpoint_id")?;
            if endpoints.last().is_none_or(|last| last.endpoint_id != endpoint_id) {
                let (provider, created_at) = (column(&row, "provider")?, column(&row, "created_at")?);
                endpoints.push(ListedEndpoint { endpoint_id, provider, created_at, secrets: Vec::new() });
            }
            if let (Some(label), Some(endpoint)) = (column(&row, "label")?, endpoints.last_mut()) {
                let (state, retires_at) = (column(&row, "state")?, column(&row, "retires_at")?);
                endpoint.secrets.push(ListedSecret { label, state, retires_at });
            }
        }
        Ok(endpoints)
    }

    /// All secrets of one endpoint; `None` when there is no such endpoint.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn endpoint_secrets(
        &self,
        org: OrgId,
        endpoint: Uuid,
        deadline: Deadline,
    ) -> Result<Option<Vec<SealedSecret>>, DbError> {
        let rows = self.rows(&sql::WEBHOOK_SECRET_LIST, &[&org.0, &endpoint], deadline).await?;
        if rows.is_empty() { Ok(None) } else { secrets(&rows).map(Some) }
    }

    /// Every endpoint's secrets.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn sealed_webhook_secrets(&self, deadline: Deadline) -> Result<Vec<StoredSecret>, DbError> {
        let rows = self.rows(&sql::WEBHOOK_SECRET_LIST_ALL, &[], deadline).await?;
        rows.iter()
            .map(|row| {
                Ok(StoredSecret {
                    org_id: OrgId(column(row, "org_id")?),
                    endpoint_id: column(row, "endpoint_id")?,
                    secret: SealedSecret { label: column(row, "label")?, sealed: column(row, "secret_sealed")? },
                })
            })
            .collect()
    }

    /// Sets a secret of an endpoint that exists, active from now on.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn set_endpoint_secret(
        &self,
        org: OrgId,
        endpoint: Uuid,
        secret: &SealedSecret,
        deadline: Deadline,
    ) -> Result<(), DbError> {
        let params: crate::db::Params<'_> = &[&org.0, &endpoint, &secret.label, &secret.sealed];
        self.execute(&sql::WEBHOOK_SECRET_SET, params, deadline).await?;
        failpoint!("admin/endpoint/committed");
        Ok(())
    }

    /// Lets a secret count for so long and then no more; gives until when.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn retire_endpoint_secret(
        &self,
        org: OrgId,
        endpoint: Uuid,
        label: &str,
        seconds: f64,
        deadline: Deadline,
    ) -> Result<Option<OffsetDateTime>, DbError> {
        let row = self.row(&sql::WEBHOOK_SECRET_RETIRE, &[&org.0, &endpoint, &label, &seconds], deadline).await?;
        row.map(|row| column(&row, "retires_at")).transpose()
    }
}

/// The secrets of some rows. A row without a label is an endpoint that has none.
fn secrets(rows: &[Row]) -> Result<Vec<SealedSecret>, DbError> {
    let mut secrets = Vec::new();
    for row in rows {
        if let Some(label) = column(row, "label")? {
            secrets.push(SealedSecret { label, sealed: column(row, "secret_sealed")? });
        }
    }
    Ok(secrets)
}
