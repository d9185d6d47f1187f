"""The transaction: claim of the key, order and stored answer together, or none of them."""

import os
import time
import uuid
from datetime import UTC, datetime
from enum import Enum, auto

import orjson
from asyncpg import Pool, Record

from new_order import NewOrder

# The token is that of one organisation.
ORG_ID = 1

# asyncpg prepares each statement once for each connection.
CLAIM = """
    INSERT INTO idempotency_keys (org_id, idempotency_key, request_sha256, state)
    VALUES ($1, $2, $3, 'in_progress')
    ON CONFLICT (org_id, idempotency_key) DO NOTHING
    RETURNING true
"""
INSERT_ORDER = """
    INSERT INTO orders
        (org_id, order_id, customer_reference, currency, amount, status, request, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, 'received', $6, $7, $7)
"""
COMPLETE = """
    UPDATE idempotency_keys
    SET state = 'completed', response_status = $3, response_body = $4, completed_at = now()
    WHERE org_id = $1 AND idempotency_key = $2
"""
FIND = """
    SELECT request_sha256, state, response_body FROM idempotency_keys
    WHERE org_id = $1 AND idempotency_key = $2
"""


class Outcome(Enum):
    CREATED = auto()
    REPLAYED = auto()
    IN_PROGRESS = auto()
    OTHER_REQUEST = auto()


async def place(
    pool: Pool, key: str, sha256: bytes, order: NewOrder, amount: int, text: str
) -> tuple[Outcome, str | None]:
    async with pool.acquire() as connection, connection.transaction():
        # Waits for another transaction that has just claimed the same key.
        if not await connection.fetchval(CLAIM, ORG_ID, key, sha256):
            return judge(await connection.fetchrow(FIND, ORG_ID, key), sha256)
        order_id = uuid_v7()
        now = datetime.now(UTC)
        body = orjson.dumps(view(order_id, order, amount, now)).decode()
        await connection.execute(
            INSERT_ORDER, ORG_ID, order_id, order.customer.reference, order.currency, amount, text, now
        )
        await connection.execute(COMPLETE, ORG_ID, key, 201, body)
        return Outcome.CREATED, body


def judge(row: Record, sha256: bytes) -> tuple[Outcome, str | None]:
    """What a key that was there before means for a request."""
    if row["request_sha256"] != sha256:
        return Outcome.OTHER_REQUEST, None
    if row["state"] == "in_progress":
        return Outcome.IN_PROGRESS, None
    return Outcome.REPLAYED, row["response_body"]


def view(order_id: uuid.UUID, order: NewOrder, amount: int, now: datetime) -> dict:
    """The order as the answer shows it: the members of Ichido's, in the same order."""
    at = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "id": order_id,
        "object": "order",
        "status": "received",
        "needs_reconciliation": False,
        "order_reference": None,
        "customer": {"reference": order.customer.reference, "email": order.customer.email},
        "currency": order.currency,
        "amount": amount,
        "amount_refunded": 0,
        "lines": [
            {
                "sku": line.sku,
                "description": line.description,
                "quantity": line.quantity,
                "unit_amount": line.unit_amount,
                "amount": line.amount,
            }
            for line in order.lines
        ],
        "payment": None,
        "steps": [],
        "metadata": order.metadata or {},
        "created_at": at,
        "updated_at": at,
    }


def uuid_v7() -> uuid.UUID:
    """An id that grows with time, which is kinder to the index than a random one."""
    value = bytearray((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10))
    value[6] = 0x70 | value[6] & 0x0F
    value[8] = 0x80 | value[8] & 0x3F
    return uuid.UUID(bytes=bytes(value))
