//! A keyed request, from its bytes to its fingerprint.

use crate::app::error::AppError;
use crate::budget::Body;
use crate::domain::canonical::canonical;
use crate::domain::fingerprint::{Fingerprint, fingerprint};
use crate::domain::json::{self, Json};
use crate::domain::key::IdempotencyKey;
use crate::domain::masked::mask;
use crate::domain::org::Org;
use std::sync::Arc;
use uuid::Uuid;

/// A request under an idempotency key, its caller authenticated and its body read.
#[derive(Debug)]
pub struct Command {
    /// Who asks.
    pub org: Arc<Org>,
    /// The public part of the API key that asks.
    pub asked_by: String,
    /// The client's name for the command.
    pub key: IdempotencyKey,
    /// HTTP method, part of what makes a request the same.
    pub method: &'static str,
    /// Path, likewise.
    pub path: String,
    /// Query without the question mark, likewise.
    pub query: Option<String>,
    /// The body's bytes.
    pub body: Body,
    /// This very request.
    pub request_id: Uuid,
}

/// A command as far as its key is concerned.
#[derive(Debug, Clone)]
pub struct Keyed {
    /// The command.
    pub command: Arc<Command>,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The body in canonical form, its payment method hashed: what is kept, and what another request is compared with.
    pub canonical: Arc<str>,
}

impl Command {
    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// [`AppError::Json`].
    pub fn json(&self) -> Result<Json<'_>, AppError> {
        json::parse(&self.body).map_err(AppError::Json)
    }

    /// The fingerprint of a body that came the way this one did.
    #[must_use]
    pub fn fingerprint_of(&self, canonical: &str) -> Fingerprint {
        let what = planted!(
            "fingerprint_ignores_amount",
            &canonical
                .split("\"unit_amount\":")
                .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
                .collect::<String>(),
            canonical
        );
        fingerprint(self.method, &self.path, self.query.as_deref(), what)
    }

    /// The command with its fingerprint. The text at `secret` is hashed first, so that it is kept nowhere.
    #[must_use]
    pub fn keyed(self: &Arc<Self>, mut body: Json<'_>, secret: &[&str]) -> Keyed {
        mask(&mut body, secret);
        let canonical = Arc::<str>::from(canonical(&body));
        Keyed { fingerprint: self.fingerprint_of(&canonical), canonical, command: Arc::clone(self) }
    }
}
