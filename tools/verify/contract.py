#!/usr/bin/env python3
"""Holds the real program to openapi.yaml with schemathesis, as four callers in turn.

1. organisation A with all scopes: every answer is one that the contract describes, and every rule of it is kept;
2. organisation B, asking for what A has: nothing of A is ever seen;
3. a key of A without any scope that helps: 403 everywhere;
4. a forged token, with the id of a key of A and another secret: 401 everywhere.

Starts and ends an `ichido dev` of its own on 127.0.0.1, with a fresh database. Reports are in target/verify.
Exit 0 all well, 1 faults found or not finished in time.
"""

import argparse
import contextlib
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "target" / "verify"
ICHIDO = ROOT / "target" / "release" / "ichido"
OPENAPI = ROOT / "openapi.yaml"
START_SECONDS = 60
STOP_SECONDS = 40
SCOPES = ["orders:read", "orders:write", "reconcile", "admin"]
# What is refused tells nothing about data: the check `is_refused` of hooks.py takes the place of these.
OF_DATA = "positive_data_acceptance,negative_data_rejection,missing_required_header"
WHEN_REFUSED = ["--exclude-checks", OF_DATA, "--include-tag", "Orders", "--include-tag", "Idempotency keys"]
# Past any proxy that the environment names.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    """Something other than a check went wrong; said to the person in one line."""


def schemathesis() -> Path:
    """The program, in a virtual environment with what requirements.txt pins; made again when that has changed."""
    home, wanted = OUT / "venv", (HERE / "requirements.txt").read_bytes()
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
    """`ichido dev` with a database of its own; gives its address, a token and the database's URL, and ends it."""
    data = OUT / f"data-{os.getpid()}"
    command = [ICHIDO, "dev", "--listen", "127.0.0.1:0", "--data", data, "--exit-with-parent"]
    with open(OUT / "ichido.log", "wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
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
    """What `dev` prints: address, token and the URL of the database."""
    patterns = {
        "url": re.compile(r"listening on (http://\S+)"),
        "database": re.compile(r"export DATABASE_URL='([^']+)'"),
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


def admin(database: str, *arguments: str) -> dict:
    """One admin command of the program."""
    to = {"env": os.environ | {"DATABASE_URL": database}, "capture_output": True, "text": True, "timeout": 30}
    done = subprocess.run([ICHIDO, *arguments, "--json"], check=False, **to)
    if done.returncode != 0:
        raise Failed(f"ichido {' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout)


def new_key(database: str, org: int, scopes: list[str]) -> str:
    flags = [part for scope in scopes for part in ("--scope", scope)]
    return admin(database, "key", "create", "--org", str(org), *flags)["token"]


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


def put_orders(url: str, token: str, name: str, count: int) -> tuple[list[str], list[str]]:
    """Makes some orders; gives their keys and references."""
    keys, references = [str(uuid.uuid4()) for _ in range(count)], [f"{name}-{number}" for number in range(count)]
    for number, (key, reference) in enumerate(zip(keys, references)):
        line = {"sku": "TEA-01", "quantity": number + 1, "unit_amount": 1200}
        body = {"order_reference": reference, "customer": {"reference": name}, "currency": "JPY", "lines": [line]}
        call(f"{url}/v1/orders", token, body, key)
    return keys, references


def all_ids(url: str, token: str) -> list[str]:
    ids, cursor = [], ""
    while cursor is not None:
        page = call(f"{url}/v1/orders?limit=100{cursor and f'&cursor={cursor}'}", token)
        ids += [order["id"] for order in page["data"]]
        cursor = page["next_cursor"]
    return ids


def check_served(url: str) -> None:
    with OPENER.open(f"{url}/openapi.yaml", timeout=10) as answer:
        if answer.read() != OPENAPI.read_bytes():
            raise Failed("the program serves another openapi.yaml than the one here; make build")


def run(name: str, options: argparse.Namespace, url: str, known: dict, flags: list[str]) -> bool:
    """One run of schemathesis; prints its line and says whether nothing was found."""
    context, summary, report = OUT / f"{name}.context.json", OUT / f"{name}.json", OUT / f"{name}.txt"
    nothing = {"foreign_ids": [], "foreign_keys": [], "foreign_references": [], "refused_with": None}
    context.write_text(json.dumps(nothing | known | {"seed": options.seed}), encoding="utf-8")
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
    if result["exit_code"] == 0 and faults == 0 and cases > 0:
        return True
    begin = re.search(r"^=+ (FAILURES|ERRORS) =+$", text, re.MULTILINE)
    print(text[begin.start() if begin else 0 :][:8000])
    again = f"make verify SEED={options.seed} EXAMPLES={options.examples}"
    print(f"verify: all of it in {report.relative_to(ROOT)}; again with: {again}")
    return False


def verify(options: argparse.Namespace) -> bool:
    options.program, options.deadline = schemathesis(), time.monotonic() + options.seconds
    with service() as found:
        url, database = found["url"], found["database"]
        check_served(url)
        org = admin(database, "org", "list")["data"][0]["org_id"]
        other = admin(database, "org", "create", "--name", "other", "--mode", "test")["org_id"]
        a, b = new_key(database, org, SCOPES), new_key(database, other, SCOPES)
        useless = new_key(database, org, ["reconcile", "admin"])
        keys, references = put_orders(url, a, "of-a", 6)
        used_by_b = sum(put_orders(url, b, "of-b", 3), [])
        cursors = [call(f"{url}/v1/orders?limit=1", token)["next_cursor"] for token in (a, b)]
        well = run("organisation-a", options, url, {"token": a, "cursors": cursors, "used": keys + references}, [])
        foreign = {"foreign_ids": all_ids(url, a), "foreign_keys": keys, "foreign_references": references}
        foreign |= {"cursors": cursors, "used": used_by_b}
        well &= run("organisation-b", options, url, foreign | {"token": b}, [])
        for name, token, status in (("no-scope", useless, 403), ("forged-token", forged(a), 401)):
            well &= run(name, options, url, foreign | {"token": token, "refused_with": status}, WHEN_REFUSED)
    return well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=30, help="for each operation (30)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="repeats a run; random by default")
    parser.add_argument("--seconds", type=int, default=240, help="all runs together end within this time (240)")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    # Then the service ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return 0 if verify(options) else 1
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print(f"verify: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
