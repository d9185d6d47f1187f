#!/usr/bin/env python3
"""Runs the proofs of Ichido under faults, one after the other, and prints one table of what came of them.

Each run is a program of its own that can be run alone (`make help`). It writes its figures as JSON, those of its parts one
after the other, which are added up here. What a run prints is in target/verify/NAME.log. Everything stays on this machine, and every
run has a limit.
Exit 0 no violation, 1 a violation or a run that did not come to its end.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "target" / "verify"
PROGRAM = "target/release/ichido"
# What every run takes as a seed.
MOST_SEED = 999_999_999
END_SECONDS = 60
LOG_LINES = 30


@dataclass(frozen=True)
class Size:
    """How much a profile asks of each run."""

    examples: int
    cases: int
    operations: int
    kills: int
    lines: int
    storm: int
    shuffles: int
    rolling: int
    tenants: int
    fuzz_seconds: int
    # One in so many changes of the decisions.
    mutants: int
    # Each failpoint in every way, and with how many seeds.
    every_way: bool
    sweeps: int
    # The longest that a run may take, in parts of what it may take by default.
    patience: int


PROFILES = {
    "default": Size(30, 256, 40, 60, 120, 200, 1, 3, 500, 20, 40, False, 1, 1),
    "full": Size(1000, 5000, 60, 2000, 6000, 10_000, 200, 50, 10_000, 900, 1, True, 5, 60),
}


@dataclass(frozen=True)
class Call:
    """What is run: a command, and what is added to its environment."""

    command: list
    environment: dict


@dataclass(frozen=True)
class Run:
    """One proof."""

    name: str
    # What it may take by default, in minutes, with what it has to compile first.
    minutes: int
    calls: Callable[[Size, int, Path], list[Call]]
    # Whether it belongs to the full profile alone, unless it is named.
    only_full: bool = False


def target(test: str, *arguments: object, features: str = "", **environment: object) -> Call:
    """One of the programs in tests/."""
    with_features = ["--features", features] if features else []
    command = ["cargo", "test", "--locked", *with_features, "--test", test, "--", *arguments]
    return Call(command, environment)


def faults(seed: int, json_file: Path, *mode: object) -> list[Call]:
    """The fault run, in one of its modes."""
    return [target("faults", "--program", PROGRAM, *mode, "--seed", seed, "--json", json_file)]


def kills(size: Size, seed: int, json_file: Path) -> list[Call]:
    return faults(seed, json_file, "--kills", "--faults", size.kills)


def lines(size: Size, seed: int, json_file: Path) -> list[Call]:
    return faults(seed, json_file, "--lines", "--faults", size.lines)


def rolling(size: Size, seed: int, json_file: Path) -> list[Call]:
    return faults(seed, json_file, "--rolling", size.rolling)


def storm(size: Size, seed: int, json_file: Path) -> list[Call]:
    return faults(seed, json_file, "--storm", size.storm)


def notifications(size: Size, seed: int, json_file: Path) -> list[Call]:
    return faults(seed, json_file, "--notifications", size.shuffles)


def contract(size: Size, seed: int, json_file: Path) -> list[Call]:
    command = [sys.executable, HERE / "contract.py", "--examples", size.examples, "--seed", seed]
    return [Call([*command, "--seconds", 300 * size.patience, "--json", json_file], {})]


def sweep(size: Size, seed: int, json_file: Path) -> list[Call]:
    every_way = ["--full"] if size.every_way else []
    seeds = range(seed, seed + size.sweeps)
    return [target("sweep", *every_way, "--seed", each, "--json", json_file, features="failpoints") for each in seeds]


def model(_size: Size, _seed: int, json_file: Path) -> list[Call]:
    command = ["cargo", "test", "--release", "--locked", "--test", "model", "the_design_holds", "--", "--nocapture"]
    return [Call(command, {"MODEL": "full", "VERIFY_JSON": json_file})]


def fuzz(size: Size, seed: int, json_file: Path) -> list[Call]:
    return [Call(["fuzz/run", "--seconds", size.fuzz_seconds, "--seed", seed, "--json", json_file], {})]


def stateful(size: Size, seed: int, json_file: Path) -> list[Call]:
    settings = {"CASES": size.cases, "OPERATIONS": size.operations, "SEED": seed, "VERIFY_JSON": json_file}
    return [target("stateful", "--nocapture", **settings)]


def tenants(size: Size, seed: int, json_file: Path) -> list[Call]:
    settings = {"TENANT_CASES": size.tenants, "TENANT_SEED": seed, "VERIFY_JSON": json_file}
    return [target("it", "tenants::isolation", "--nocapture", **settings)]


def teeth(_size: Size, _seed: int, json_file: Path) -> list[Call]:
    return [target("teeth", "--json", json_file, features="planted,failpoints")]


def mutants(size: Size, seed: int, json_file: Path) -> list[Call]:
    part = f"{seed % size.mutants}/{size.mutants}"
    seconds = 360 * size.patience
    return [Call([sys.executable, HERE / "mutants.py", "--part", part, "--seconds", seconds, "--json", json_file], {})]


RUNS = [
    Run("contract", 6, contract),
    Run("design model", 10, model),
    Run("sequences", 10, stateful),
    Run("kills", 10, kills),
    Run("lines", 10, lines),
    Run("rolling", 5, rolling),
    Run("storm", 5, storm),
    Run("notifications", 5, notifications),
    Run("tenants", 5, tenants),
    Run("fuzz", 10, fuzz),
    Run("failpoints", 10, sweep),
    Run("teeth", 12, teeth),
    Run("mutants", 8, mutants, only_full=True),
]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="default", help="full takes many hours")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="repeats the choices of all runs")
    parser.add_argument("--only", default="", help="names of runs, with commas between")
    options = parser.parse_args()
    names = [run.name for run in RUNS]
    wanted = [name.strip() for name in options.only.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"there is no run {', '.join(unknown)}; there are {', '.join(names)}")
    full = options.profile == "full"
    options.runs = [run for run in RUNS if (run.name in wanted if wanted else full or not run.only_full)]
    return options


def seed_of(seed: int, name: str) -> int:
    """Another one for each run, the same for the same run: runs may be left out without changing the others."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % MOST_SEED


def carried_out(call: Call, log, seconds: float) -> str | None:
    """Runs a command to its end; gives why that did not go well."""
    environment = os.environ | {name: str(value) for name, value in call.environment.items()}
    to = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT, "env": environment, "cwd": ROOT}
    process = subprocess.Popen([str(part) for part in call.command], start_new_session=True, **to)
    try:
        status = process.wait(max(seconds, 1))
        return f"exit status {status}" if status != 0 else None
    except subprocess.TimeoutExpired:
        return "not over in time"
    finally:
        end(process)


def end(process: subprocess.Popen) -> None:
    """Ends a run and what it has started, gently at first."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, how)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def row_of(run: Run, options: argparse.Namespace) -> dict:
    """One line of the table."""
    size, seed = PROFILES[options.profile], seed_of(options.seed, run.name)
    stem = run.name.replace(" ", "-")
    log_file, json_file = OUT / f"{stem}.log", OUT / f"{stem}.tally.json"
    json_file.unlink(missing_ok=True)
    began, failures = time.monotonic(), []
    with open(log_file, "wb") as log:
        for call in run.calls(size, seed, json_file):
            left = 60 * run.minutes * size.patience - (time.monotonic() - began)
            failures.append(carried_out(call, log, left))
    tallies = parts(json_file.read_text("utf-8")) if json_file.is_file() else []
    row = {"run": run.name, "seed": seed, "seconds": round(time.monotonic() - began)}
    row |= {figure: sum(tally[figure] for tally in tallies) for figure in ("faults", "operations", "violations")}
    row["failure"] = next(filter(None, failures), None if row["operations"] else "it has looked at nothing")
    row["seeded"] = any(tally.get("seed") is not None for tally in tallies)
    row["log"] = str(log_file.relative_to(ROOT))
    return row


def parts(text: str) -> list[dict]:
    """The JSON objects of a file, one after the other."""
    found, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        part, end_of_it = decoder.raw_decode(text)
        found.append(part)
        text = text[end_of_it:]
    return found


def tell(row: dict) -> None:
    """What went wrong, at once."""
    log = (ROOT / row["log"]).read_text("utf-8", errors="replace")
    print(f"verify: {row['run']}: {row['violations']} violations, {row['failure'] or 'ended well'}; the end of {row['log']}:")
    print("\n".join(log.splitlines()[-LOG_LINES:]), flush=True)


def table(rows: list[dict]) -> str:
    """All of it, as Markdown."""
    lines = ["| run | faults injected | operations | violations | seed | time |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        verdict = f"{row['violations']}" + (f" ({row['failure']})" if row["failure"] else "")
        seed = row["seed"] if row["seeded"] else "none"
        took = f"{row['seconds'] // 60}:{row['seconds'] % 60:02}"
        lines.append(f"| {row['run']} | {row['faults']:,} | {row['operations']:,} | {verdict} | {seed} | {took} |")
    return "\n".join(lines)


def main() -> int:
    options = parsed()
    OUT.mkdir(parents=True, exist_ok=True)
    # Then what was started ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began, rows = time.monotonic(), []
    for number, run in enumerate(options.runs, 1):
        print(f"verify: {number}/{len(options.runs)} {run.name}", file=sys.stderr, flush=True)
        row = row_of(run, options)
        rows.append(row)
        if row["violations"] or row["failure"]:
            tell(row)
    well = not any(row["violations"] or row["failure"] for row in rows)
    took = round(time.monotonic() - began)
    report = {"profile": options.profile, "seed": options.seed, "seconds": took, "passed": well, "runs": rows}
    (OUT / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(table(rows))
    print(f"\nprofile {options.profile}, seed {options.seed}, {took // 60} min {took % 60} s; {bound(rows)}")
    return 0 if well else 1


def bound(rows: list[dict]) -> str:
    """What the faults that clients and judges lived through prove, and what they do not."""
    struck = sum(row["faults"] for row in rows if row["run"] not in ("teeth", "mutants"))
    if any(row["violations"] or row["failure"] for row in rows):
        return "NOT PASSED"
    if not struck:
        return "passed, with no fault injected"
    return f"no violation in {struck:,} faults: if they were independent, fewer than 1 in {struck // 3:,} has one, at 95 %"


if __name__ == "__main__":
    sys.exit(main())
