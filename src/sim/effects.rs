//! Effects: what really happened, counted. `GET /effects` is the judge.

use crate::sim::Sim;
use crate::sim::table::Table;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};

/// Something that was done once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Effect {
    /// `charge`, `refund` or the partner's kind.
    pub kind: String,
    /// What identifies the work: the call's idempotency key, or the operation's key.
    pub key: String,
    /// Whose order.
    pub order_id: Option<String>,
    /// In the currency's minor unit.
    pub amount: Option<i64>,
    /// Lower or upper case, as the caller sent it.
    pub currency: Option<String>,
}

/// The same work, and how often it was really done. More than once is the failure that tests look for.
#[derive(Debug, Serialize)]
pub struct Counted {
    #[serde(flatten)]
    effect: Effect,
    count: u64,
}

/// Counts effects by kind and key.
#[derive(Default)]
pub struct Effects(Table<Counted>);

impl Effects {
    /// It happened, once more perhaps.
    pub fn happened(&mut self, effect: Effect) {
        let name = format!("{}\n{}", effect.kind, effect.key);
        match self.0.get_mut(&name) {
            Some(counted) => counted.count += 1,
            None => self.0.put(&name, Counted { effect, count: 1 }),
        }
    }
}

/// Which effects are asked for.
#[derive(Deserialize)]
pub struct Query {
    order_id: Option<String>,
}

#[derive(Serialize)]
struct List<'a> {
    effects: Vec<&'a Counted>,
}

/// `GET /effects`, in the order in which they first happened.
pub async fn list(sim: web::Data<Sim>, query: web::Query<Query>) -> HttpResponse {
    let wanted = query.into_inner().order_id;
    let body = sim.world.read(|state| {
        let all = state.effects.0.iter();
        let of_order = all.filter(|each| wanted.is_none() || each.effect.order_id == wanted);
        serde_json::to_string(&List { effects: of_order.collect() }).unwrap_or_default()
    });
    // What is told is on disk.
    match sim.world.synced().await {
        Ok(()) => HttpResponse::Ok().content_type("application/json").body(body),
        Err(error) => HttpResponse::InternalServerError().body(error.to_string()),
    }
}
