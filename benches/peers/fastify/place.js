'use strict';
// The transaction: claim of the key, order and stored answer together, or none of them.

const crypto = require('node:crypto');

// The token is that of one organisation.
const ORG_ID = 1;

// Named statements: PostgreSQL parses and plans them once for each connection.
const CLAIM = {
  name: 'claim',
  text: `INSERT INTO idempotency_keys (org_id, idempotency_key, request_sha256, state)
    VALUES ($1, $2, $3, 'in_progress')
    ON CONFLICT (org_id, idempotency_key) DO NOTHING`,
};
const INSERT_ORDER = {
  name: 'insert_order',
  text: `INSERT INTO orders
      (org_id, order_id, customer_reference, currency, amount, status, request, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, 'received', $6, $7, $7)`,
};
const COMPLETE = {
  name: 'complete',
  text: `UPDATE idempotency_keys
    SET state = 'completed', response_status = $3, response_body = $4, completed_at = now()
    WHERE org_id = $1 AND idempotency_key = $2`,
};
const FIND = {
  name: 'find',
  text: `SELECT request_sha256, state, response_body FROM idempotency_keys
    WHERE org_id = $1 AND idempotency_key = $2`,
};

async function place(pool, key, sha256, { order, amount, text }) {
  const client = await pool.connect();
  const run = (statement, ...values) => client.query({ ...statement, values });
  try {
    await client.query('BEGIN');
    // Waits for another transaction that has just claimed the same key.
    const claim = await run(CLAIM, ORG_ID, key, sha256);
    let placed;
    if (claim.rowCount === 1) {
      const id = uuidV7();
      const now = new Date().toISOString().replace('Z', '000Z');
      const body = JSON.stringify(view(id, order, amount, now));
      await run(INSERT_ORDER, ORG_ID, id, order.customer.reference, order.currency, amount, text, now);
      await run(COMPLETE, ORG_ID, key, 201, body);
      placed = { outcome: 'created', body };
    } else {
      placed = judge((await run(FIND, ORG_ID, key)).rows[0], sha256);
    }
    await client.query('COMMIT');
    client.release();
    return placed;
  } catch (error) {
    // Closes the connection, which also rolls back; what failed on it need not be understood.
    client.release(error);
    throw error;
  }
}

/** What a key that was there before means for a request. */
function judge(row, sha256) {
  if (!row.request_sha256.equals(sha256)) return { outcome: 'other_request' };
  if (row.state === 'in_progress') return { outcome: 'in_progress' };
  return { outcome: 'replayed', body: row.response_body };
}

/** The order as the answer shows it: the members of Ichido's, in the same order. */
function view(id, order, amount, now) {
  return {
    id,
    object: 'order',
    status: 'received',
    needs_reconciliation: false,
    order_reference: null,
    customer: { reference: order.customer.reference, email: order.customer.email ?? null },
    currency: order.currency,
    amount,
    amount_refunded: 0,
    lines: order.lines.map(({ sku, description, quantity, unit_amount }) => ({
      sku,
      description: description ?? null,
      quantity,
      unit_amount,
      amount: quantity * unit_amount,
    })),
    payment: null,
    steps: [],
    metadata: order.metadata ?? {},
    created_at: now,
    updated_at: now,
  };
}

/** An id that grows with time, which is kinder to the index than a random one. */
function uuidV7() {
  const random = crypto.randomUUID(); // has the variant already
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

module.exports = { place };
