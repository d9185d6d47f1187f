'use strict';
// POST /v1/orders.

const crypto = require('node:crypto');
const fastify = require('fastify');
const { MAX_AMOUNT, newOrder } = require('./new-order');
const { place } = require('./place');

const KEY = /^[\x21-\x7e]{1,255}$/;

class Refusal extends Error {
  constructor(statusCode, message) {
    super(message);
    this.statusCode = statusCode;
  }
}

function build({ pool, token }) {
  const app = fastify({
    logger: false,
    forceCloseConnections: true,
    // Fastify's defaults would repair a wrong body: drop members, turn "2" into 2.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
  });
  const authorization = Buffer.from(`Bearer ${token}`);

  // Before the body is read.
  app.addHook('onRequest', async (request) => {
    const given = Buffer.from(request.headers.authorization ?? '');
    if (given.length !== authorization.length || !crypto.timingSafeEqual(given, authorization)) {
      throw new Refusal(401, 'The token is missing or wrong.');
    }
    if (!KEY.test(request.headers['idempotency-key'] ?? '')) {
      throw new Refusal(400, 'An Idempotency-Key of 1 to 255 visible ASCII characters is needed.');
    }
  });

  app.setErrorHandler((error, _request, reply) => {
    const status = error.validation ? 422 : (error.statusCode ?? 500);
    if (status >= 500) console.error(error);
    reply.code(status).send({ detail: status < 500 ? error.message : 'Internal error.' });
  });

  app.post('/v1/orders', { schema: { body: newOrder } }, async (request, reply) => {
    const order = request.body;
    const amount = order.lines.reduce((sum, line) => sum + line.quantity * line.unit_amount, 0);
    if (amount > MAX_AMOUNT) throw new Refusal(422, 'The sum of the lines is too large.');
    if ((order.expected_amount ?? amount) !== amount) {
      throw new Refusal(422, 'expected_amount is not the sum of the lines.');
    }
    const text = canonical(order);
    const sha256 = crypto.createHash('sha256').update(`POST\n/v1/orders\n${text}`).digest();
    const placed = await place(pool, request.headers['idempotency-key'], sha256, { order, amount, text });
    switch (placed.outcome) {
      case 'created':
        return reply.code(201).type('application/json').send(placed.body);
      case 'replayed':
        return reply.code(200).type('application/json').send(placed.body);
      case 'in_progress':
        throw new Refusal(409, 'A request with this key is in progress.');
      default:
        throw new Refusal(422, 'The key was used for another request.');
    }
  });

  return app;
}

/** JSON with sorted members and no white space, so that the same request has the same text. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(',')}}`;
}

module.exports = { build };
