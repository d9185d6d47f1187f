#!/bin/sh
# Stripe's official clients for Python and Node against the simulated world: they have to find nothing odd about it.
# Needs python3 with venv, and npm; installs into target/sim-clients and tools/sim/node_modules.
set -eu
cd "$(dirname "$0")/../.."
program=${ICHIDO:-target/debug/ichido}
[ -x "$program" ] || { echo "$program is not there; build it, or set ICHIDO" >&2; exit 1; }
program=$(realpath "$program")

clients=target/sim-clients
[ -x "$clients/bin/python" ] || python3 -m venv "$clients"
"$clients/bin/python" -m pip install --quiet --disable-pip-version-check --requirement tools/sim/requirements.txt
(cd tools/sim && npm ci --no-audit --no-fund --silent)

"$clients/bin/python" tools/sim/official_client.py "$program"
node tools/sim/official_client.mjs "$program"
