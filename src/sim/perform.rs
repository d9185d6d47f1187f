//! Carries one call out, with its fault, whether or not the caller is still there.

use crate::sim::Sim;
use crate::sim::faults::Fault;
use crate::sim::keys::{Running, Stored};
use crate::sim::world::{Change, State};
use actix_web::{HttpResponse, ResponseError};
use std::fmt;
use tokio::time::sleep;

/// What a call does to the world.
#[derive(Default)]
pub struct Work {
    /// The change, without the idempotency record.
    pub change: Change,
    /// HTTP status of the answer.
    pub status: u16,
    /// Body of the answer.
    pub body: String,
    /// Bodies of the notifications that tell of it.
    pub events: Vec<String>,
}

/// How a call goes wrong.
pub struct Plan {
    /// The fault.
    pub fault: Fault,
    /// What tells the first call from later ones; without it every call is a first one.
    pub name: Option<String>,
    /// What is remembered of a call that is turned away.
    pub on_loss: Change,
    /// The body of a 500.
    pub failure: String,
}

/// What the caller gets.
pub enum Outcome {
    /// An answer; it is stored under the call's key.
    Answer {
        /// HTTP status.
        status: u16,
        /// The exact body.
        body: String,
    },
    /// None: the line is cut.
    Cut,
    /// An answer from in front of the service, not stored: 500, or 409 as if the key were in use.
    TurnedAway(u16),
}

/// The world cannot go on: the journal is lost, or there was a panic. Nothing is told of what happened.
#[derive(Debug)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated world cannot keep what happens; see its log")
    }
}

impl ResponseError for Broken {
    fn error_response(&self) -> HttpResponse {
        HttpResponse::InternalServerError().force_close().body(self.to_string())
    }
}

/// Carries a call out, in a task of its own: a caller that hangs up changes nothing. Nothing is told before it is on
/// disk, and the key is in use until there is an answer.
///
/// # Errors
///
/// [`Broken`].
pub async fn perform(
    sim: &Sim,
    running: Running,
    plan: Plan,
    run: impl FnOnce(&State) -> Work + Send + 'static,
) -> Result<Outcome, Broken> {
    let task = sim.runtime.spawn(carry_out(sim.clone(), running, plan, run));
    task.await.unwrap_or(Err(Broken))
}

async fn carry_out(
    sim: Sim,
    running: Running,
    plan: Plan,
    run: impl FnOnce(&State) -> Work + Send + 'static,
) -> Result<Outcome, Broken> {
    let Plan { fault, name, on_loss, failure } = plan;
    let turned_away = fault.turns_away()
        && sim.world.change(|state| {
            if is_first(state, name.as_ref()) {
                (Change { struck: name.clone(), ..on_loss }, true)
            } else {
                (Change::default(), false)
            }
        });
    if turned_away {
        sim.world.synced().await.map_err(|_| Broken)?;
        return Ok(match fault {
            Fault::LostRequest => Outcome::Cut,
            Fault::Conflict409 => Outcome::TurnedAway(409),
            _ => Outcome::TurnedAway(500),
        });
    }
    if let Fault::Late(wait) = fault {
        sleep(wait).await;
    }
    let (status, body, events, lost) = sim.world.change(|state| {
        let mut work = match fault {
            Fault::Error500 => Work { status: 500, body: failure, ..Work::default() },
            Fault::Error500Done => Work { status: 500, body: failure, ..run(state) },
            _ => run(state),
        };
        work.change.answer = running.key.as_ref().map(|key| Stored::new(key, work.status, &work.body));
        let lost = fault == Fault::LostAnswer && is_first(state, name.as_ref());
        if lost {
            work.change.struck = name;
        }
        (work.change, (work.status, work.body, work.events, lost))
    });
    sim.world.synced().await.map_err(|_| Broken)?;
    sim.notify(events);
    if let Fault::Slow(wait) = fault {
        sleep(wait).await;
    }
    // From here a retry is answered from the record.
    drop(running);
    Ok(if lost { Outcome::Cut } else { Outcome::Answer { status, body } })
}

/// Whether a fault strikes: no call of this name was struck yet.
fn is_first(state: &State, name: Option<&String>) -> bool {
    name.is_none_or(|name| !state.struck.contains(name))
}
