'use strict';
// The JSON schema of the body.

const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

const line = {
  type: 'object',
  additionalProperties: false,
  required: ['sku', 'quantity', 'unit_amount'],
  properties: {
    sku: { type: 'string', minLength: 1, maxLength: 64 },
    description: { type: ['string', 'null'], maxLength: 500 },
    quantity: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    unit_amount: { type: 'integer', minimum: 0, maximum: MAX_AMOUNT },
  },
};

const customer = {
  type: 'object',
  additionalProperties: false,
  required: ['reference'],
  properties: {
    // It gets a column of its own, and text in PostgreSQL cannot hold U+0000.
    reference: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' },
    email: { type: ['string', 'null'], maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' },
  },
};

const newOrder = {
  type: 'object',
  additionalProperties: false,
  required: ['customer', 'currency', 'lines'],
  properties: {
    customer,
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    lines: { type: 'array', minItems: 1, maxItems: 500, items: line },
    expected_amount: { type: ['integer', 'null'], minimum: 0, maximum: MAX_AMOUNT },
    metadata: {
      type: ['object', 'null'],
      maxProperties: 50,
      propertyNames: { minLength: 1, maxLength: 40 },
      additionalProperties: { type: 'string', maxLength: 500 },
    },
  },
};

module.exports = { MAX_AMOUNT, newOrder };
