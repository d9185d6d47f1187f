//! Circuit breakers (Nygard, "Release It!"): a partner who does not answer is left alone for a while, so that its work neither
//! uses up its attempts nor takes the room of others.

use crate::domain::ids::OrgId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many silences in a row open the breaker.
const SILENCES: u32 = 5;
/// For so long; then one more silence opens it again.
const OPEN_FOR: Duration = Duration::from_secs(10);

/// One breaker for each organisation and kind of step, in this process.
#[derive(Default)]
pub(super) struct Breakers(Mutex<HashMap<(OrgId, String), Breaker>>);

#[derive(Default)]
struct Breaker {
    silences: u32,
    open_until: Option<Instant>,
}

impl Breakers {
    /// The kinds of an organisation's steps that are left alone now.
    pub fn open_kinds(&self, org_id: OrgId) -> Vec<String> {
        let breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = breakers.iter().filter(|((org, _), breaker)| *org == org_id && breaker.is_open());
        open.map(|((_, kind), _)| kind.clone()).collect()
    }

    /// Notes whether a partner gave an answer.
    pub fn note(&self, org_id: OrgId, kind: &str, answered: bool) {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answered {
            breakers.remove(&(org_id, kind.to_owned()));
            return;
        }
        let breaker = breakers.entry((org_id, kind.to_owned())).or_default();
        breaker.silences += 1;
        if breaker.silences >= SILENCES {
            breaker.open_until = Some(Instant::now() + OPEN_FOR);
        }
    }
}

impl Breaker {
    fn is_open(&self) -> bool {
        self.open_until.is_some_and(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_silences_in_a_row_open_it_and_an_answer_closes_it() {
        let breakers = Breakers::default();
        let org = OrgId(1);
        for _ in 0..4 {
            breakers.note(org, "shipment_request", false);
        }
        breakers.note(org, "confirmation_mail", false);
        assert!(breakers.open_kinds(org).is_empty());
        breakers.note(org, "shipment_request", false);
        assert_eq!(breakers.open_kinds(org), ["shipment_request"]);
        assert!(breakers.open_kinds(OrgId(2)).is_empty());
        breakers.note(org, "shipment_request", true);
        assert!(breakers.open_kinds(org).is_empty());
    }
}
