"""What schemathesis cannot know of Ichido: how a request becomes valid beyond its schema, and what else must hold.

contract.py writes the file that ICHIDO_VERIFY names: who sends the requests, and what belongs to somebody else.
"""

import copy
import json
import os
import random
import re
import uuid
from pathlib import Path

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation

KNOWN = json.loads(Path(os.environ["ICHIDO_VERIFY"]).read_text(encoding="utf-8"))
RANDOM = random.Random(KNOWN["seed"])
# What belongs to another organisation. The ids without hyphens, so that they are found in whatever spelling.
FOREIGN_IDS = {each.replace("-", "") for each in KNOWN["foreign_ids"]}
FOREIGN = {"order_id": KNOWN["foreign_ids"], "idempotency_key": KNOWN["foreign_keys"][::2]}
# The other half of its keys is used here too: the same key of two organisations is two keys.
BORROWED_KEYS = KNOWN["foreign_keys"][1::2]
BORROWED_REFERENCES = list(KNOWN["foreign_references"])
USED = set(KNOWN["used"])

CREATE = "POST /v1/orders"
GREATEST_AMOUNT = 2**53 - 1
LARGEST_BODY_BYTES = 256 * 1024
ROUTES = [re.compile(r"/v1/orders"), re.compile(r"/v1/(orders|idempotency-keys)/[^/]+")]

SESSION = requests.Session()
SESSION.trust_env = False


def fresh() -> str:
    return str(uuid.UUID(int=RANDOM.getrandbits(128), version=4))


def is_negative(case, location: ParameterLocation) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Changes only parts that are meant to be valid: what is wrong on purpose stays so."""
    label = case.operation.label
    if label == CREATE:
        if not is_negative(case, ParameterLocation.HEADER):
            case.headers["Idempotency-Key"] = unused(case.headers.get("Idempotency-Key"), BORROWED_KEYS)
        if not is_negative(case, ParameterLocation.BODY) and isinstance(case.body, dict):
            case.body = acceptable(case.body)
    if label == "GET /v1/orders" and "cursor" in case.query and not is_negative(case, ParameterLocation.QUERY):
        # Only the server can make a cursor. That of another organisation is valid, and shows nothing of it.
        case.query["cursor"] = RANDOM.choice(KNOWN["cursors"])
    if case.meta is not None and case.meta.phase.name.value != "stateful":
        ask_for_foreign(case)


def unused(drawn: object, borrowed: list[str]) -> str:
    """The drawn key or reference, the first time; then another, since one that is used hides what the request does.

    Those of another organisation come first: here they are new. Values are drawn from answers too: what was sent is used.
    """
    value = borrowed.pop() if borrowed else drawn
    # "abc" and abc are the same key.
    if not isinstance(value, str) or value.strip('"') in USED:
        value = fresh()
    USED.add(value.strip('"'))
    return value


def acceptable(body: dict) -> dict:
    """Makes true what JSON Schema cannot say: the sum and its bound, the unique reference, the size of the body."""
    body = copy.deepcopy(body)
    left = GREATEST_AMOUNT
    for line in body["lines"]:
        # 1.0 is an integer too, and is sent as it is unless the sum would be too large.
        if int(line["quantity"]) * int(line["unit_amount"]) > left:
            line["unit_amount"] = left // int(line["quantity"])
        left -= int(line["quantity"]) * int(line["unit_amount"])
    if body.get("expected_amount") is not None:
        body["expected_amount"] = GREATEST_AMOUNT - left
    if isinstance(body.get("order_reference"), str):
        body["order_reference"] = unused(body["order_reference"], BORROWED_REFERENCES)
    if len(json.dumps(body)) > LARGEST_BODY_BYTES:
        body.pop("metadata", None)
        for line in body["lines"]:
            line.pop("description", None)
    return body


def ask_for_foreign(case):
    """Asks for what another organisation has, in most of the cases that ask for one thing."""
    for name, values in FOREIGN.items():
        asks = name in case.path_parameters and not is_negative(case, ParameterLocation.PATH)
        if values and asks and RANDOM.random() < 0.8:
            case.path_parameters[name] = RANDOM.choice(values)


@schemathesis.check
def nothing_of_others(_context, response, _case):
    """No answer ever holds an id of another organisation's order."""
    text = f"{response.headers}{response.content.decode(errors='replace')}".lower().replace("-", "")
    found = [each for each in FOREIGN_IDS if each in text]
    assert not found, f"The answer holds ids of another organisation: {found}"


@schemathesis.check
def foreign_is_not_found(_context, response, case):
    """What belongs to another organisation is 404, as if it did not exist."""
    if KNOWN["refused_with"] is not None:
        return True
    given = response.request.path_url.partition("?")[0].rpartition("/")[2]
    foreign = given in FOREIGN["order_id"] or given in FOREIGN["idempotency_key"]
    if not foreign or response.request.method != "GET":
        return True
    assert response.status_code == 404, f"Expected 404, got {response.status_code} for another organisation's {given}"
    assert response.json()["code"] == "not_found", response.text
    return None


@schemathesis.check
def is_refused(_context, response, _case):
    """With a key that may nothing, or is none, every operation is refused whatever else is wrong with the request."""
    if KNOWN["refused_with"] is None:
        return True
    request = response.request
    if response.status_code == 405:
        return None
    if not any(route.fullmatch(request.path_url.partition("?")[0]) for route in ROUTES):
        assert response.status_code == 404, f"Expected 404 for a path that is none, got {response.status_code}"
        return None
    as_told = request.headers.get("Authorization") == f"Bearer {KNOWN['token']}"
    expected = KNOWN["refused_with"] if as_told else 401
    assert response.status_code == expected, f"Expected {expected}, got {response.status_code}"
    return None


@schemathesis.check
def sent_again(_context, response, case):
    """After each new order: sent again it is the same answer; another body and a taken reference are refused."""
    if case.operation.label != CREATE or response.request.method != "POST" or response.status_code != 201:
        return True
    replay = answer_to(case, response.request)
    assert replay.status_code == 200 and replay.content == response.content, f"Not replayed: {replay.text}"
    assert replay.headers.get("Idempotent-Replayed") == "true", f"Not marked as a replay: {replay.headers}"
    for name in ("Location", "ETag", "Idempotency-Key"):
        assert [replay.headers.get(name)] == response.headers.get(name.lower()), f"Another {name}: {replay.headers}"

    body = json.loads(response.request.body)
    body["currency"] = "EUR" if body["currency"] != "EUR" else "JPY"
    other = answer_to(case, response.request, body=body)
    assert other.status_code == 422 and other.json()["differing"] == ["/currency"], f"Key reused: {other.text}"

    if body.get("order_reference") is not None:
        taken = answer_to(case, response.request, body=body, key=fresh())
        assert taken.status_code == 409 and taken.json()["order_id"] == response.json()["id"], f"Taken: {taken.text}"
    return None


def answer_to(case, request, body=None, key=None):
    """Sends the request again, with another body or key where given, and holds the answer to the contract."""
    again = request.copy()
    if key is not None:
        again.headers["Idempotency-Key"] = key
    if body is not None:
        again.prepare_body(json.dumps(body).encode(), None)
    answer = SESSION.send(again, timeout=10)
    case.operation.validate_response(answer)
    return answer
