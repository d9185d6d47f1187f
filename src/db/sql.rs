//! Every statement, one file each under `sql/query`. Tests prepare all of them against a migrated database, and find
//! files that are not listed here.

/// A statement and the name it has in the metrics.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    /// Folder and file, as in `orders/get`.
    pub name: &'static str,
    /// The file's content.
    pub text: &'static str,
}

macro_rules! statements {
    ($($constant:ident = $name:literal),+ $(,)?) => {
        $(
            #[doc = concat!("`sql/query/", $name, ".sql`")]
            pub static $constant: Statement = Statement {
                name: $name,
                text: include_str!(concat!("../../sql/query/", $name, ".sql")),
            };
        )+

        /// All of them, in the order of this file.
        pub static ALL: &[&Statement] = &[$(&$constant),+];
    };
}

statements! {
    API_KEY_CREATE = "api_keys/create",
    API_KEY_FIND = "api_keys/find",
    API_KEY_LIST = "api_keys/list",
    API_KEY_REVOKE = "api_keys/revoke",
    API_KEY_TOUCH = "api_keys/touch",
    CLAIM_BATCH = "idempotency_keys/claim_batch",
    EVENT_ADD = "events/add",
    EVENT_ALIAS_ADD = "event_aliases/add",
    EVENT_DUE = "events/due",
    EVENT_FIND = "events/find",
    EVENT_LIST = "events/list",
    EVENT_LIST_BY_ORDER = "events/list_by_order",
    EVENT_LOCK = "events/lock",
    EVENT_OF_PAYMENT = "events/of_payment",
    EVENT_ORDER_OF = "events/order_of",
    EVENT_ORGS_WITH_DUE = "events/orgs_with_due",
    EVENT_SETTLE = "events/settle",
    EVENT_TAKE = "events/take",
    GATEWAY_FIND = "gateways/find",
    GATEWAY_LIST = "gateways/list",
    GATEWAY_SET = "gateways/set",
    CLAIM = "idempotency_keys/claim",
    CLAIM_WITH_CHARGE = "idempotency_keys/claim_with_charge",
    CLAIM_WITH_ORDER = "idempotency_keys/claim_with_order",
    CLAIM_COMPLETE = "idempotency_keys/complete",
    KEY_COUNT_EXPIRED = "idempotency_keys/count_expired",
    KEY_DELETE_EXPIRED = "idempotency_keys/delete_expired",
    KEY_FIND_BATCH = "idempotency_keys/find_batch",
    KEY_FIND = "idempotency_keys/find",
    KEY_REQUEST_OF = "idempotency_keys/request_of",
    KEY_ORGS_WITH_EXPIRED = "idempotency_keys/orgs_with_expired",
    JOURNAL_ADD = "journal/add",
    OPERATION_ADD = "operations/add",
    OPERATION_ADD_NOTIFIED = "operations/add_notified",
    OPERATION_DUE = "operations/due",
    OPERATION_HURRY = "operations/hurry",
    OPERATION_LOCK = "operations/lock",
    OPERATION_MARK_SENT = "operations/mark_sent",
    OPERATION_MOVE = "operations/move",
    OPERATION_REFUND_BY_KEY = "operations/refund_by_key",
    OPERATION_REFUNDS_DONE = "operations/refunds_done",
    OPERATION_RESTRICT = "operations/restrict",
    OPERATION_OPEN_CHARGE = "operations/open_charge",
    OPERATION_ORGS_WITH_DUE = "operations/orgs_with_due",
    OPERATION_TAKE = "operations/take",
    ORDER_FIND_BY_REFERENCE = "orders/find_by_reference",
    ORDER_GET = "orders/get",
    ORDER_LIST = "orders/list",
    ORDER_LIST_BY_CUSTOMER = "orders/list_by_customer",
    ORDER_LIST_BY_CUSTOMER_AND_STATUS = "orders/list_by_customer_and_status",
    ORDER_LIST_BY_REFERENCE = "orders/list_by_reference",
    ORDER_LIST_BY_STATUS = "orders/list_by_status",
    ORDER_LIST_TO_RECONCILE = "orders/list_to_reconcile",
    ORDER_LOCK = "orders/lock",
    ORDER_REQUEST_CANCEL = "orders/request_cancel",
    ORDER_SET_STATUS = "orders/set_status",
    ORG_CREATE = "orgs/create",
    ORG_FIRST_BY_NAME = "orgs/first_by_name",
    ORG_LIST = "orgs/list",
    PAYMENT_ADD = "payments/add",
    PAYMENT_ADD_NOTIFIED = "payments/add_notified",
    PAYMENT_HAS_REFERENCE = "payments/has_reference",
    PAYMENT_LOCK = "payments/lock",
    PAYMENT_NEWEST = "payments/newest",
    PAYMENT_OTHERS_PAID = "payments/others_paid",
    PAYMENT_PAID = "payments/paid",
    PAYMENT_OF_ORDER = "payments/of_order",
    PAYMENT_RECOUNT = "payments/recount",
    PAYMENT_SETTLE = "payments/settle",
    RECEIPT_ADD = "receipts/add",
    RECEIPT_ADD_REFUSED = "receipts/add_refused",
    RECEIPT_GET = "receipts/get",
    RECEIPT_LIST = "receipts/list",
    RECEIPT_LIST_BY_NOTIFICATION = "receipts/list_by_notification",
    RECEIPT_LIST_BY_ORDER = "receipts/list_by_order",
    CASE_CLOSE_SETTLED = "reconciliation_cases/close_settled",
    CASE_GET = "reconciliation_cases/get",
    CASE_LIST = "reconciliation_cases/list",
    CASE_LIST_BY_ORDER = "reconciliation_cases/list_by_order",
    CASE_LIST_BY_STATE = "reconciliation_cases/list_by_state",
    CASE_OPEN = "reconciliation_cases/open",
    CASE_RESOLVE = "reconciliation_cases/resolve",
    MIGRATION_ADD = "schema_migrations/add",
    MIGRATION_CREATE_TABLE = "schema_migrations/create",
    MIGRATION_TABLE_EXISTS = "schema_migrations/exists",
    MIGRATION_LIST = "schema_migrations/list",
    MIGRATION_TRY_LOCK = "schema_migrations/try_lock",
    SERVER_SETTINGS = "server/settings",
    WEBHOOK_ENDPOINT_CREATE = "webhook_endpoints/create",
    WEBHOOK_ENDPOINT_FIND = "webhook_endpoints/find",
    WEBHOOK_SECRET_LIST = "webhook_secrets/list",
    WEBHOOK_SECRET_LIST_ALL = "webhook_secrets/list_all",
    WEBHOOK_SECRET_RETIRE = "webhook_secrets/retire",
    WEBHOOK_SECRET_SET = "webhook_secrets/set",
}
