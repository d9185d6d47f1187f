//! `sql/query/step_policies`.

use crate::db::deadline::Deadline;
use crate::db::error::DbError;
use crate::db::row::{column, spelled};
use crate::db::tx::Tx;
use crate::db::{Db, sql};
use crate::domain::ids::OrgId;
use crate::domain::org::Mode;
use crate::domain::step::StepKind;
use std::time::Duration;
use tokio_postgres::types::ToSql;

/// The five answers for a step, as they are kept.
#[derive(Debug, Clone)]
pub struct StepPolicy {
    /// Which step.
    pub kind: StepKind,
    /// Where to.
    pub url: String,
    /// Whether a call under the same key returns the earlier result.
    pub honours_keys: bool,
    /// Where it can be asked.
    pub status_url: Option<String>,
    /// What calls are signed with, sealed.
    pub secret_sealed: Option<Vec<u8>>,
    /// Who is told when nobody can know.
    pub owner: String,
    /// Who carries out a correction.
    pub corrector: String,
    /// How often it is taken up at most.
    pub max_attempts: u32,
    /// How long it is tried.
    pub time: Duration,
}

/// A step that an order gets when it is confirmed.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// Which.
    pub kind: StepKind,
    /// How long it is tried.
    pub time: Duration,
    /// Who is told when nobody can know.
    pub owner: String,
    /// Who carries out a correction.
    pub corrector: String,
}

impl Db {
    /// The policies of an organisation's steps, and its mode.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn step_policies_of(
        &self,
        org_id: OrgId,
        deadline: Deadline,
    ) -> Result<Vec<(StepPolicy, Mode)>, DbError> {
        let rows = self.rows(&sql::STEP_POLICY_OF_ORG, &[&org_id.0], deadline).await?;
        rows.iter()
            .map(|row| {
                let (attempts, seconds): (i32, i64) = (column(row, "max_attempts")?, column(row, "deadline_seconds")?);
                let policy = StepPolicy {
                    kind: spelled(row, "kind", StepKind::parse)?,
                    url: column(row, "url")?,
                    honours_keys: column(row, "honours_keys")?,
                    status_url: column(row, "status_url")?,
                    secret_sealed: column(row, "secret_sealed")?,
                    owner: column(row, "owner")?,
                    corrector: column(row, "corrector")?,
                    max_attempts: attempts.unsigned_abs(),
                    time: Duration::from_secs(seconds.unsigned_abs()),
                };
                Ok((policy, spelled(row, "mode", Mode::parse)?))
            })
            .collect()
    }

    /// Every partner's sealed secret, with its organisation and step.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn sealed_partner_secrets(&self, deadline: Deadline) -> Result<Vec<(OrgId, StepKind, Vec<u8>)>, DbError> {
        let rows = self.rows(&sql::STEP_POLICY_SEALED, &[], deadline).await?;
        rows.iter()
            .map(|row| {
                let kind = spelled(row, "kind", StepKind::parse)?;
                Ok((OrgId(column(row, "org_id")?), kind, column(row, "secret_sealed")?))
            })
            .collect()
    }

    /// Sets a policy; `false` when there is no such organisation.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn set_step_policy(
        &self,
        org_id: OrgId,
        policy: &StepPolicy,
        deadline: Deadline,
    ) -> Result<bool, DbError> {
        let attempts = i32::try_from(policy.max_attempts).unwrap_or(i32::MAX);
        let seconds = i64::try_from(policy.time.as_secs()).unwrap_or(i64::MAX);
        let kind = policy.kind.as_str();
        let params: [&(dyn ToSql + Sync); 10] = [
            &org_id.0,
            &kind,
            &policy.url,
            &policy.honours_keys,
            &policy.status_url,
            &policy.secret_sealed,
            &policy.owner,
            &policy.corrector,
            &attempts,
            &seconds,
        ];
        failpoint!("admin/step/before_send");
        let set = self.row(&sql::STEP_POLICY_SET, &params, deadline).await?.is_some();
        failpoint!("admin/step/committed");
        Ok(set)
    }
}

impl Tx {
    /// The steps of an organisation's orders.
    ///
    /// # Errors
    ///
    /// [`DbError`].
    pub async fn step_policies(&self, org_id: OrgId) -> Result<Vec<PlannedStep>, DbError> {
        let rows = self.rows(&sql::STEP_POLICY_LIST, &[&org_id.0]).await?;
        rows.iter()
            .map(|row| {
                let seconds: i64 = column(row, "deadline_seconds")?;
                Ok(PlannedStep {
                    kind: spelled(row, "kind", StepKind::parse)?,
                    time: Duration::from_secs(seconds.unsigned_abs()),
                    owner: column(row, "owner")?,
                    corrector: column(row, "corrector")?,
                })
            })
            .collect()
    }
}
