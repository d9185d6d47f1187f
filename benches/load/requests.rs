//! The requests for orders, as bytes ready to send.
//!
//! All requests have the same length, so one buffer for each connection is written once, and only the key and the
//! customer in it change.

use std::io::Write;
use std::ops::Range;

use rand::Rng;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::keys::{KeyOrder, Keys};
use crate::work::Work;

/// How many keys exist for replays.
pub const KNOWN: u32 = 2_000;

/// What follows the number in the key of a known request, so that it looks like a random UUID.
pub const KNOWN_KEY_REST: &str = "-0000-4000-8000-000000000000";

/// The number in the key of the first known request.
pub const FIRST_KNOWN: u32 = 10_000_000;

/// What is between the numbers of known requests. Spread over the whole range, they lie between random keys in the
/// index as a client's own keys would; and pgbench, which has no hash tables, can compute them.
pub const KNOWN_STEP: u32 = 44_999;

/// The lowest customer number; a customer's reference is its ten digits.
pub const FIRST_CUSTOMER: u32 = 1_000_000_000;

/// How many customers place new orders.
pub const CUSTOMERS: u32 = 100_000;

const KEY_HEADER: &str = "Idempotency-Key: ";
const NO_KEY: &str = "00000000-0000-0000-0000-000000000000";
const CUSTOMER_MEMBER: &str = r#""reference":""#;

/// Three lines, no order reference. What follows the metadata differs.
macro_rules! body {
    ($rest:literal) => {
        concat!(
            r#"{"customer":{"reference":"0000000000","email":"buyer@example.com"},"currency":"JPY","lines":["#,
            r#"{"sku":"TEA-01","description":"Sencha 100 g","quantity":2,"unit_amount":1200},"#,
            r#"{"sku":"CUP-07","description":"Tea cup, white, 180 ml","quantity":4,"unit_amount":850},"#,
            r#"{"sku":"POT-02","description":"Cast iron pot, 600 ml","quantity":1,"unit_amount":6400}],"#,
            r#""expected_amount":12200,"metadata":{"channel":"app"}"#,
            $rest
        )
    };
}
const BODY: &str = body!("}");
/// The simulated gateway takes the money, and answers after 5 ms.
const PAID_BODY: &str = body!(r#","payment":{"method":"pm_sim_slow_5"}}"#);

/// The requests of one connection, one after the other in the same buffer.
#[derive(Debug, Clone)]
pub struct Requests {
    bytes: Vec<u8>,
    key: Range<usize>,
    customer: Range<usize>,
    keys: Keys,
    /// The fields of every request.
    fields: String,
}

impl Requests {
    /// Requests to `address`, authorised by `token`, for orders as the work has them.
    pub fn new(address: &str, token: &str, work: Work, keys: Keys) -> Self {
        let body = if work == Work::Paid { PAID_BODY } else { BODY };
        let fields = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n");
        let head = format!(
            "POST /v1/orders HTTP/1.1\r\n{fields}Content-Type: application/json\r\nContent-Length: {}\r\n{KEY_HEADER}",
            body.len()
        );
        let key = head.len()..head.len() + NO_KEY.len();
        let body_at = key.end + 4;
        let customer_at = body_at + body.find(CUSTOMER_MEMBER).unwrap_or_default() + CUSTOMER_MEMBER.len();
        let bytes = format!("{head}{NO_KEY}\r\n\r\n{body}").into_bytes();
        Self { bytes, key, customer: customer_at..customer_at + 10, keys, fields }
    }

    /// The current request.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes the next request of a work and gives the status that must answer it.
    pub fn next(&mut self, work: Work) -> u16 {
        let mut random = rand::rng();
        if work.is_list() {
            self.list(work);
            return 200;
        }
        let again = match work {
            Work::Replay | Work::PeerReplay(_) => true,
            Work::Half => random.random(),
            _ => false,
        };
        if again {
            match self.keys.loaded {
                Some(loaded) => {
                    self.set_key(loaded.key(loaded.random_kept(&mut random)));
                    self.set_customer(0);
                }
                None => self.known(random.random_range(0..KNOWN)),
            }
            return 200;
        }
        let key = match self.keys.order {
            KeyOrder::Random => Builder::from_random_bytes(random.random()).into_uuid(),
            KeyOrder::TimeOrdered => Uuid::now_v7(),
        };
        self.set_key(key);
        self.set_customer(random.random_range(0..CUSTOMERS));
        201
    }

    /// Makes the next request one for a page of orders.
    fn list(&mut self, work: Work) {
        let mut random = rand::rng();
        let query = match (work, self.keys.listed) {
            (Work::ListCustomer, _) => {
                format!("&customer_reference={}", FIRST_CUSTOMER + random.random_range(0..CUSTOMERS))
            }
            (Work::ListDeep, Some(listed)) => format!("&cursor={}", listed.cursor(&mut random)),
            _ => String::new(),
        };
        self.bytes.clear();
        // Into a `Vec`: cannot fail.
        let _ = write!(self.bytes, "GET /v1/orders?limit=20{query} HTTP/1.1\r\n{}\r\n", self.fields);
    }

    /// Makes the request number `index` of those that are sent again and again.
    pub fn known(&mut self, index: u32) {
        self.bytes[self.key.clone()].copy_from_slice(known_key(index).as_bytes());
        self.set_customer(index);
    }

    /// Makes the request number `index` of a run, the same on every connection. Its key is as good as random.
    pub fn numbered(&mut self, run: u32, index: u32) {
        let hash = Sha256::digest([run.to_le_bytes(), index.to_le_bytes()].concat());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        self.set_key(Builder::from_random_bytes(bytes).into_uuid());
        self.set_customer(index % CUSTOMERS);
    }

    /// Makes the next request one with this key.
    pub fn set_key(&mut self, key: Uuid) {
        key.hyphenated().encode_lower(&mut self.bytes[self.key.clone()]);
    }

    /// Makes the next request one of this customer, below [`CUSTOMERS`].
    pub fn set_customer(&mut self, index: u32) {
        // Ten digits into ten bytes: cannot fail.
        let _ = write!(&mut self.bytes[self.customer.clone()], "{}", FIRST_CUSTOMER + index);
    }
}

/// The key of a known request.
pub fn known_key(index: u32) -> String {
    format!("{}{KNOWN_KEY_REST}", FIRST_KNOWN + index * KNOWN_STEP)
}
