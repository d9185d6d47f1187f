//! Idempotency records, with the semantics of Stripe's API v1 (<https://docs.stripe.com/api/idempotent_requests>): the
//! status and body of the first call are stored once its work has begun, and given again whatever they are; what is
//! refused before is not stored; a call that finds its key at work is told so.

use crate::sim::world::World;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a call says about itself.
#[derive(Debug, Clone)]
pub struct Key {
    /// The header's value, with the name of the service in front: two services do not share keys.
    pub name: String,
    /// Method and path.
    pub endpoint: String,
    /// SHA-256 of the parameters.
    pub parameters: String,
    /// The id of this request.
    pub request_id: String,
}

/// An answer that was given, or would have been had the line held.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stored {
    /// [`Key::name`].
    pub name: String,
    endpoint: String,
    parameters: String,
    /// The id of the request that was carried out.
    pub request_id: String,
    /// HTTP status.
    pub status: u16,
    /// The exact body.
    pub body: String,
}

impl Stored {
    /// The record of a call that was carried out.
    pub fn new(key: &Key, status: u16, body: &str) -> Self {
        Self {
            name: key.name.clone(),
            endpoint: key.endpoint.clone(),
            parameters: key.parameters.clone(),
            request_id: key.request_id.clone(),
            status,
            body: body.to_owned(),
        }
    }
}

/// What a key means for a call.
pub enum Begun {
    /// Nobody used it: the call may begin.
    Fresh(Running),
    /// The call was carried out.
    Replay(Stored),
    /// The key was used for another endpoint, this one.
    OtherEndpoint(String),
    /// The key was used with other parameters.
    OtherParameters,
    /// The call is being carried out.
    InUse,
}

/// A call at work. As long as it is not dropped, its key is in use.
pub struct Running {
    world: Arc<World>,
    /// The key, if the call has one.
    pub key: Option<Key>,
}

impl Running {
    /// Looks the key up and, if it is new, takes it: of several calls at once, one is fresh.
    pub fn begin(world: &Arc<World>, key: Option<Key>) -> Begun {
        let Some(key) = key else {
            return Begun::Fresh(Self { world: Arc::clone(world), key: None });
        };
        world.with_running(|state, running| match state.answers.get(&key.name) {
            _ if running.contains(&key.name) => Begun::InUse,
            Some(stored) if stored.endpoint != key.endpoint => Begun::OtherEndpoint(stored.endpoint.clone()),
            Some(stored) if stored.parameters != key.parameters => Begun::OtherParameters,
            Some(stored) => Begun::Replay(stored.clone()),
            None => {
                running.insert(key.name.clone());
                Begun::Fresh(Self { world: Arc::clone(world), key: Some(key.clone()) })
            }
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.world.with_running(|_, running| running.remove(&key.name));
        }
    }
}
