-- Lists of a customer without a status are made of those of each status (sql/query/orders/list_by_customer.sql), so that each
-- new order, and each change of an order's status, has one index entry less to write. With many orders such an entry is on a
-- page of its own: docs/settings.md has what was measured.

DROP INDEX orders_by_customer;
