//! The simulated world's partners, as steps are set up for them.

use crate::db::step_policies::StepPolicy;
use crate::domain::step::StepKind;
use std::net::SocketAddr;
use std::time::Duration;

/// A partner that keeps to keys and can be asked.
pub(super) fn simulated(kind: StepKind, world: SocketAddr) -> StepPolicy {
    let url = format!("http://{world}/partners/{}", kind.as_str());
    StepPolicy {
        kind,
        url: url.clone(),
        honours_keys: true,
        status_url: Some(url),
        secret_sealed: None,
        owner: "operations".to_owned(),
        corrector: "operations".to_owned(),
        max_attempts: 20,
        time: Duration::from_hours(2),
    }
}
