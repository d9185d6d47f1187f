//! Chooses one fault after another by the seed, and makes it happen.

use crate::Failure;
use crate::after_kill::BOUND;
use crate::family::{Deck, Family};
use crate::fault::{Fault, LINES, Line, Target};
use crate::ledger::Ledger;
use crate::proxy::Proxy;
use crate::stack::Stack;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Between two faults, in milliseconds.
const GAP_MS: std::ops::RangeInclusive<u64> = 500..=1_500;
/// Clients and servers have met before the first fault.
const WARM_UP: Duration = Duration::from_secs(1);
/// The longest that the database is asked for its sessions.
const ASK_LIMIT: Duration = Duration::from_secs(5);

/// Makes faults happen.
pub struct Injector<'a> {
    /// What is struck.
    pub stack: &'a Stack,
    /// Where it is noted.
    pub ledger: &'a Ledger,
    /// What kind of faults. Of single kills, what one caught is settled before the next one.
    pub family: Family,
}

impl Injector<'_> {
    /// Makes so many faults happen; nothing is broken any more when it returns.
    ///
    /// # Errors
    ///
    /// When PostgreSQL does not start again.
    pub async fn inject(&self, faults: u32, seed: u64) -> Result<(), Failure> {
        let Self { stack, ledger, family } = *self;
        let mut random = StdRng::seed_from_u64(seed);
        let mut deck = Deck::new(family, !stack.gateways.is_empty());
        sleep(WARM_UP).await;
        for _ in 0..faults {
            let fault = deck.draw(&mut random);
            ledger.injected(&fault);
            strike(stack, ledger, fault).await?;
            let settling = if family == Family::SingleKills { BOUND } else { Duration::ZERO };
            sleep(settling + Duration::from_millis(random.random_range(GAP_MS))).await;
        }
        for proxy in LINES.iter().flat_map(|line| stack.proxies(*line)) {
            proxy.calm();
        }
        for target in [Target::ServerA, Target::ServerB, Target::Worker] {
            stack.process(target).resume().await;
        }
        // The judges ask them.
        for gateway in &stack.gateways {
            gateway.world.until_it_listens().await?;
        }
        Ok(())
    }
}

async fn strike(stack: &Stack, ledger: &Ledger, fault: Fault) -> Result<(), Failure> {
    match fault {
        Fault::Kill(target) => {
            if let Some(server) = target.server() {
                ledger.kills(server);
            }
            stack.process(target).kill().await;
        }
        Fault::Pause(target, time) => stack.process(target).pause(time).await,
        Fault::Drain(target) => drop(stack.process(target).replace().await?),
        Fault::EndBackend(pick) => {
            // The database may be out of reach because of another fault; then there is nobody to end.
            let ended = timeout(ASK_LIMIT, stack.database.end_a_backend(pick)).await;
            if !matches!(ended, Ok(Ok(true))) {
                ledger.log("no backend was ended");
            }
        }
        Fault::KillPostmaster => stack.database.kill_and_restart().await?,
        Fault::Strike(line, strike, times) => on(stack, line, |proxy| proxy.arm(strike, times)),
        Fault::Reset(line) => on(stack, line, Proxy::reset),
        Fault::Stall(line, time) => on(stack, line, |proxy| proxy.stall(time)),
        Fault::Delay(line, each, time) => on(stack, line, |proxy| proxy.delay(each, time)),
        Fault::Split(line, time) => on(stack, line, |proxy| proxy.split(time)),
    }
    Ok(())
}

fn on(stack: &Stack, line: Line, act: impl Fn(&Proxy)) {
    stack.proxies(line).into_iter().for_each(act);
}
