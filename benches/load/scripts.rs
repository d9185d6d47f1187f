//! What pgbench runs: the service's own statements, their parameters replaced by pgbench's variables.

use crate::Failure;
use crate::requests::{CUSTOMERS, FIRST_CUSTOMER, FIRST_KNOWN, KNOWN, KNOWN_STEP};
use crate::work::Work;

/// A statement, and what each of its parameters becomes, `$1` first.
struct Statement {
    text: &'static str,
    values: &'static [&'static str],
}

/// The key is random like the clients' keys, and nearly as long.
macro_rules! key {
    () => {
        "(:key_high::text || '-' || :key_low::text)"
    };
}

/// An order's id grows with time like the service's: run, count and client, in decimal digits, which are also valid
/// hexadecimal ones.
macro_rules! order {
    () => {
        "(:run::text || :count::text || :client::text)::uuid"
    };
}

/// Not a constant, since PostgreSQL would plan that away.
macro_rules! null {
    () => {
        "nullif(:nothing, 'nothing')"
    };
}

/// What the service runs for one new order alone.
const SINGLE: Statement = Statement {
    text: include_str!("../../sql/query/idempotency_keys/claim_with_order.sql"),
    values: &[
        ":org_id",
        key!(),
        ":fingerprint_version",
        ":request_sha256",
        order!(),
        ":response_status",
        ":response_headers",
        ":response_body",
        null!(),
        null!(),
        ":customer",
        ":currency",
        ":amount",
        ":status",
        ":request",
        ":created_at",
    ],
};

/// Stores the answer of one claim, as one writes it for a single row.
const COMPLETE: &str = "
    UPDATE idempotency_keys
    SET state = 'completed', response_status = $3, response_headers = $4, response_body = $5, completed_at = now()
    WHERE org_id = $1 AND idempotency_key = $2 AND state = 'in_progress'";

/// The naive design: the key is claimed, the work is done, the answer is stored, all in one transaction. It stores the
/// very columns and bytes that [`SINGLE`] stores.
const CLASSIC: [Statement; 3] = [
    Statement {
        text: include_str!("../../sql/query/idempotency_keys/claim.sql"),
        values: &[
            ":org_id",
            key!(),
            ":fingerprint_version",
            ":request_sha256",
            order!(),
            concat!(null!(), "::integer"),
            null!(),
            null!(),
        ],
    },
    Statement {
        text: "INSERT INTO orders (
                org_id, order_id, order_reference, customer_reference, currency, amount, status, request, created_at, updated_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)",
        values: &[
            ":org_id",
            order!(),
            null!(),
            ":customer",
            ":currency",
            ":amount",
            ":status",
            ":request",
            ":created_at",
        ],
    },
    Statement {
        text: COMPLETE,
        values: &[":org_id", key!(), ":response_status", ":response_headers", ":response_body"],
    },
];

/// What the service runs for a request that is repeated.
const READ: Statement = Statement {
    text: include_str!("../../sql/query/idempotency_keys/find.sql"),
    values: &[":org_id", "(:known::text || :known_rest)"],
};

/// The first transaction of an order with a payment, before the gateway is called. The lease's token is the order's id.
const CHARGE: Statement = Statement {
    text: include_str!("../../sql/query/idempotency_keys/claim_with_charge.sql"),
    values: &[
        ":paid_org_id",
        key!(),
        ":fingerprint_version",
        ":request_sha256",
        order!(),
        null!(),
        null!(),
        ":customer",
        ":currency",
        ":amount",
        ":status",
        ":paid_request",
        ":created_at",
        ":paid_provider",
        ":paid_method",
        concat!("('ichido-' || ", order!(), "::text)"),
        order!(),
        ":lease_seconds",
        ":deadline_seconds",
        ":request_sha256",
    ],
};

/// The second one, after the gateway has taken the money: what is stored by then, without the questions that come before.
///
/// One order at a time, as one would write it by hand; the service does it for many at once.
const SETTLE: &[Statement] = &[
    Statement {
        text: include_str!("../../sql/query/operations/move.sql"),
        values: &[
            ":paid_org_id",
            order!(),
            "'charge'",
            ":attempt",
            "'leased'",
            order!(),
            "'done'",
            concat!(null!(), "::timestamptz"),
            concat!("('pi_' || ", order!(), "::text)"),
            ":paid_outcome",
            ":no",
            ":no",
            concat!(null!(), "::double precision"),
        ],
    },
    Statement {
        text: include_str!("../../sql/query/payments/settle.sql"),
        values: &[
            ":paid_org_id",
            order!(),
            ":attempt",
            "'succeeded'",
            concat!("('pi_' || ", order!(), "::text)"),
            null!(),
            ":yes",
        ],
    },
    Statement {
        text: include_str!("../../sql/query/journal/add.sql"),
        values: &[
            ":paid_org_id",
            concat!("ARRAY[", order!(), "]"),
            concat!("ARRAY[", order!(), "]"),
            "'request'",
            "'operation_attempted'",
            "ARRAY[:paid_details]",
        ],
    },
    Statement {
        text: include_str!("../../sql/query/orders/set_status.sql"),
        values: &[":paid_org_id", concat!("ARRAY[", order!(), "]"), "ARRAY['confirmed']", "ARRAY[1]"],
    },
    Statement {
        text: COMPLETE,
        values: &[":paid_org_id", key!(), ":response_status", ":response_headers", ":paid_response_body"],
    },
];

/// What pgbench runs for a work; `None` when it is not pgbench's.
pub fn of(work: Work) -> Option<Result<String, Failure>> {
    let scripts: &[&[Statement]] = match work {
        Work::PgbenchSingle => &[&[SINGLE]],
        Work::PgbenchClassic => &[&CLASSIC],
        Work::PgbenchRead => &[&[READ]],
        Work::PgbenchPaid => &[&[CHARGE], SETTLE],
        _ => return None,
    };
    let last_customer = FIRST_CUSTOMER + CUSTOMERS - 1;
    let variables = match work {
        Work::PgbenchRead => format!("\\set known {FIRST_KNOWN} + random(0, {}) * {KNOWN_STEP}\n", KNOWN - 1),
        _ => format!(
            "\\set key_high random(1, 9223372036854775806)\n\\set key_low random(1, 9223372036854775806)\n\
             \\set count :count + 1\n\\set client :client_id + 100000000000\n\
             \\set customer random({FIRST_CUSTOMER}, {last_customer})\n"
        ),
    };
    Some(scripts.iter().try_fold(variables, |script, statements| Ok(script + &transaction(statements)?)))
}

/// Several statements in one transaction; one alone is one by itself.
fn transaction(statements: &[Statement]) -> Result<String, Failure> {
    let all = statements.iter().map(Statement::script).collect::<Result<String, _>>()?;
    Ok(if statements.len() == 1 { all } else { format!("BEGIN;\n{all}COMMIT;\n") })
}

impl Statement {
    /// The statement with its comments removed and its parameters replaced.
    fn script(&self) -> Result<String, Failure> {
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        let text = lines.join("\n");
        let mut parts = text.split('$');
        let mut script = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.find(|character: char| !character.is_ascii_digit()).unwrap_or(part.len());
            let index: usize = part[..digits].parse()?;
            let value = index.checked_sub(1).and_then(|index| self.values.get(index));
            script += value.ok_or_else(|| format!("the bench knows no value for parameter ${index} of:\n{text}"))?;
            script += &part[digits..];
        }
        Ok(format!("{};\n", script.trim_end().trim_end_matches(';')))
    }
}
