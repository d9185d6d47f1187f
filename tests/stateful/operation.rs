//! What can be done to the service: by clients of two organisations, by the gateway, by time and by operators.

/// How many keys each organisation's clients choose from.
pub const KEYS: u8 = 16;
/// How many servers run on the one database.
pub const SERVERS: usize = 2;
/// How many organisations there are. The first refuses another body under a used key, answers replays with 200 and keeps keys for
/// a day; the second returns the original, with its own status, and keeps keys for ever.
pub const ORGS: usize = 2;

/// A payment method of the simulated world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Succeeds,
    Declined,
    /// The money is taken, and the answer is lost.
    LostAnswer,
    /// Nothing happens, and there is no answer.
    LostRequest,
    /// The gateway decides later.
    Processing,
}

impl Method {
    /// Its name there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Succeeds => "pm_card_visa",
            Self::Declined => "pm_card_chargeDeclined",
            Self::LostAnswer => "pm_sim_lost_answer",
            Self::LostRequest => "pm_sim_lost_request",
            Self::Processing => "pm_sim_processing",
        }
    }
}

/// What makes two orders different requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Thousands of yen.
    pub price: u8,
    pub customer: u8,
    pub reference: Option<u8>,
    pub method: Option<Method>,
}

/// A request under a key; orders by the number in which they were made, whoever's they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Create(Body),
    Pay { order: usize, method: Method },
    Cancel { order: usize },
}

/// A request, by whom and under which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub org: usize,
    pub key: u8,
    pub request: Request,
}

/// How a command is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Once,
    /// To every server at the same time.
    Race,
    /// The client hangs up without reading the answer, and sends the same again.
    HangUp,
}

/// What a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    All,
    Status(Status),
    Customer(u8),
    CustomerAndStatus(u8, Status),
    Reference(u8),
    NeedsReconciliation(bool),
}

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Received,
    PaymentFailed,
    Confirmed,
    Cancelled,
}

impl Status {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::PaymentFailed => "payment_failed",
            Self::Confirmed => "confirmed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What the gateway tells of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// The money was taken.
    Success,
    /// It was refused, or ended.
    Failure,
    /// It was refused at first; by now the money is taken.
    EarlierFailure,
    /// A part was given back at the gateway.
    Back,
}

/// How a notification comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// So many times, one after the other.
    InTurn(u8),
    /// So many times at once.
    AtOnce(u8),
    /// Once, signed by somebody else.
    Forged,
}

/// A payment: the order's number, and the payment's among its payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub order: usize,
    pub payment: usize,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Send {
        command: Command,
        way: Way,
        server: usize,
    },
    /// A body that no rule allows.
    Malformed {
        org: usize,
        key: u8,
        server: usize,
    },
    Get {
        org: usize,
        order: usize,
        server: usize,
    },
    /// What became of a key.
    Look {
        org: usize,
        key: u8,
        server: usize,
    },
    /// Every page of a list.
    List {
        org: usize,
        filter: Filter,
        limit: u8,
        server: usize,
    },
    /// So much time passes that whatever has no answer is due to be asked about.
    Later,
    /// The worker's rounds, until nothing is due.
    Work {
        server: usize,
    },
    /// A server ends and another one starts.
    Restart {
        server: usize,
    },
    /// Every completed key that may be removed is past its time, and removed.
    Expire {
        server: usize,
    },
    /// The gateway decides about a payment that is processing.
    Decide {
        place: Place,
        succeeds: bool,
    },
    /// The customer pays an order at the gateway, without us.
    PaidElsewhere {
        order: usize,
    },
    /// A quarter of a payment is given back at the gateway, without us.
    GiveBack {
        place: Place,
    },
    /// The gateway tells.
    Tell {
        place: Place,
        news: News,
        delivery: Delivery,
        server: usize,
    },
}
