#!/usr/bin/env python3
"""Holds the real program to openapi.yaml with schemathesis, as four callers in turn.

1. organisation A with all scopes: every answer is one that the contract describes, and every rule of it is kept;
2. organisation B, asking for what A has: nothing of A is ever seen;
3. a key of A without any scope that helps: 403 everywhere (one for decisions, one for all else);
4. a forged token, with the id of a key of A and another secret: 401 everywhere.

Starts and ends an `ichido dev` of its own on 127.0.0.1, with a fresh database and a simulated gateway. Reports are in
target/verify.
Exit 0 all well, 1 faults found or not finished in time.
"""

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "target" / "verify"
ICHIDO = ROOT / "target" / "release" / "ichido"
OPENAPI = ROOT / "openapi.yaml"
START_SECONDS = 60
STOP_SECONDS = 40
SCOPES = ["orders:read", "orders:write", "reconcile", "admin"]
DECIDE = "decide_reconciliation_case"
# Short, so that a charge of which nobody can tell anything is a case within seconds rather than hours.
TIMES = {"ICHIDO_GATEWAY_TIMEOUT": "1s", "ICHIDO_LEASE": "3s", "ICHIDO_ASK_AFTER": "1s,1s,1s,1s"}
# The simulated gateway does not tell of this charge for ten minutes: whenever it is asked, a person has to decide.
UNSETTLED = {"method": "pm_sim_late_600000"}
CASE_SECONDS = 30
LISTS = {"orders": "orders", "cases": "reconciliation-cases"}
# What is refused tells nothing about data: the check `is_refused` of hooks.py takes the place of these.
OF_DATA = "positive_data_acceptance,negative_data_rejection,missing_required_header"
WEBHOOK_SECRET = "whsec_verify"
RECEIVE = "receive_notification"
TAGS = [part for tag in ("Orders", "Idempotency keys", "Reconciliation", "Notifications") for part in ("--include-tag", tag)]
# Its deliveries are believed for their signature, not for a key.
TAGS += ["--exclude-operation-id", RECEIVE]
WHEN_REFUSED = ["--exclude-checks", OF_DATA]
# Past any proxy that the environment names.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    """Something other than a check went wrong; said to the person in one line."""


def schemathesis() -> Path:
    """The program, in a virtual environment with what requirements.txt pins; made again when that has changed, or it was moved."""
    home = OUT / "venv"
    # Its programs name the place where they were installed.
    wanted = (HERE / "requirements.txt").read_bytes() + f"# in {home}\n".encode()
    stamp = home / "installed-requirements.txt"
    if not stamp.is_file() or stamp.read_bytes() != wanted:
        print("verify: installing schemathesis into target/verify/venv", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, timeout=120)
            subprocess.run([*pip, "--requirement", HERE / "requirements.txt"], check=True, timeout=600)
        except (subprocess.SubprocessError, OSError) as error:
            raise Failed(f"schemathesis cannot be installed (needs Python 3.11, venv and pip): {error}") from error
        stamp.write_bytes(wanted)
    return home / "bin" / "schemathesis"


@contextlib.contextmanager
def service():
    """`ichido dev` with a database of its own; gives what it announced, and ends it."""
    data = OUT / f"data-{os.getpid()}"
    command = [ICHIDO, "dev", "--listen", "127.0.0.1:0", "--data", data, "--exit-with-parent"]
    with open(OUT / "ichido.log", "wb") as log:
        to = {"stdout": subprocess.PIPE, "stderr": log, "text": True, "env": os.environ | TIMES}
        process = subprocess.Popen(command, **to)
        try:
            yield announced(process)
            if process.poll() is not None:
                raise Failed(f"ichido ended by itself with {process.returncode}; see target/verify/ichido.log")
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            shutil.rmtree(data, ignore_errors=True)


def announced(process: subprocess.Popen) -> dict:
    """What `dev` prints: its address and the simulated world's, a token, and what admin commands need."""
    patterns = {
        "url": re.compile(r"listening on (http://\S+)"),
        "world": re.compile(r"simulated world \(payments\) at (http://[^,\s]+)"),
        "database": re.compile(r"export DATABASE_URL='([^']+)'"),
        "secret_key": re.compile(r"ICHIDO_SECRET_KEY_FILE='([^']+)'"),
        "token": re.compile(r"Authorization: Bearer ([^']+)'"),
    }
    found: dict = {}
    # A program that hangs is ended, and then its output ends too.
    alarm = threading.Timer(START_SECONDS, process.kill)
    alarm.daemon = True
    alarm.start()
    for line in process.stdout:
        found |= {name: match[1] for name, pattern in patterns.items() if (match := pattern.search(line))}
        if len(found) == len(patterns):
            break
    alarm.cancel()
    if missing := sorted(patterns.keys() - found.keys()):
        raise Failed(f"ichido dev did not print {', '.join(missing)}; see target/verify/ichido.log")
    # Nothing may wait because nobody reads.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return found


def admin(found: dict, *arguments: str) -> dict:
    """One admin command of the program."""
    known = {"DATABASE_URL": found["database"], "ICHIDO_SECRET_KEY_FILE": found["secret_key"]}
    # The simulated gateway takes any secret.
    known |= {"GATEWAY_SECRET": "sk_test_simulated", "WEBHOOK_SECRET": WEBHOOK_SECRET}
    to = {"env": os.environ | known, "capture_output": True, "text": True, "timeout": 30}
    done = subprocess.run([ICHIDO, *arguments, "--json"], check=False, **to)
    if done.returncode != 0:
        raise Failed(f"ichido {' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout)


def new_key(found: dict, org: int, scopes: list[str]) -> str:
    flags = [part for scope in scopes for part in ("--scope", scope)]
    return admin(found, "key", "create", "--org", str(org), *flags)["token"]


def new_org(found: dict, name: str) -> int:
    """Another organisation, which takes its payments by the same gateway."""
    org = admin(found, "org", "create", "--name", name, "--mode", "test")["org_id"]
    gateway = ["--provider", "stripe", "--api-base", f"{found['world']}/stripe", "--secret-env", "GATEWAY_SECRET"]
    admin(found, "gateway", "set", "--org", str(org), *gateway)
    return org


def forged(token: str) -> str:
    """A token with the same key id, another secret and the right checksum: only the secret's hash can refuse it."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    start, key_id, secret = token.rsplit("_", 2)

    def summed(text: str) -> str:
        number = zlib.crc32(f"{key_id}{text}".encode())
        return text + "".join(digits[number // 62**place % 62] for place in range(5, -1, -1))

    if summed(secret[:-6]) != secret:
        raise Failed("tokens have another checksum than this script knows; see src/domain/api_key.rs")
    return f"{start}_{key_id}_{summed(secret[:-6][::-1])}"


def call(url: str, token: str, body: dict | None = None, key: str | None = None) -> dict:
    """One request; gives the answer's body."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers |= {"Idempotency-Key": key} if key else {}
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(urllib.request.Request(url, data, headers), timeout=10) as answer:
        return json.load(answer)


def put_orders(url: str, token: str, name: str, count: int, payment: dict | None = None) -> tuple[list[str], list[str]]:
    """Makes some orders, all at once; gives their keys and references."""
    keys, references = [str(uuid.uuid4()) for _ in range(count)], [f"{name}-{number}" for number in range(count)]

    def put(number: int) -> None:
        line = {"sku": "TEA-01", "quantity": number + 1, "unit_amount": 1200}
        body = {"order_reference": references[number], "customer": {"reference": name}, "currency": "JPY"}
        call(f"{url}/v1/orders", token, body | {"lines": [line], "payment": payment}, keys[number])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, range(count)))
    return keys, references


def everything(url: str, token: str, of: str, query: str = "") -> list[dict]:
    """All pages of a list."""
    entries, cursor = [], ""
    while cursor is not None:
        page = call(f"{url}/v1/{of}?limit=100{query}{cursor and f'&cursor={cursor}'}", token)
        entries += page["data"]
        cursor = page["next_cursor"]
    return entries


def open_cases(url: str, token: str, count: int) -> list[dict]:
    """The cases that are open, once there are that many."""
    for _ in range(CASE_SECONDS * 5):
        if len(cases := everything(url, token, "reconciliation-cases", "&state=open")) >= count:
            return cases
        time.sleep(0.2)
    raise Failed(f"{len(cases)} of {count} cases were opened in {CASE_SECONDS} s")


def put_cases(url: str, token: str, name: str, charges: int, refunds: int) -> tuple[list[str], list[str], list[str]]:
    """Makes orders that have open cases, of both kinds; gives their keys and references, and the cases' ids."""
    keys, references = put_orders(url, token, name, charges + refunds, UNSETTLED)
    for case in open_cases(url, token, charges + refunds)[:refunds]:
        # Money that was taken, and the gateway's name for it is not known: it cannot be given back without a person.
        decision = {"decision": "mark_done", "reason": "paid at the till", "proof": "receipt 17"}
        call(f"{url}/v1/reconciliation-cases/{case['id']}/decisions", token, decision, str(uuid.uuid4()))
        call(f"{url}/v1/orders/{case['order_id']}/cancel", token, {}, str(uuid.uuid4()))
    return keys, references, [case["id"] for case in open_cases(url, token, charges + refunds)]


def notify(found: dict, org: int, token: str) -> None:
    """Tells of two payments as their gateway would, so that the organisation has receipts and events."""
    to = ["--org", str(org), "--provider", "stripe", "--secret-env", "WEBHOOK_SECRET"]
    endpoint = admin(found, "webhook-endpoint", "create", *to)["endpoint_id"]
    line = {"sku": "TEA-01", "quantity": 1, "unit_amount": 1200}
    body = {"customer": {"reference": "told"}, "currency": "JPY", "lines": [line], "payment": {"method": "pm_card_visa"}}
    for _ in range(2):
        order = call(f"{found['url']}/v1/orders", token, body, str(uuid.uuid4()))
        intent = {"object": "payment_intent", "id": order["payment"]["gateway_reference"], "currency": "jpy"}
        intent |= {"amount": 1200, "amount_received": 1200}
        intent |= {"metadata": {"ichido_order_id": order["id"], "ichido_attempt": "1"}}
        event = {"object": "event", "id": f"evt_{uuid.uuid4().hex}", "type": "payment_intent.succeeded"}
        event |= {"created": int(time.time()), "livemode": False, "data": {"object": intent}}
        tell(f"{found['url']}/v1/webhooks/{endpoint}", json.dumps(event).encode())


def tell(url: str, body: bytes) -> None:
    """Delivers a notification, signed as Stripe does."""
    now = str(int(time.time()))
    signature = hmac.new(WEBHOOK_SECRET.encode(), f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    headers = {"Stripe-Signature": f"t={now},v1={signature}", "Content-Type": "application/json"}
    OPENER.open(urllib.request.Request(url, body, headers), timeout=10).close()


def keys_shown(url: str, token: str) -> list[str]:
    """Keys that answers show, of whatever was sent here: who draws values from answers would use them again."""
    return [each["idempotency_key"] for each in everything(url, token, "operations") if each["idempotency_key"]]


def check_served(url: str) -> None:
    with OPENER.open(f"{url}/openapi.yaml", timeout=10) as answer:
        if answer.read() != OPENAPI.read_bytes():
            raise Failed("the program serves another openapi.yaml than the one here; make build")


def run(name: str, options: argparse.Namespace, url: str, known: dict, flags: list[str]) -> bool:
    """One run of schemathesis; prints its line and says whether nothing was found."""
    context, summary, report = OUT / f"{name}.context.json", OUT / f"{name}.json", OUT / f"{name}.txt"
    nothing = {"foreign_orders": [], "foreign_cases": [], "foreign_keys": [], "foreign_references": []}
    nothing |= {"cases": [], "refused_with": None}
    context.write_text(json.dumps(nothing | known | {"seed": options.seed, "url": url}), encoding="utf-8")
    summary.unlink(missing_ok=True)
    command = [options.program, "--config-file", HERE / "schemathesis.toml", "run", OPENAPI, "--url", url]
    command += ["--seed", str(options.seed), "--max-examples", str(options.examples), "--continue-on-failure", *flags]
    command += ["--report-json-path", summary, "--report-ndjson-path", OUT / f"{name}.ndjson"]
    environment = os.environ | {"ICHIDO_VERIFY": str(context), "ICHIDO_TOKEN": known["token"], "NO_PROXY": "*"}
    with open(report, "wb") as output:
        to = {"stdout": output, "stderr": subprocess.STDOUT, "cwd": HERE, "env": environment}
        try:
            subprocess.run(command, check=False, timeout=max(options.deadline - time.monotonic(), 1), **to)
        except subprocess.TimeoutExpired:
            print(f"verify: {name}: not finished: all runs together may take {options.seconds} s (--seconds)")
            return False
    return told(name, options, summary, report)


def told(name: str, options: argparse.Namespace, summary: Path, report: Path) -> bool:
    """Prints what a run came to; whether all is well."""
    text = report.read_text(encoding="utf-8", errors="replace")
    if not summary.is_file():
        raise Failed(f"schemathesis did not run: {text[-2000:]}")
    result = json.loads(summary.read_text(encoding="utf-8"))
    faults = result["test_cases"]["unique_failures"] + sum(error["count"] for error in result["errors"])
    tested, cases = (result["operations"] or {}).get("tested", 0), result["test_cases"]["generated"]
    print(f"verify: {name}: {tested} operations, {cases} cases, {faults} failures, seed {options.seed}", flush=True)
    options.cases, options.failures = options.cases + cases, options.failures + faults
    if result["exit_code"] == 0 and faults == 0 and cases > 0:
        return True
    begin = re.search(r"^=+ (FAILURES|ERRORS) =+$", text, re.MULTILINE)
    print(text[begin.start() if begin else 0 :][:8000])
    again = f"make verify-contract SEED={options.seed} EXAMPLES={options.examples}"
    print(f"verify: all of it in {report.relative_to(ROOT)}; again with: {again}")
    return False


def verify(options: argparse.Namespace) -> bool:
    options.program, options.deadline = schemathesis(), time.monotonic() + options.seconds
    with service() as found:
        url = found["url"]
        check_served(url)
        org, other = admin(found, "org", "list")["data"][0]["org_id"], new_org(found, "other")
        a, b = new_key(found, org, SCOPES), new_key(found, other, SCOPES)
        keys, references, cases = prepared(url, a, "of-a", options.examples + 30)
        *used_by_b, cases_of_b = prepared(url, b, "of-b", options.examples // 3 + 3)
        for of, token in ((org, a), (other, b)):
            notify(found, of, token)
        cursors = {
            path: [call(f"{url}{path}?limit=1", token)["next_cursor"] for token in (a, b)]
            for path in ("/v1/orders", "/v1/operations", "/v1/reconciliation-cases", "/v1/receipts", "/v1/events")
        }
        known = {"token": a, "cursors": cursors, "used": keys + references + keys_shown(url, a), "cases": cases}
        well = run("organisation-a", options, url, known, [])
        foreign = {f"foreign_{of}": [each["id"] for each in everything(url, a, path)] for of, path in LISTS.items()}
        foreign |= {"foreign_keys": keys, "foreign_references": references}
        foreign |= {"cursors": cursors, "used": sum(used_by_b, keys_shown(url, b)), "cases": cases_of_b}
        well &= run("organisation-b", options, url, foreign | {"token": b}, [])
        for name, token, status, flags in refused(found, org, a):
            known = foreign | {"token": token, "refused_with": status}
            well &= run(name, options, url, known, WHEN_REFUSED + flags)
        well &= charged_once(found["world"])
    return well


def charged_once(world: str) -> bool:
    """What the simulated world counted: whatever was sent and decided, no order was charged twice, nothing given back twice."""
    with OPENER.open(f"{world}/effects", timeout=10) as answer:
        effects = json.load(answer)["effects"]
    counted = Counter()
    for each in effects:
        counted[each["kind"], each["order_id"]] += each["count"]
    twice = [f"{kind} of order {order}" for (kind, order), count in counted.items() if count > 1]
    print(f"verify: simulated world: {len(effects)} effects, {len(twice)} more than once {' '.join(twice[:5])}".rstrip())
    return bool(effects) and not twice


def prepared(url: str, token: str, name: str, cases: int) -> tuple[list[str], list[str], list[str]]:
    """Orders of which nobody asks for money yet, and others with cases; keys, references and the cases' ids."""
    keys, references = put_orders(url, token, name, 6)
    more_keys, more_references, ids = put_cases(url, token, f"{name}-unsettled", cases, cases // 5)
    return keys + more_keys, references + more_references, ids


def refused(found: dict, org: int, token: str) -> list[tuple[str, str, int, list[str]]]:
    """Who may not do what: the name of the run, the token, the status that it always gets, and the operations."""
    decides = new_key(found, org, ["reconcile", "admin"])
    orders = new_key(found, org, ["orders:read", "orders:write", "admin"])
    return [
        ("no-scope", decides, 403, [*TAGS, "--exclude-operation-id", DECIDE]),
        ("no-scope-to-decide", orders, 403, ["--include-operation-id", DECIDE, "--phases", "examples,coverage,fuzzing"]),
        ("forged-token", forged(token), 401, TAGS),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=30, help="for each operation (30)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="repeats a run; random by default")
    parser.add_argument("--json", type=Path, help="adds the figures to this file, as a line of JSON")
    parser.add_argument("--seconds", type=int, default=240, help="all runs together end within this time (240)")
    options = parser.parse_args()
    options.cases, options.failures, began = 0, 0, time.monotonic()
    OUT.mkdir(parents=True, exist_ok=True)
    # Then the service ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        well = verify(options)
        if options.json:
            violations = options.failures if well else max(options.failures, 1)
            tally = {"run": "contract", "faults": 0, "operations": options.cases, "violations": violations}
            tally |= {"seed": options.seed, "seconds": round(time.monotonic() - began)}
            with open(options.json, "a", encoding="utf-8") as file:
                print(json.dumps(tally), file=file)
        return 0 if well else 1
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print(f"verify: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
