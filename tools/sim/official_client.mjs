// Stripe's official client for Node against the simulated world (the program is the first argument).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import Stripe from 'stripe';

const SECRET = 'whsec_node';
const notifications = [];

async function start(program) {
  const receiver = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      notifications.push([Buffer.concat(chunks), request.headers['stripe-signature']]);
      response.end();
    });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${receiver.address().port}/hook`;
  const options = ['sim', '--listen', '127.0.0.1:0', '--webhook-secret-env', 'SIM_SECRET', '--webhook-url', url];
  const sim = spawn(program, options, {
    env: { ...process.env, SIM_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(sim.stdout), 'line');
  return { receiver, sim, url: new URL(line.replace('listening on ', '')) };
}

const payment = (method, more = {}) => ({
  amount: 1200,
  currency: 'jpy',
  confirm: true,
  payment_method: method,
  automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
  metadata: { ichido_order_id: 'o-node' },
  ...more,
});

async function ids(list) {
  const found = [];
  for await (const each of list) found.push(each.id);
  return found;
}

async function payments(stripe) {
  const intents = stripe.paymentIntents;
  const created = await intents.create({ amount: 500, currency: 'eur', automatic_payment_methods: { enabled: true } });
  assert.equal(created.status, 'requires_payment_method');
  const confirm = { payment_method: 'pm_card_visa', return_url: 'http://127.0.0.1/', expand: ['latest_charge'] };
  const confirmed = await intents.confirm(created.id, confirm);
  assert.equal(confirmed.status, 'succeeded');
  assert.equal(confirmed.latest_charge.paid, true);
  assert.equal((await intents.retrieve(created.id)).amount_received, 500);

  const paid = await intents.create(payment('pm_card_visa'), { idempotencyKey: 'k1' });
  const again = await intents.create(payment('pm_card_visa'), { idempotencyKey: 'k1' });
  assert.equal(again.id, paid.id);
  assert.equal(again.lastResponse.headers['idempotent-replayed'], 'true');
  const other = intents.create(payment('pm_card_visa', { amount: 1 }), { idempotencyKey: 'k1' });
  await assert.rejects(other, Stripe.errors.StripeIdempotencyError);

  assert.deepEqual(await ids(intents.list({ limit: 1 })), [paid.id, created.id]);
  assert.deepEqual(await ids(intents.search({ query: "metadata['ichido_order_id']:'o-node'" })), [paid.id]);

  const opened = await intents.create({ amount: 500, currency: 'eur' });
  assert.equal((await intents.cancel(opened.id, { cancellation_reason: 'abandoned' })).status, 'canceled');
  await assert.rejects(intents.cancel(paid.id), { code: 'payment_intent_unexpected_state', statusCode: 400 });

  const refund = await stripe.refunds.create({ payment_intent: paid.id, amount: 200 });
  assert.equal(refund.status, 'succeeded');
  assert.equal((await stripe.refunds.retrieve(refund.id)).amount, 200);
  assert.equal((await stripe.charges.retrieve(paid.latest_charge)).amount_refunded, 200);
  assert.equal((await stripe.refunds.list({ payment_intent: paid.id })).data.length, 1);
}

async function failures(stripe) {
  const intents = stripe.paymentIntents;
  await assert.rejects(intents.create(payment('pm_card_chargeDeclined')), (error) => {
    assert(error instanceof Stripe.errors.StripeCardError);
    assert.deepEqual([error.statusCode, error.code], [402, 'card_declined']);
    assert.equal(error.decline_code, 'generic_decline');
    assert.equal(error.payment_intent.status, 'requires_payment_method');
    return true;
  });
  await assert.rejects(intents.retrieve('pi_1'), { code: 'resource_missing', statusCode: 404 });
  // The client's own retries, under one key, take the money once.
  for (const method of ['lost_answer', 'lost_request', 'error_500_then_ok', 'conflict_409']) {
    assert.equal((await intents.create(payment(`pm_sim_${method}`))).status, 'succeeded', method);
  }
  await assert.rejects(intents.create(payment('pm_sim_error_500')), Stripe.errors.StripeAPIError);
}

async function webhooks(stripe) {
  const missing = new Set(['payment_intent.succeeded', 'payment_intent.payment_failed', 'charge.refunded']);
  const end = Date.now() + 20_000;
  let last;
  while (missing.size > 0) {
    assert(Date.now() < end, `not told: ${[...missing]}`);
    last = notifications.shift() ?? last;
    if (last === undefined || notifications.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    if (last === undefined) continue;
    const event = stripe.webhooks.constructEvent(last[0], last[1], SECRET);
    assert(event.data.object.id);
    missing.delete(event.type);
  }
  const [body, signature] = last;
  const { StripeSignatureVerificationError } = Stripe.errors;
  assert.throws(() => stripe.webhooks.constructEvent(`${body} `, signature, SECRET), StripeSignatureVerificationError);
  assert.throws(() => stripe.webhooks.constructEvent(body, signature, 'whsec_x'), StripeSignatureVerificationError);
}

const { receiver, sim, url } = await start(process.argv[2]);
try {
  const address = { host: url.hostname, port: url.port, protocol: 'http' };
  const stripe = new Stripe('sk_test_node', { ...address, maxNetworkRetries: 2, telemetry: false });
  await payments(stripe);
  await failures(stripe);
  await webhooks(stripe);
  const { effects } = await (await fetch(new URL('/effects?order_id=o-node', url))).json();
  assert(effects.every((effect) => effect.count === 1));
  assert.equal(effects.filter((effect) => effect.kind === 'charge').length, 5);
} finally {
  sim.kill('SIGTERM');
  receiver.close();
}
const [code] = sim.exitCode === null ? await once(sim, 'exit') : [sim.exitCode];
assert.equal(code, 0);
console.log(`stripe for Node ${Stripe.PACKAGE_VERSION}: as expected`);
process.exit(0);
