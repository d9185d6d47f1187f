//! How the keys of new orders are made, and which orders a database was loaded with.

use ichido::domain::cursor::Cursor;
use ichido::domain::ids::OrderId;
use rand::Rng;
use rand::rngs::ThreadRng;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Where a new key belongs in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyOrder {
    /// UUID version 4: anywhere.
    Random,
    /// UUID version 7: always at its end.
    TimeOrdered,
}

impl KeyOrder {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Random, Self::TimeOrdered];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::TimeOrdered => "time-ordered",
        }
    }
}

/// The keys of a load, and the orders that it may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// Of new orders.
    pub order: KeyOrder,
    /// What is replayed; `None`: the few orders that every bench makes.
    pub loaded: Option<Loaded>,
    /// Where pages from the middle are; `None`: the first page.
    pub listed: Option<Listed>,
}

impl Keys {
    /// Random keys on a database that was not loaded.
    pub const RANDOM: Self = Self { order: KeyOrder::Random, loaded: None, listed: None };
}

/// One in so many loaded keys is past its time, so that the clean-up has work.
pub const EXPIRED_EVERY: u64 = 20;

/// Loaded orders in a millisecond of their pretended time.
pub const PER_MILLISECOND: u64 = 10;

/// Rows of which both this program and PostgreSQL can compute the key: numbers from 0 on.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    /// How many, a multiple of [`EXPIRED_EVERY`].
    pub rows: u64,
    /// How their keys were made.
    pub order: KeyOrder,
    /// The time of the first, in milliseconds since 1970.
    pub first_millis: u64,
}

impl Loaded {
    /// The key of a row. `growth/fill.rs` has the same in SQL.
    pub fn key(&self, number: u64) -> Uuid {
        let hash = Sha256::digest(number.to_string());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        if self.order == KeyOrder::Random {
            return Uuid::from_bytes(bytes);
        }
        let random = u128::from_be_bytes(bytes);
        let millis = u128::from(self.first_millis + number / PER_MILLISECOND);
        // Time, version 7, 12 bits, variant, 60 bits.
        Uuid::from_u128((millis << 80) | (7 << 76) | ((random >> 116) << 64) | (8 << 60) | ((random >> 56) & BITS_60))
    }

    /// A row whose key has not expired.
    pub fn random_kept(&self, random: &mut ThreadRng) -> u64 {
        let number = random.random_range(0..self.rows);
        if number.is_multiple_of(EXPIRED_EVERY) { number + 1 } else { number }
    }
}

const BITS_60: u128 = (1 << 60) - 1;

/// The orders of a database, from the lowest to the highest id.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// The lowest.
    pub low: Uuid,
    /// The highest.
    pub high: Uuid,
}

impl Listed {
    /// Where a page begins that is neither at the beginning of the list nor at its end, as following the list for long
    /// enough gives it. Such an order need not exist.
    pub fn cursor(&self, random: &mut ThreadRng) -> String {
        let quarter = (self.high.as_u128() - self.low.as_u128()) / 4;
        let place = self.low.as_u128() + quarter + random.random_range(0..=2 * quarter);
        Cursor(OrderId(Uuid::from_u128(place))).encode()
    }
}
