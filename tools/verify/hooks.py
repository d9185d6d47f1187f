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
from urllib.parse import quote

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation

KNOWN = json.loads(Path(os.environ["ICHIDO_VERIFY"]).read_text(encoding="utf-8"))
RANDOM = random.Random(KNOWN["seed"])
# What belongs to another organisation. The ids without hyphens, so that they are found in whatever spelling.
FOREIGN_IDS = {each.replace("-", "") for of in ("foreign_orders", "foreign_cases") for each in KNOWN[of]}
FOREIGN = {
    "order_id": KNOWN["foreign_orders"],
    "case_id": KNOWN["foreign_cases"],
    "idempotency_key": KNOWN["foreign_keys"][::2],
}
# The other half of its keys is used here too: the same key of two organisations is two keys.
BORROWED_KEYS = KNOWN["foreign_keys"][1::2]
BORROWED_REFERENCES = list(KNOWN["foreign_references"])
USED = set(KNOWN["used"])
# Cases that wait for a decision; each can be decided once.
OPEN_CASES = list(KNOWN["cases"])
# What was given as proof: a payment that is an order's is not another's.
PROOFS: set[str | None] = set()

CREATE = "POST /v1/orders"
PAY = "POST /v1/orders/{order_id}/payments"
CANCEL = "POST /v1/orders/{order_id}/cancel"
GET_CASE = "GET /v1/reconciliation-cases/{case_id}"
DECIDE = "POST /v1/reconciliation-cases/{case_id}/decisions"
# What is stored and replayed; 202 never is.
STORED = {CREATE: (201, 402), PAY: (201, 402), CANCEL: (200,), DECIDE: (200,)}
# A member that makes another request of each, and two values for it. A cancellation has none.
OTHER = {CREATE: ("currency", "EUR", "JPY"), PAY: ("method", "a", "b"), DECIDE: ("reason", "a", "b")}
VISA, DECLINED = "pm_card_visa", "pm_card_chargeDeclined"
# The customer would have to be asked; not decided yet; no answer, or none in time.
RARE_METHODS = ["pm_card_authenticationRequired", "pm_sim_processing", "pm_sim_lost_answer", "pm_sim_slow_1500"]
KEY = re.compile(r"[!#-~][!-~]{0,254}")
GREATEST_AMOUNT = 2**53 - 1
LARGEST_BODY_BYTES = 256 * 1024
ROUTES = [
    re.compile(r"/v1/orders(/[^/]+(/payments|/cancel|/trace)?)?"),
    re.compile(r"/v1/operations"),
    re.compile(r"/v1/idempotency-keys/[^/]+"),
    re.compile(r"/v1/reconciliation-cases(/[^/]+(/decisions)?)?"),
    re.compile(r"/v1/receipts(/[^/]+)?"),
    re.compile(r"/v1/events"),
]

SESSION = requests.Session()
SESSION.trust_env = False


def fresh() -> str:
    """A key that nobody had. Answers show keys, and values are drawn from answers: it is used from now on."""
    value = str(uuid.UUID(int=RANDOM.getrandbits(128), version=4))
    USED.add(value)
    return value


def is_negative(case, location: ParameterLocation) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


def is_valid(case) -> bool:
    return case.meta is not None and case.meta.generation.mode.is_positive


def ours(method: str, path: str, body: dict | None = None) -> dict:
    """One request beside those of schemathesis, with success; gives the answer's body."""
    headers = {"Authorization": f"Bearer {KNOWN['token']}"} | ({} if body is None else {"Idempotency-Key": fresh()})
    answer = SESSION.request(method, f"{KNOWN['url']}{path}", json=body, headers=headers, timeout=10)
    assert answer.ok, f"{method} {path}: {answer.text}"
    return answer.json()


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Changes only parts that are meant to be valid: what is wrong on purpose stays so."""
    label = case.operation.label
    key = case.headers.get("Idempotency-Key")
    # A key that is well-formed is not what is wrong with the headers.
    if label in STORED and (not is_negative(case, ParameterLocation.HEADER) or KEY.fullmatch(key or "")):
        case.headers["Idempotency-Key"] = unused(key, BORROWED_KEYS)
    if not is_negative(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        if label == CREATE:
            case.body = acceptable(case.body)
        if label == PAY:
            case.body = {"method": method(case.body["method"])}
    if label.removeprefix("GET ") in KNOWN["cursors"] and not is_negative(case, ParameterLocation.QUERY):
        if "cursor" in case.query:
            # Only the server can make a cursor. That of another organisation is valid, and shows nothing of it.
            case.query["cursor"] = RANDOM.choice(KNOWN["cursors"][label.removeprefix("GET ")])
        if "order_id" in case.query and FOREIGN["order_id"]:
            case.query["order_id"] = RANDOM.choice(FOREIGN["order_id"])
    if case.meta is not None and case.meta.phase.name.value != "stateful":
        ask_for_what_is_there(case)


def unused(drawn: object, borrowed: list[str]) -> str:
    """The drawn key or reference, the first time; then another, since one that is used hides what the request does.

    Those of another organisation come first: here they are new. Values are drawn from answers too: what was sent is used.
    """
    value = borrowed.pop() if borrowed else drawn
    # "abc" and abc are the same key.
    if not isinstance(value, str) or value.strip('"') in USED:
        return fresh()
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
    if body.get("payment") is not None:
        body["payment"] = {"method": method(body["payment"]["method"])}
        if left == GREATEST_AMOUNT:
            # There is nothing to pay.
            body["payment"] = None
    if len(json.dumps(body)) > LARGEST_BODY_BYTES:
        body.pop("metadata", None)
        for line in body["lines"]:
            line.pop("description", None)
    return body


def method(drawn: str) -> str:
    """Mostly one that pays; sometimes one that is refused, or of which it takes long to know; else the drawn one, which
    the gateway does not know and refuses."""
    return RANDOM.choices([VISA, DECLINED, RANDOM.choice(RARE_METHODS), drawn], [80, 10, 5, 5])[0]


def ask_for_what_is_there(case):
    """Most cases that ask for one thing ask for what another organisation has, where that is known, or for what fits."""
    if is_negative(case, ParameterLocation.PATH) or RANDOM.random() > 0.8:
        return
    for name, values in FOREIGN.items():
        if values and name in case.path_parameters:
            case.path_parameters[name] = RANDOM.choice(values)
            return
    label = case.operation.label
    if KNOWN["refused_with"] is None and is_valid(case):
        if label == PAY:
            case.path_parameters["order_id"] = new_order(None)
        if label == CANCEL:
            case.path_parameters["order_id"] = new_order(RANDOM.choice([None, VISA, "pm_sim_processing"]))
        if label == DECIDE and OPEN_CASES:
            case.path_parameters["case_id"] = OPEN_CASES.pop()
        if label == GET_CASE:
            case.path_parameters["case_id"] = RANDOM.choice(KNOWN["cases"])


def new_order(method: str | None) -> str:
    """An order that is not paid, or is paid like this; gives its id."""
    line = {"sku": "TEA-01", "quantity": 1, "unit_amount": 1200}
    body = {"customer": {"reference": "cus_42"}, "currency": "JPY", "lines": [line]}
    return ours("POST", "/v1/orders", body | {"payment": method and {"method": method}})["id"]


@schemathesis.check
def nothing_of_others(_context, response, _case):
    """No answer ever holds an id of another organisation's order or case."""
    text = f"{response.headers}{response.content.decode(errors='replace')}".lower().replace("-", "")
    found = [each for each in FOREIGN_IDS if each in text]
    assert not found, f"The answer holds ids of another organisation: {found}"


@schemathesis.check
def foreign_is_not_found(_context, response, case):
    """What belongs to another organisation is 404, as if it did not exist; what is wrong besides may be told first."""
    if KNOWN["refused_with"] is not None or response.status_code == 405:
        return True
    parts = response.request.path_url.partition("?")[0].split("/")
    given = parts[3] if len(parts) > 3 else None
    if not any(given in values for values in FOREIGN.values()):
        return True
    expected = [404] if response.request.method == "GET" or is_valid(case) else [404, 400, 413, 415]
    assert response.status_code in expected, f"Got {response.status_code} for another organisation's {given}"
    assert response.status_code != 404 or response.json()["code"] == "not_found", response.text
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
def is_told_why(_context, response, case):
    """What schemathesis.toml lets pass for a valid request is so: order and case show the reason."""
    label, status = case.operation.label, response.status_code
    if KNOWN["refused_with"] is not None or label not in STORED or not is_valid(case):
        return True
    body = response.json()
    if status == 202:
        assert body["payment"]["status"] in ("processing", "unknown"), f"It is settled: {response.text}"
        assert body["status"] in ("received", "payment_failed"), f"It is not an unpaid order's: {response.text}"
    if status == 402:
        order = ours("GET", f"/v1/orders/{body['order_id']}")
        assert order["payment"]["status"] == "declined", f"It was not declined: {order}"
    if status == 409 and label == PAY:
        order = ours("GET", f"/v1/orders/{case.path_parameters['order_id']}")
        assert body["code"] == "payment_not_possible", response.text
        assert not is_payable(order), f"It can be paid: {order}"
    if label == DECIDE and status in (400, 409):
        decided = ours("GET", f"/v1/reconciliation-cases/{case.path_parameters['case_id']}")
        told = "case_resolved" if decided["state"] == "resolved" else "invalid_request"
        assert body["code"] == told, f"The case is {decided}"
    if label == DECIDE and status == 400 and [error["pointer"] for error in body["errors"]] == ["/proof"]:
        proof, known = case.body["proof"], ours("GET", f"/v1/orders/{decided['order_id']}")["payment"]["gateway_reference"]
        assert known not in (None, proof) or proof in PROOFS, f"It names no other payment: {response.text}"
    elif label == DECIDE and status == 400:
        assert [error["pointer"] for error in body["errors"]] == ["/decision"], response.text
        assert not is_possible(case.body["decision"], decided), f"It is possible for {decided}"
    return None


def is_possible(decision: str, decided: dict) -> bool:
    """Whether an open case can be decided like this."""
    steps = {step["kind"]: step["state"] for step in ours("GET", f"/v1/orders/{decided['order_id']}")["steps"]}
    if steps[decided["kind"]] != "needs_reconciliation":
        # A cancellation has it looked up at the moment.
        return decision == "mark_done"
    return decision not in (["dismiss"] if decided["kind"] == "charge" else ["dismiss", "start_new"])


def is_payable(order: dict) -> bool:
    untried = order["payment"] is None or order["payment"]["status"] == "declined"
    return untried and order["amount"] > 0 and order["status"] in ("received", "payment_failed")


@schemathesis.check
def orders_add_up(_context, response, _case):
    """The members of every order in an answer fit each other."""
    if not response.headers.get("content-type", [""])[0].startswith("application/json"):
        return True
    body = response.json()
    orders = body.get("data", [body])
    for order in (each for each in orders if each.get("object") == "order"):
        lines = [line["quantity"] * line["unit_amount"] for line in order["lines"]]
        assert lines == [line["amount"] for line in order["lines"]], f"Lines do not add up: {order}"
        assert order["amount"] == sum(lines) >= order["amount_refunded"], f"Amounts do not add up: {order}"
        assert fits(order), f"Status, payment and steps contradict each other: {order}"
    return None


def fits(order: dict) -> bool:
    """Whether status and steps are possible beside the last attempt to pay."""
    steps = {step["kind"]: step["state"] for step in order["steps"]}
    # The newest of each kind is shown.
    if len(steps) != len(order["steps"]):
        return False
    if order["payment"] is None:
        return not steps and order["status"] in ("received", "cancelled")
    charge, statuses = {
        "succeeded": ("done", ("confirmed", "completed", "cancelled")),
        "refunded": ("done", ("confirmed", "cancelled")),
        "declined": ("failed", ("payment_failed", "cancelled")),
    }.get(order["payment"]["status"], (None, ("received", "payment_failed")))
    charged = charge == steps["charge"] if charge else steps["charge"] not in ("done", "failed")
    # A case stays open while a cancellation has its charge looked up.
    told = order["needs_reconciliation"] or "needs_reconciliation" not in steps.values()
    return charged and told and order["status"] in statuses


@schemathesis.check
def is_carried_out(_context, response, case):
    """After a cancellation and a decision: order and case are as the contract's tables say."""
    label = case.operation.label
    if response.status_code != 200 or response.request.method != "POST" or label not in (CANCEL, DECIDE):
        return True
    body = response.json()
    if label == CANCEL:
        unsettled = body["payment"] is not None and body["payment"]["status"] in ("processing", "unknown")
        assert unsettled or body["status"] == "cancelled", f"It is not cancelled: {response.text}"
        return None
    sent = json.loads(response.request.body)
    PROOFS.add(sent.get("proof"))
    told = {"decision": sent["decision"], "decision_reason": sent["reason"], "proof": sent.get("proof")}
    told |= {"state": "resolved", "decided_by": KNOWN["token"].split("_")[2]}
    assert told.items() <= body.items(), f"Another decision was recorded: {response.text}"
    came = {"mark_done": ("succeeded", "confirmed"), "mark_not_done": ("declined", "payment_failed")}
    if body["kind"] == "charge" and sent["decision"] in came:
        order = ours("GET", f"/v1/orders/{body['order_id']}")
        assert not order["needs_reconciliation"], f"Still to be decided: {order}"
        payment, status = came[sent["decision"]]
        assert order["payment"]["status"] == payment, f"Not as decided: {order}"
        # Somebody may have cancelled it.
        assert order["status"] in (status, "cancelled"), f"Not as decided: {order}"
    return None


@schemathesis.check
def sent_again(_context, response, case):
    """What is stored is answered again, byte for byte; under its key nothing else is done, and under another not twice."""
    label = case.operation.label
    if response.request.method != "POST" or response.status_code not in STORED.get(label, ()):
        return True
    replay, status = answer_to(case, response.request), 402 if response.status_code == 402 else 200
    assert replay.status_code == status and replay.content == response.content, f"Not replayed: {replay.text}"
    assert replay.headers.get("Idempotent-Replayed") == "true", f"Not marked as a replay: {replay.headers}"
    first = replay.headers.get("Idempotent-Original-Status")
    assert first == str(response.status_code), f"The first status was {response.status_code}, not {first}"
    for name in ("Location", "ETag", "Idempotency-Key"):
        first = response.headers.get(name.lower(), [None])
        assert [replay.headers.get(name)] == first, f"Another {name}: {replay.headers}"

    body = json.loads(response.request.body)
    if label in OTHER:
        name, one, another = OTHER[label]
        body[name] = one if body[name] != one else another
        other, differing = answer_to(case, response.request, body=body), [f"/{name}"]
    else:
        other, differing = answer_to(case, response.request, query="again"), []
    assert other.status_code == 422 and other.json()["differing"] == differing, f"Key reused: {other.text}"
    under_another_key(case, response, body)
    record = ours("GET", f"/v1/idempotency-keys/{in_path(replay.headers['Idempotency-Key'])}")
    stored = (record["state"], record["response_status"])
    assert stored == ("completed", response.status_code), f"The key's record: {record}"
    return None


def in_path(key: str) -> str:
    """A key as a segment of a path. `.` and `..` would be taken for folders, and go in their quoted form."""
    return quote(key if key.strip(".") else f'"{key}"', safe="")


def under_another_key(case, response, body: dict):
    """What is done already is not done once more."""
    label = case.operation.label
    if label == CREATE and body.get("order_reference") is not None:
        taken = answer_to(case, response.request, body=body, key=fresh())
        order_id = response.json()["order_id" if response.status_code == 402 else "id"]
        assert taken.status_code == 409 and taken.json()["order_id"] == order_id, f"Taken: {taken.text}"
    if label == PAY and response.status_code == 201:
        paid = answer_to(case, response.request, body=body, key=fresh())
        assert paid.status_code == 409 and paid.json()["code"] == "payment_not_possible", f"Paid twice: {paid.text}"
    if label == CANCEL:
        cancelled = answer_to(case, response.request, key=fresh())
        assert cancelled.status_code == 200, f"Cancelled already: {cancelled.text}"
    if label == DECIDE:
        resolved = answer_to(case, response.request, body=body, key=fresh())
        assert resolved.status_code == 409 and resolved.json()["code"] == "case_resolved", f"Twice: {resolved.text}"


def answer_to(case, request, body=None, key=None, query=None):
    """Sends the request again, with another body, key or query where given, and holds the answer to the contract."""
    again = request.copy()
    if key is not None:
        again.headers["Idempotency-Key"] = key
    if body is not None:
        again.prepare_body(json.dumps(body).encode(), None)
    if query is not None:
        again.url += f"?{query}"
    answer = SESSION.send(again, timeout=10)
    case.operation.validate_response(answer)
    return answer
