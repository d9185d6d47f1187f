"""POST /v1/orders."""

import hashlib
import hmac
import os
import re
from contextlib import asynccontextmanager

import asyncpg
import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import ValidationError

from new_order import MAX_AMOUNT, NewOrder
from place import Outcome, place

# Of each process: with two, more than one for each of 32 clients, and far fewer than PostgreSQL allows.
POOL_SIZE = int(os.environ.get("POOL_SIZE", "20"))
AUTHORIZATION = f"Bearer {os.environ['TOKEN']}".encode()
KEY = re.compile(r"[\x21-\x7e]{1,255}")


async def keep_session(_connection) -> None:
    """Nothing here changes a session, so the round trip that would reset it between two requests is spared."""


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with asyncpg.create_pool(
        os.environ["DATABASE_URL"],
        min_size=POOL_SIZE,
        max_size=POOL_SIZE,
        max_inactive_connection_lifetime=0,
        reset=keep_session,
    ) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


# The body is read here and is not a parameter: the token is judged first, and the hash is over what was sent.
@app.post("/v1/orders")
async def create_order(request: Request) -> Response:
    given = request.headers.get("authorization", "").encode()
    if not hmac.compare_digest(given, AUTHORIZATION):
        raise HTTPException(401, "The token is missing or wrong.")
    key = request.headers.get("idempotency-key", "")
    if not KEY.fullmatch(key):
        raise HTTPException(400, "An Idempotency-Key of 1 to 255 visible ASCII characters is needed.")
    try:
        sent = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, "The body is not JSON.") from error
    try:
        order = NewOrder.model_validate(sent)
    except ValidationError as error:
        raise HTTPException(422, error.errors(include_url=False, include_input=False, include_context=False)) from error
    amount = sum(line.amount for line in order.lines)
    if amount > MAX_AMOUNT:
        raise HTTPException(422, "The sum of the lines is too large.")
    if order.expected_amount not in (None, amount):
        raise HTTPException(422, "expected_amount is not the sum of the lines.")
    # Sorted members and no white space, so that the same request has the same text.
    text = orjson.dumps(sent, option=orjson.OPT_SORT_KEYS)
    sha256 = hashlib.sha256(b"POST\n/v1/orders\n" + text).digest()
    outcome, body = await place(request.app.state.pool, key, sha256, order, amount, text.decode())
    match outcome:
        case Outcome.CREATED:
            return Response(body, 201, media_type="application/json")
        case Outcome.REPLAYED:
            return Response(body, 200, media_type="application/json")
        case Outcome.IN_PROGRESS:
            raise HTTPException(409, "A request with this key is in progress.")
        case Outcome.OTHER_REQUEST:
            raise HTTPException(422, "The key was used for another request.")
