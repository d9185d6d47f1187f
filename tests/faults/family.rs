//! Families of faults: which faults a run draws from, and how often each comes.

use crate::choice::{Choice, choose};
use crate::fault::{Fault, LINES, Line, Target, millis};
use crate::proxy::Strike;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Which faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Kills, stopped processes and broken lines, by weight.
    Mix,
    /// Kills only. Of each twenty: eight of servers, six of the worker, two of a backend, three of the postmaster, one of a
    /// gateway.
    Kills,
    /// Broken lines only. Of each 28, each line in each way.
    Lines,
    /// Kills of servers only.
    SingleKills,
}

/// How to make one.
type Make = fn(&mut StdRng) -> Fault;

/// Of 120 faults, about seven kill the postmaster.
const MIX: [Choice<Fault>; 28] = [
    (14, |_| Fault::Kill(Target::ServerA)),
    (14, |_| Fault::Kill(Target::ServerB)),
    (12, |_| Fault::Kill(Target::Worker)),
    (4, kill_a_gateway),
    (5, |random| Fault::Pause(Target::ServerA, millis(random, 500, 5_000))),
    (5, |random| Fault::Pause(Target::ServerB, millis(random, 500, 5_000))),
    (2, |random| Fault::Pause(Target::Worker, millis(random, 500, 5_000))),
    (14, |random| Fault::EndBackend(random.random_range(0..10_000))),
    (8, |_| Fault::KillPostmaster),
    (8, |random| cut_after(random, Line::Gateway)),
    (6, |random| cut_before(random, Line::Gateway)),
    (4, |random| half_open(random, Line::Gateway)),
    (5, |_| Fault::Reset(Line::Gateway)),
    (6, |random| stall(random, Line::Gateway)),
    (4, |random| slow(random, Line::Gateway)),
    (2, |random| split(random, Line::Gateway)),
    (3, |random| cut_after(random, Line::Database)),
    (2, |random| cut_before(random, Line::Database)),
    (2, |random| half_open(random, Line::Database)),
    (2, |_| Fault::Reset(Line::Database)),
    (2, |random| stall(random, Line::Database)),
    (2, |random| slow(random, Line::Database)),
    (2, |random| split(random, Line::Database)),
    (4, |random| cut_after(random, Line::Client)),
    (2, |_| Fault::Reset(Line::Client)),
    (2, |random| split(random, Line::Client)),
    (2, |random| cut_after(random, Line::Notification)),
    (2, |random| split(random, Line::Notification)),
];

/// How often each kill comes of twenty.
const KILLS: [(usize, Make); 6] = [
    (4, |_| Fault::Kill(Target::ServerA)),
    (4, |_| Fault::Kill(Target::ServerB)),
    (6, |_| Fault::Kill(Target::Worker)),
    (2, |random| Fault::EndBackend(random.random_range(0..10_000))),
    (3, |_| Fault::KillPostmaster),
    (1, kill_a_gateway),
];

/// The ways in which a line breaks.
const WAYS: [fn(&mut StdRng, Line) -> Fault; 7] =
    [cut_after, cut_before, half_open, |_, line| Fault::Reset(line), stall, slow, split];

/// Draws faults of a family. Of kills and of lines each comes as often as it is to, and not only probably: they are dealt
/// like cards, and shuffled again when all are dealt.
pub struct Deck {
    family: Family,
    with_gateway: bool,
    cards: Vec<Fault>,
}

impl Deck {
    /// One of a family. Without a gateway, its faults strike the other lines.
    pub fn new(family: Family, with_gateway: bool) -> Self {
        Self { family, with_gateway, cards: Vec::new() }
    }

    /// The next fault.
    pub fn draw(&mut self, random: &mut StdRng) -> Fault {
        if self.cards.is_empty() {
            self.cards = self.family.cards(random);
            self.cards.shuffle(random);
        }
        let fault = self.cards.pop().unwrap_or(Fault::KillPostmaster);
        if self.with_gateway { fault } else { fault.without_gateway() }
    }
}

impl Family {
    fn cards(self, random: &mut StdRng) -> Vec<Fault> {
        match self {
            Self::Mix => choose(&MIX, random).into_iter().collect(),
            Self::SingleKills => {
                vec![Fault::Kill(if random.random_bool(0.5) { Target::ServerA } else { Target::ServerB })]
            }
            Self::Kills => {
                let each = KILLS.iter().flat_map(|(times, make)| std::iter::repeat_n(make, *times));
                each.map(|make| make(random)).collect()
            }
            Self::Lines => {
                let each = LINES.iter().flat_map(|line| WAYS.iter().map(move |way| (*line, way)));
                each.map(|(line, way)| way(random, line)).collect()
            }
        }
    }
}

fn kill_a_gateway(random: &mut StdRng) -> Fault {
    Fault::Kill(Target::Gateway(random.random_range(0..2)))
}

fn cut_after(random: &mut StdRng, line: Line) -> Fault {
    Fault::Strike(line, Strike::CutAfter, random.random_range(1..=3))
}

fn cut_before(random: &mut StdRng, line: Line) -> Fault {
    Fault::Strike(line, Strike::CutBefore, random.random_range(1..=3))
}

fn half_open(random: &mut StdRng, line: Line) -> Fault {
    Fault::Strike(line, Strike::HalfOpen, random.random_range(1..=2))
}

fn stall(random: &mut StdRng, line: Line) -> Fault {
    Fault::Stall(line, millis(random, 500, 3_000))
}

/// The database is asked several times for each request.
fn slow(random: &mut StdRng, line: Line) -> Fault {
    let (from, to) = if line == Line::Database { (5, 50) } else { (50, 700) };
    Fault::Delay(line, millis(random, from, to), millis(random, 500, 3_000))
}

fn split(random: &mut StdRng, line: Line) -> Fault {
    Fault::Split(line, millis(random, 500, 3_000))
}
