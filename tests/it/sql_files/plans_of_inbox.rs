//! The inbox' statements read as much as they give; on the tables of [`plans`](super::plans).

use super::plans::{FILL_PAYMENTS, NO_CURSOR, filled, plan, read_whole, rows_read, told};
use ichido::db::sql;

/// A receipt, an event and an alias of every order; ten events wait, five of them are due.
const FILL_INBOX: &str = "
    INSERT INTO webhook_endpoints (org_id, endpoint_id, provider) SELECT 1 + n % 2000, lpad(to_hex(n), 32, '0')::uuid, 'stripe'
    FROM generate_series(1, 20000) n;
    INSERT INTO receipts (org_id, receipt_id, endpoint_id, provider, received_at, signature, body_bytes, reply_status,
        classification, notification_id, order_id)
    SELECT org_id, order_id, order_id, 'stripe', now() - amount * interval '1 minute', CASE WHEN amount % 100 = 0 THEN 'mismatch' ELSE 'valid' END, 0, 200,
        CASE WHEN amount % 100 = 0 THEN NULL ELSE 'new' END, 'evt_' || amount, order_id FROM orders;
    INSERT INTO events (org_id, provider, fact_key, event_id, what, reference, fact, order_id, outcome, deadline,
        next_attempt_at, created_at, updated_at)
    SELECT org_id, 'stripe', 'pi:' || amount, order_id, 'succeeded', 'pi_' || amount, '{}', order_id,
        CASE WHEN amount % 1000 < 2 THEN 'parked' ELSE 'applied' END, now(),
        CASE WHEN amount % 1000 < 2 THEN now() + (amount % 1000 * 2 - 1) * interval '1 hour' END, now(), now()
    FROM orders;
    INSERT INTO event_aliases (org_id, provider, notification_id, fact_key)
    SELECT org_id, 'stripe', 'evt_' || amount, 'pi:' || amount FROM orders;
    ANALYZE";

#[tokio::test]
async fn a_delivery_and_the_lists_of_the_inbox_read_what_they_give() {
    let client = filled().await;
    client.batch_execute(FILL_PAYMENTS).await.unwrap();
    client.batch_execute(FILL_INBOX).await.unwrap();
    let order_id = "'00000000-0000-0000-0000-000000000008'";
    let cases = [
        (&sql::WEBHOOK_ENDPOINT_FIND, order_id.to_owned(), 2.0),
        (&sql::EVENT_FIND, "1, 'stripe', 'pi:8'".to_owned(), 3.0),
        (&sql::EVENT_ORDER_OF, format!("1, 'stripe', {order_id}, 'pi_8'"), 2.0),
        (&sql::EVENT_LOCK, "1, 'stripe', 'pi:8'".to_owned(), 3.0),
        (&sql::EVENT_OF_PAYMENT, "1, 'stripe', 'pi_8'".to_owned(), 1.0),
        (&sql::EVENT_ORGS_WITH_DUE, String::new(), 3.0),
        (&sql::EVENT_DUE, "1, 8".to_owned(), 8.0),
        (&sql::EVENT_LIST, format!("1, {NO_CURSOR}, 5, NULL, NULL, NULL"), 10.0),
        (&sql::EVENT_LIST_BY_ORDER, format!("1, {NO_CURSOR}, 5, NULL, NULL, NULL, {order_id}"), 2.0),
        (&sql::RECEIPT_LIST, format!("1, {NO_CURSOR}, 5, NULL, NULL, NULL, NULL"), 5.0),
        (&sql::RECEIPT_LIST_BY_ORDER, format!("1, {NO_CURSOR}, 5, NULL, NULL, NULL, NULL, NULL, {order_id}"), 1.0),
        // By its own order, by the order's fact and the notification that told it, and the receipt itself.
        (&sql::RECEIPT_OF_ORDER, format!("1, {order_id}, 5"), 5.0),
        (&sql::RECEIPT_LIST_BY_NOTIFICATION, format!("1, {NO_CURSOR}, 5, NULL, NULL, NULL, NULL, 'evt_8'"), 1.0),
    ];
    for (statement, values, most) in cases {
        let nodes = plan(&client, statement, &values).await;
        assert!(read_whole(&nodes).is_none(), "{}: {}", statement.name, told(&nodes));
        let read = rows_read(&nodes);
        assert!(read <= most, "{} read {read} rows: {}", statement.name, told(&nodes));
    }
}
