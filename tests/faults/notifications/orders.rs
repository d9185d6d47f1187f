//! Orders without a payment of their own, which is made elsewhere.

use crate::Failure;
use crate::answer::{Call, What};
use crate::api::Api;
use crate::notifications::story::AMOUNT;
use crate::stack::Stack;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_postgres::Client;
use uuid::Uuid;

const TRIES: usize = 300;

/// Places them.
pub struct Orders {
    api: Arc<Api>,
    sql: Client,
}

impl Orders {
    /// Of the first organisation.
    pub async fn of(stack: &Stack) -> Result<Self, Failure> {
        Ok(Self { api: Arc::clone(&stack.api), sql: stack.database.connect().await? })
    }

    /// A connection that no fault reaches.
    pub fn sql(&self) -> &Client {
        &self.sql
    }

    /// An id that no order has yet.
    pub fn id_to_come() -> String {
        Uuid::now_v7().to_string()
    }

    /// Places one, as a client does: again until it is answered. Gives its id.
    pub async fn place(&self) -> Result<String, Failure> {
        let body = json!({ "customer": { "reference": "paid elsewhere" }, "currency": "JPY",
            "lines": [{ "sku": "TEA-01", "quantity": 2, "unit_amount": AMOUNT / 2 }] });
        let call = Call {
            what: What::Order,
            org: 0,
            path: "/v1/orders".to_owned(),
            key: Uuid::now_v7().to_string(),
            body: body.to_string().into_bytes(),
            amount: None,
        };
        for n in 0..TRIES {
            match self.api.send(n % 2, &call).await {
                Some(answer) if matches!(answer.status, 200 | 201) => {
                    return answer.order_id().ok_or_else(|| "no id".into());
                }
                Some(answer) if !matches!(answer.status, 409 | 503) => return Err(answer.to_string().into()),
                _ => sleep(Duration::from_millis(50)).await,
            }
        }
        Err("an order was never placed".into())
    }

    /// Lets one appear under an id that was told of before. The service mints ids itself, so this is done in the database.
    pub async fn place_as(&self, id: &str) -> Result<(), Failure> {
        let (made, wanted) = (Uuid::try_parse(&self.place().await?)?, Uuid::try_parse(id)?);
        self.sql.execute("UPDATE orders SET order_id = $2 WHERE order_id = $1", &[&made, &wanted]).await?;
        Ok(())
    }
}
