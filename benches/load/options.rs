//! What the command line and the environment ask for.

use std::env;
use std::time::Duration;

use crate::keys::KeyOrder;
use crate::work::{PAID_WORKS, WORKS, Work};

/// How to call it.
pub const USAGE: &str = "\
cargo bench --bench load -- [growth] [--only WORD,…] [--connections N,…] [--rounds N] [--seconds N]
    [--keys random|time-ordered]

  --only         new, single, classic, replay, read, half, storm, paced, paid, pgbench-paid, peers, crowd, worker;
                 of growth: new, replay, lists, sustained
  --connections  instead of those that each work has by itself; 1 to 600
  --rounds       how often each run is repeated; 1 to 100
  --seconds      of each run; 1 to 600
  --keys         of growth: only these, instead of both in turn

QUICK=1 runs one short round without other services. PEERS=1 installs the other services of benches/peers first.
growth loads ROWS (20,000,000) rows and compares with an empty database.";

/// pgbench and the service open a connection each, and PostgreSQL has so many.
const MOST_CONNECTIONS: usize = 600;

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The works of [`Work`].
    Load,
    /// A loaded database beside an empty one.
    Growth,
}

/// How much is measured, and of what.
#[derive(Debug, Clone)]
pub struct Options {
    /// What runs.
    pub mode: Mode,
    /// One short round of what is quickest.
    pub quick: bool,
    /// How often each run is repeated.
    pub rounds: usize,
    /// Of each run.
    pub duration: Duration,
    /// Whether the other services are installed if they are not.
    pub install_peers: bool,
    /// With which keys growth is measured, one after the other.
    pub keys: Vec<KeyOrder>,
    only: Vec<String>,
    connections: Vec<usize>,
}

impl Options {
    /// Reads the arguments, those of cargo among them, and the environment.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let quick = is_set("QUICK");
        let (rounds, seconds) = if quick { (1, 2) } else { (3, 4) };
        let mut options = Self {
            mode: Mode::Load,
            quick,
            rounds,
            duration: Duration::from_secs(seconds),
            install_peers: is_set("PEERS"),
            keys: KeyOrder::ALL.to_vec(),
            only: Vec::new(),
            connections: Vec::new(),
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, mut inline) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let mut value = || inline.take().or_else(|| arguments.next()).ok_or(format!("`{name}` needs a value"));
            match name.as_str() {
                // cargo passes it.
                "--bench" => {}
                "growth" => options.mode = Mode::Growth,
                "--only" => options.only = list(&value()?, known_word)?,
                "--connections" => options.connections = list(&value()?, |text| number(text, MOST_CONNECTIONS))?,
                "--keys" => options.keys = list(&value()?, key_order)?,
                "--rounds" => options.rounds = number(&value()?, 100)?,
                "--seconds" => options.duration = Duration::from_secs(number(&value()?, 600)? as u64),
                _ => return Err(format!("unknown argument `{name}`")),
            }
            if let Some(value) = inline {
                return Err(format!("`{name}` takes no value, but has `{value}`"));
            }
        }
        Ok(options)
    }

    /// Whether a work is asked for.
    pub fn wants(&self, word: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|chosen| chosen == word)
    }

    /// Whether a work is asked for by its name, and not because everything is.
    pub fn names(&self, word: &str) -> bool {
        !self.only.is_empty() && self.wants(word)
    }

    /// The numbers of connections to run with, if others than the usual ones are asked for.
    pub fn connections<'a>(&'a self, usual: &'a [usize]) -> &'a [usize] {
        if self.connections.is_empty() { usual } else { &self.connections }
    }
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(|part| read(part.trim())).collect()
}

fn key_order(text: &str) -> Result<KeyOrder, String> {
    let order = KeyOrder::ALL.into_iter().find(|order| order.name() == text);
    order.ok_or_else(|| format!("`{text}` is neither random nor time-ordered"))
}

fn number(text: &str, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number from 1 to {most}"))
}

fn known_word(text: &str) -> Result<String, String> {
    let others = [Work::Paced, Work::PeerNew(""), Work::Crowd, Work::ListFirst, Work::Sustained];
    let works = WORKS.into_iter().chain(PAID_WORKS).chain(others);
    let known = works.map(Work::word).chain([WORKER]).any(|word| word == text);
    if known { Ok(text.to_owned()) } else { Err(format!("`{text}` is not a work that could be chosen")) }
}

/// The word for the steps of one worker, which are no load on the service.
pub const WORKER: &str = "worker";
