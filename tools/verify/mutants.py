#!/usr/bin/env python3
"""Changes the pure decisions in src/domain, one place at a time, and looks whether their unit tests notice.

cargo-mutants makes the changes, in a copy of the small crate that is fuzzed: src/domain needs no other part of the program, so a
change is built in seconds. At least 85 % have to be noticed.
Exit 0 enough are, 1 too few or not finished in time.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "target" / "mutants"
CRATE = OUT / "crate"
FUZZED = ROOT / "fuzz" / "domain"
TOOL, VERSION = "cargo-mutants", "27.1.0"
ASKED = 0.85
# A test that hangs has noticed. The tests take a few seconds.
TEST_SECONDS = 60
END_SECONDS = 30
# The tool's exit status when it has tried all: all were noticed, some were not, some test hung.
ENDED = (0, 2, 3)


def install() -> None:
    """The tool, unless this version is there."""
    found = subprocess.run(["cargo", "mutants", "--version"], capture_output=True, text=True, check=False)
    if found.stdout.split() == [TOOL, VERSION]:
        return
    print(f"mutants: installing {TOOL} {VERSION}", file=sys.stderr)
    subprocess.run(["cargo", "install", "--quiet", "--locked", f"{TOOL}@{VERSION}"], check=True, timeout=1800)


def make_crate() -> None:
    """A copy of the crate that the fuzz targets use, with the sources below it, where the tool looks for them."""
    shutil.rmtree(CRATE, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "domain", CRATE / "src" / "domain")
    shutil.copy(ROOT / "src" / "planted.rs", CRATE / "src")
    shutil.copy(ROOT / "fuzz" / "Cargo.lock", CRATE)
    library = (FUZZED / "lib.rs").read_text("utf-8").replace("../../src/", "src/")
    (CRATE / "lib.rs").write_text(library, encoding="utf-8")
    # It is tested here, and belongs to no workspace.
    manifest = (FUZZED / "Cargo.toml").read_text("utf-8").replace("test = false\n", "", 1) + "\n[workspace]\n"
    (CRATE / "Cargo.toml").write_text(manifest, encoding="utf-8")


def tried(options: argparse.Namespace) -> tuple[list[str], bool]:
    """What became of each change, and whether all of them were tried."""
    shutil.rmtree(OUT / "mutants.out", ignore_errors=True)
    part = ["--sharding", "round-robin", "--shard", options.part] if options.part else []
    command = ["cargo", "mutants", "--in-place", "--file", "src/domain/**", "--output", OUT, *part]
    command += ["--timeout", str(TEST_SECONDS), "--colors", "never", "--", "--lib"]
    # Without debug information a change is built in half the time.
    quick = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0", "RUST_BACKTRACE": "0"}
    environment = os.environ | quick | {"CARGO_TARGET_DIR": str(OUT / "target")}
    process = subprocess.Popen([str(part) for part in command], cwd=CRATE, env=environment)
    try:
        status = process.wait(options.seconds)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        process.terminate()
        process.wait(END_SECONDS)
    found = OUT / "mutants.out"
    outcomes = json.loads((found / "outcomes.json").read_text("utf-8"))["outcomes"]
    outcomes = [outcome["summary"] for outcome in outcomes if outcome["scenario"] != "Baseline"]
    # The tool writes its results as it goes, and a part of them says nothing of the rest.
    whole = status in ENDED and len(outcomes) == len(json.loads((found / "mutants.json").read_text("utf-8")))
    return outcomes, whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", metavar="K/N", help="only every Nth change, from the Kth on (from 0)")
    parser.add_argument("--seconds", type=float, default=6 * 3600.0, help="the longest that it may take")
    parser.add_argument("--json", type=Path, help="adds the figures to this file")
    options = parser.parse_args()
    began = time.monotonic()
    install()
    make_crate()
    outcomes, whole = tried(options)
    noticed = sum(outcome in ("CaughtMutant", "Timeout") for outcome in outcomes)
    missed = outcomes.count("MissedMutant")
    # What does not compile is no change.
    changes = noticed + missed
    score = noticed / changes if changes else 0
    print(f"mutants: {noticed} of {changes} changes noticed, {100 * score:.1f} %; {100 * ASKED:.0f} % are asked")
    print("those that were not are in target/mutants/mutants.out/missed.txt")
    well = whole and score >= ASKED
    if not whole:
        print(f"NOT finished: {len(outcomes)} changes were tried")
    if options.json:
        seconds = round(time.monotonic() - began)
        tally = {"run": "mutants", "faults": 0, "operations": changes, "violations": 0 if score >= ASKED else missed}
        with open(options.json, "a", encoding="utf-8") as file:
            file.write(json.dumps(tally | {"seed": None, "seconds": seconds}) + "\n")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
