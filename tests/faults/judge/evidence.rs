//! What the judges look at: the clients' records, the database's rows, the gateway's effects.

use crate::Failure;
use crate::clients::Record;
use crate::stack::Stack;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use tokio_postgres::Client;

/// An organisation's id and a name in it: a key, or an order's id.
pub type Name = (i64, String);

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What clients asked for and were told.
    pub records: Vec<Record>,
    /// `idempotency_keys`, by key.
    pub claims: HashMap<Name, Claim>,
    /// `orders`, by id: the amount.
    pub orders: HashMap<Name, i64>,
    /// Orders that wait for a person, by id.
    pub flagged: HashSet<String>,
    /// Operations by state.
    pub operations: BTreeMap<String, i64>,
    /// Open reconciliation cases, as they are stored.
    pub cases: Vec<String>,
    /// Sessions that have a transaction open and do nothing.
    pub idle_in_transaction: i64,
    /// What really happened at the gateway.
    pub effects: Vec<Effect>,
}

/// A row of `idempotency_keys`.
#[derive(Debug, Clone)]
pub struct Claim {
    /// `in_progress` or `completed`.
    pub state: String,
    /// The order that it made.
    pub order_id: Option<String>,
    /// The stored answer's status.
    pub status: Option<i16>,
    /// The stored answer's bytes.
    pub body: Option<Vec<u8>>,
}

/// An effect at the gateway or at a partner.
#[derive(Debug, Clone, Deserialize)]
pub struct Effect {
    /// `charge`, `refund`, or a step.
    pub kind: String,
    /// Under which key it was done.
    pub key: String,
    /// Of which order.
    pub order_id: Option<String>,
    /// How much, in the currency's minor unit.
    pub amount: Option<i64>,
    /// How often.
    pub count: u64,
}

/// States of an operation that somebody still has to carry on.
const UNFINISHED: [&str; 5] = ["waiting", "ready", "leased", "retry_at", "unknown"];

impl Evidence {
    /// Everything as it stands now.
    pub async fn collect(stack: &Stack, records: Vec<Record>) -> Result<Self, Failure> {
        let client = stack.database.connect().await?;
        let mut evidence = Self { records, ..Self::default() };
        evidence.read_tables(&client).await?;
        evidence.read_later_tables(&client).await?;
        for gateway in &stack.gateways {
            let mut world = stack.api.get(&format!("http://{}/effects", gateway.address)).await?;
            let effects = world.get_mut("effects").map_or(Value::Null, Value::take);
            evidence.effects.extend(serde_json::from_value::<Vec<Effect>>(effects)?);
        }
        Ok(evidence)
    }

    async fn read_tables(&mut self, client: &Client) -> Result<(), Failure> {
        let text = "SELECT org_id, idempotency_key, state, order_id::text, response_status, response_body
                    FROM idempotency_keys";
        for row in client.query(text, &[]).await? {
            let claim = Claim {
                state: row.try_get(2)?,
                order_id: row.try_get(3)?,
                status: row.try_get(4)?,
                body: row.try_get(5)?,
            };
            self.claims.insert((row.try_get(0)?, row.try_get(1)?), claim);
        }
        // That something has to be undone by hand for a cancelled order is no trouble of ours.
        let text = "SELECT org_id, order_id::text, amount, needs_reconciliation AND NOT EXISTS (
                        SELECT FROM reconciliation_cases c
                        WHERE c.order_id = o.order_id AND c.state = 'open' AND c.reason = 'done_before_cancellation'
                    ) FROM orders o";
        for row in client.query(text, &[]).await? {
            let order_id: String = row.try_get(1)?;
            if row.try_get(3)? {
                self.flagged.insert(order_id.clone());
            }
            self.orders.insert((row.try_get(0)?, order_id), row.try_get(2)?);
        }
        let text = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        self.idle_in_transaction = client.query_one(text, &[]).await?.try_get(0)?;
        Ok(())
    }

    /// The tables that a database without payments may not have.
    async fn read_later_tables(&mut self, client: &Client) -> Result<(), Failure> {
        if exists(client, "operations").await? {
            for row in client.query("SELECT state, count(*) FROM operations GROUP BY state", &[]).await? {
                self.operations.insert(row.try_get(0)?, row.try_get(1)?);
            }
        }
        if exists(client, "reconciliation_cases").await? {
            let text = "SELECT order_id::text, to_jsonb(c)::text FROM reconciliation_cases c
                        WHERE state = 'open' AND reason <> 'done_before_cancellation'";
            for row in client.query(text, &[]).await? {
                self.flagged.extend(row.try_get::<_, Option<String>>(0)?);
                self.cases.push(row.try_get(1)?);
            }
        }
        Ok(())
    }

    /// Operations that somebody still has to carry on.
    pub fn unfinished_operations(&self) -> i64 {
        UNFINISHED.iter().filter_map(|state| self.operations.get(*state)).sum()
    }

    /// Claims in progress: those that wait for a person, and the others.
    pub fn in_progress(&self) -> (usize, usize) {
        let open = self.claims.values().filter(|claim| claim.state != "completed");
        let (waiting, others): (Vec<_>, Vec<_>) = open.partition(|claim| self.is_flagged(claim.order_id.as_ref()));
        (waiting.len(), others.len())
    }

    /// Whether an order waits for a person.
    pub fn is_flagged(&self, order_id: Option<&String>) -> bool {
        order_id.is_some_and(|order_id| self.flagged.contains(order_id))
    }

    /// The order that a record's key has made, as the database sees it.
    pub fn order_id_of(&self, record: &Record) -> Option<&String> {
        self.claims.get(&(record.org_id, record.call.key.clone()))?.order_id.as_ref()
    }

    /// How many effects of a kind there were.
    pub fn count(&self, kind: &str) -> u64 {
        self.effects.iter().filter(|effect| effect.kind == kind).map(|effect| effect.count).sum()
    }
}

async fn exists(client: &Client, table: &str) -> Result<bool, Failure> {
    Ok(client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table]).await?.try_get(0)?)
}
