//! What the statements of the worker read.

use super::plans::{FILL_PAYMENTS, NO_CURSOR, filled, plan, read_whole, rows_read, told};
use ichido::db::sql;

#[tokio::test]
async fn work_that_is_due_is_found_among_what_is_settled() {
    let client = filled().await;
    client.batch_execute(FILL_PAYMENTS).await.unwrap();
    let order_id = "'00000000-0000-0000-0000-000000000008'";
    let finish = format!("1, ARRAY[{order_id}]::uuid[], ARRAY[{order_id}]::uuid[], ARRAY['pi_none']");
    let cases = [
        // Orders 1,000, 2,000 … are due, all of them of organisation 1.
        (&sql::OPERATION_ORGS_WITH_DUE, String::new(), 3.0),
        (&sql::OPERATION_DUE, "1, 8, '{}'".to_owned(), 8.0),
        (&sql::ORDER_LOCK, format!("1, {order_id}"), 1.0),
        (&sql::ORDER_LOCK_FREE, format!("1, ARRAY[{order_id}]::uuid[]"), 1.0),
        (&sql::OPERATION_STEPS, format!("1, ARRAY[{order_id}]::uuid[]"), 2.0),
        (&sql::ORDER_GET_MANY, format!("1, ARRAY[{order_id}]::uuid[]"), 1.0),
        // Found, joined again to be changed, and looked at for other attempts and for the payment elsewhere.
        (&sql::OPERATION_FINISH_FIRST_CHARGES, finish, 6.0),
        (&sql::PAYMENT_LOCK, format!("1, {order_id}, 1"), 1.0),
        (&sql::PAYMENT_HAS_REFERENCE, format!("1, {order_id}, 1, 'pi_none'"), 1.0),
        (&sql::PAYMENT_NEWEST, format!("1, {order_id}"), 1.0),
        (&sql::PAYMENT_OTHERS_PAID, format!("1, {order_id}, 1"), 1.0),
        (&sql::OPERATION_LOCK, format!("1, {order_id}, 'charge', '1'"), 1.0),
        (&sql::OPERATION_OPEN_CHARGE, format!("1, {order_id}"), 1.0),
        (&sql::CASE_LIST, format!("1, {NO_CURSOR}, 5, NULL"), 5.0),
        (&sql::CASE_LIST_BY_STATE, format!("1, {NO_CURSOR}, 5, NULL, 'open'"), 5.0),
        (&sql::CASE_LIST_BY_ORDER, format!("1, {NO_CURSOR}, 5, NULL, NULL, {order_id}"), 5.0),
        (&sql::ORDER_SET_STATUS, format!("1, ARRAY[{order_id}]::uuid[], ARRAY['confirmed'], ARRAY[1]"), 5.0),
    ];
    for (statement, values, most) in cases {
        let nodes = plan(&client, statement, &values).await;
        assert!(read_whole(&nodes).is_none(), "{}: {}", statement.name, told(&nodes));
        let read = rows_read(&nodes);
        assert!(read <= most, "{} read {read} rows: {}", statement.name, told(&nodes));
    }
}

#[tokio::test]
async fn first_sendings_read_what_they_take() {
    let client = filled().await;
    let steps = "
        INSERT INTO operations (org_id, order_id, kind, fact, state, operation_key, next_attempt_at, deadline_at, created_at, updated_at)
        SELECT org_id, order_id, 'confirmation_mail', '', CASE WHEN amount % 100 = 0 THEN 'ready' ELSE 'done' END, 'm-' || amount,
            CASE WHEN amount % 100 = 0 THEN now() + (amount % 200 - 1) * interval '1 hour' END, now() + interval '1 day', now(), now()
        FROM orders; ANALYZE";
    client.batch_execute(steps).await.unwrap();
    let (token, order_id) = ("'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000008'");
    let take = format!("1, ARRAY['confirmation_mail'], ARRAY['\\x00']::bytea[], ARRAY[8], {token}, 20");
    let finish =
        format!("1, ARRAY[{order_id}]::uuid[], ARRAY['confirmation_mail'], ARRAY[{token}]::uuid[], ARRAY['m']");
    let release = format!("1, ARRAY[{order_id}]::uuid[], ARRAY['confirmation_mail'], ARRAY[60]");
    for (statement, values, most) in [
        (&sql::OPERATION_ORGS_WITH_DUE, String::new(), 3.0),
        // Chosen, joined, joined again to be changed, each with its order.
        (&sql::OPERATION_TAKE_FIRST, take, 48.0),
        (&sql::OPERATION_FINISH_FIRST, finish, 1.0),
        (&sql::OPERATION_RELEASE, release, 1.0),
    ] {
        let nodes = plan(&client, statement, &values).await;
        assert!(read_whole(&nodes).is_none(), "{}: {}", statement.name, told(&nodes));
        assert!(rows_read(&nodes) <= most, "{} read {}: {}", statement.name, rows_read(&nodes), told(&nodes));
    }
}
