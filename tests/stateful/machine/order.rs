//! An order and its payments, as the contract promises them.

use crate::operation::{Body, Method, News, Status};
use std::collections::BTreeSet;

/// What the service knows of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Books {
    /// The gateway has paid it without us, and nobody told us.
    Nothing,
    Processing,
    Unknown,
    Declined,
    Paid,
}

/// What really happened at the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    Taken,
    Absent,
    Deciding,
    Refused,
    Ended,
}

/// A part that was given back at the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    No,
    Untold,
    /// Told before the service knew of the money.
    Parked,
    Counted,
}

/// Giving back all that is left, for a cancelled order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refund {
    No,
    Asked,
    Done,
}

/// One payment of an order.
#[derive(Debug, Clone)]
pub struct Payment {
    /// The number of the attempt, once the service knows of it.
    pub attempt: Option<i64>,
    pub books: Books,
    pub truth: Truth,
    /// Whether it is time to ask.
    pub due: bool,
    /// Whether it was asked for so long ago that what the gateway does not know will not come any more.
    pub old: bool,
    /// Whether another payment has paid the order meanwhile.
    pub unwanted: bool,
    pub refunded: i64,
    pub refund: Refund,
    pub back: Back,
    /// What was told of it.
    pub told: BTreeSet<News>,
}

impl Payment {
    fn new(attempt: Option<i64>, books: Books, truth: Truth) -> Self {
        let (refund, back) = (Refund::No, Back::No);
        let (due, old, unwanted, refunded, told) = Default::default();
        Self { attempt, books, truth, due, old, unwanted, refunded, refund, back, told }
    }

    /// Whether it is not settled.
    pub fn is_open(&self) -> bool {
        matches!(self.books, Books::Processing | Books::Unknown)
    }
}

/// An order as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub status: Status,
    pub needs_reconciliation: bool,
    pub amount: i64,
    pub amount_refunded: i64,
    /// Status and attempt.
    pub payment: Option<(&'static str, i64)>,
    pub body: Body,
}

/// An order.
#[derive(Debug, Clone)]
pub struct Order {
    pub org: usize,
    pub body: Body,
    pub status: Status,
    pub cancel_requested: bool,
    pub needs_reconciliation: bool,
    pub payments: Vec<Payment>,
}

impl Order {
    /// A new one.
    pub fn new(org: usize, body: Body) -> Self {
        let (cancel_requested, needs_reconciliation, payments) = Default::default();
        Self { org, body, status: Status::Received, cancel_requested, needs_reconciliation, payments }
    }

    /// What it costs.
    pub fn amount(&self) -> i64 {
        i64::from(self.body.price) * 1_000
    }

    /// What [`crate::operation::Operation::GiveBack`] gives back.
    pub fn quarter(&self) -> i64 {
        self.amount() / 4
    }

    /// Whether a payment is not settled.
    pub fn has_open(&self) -> bool {
        self.payments.iter().any(Payment::is_open)
    }

    /// The newest payment that the service knows.
    fn newest(&self) -> Option<&Payment> {
        self.payments.iter().filter(|it| it.attempt.is_some()).max_by_key(|it| it.attempt)
    }

    fn next_attempt(&self) -> i64 {
        self.newest().and_then(|it| it.attempt).unwrap_or_default() + 1
    }

    /// Whether another attempt may be made.
    pub fn is_payable(&self) -> bool {
        let failed = self.newest().is_none_or(|newest| newest.books == Books::Declined);
        matches!(self.status, Status::Received | Status::PaymentFailed)
            && !self.cancel_requested
            && !self.has_open()
            && failed
    }

    /// How it is shown. Of several payments the one that was paid, else the newest.
    pub fn view(&self) -> View {
        let paid = self.payments.iter().filter(|it| it.books == Books::Paid).max_by_key(|it| it.attempt);
        let payment = paid.or(self.newest()).map(|it| {
            let status = match it.books {
                Books::Nothing | Books::Processing => "processing",
                Books::Unknown => "unknown",
                Books::Declined => "declined",
                Books::Paid if it.refunded == 0 => "succeeded",
                Books::Paid if it.refunded < self.amount() => "partially_refunded",
                Books::Paid => "refunded",
            };
            (status, it.attempt.unwrap_or_default())
        });
        View {
            status: self.status,
            needs_reconciliation: self.needs_reconciliation,
            amount: self.amount(),
            amount_refunded: self.payments.iter().map(|it| it.refunded).sum(),
            payment,
            body: self.body,
        }
    }

    /// A first sending; gives the payment's place. It is settled at once where the gateway says yes or no.
    pub fn pay(&mut self, method: Method) -> usize {
        let (books, truth) = match method {
            Method::Succeeds | Method::LostAnswer => (Books::Unknown, Truth::Taken),
            Method::Declined => (Books::Unknown, Truth::Refused),
            Method::LostRequest => (Books::Unknown, Truth::Absent),
            Method::Processing => (Books::Processing, Truth::Deciding),
        };
        self.payments.push(Payment::new(Some(self.next_attempt()), books, truth));
        let at = self.payments.len() - 1;
        if matches!(method, Method::Succeeds | Method::Declined) {
            self.settle(at, method == Method::Succeeds);
        }
        at
    }

    /// It is paid at the gateway without us.
    pub fn paid_elsewhere(&mut self) {
        self.payments.push(Payment::new(None, Books::Nothing, Truth::Taken));
    }

    /// A payment succeeded, or ended without money. Money that comes twice is for a person.
    fn settle(&mut self, at: usize, success: bool) {
        let others_paid = self.payments.iter().enumerate().any(|(n, it)| n != at && it.books == Books::Paid);
        let payment = &mut self.payments[at];
        (payment.due, payment.books) = (false, if success { Books::Paid } else { Books::Declined });
        self.needs_reconciliation |= success && others_paid;
        self.status = match self.status {
            Status::Received | Status::PaymentFailed | Status::Confirmed if self.cancel_requested => Status::Cancelled,
            Status::Received | Status::PaymentFailed if success => Status::Confirmed,
            Status::Received => Status::PaymentFailed,
            status => status,
        };
        if success {
            self.payments.iter_mut().filter(|it| it.is_open()).for_each(|it| it.unwanted = true);
        }
        if self.status == Status::Cancelled {
            self.refund_all();
        }
    }

    fn refund_all(&mut self) {
        let held = self.payments.iter_mut().filter(|it| it.books == Books::Paid && it.refund == Refund::No);
        held.for_each(|it| it.refund = Refund::Asked);
    }

    /// The gateway is asked about a payment that is due: what was not done is done now, unless nobody wants it any more. `true`
    /// when it is settled by that.
    pub fn ask(&mut self, at: usize) -> bool {
        let payment = &mut self.payments[at];
        payment.due = false;
        let unwanted = payment.unwanted || self.cancel_requested;
        let success = match (payment.truth, unwanted) {
            (Truth::Taken, _) => Some(true),
            (Truth::Refused | Truth::Ended, _) => Some(false),
            (Truth::Absent, false) => {
                payment.truth = Truth::Taken;
                Some(true)
            }
            (Truth::Absent, true) => payment.old.then_some(false),
            (Truth::Deciding, false) => None,
            (Truth::Deciding, true) => {
                payment.truth = Truth::Ended;
                Some(false)
            }
        };
        if let Some(success) = success {
            self.settle(at, success);
        }
        success.is_some()
    }

    /// A cancellation: at once, or when it is known what became of a payment that is not settled.
    pub fn cancel(&mut self) {
        if self.status == Status::Cancelled {
            return;
        }
        if !self.has_open() {
            self.cancel_requested = true;
            self.status = Status::Cancelled;
            self.refund_all();
        } else if !self.cancel_requested {
            self.cancel_requested = true;
            self.payments.iter_mut().filter(|it| it.is_open()).for_each(|it| it.due = true);
        }
    }

    /// The gateway tells; `true` when the payment is settled by that.
    pub fn hear(&mut self, at: usize, news: News) -> bool {
        let next = self.next_attempt();
        let payment = &mut self.payments[at];
        payment.told.insert(news);
        let success = match (news, payment.books) {
            (News::Success, Books::Paid) | (News::Back, _) => None,
            (News::Success, _) => Some(true),
            (News::Failure | News::EarlierFailure, _) => payment.is_open().then_some(false),
        };
        if success == Some(true) {
            payment.attempt.get_or_insert(next);
        }
        if let Some(success) = success {
            self.settle(at, success);
        }
        success.is_some()
    }

    /// What was told of money that went back, after news of its payment that `settled` it or not.
    pub fn hear_back(&mut self, at: usize, news: News, settled: bool) {
        let back = self.payments[at].back;
        let told = news == News::Back && matches!(back, Back::Untold | Back::Parked);
        if told || settled && back == Back::Parked && self.payments[at].books == Books::Paid {
            self.count_back(at);
        }
    }

    /// What was told of money that went back counts once it is known that the money had come.
    pub fn count_back(&mut self, at: usize) {
        let quarter = self.quarter();
        let payment = &mut self.payments[at];
        let counts = payment.books == Books::Paid;
        payment.back = if counts { Back::Counted } else { Back::Parked };
        payment.refunded += if counts { quarter } else { 0 };
    }
}
