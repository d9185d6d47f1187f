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
    CLAIM_WITH_ORDER = "idempotency_keys/claim_with_order",
    KEY_COUNT_EXPIRED = "idempotency_keys/count_expired",
    KEY_DELETE_EXPIRED = "idempotency_keys/delete_expired",
    KEY_FIND_BATCH = "idempotency_keys/find_batch",
    KEY_FIND = "idempotency_keys/find",
    KEY_ORGS_WITH_EXPIRED = "idempotency_keys/orgs_with_expired",
    ORDER_FIND_BY_REFERENCE = "orders/find_by_reference",
    ORDER_GET = "orders/get",
    ORDER_LIST = "orders/list",
    ORDER_LIST_BY_CUSTOMER = "orders/list_by_customer",
    ORDER_LIST_BY_CUSTOMER_AND_STATUS = "orders/list_by_customer_and_status",
    ORDER_LIST_BY_REFERENCE = "orders/list_by_reference",
    ORDER_LIST_BY_STATUS = "orders/list_by_status",
    ORDER_LIST_TO_RECONCILE = "orders/list_to_reconcile",
    ORDER_REQUEST_OF = "orders/request_of",
    ORG_CREATE = "orgs/create",
    ORG_FIRST_BY_NAME = "orgs/first_by_name",
    ORG_LIST = "orgs/list",
    MIGRATION_ADD = "schema_migrations/add",
    MIGRATION_CREATE_TABLE = "schema_migrations/create",
    MIGRATION_LIST = "schema_migrations/list",
    MIGRATION_TABLE_EXISTS = "schema_migrations/exists",
    MIGRATION_TRY_LOCK = "schema_migrations/try_lock",
    SERVER_SETTINGS = "server/settings",
}
