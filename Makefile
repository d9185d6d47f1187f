# `make` alone lists the targets. Nothing here needs root, Docker or an installed database.
.DEFAULT_GOAL := help
SHELL := /bin/sh
LISTEN ?= 127.0.0.1:8080
DATA ?= .ichido

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the program (several minutes the first time)
	@echo "ichido: building; the first time takes several minutes" >&2
	cargo build --release --locked

.PHONY: run
run: build ## run a service to try, on a private PostgreSQL in .ichido; Ctrl-C ends it, the data stays
	@exec target/release/ichido dev --listen $(LISTEN) --data $(DATA) --exit-with-parent

.PHONY: test
test: ## run all tests against a real PostgreSQL that they start themselves
	cargo test --locked

.PHONY: verify-sim
verify-sim: ## Stripe's official clients for Python and Node against the simulated world (needs python3 and npm)
	cargo build --locked
	tools/sim/official_clients.sh

.PHONY: lint
lint: lint-rust lint-openapi ## formatting, clippy, the contract's linters

.PHONY: lint-rust
lint-rust: ## formatting and clippy, warnings as errors
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml --all
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --test faults -- -D warnings
	cargo clippy --locked --all-targets --features failpoints,planted -- -D warnings
	cargo clippy --locked --test faults --test sweep --test teeth --features failpoints,planted -- -D warnings

.PHONY: lint-openapi
lint-openapi: ## redocly and spectral on openapi.yaml (needs npm)
	cd tools/openapi && npm ci --no-audit --no-fund --silent && npm run --silent lint

.PHONY: verify
verify: build ## the proofs in turn and one table, 40 minutes (PROFILE=full: many hours; SEED=N, ONLY=kills,lines)
	@python3 tools/verify/verify.py $(if $(PROFILE),--profile $(PROFILE)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(ONLY),--only '$(ONLY)')

.PHONY: verify-mutants
verify-mutants: ## change src/domain in every place, one at a time; its tests have to notice (PART=0/20 for one in 20)
	@python3 tools/verify/mutants.py $(if $(PART),--part $(PART))

.PHONY: verify-contract
verify-contract: build ## hold the running program to openapi.yaml as four callers (needs Python 3.11; EXAMPLES=N, SEED=N)
	@python3 tools/verify/contract.py $(if $(EXAMPLES),--examples $(EXAMPLES)) $(if $(SEED),--seed $(SEED))

.PHONY: verify-faults
verify-faults: build ## orders and payments under kills and cut lines, then judged (SEED=N, FAULTS=200, CLIENTS=16)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/report.json \
	  $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS)) $(if $(CLIENTS),--clients $(CLIENTS)) $(ARGS)

.PHONY: verify-kills
verify-kills: build ## how long an answer takes when its server is killed, one kill at a time (SEED=N, FAULTS=60, CLIENTS=20)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/kills.json --single-kills \
	  --faults $(or $(FAULTS),60) --clients $(or $(CLIENTS),20) --paid 60 $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: verify-crashes
verify-crashes: build ## kill -9 only: servers, worker, backends, postmaster, gateways (SEED=N, FAULTS=60, CLIENTS=16)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/crashes.json --kills \
	  --faults $(or $(FAULTS),60) $(if $(SEED),--seed $(SEED)) $(if $(CLIENTS),--clients $(CLIENTS)) $(ARGS)

.PHONY: verify-lines
verify-lines: build ## broken lines only: four lines, each in seven ways (SEED=N, FAULTS=120, CLIENTS=16)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/lines.json --lines --paid 50 \
	  --faults $(or $(FAULTS),120) $(if $(SEED),--seed $(SEED)) $(if $(CLIENTS),--clients $(CLIENTS)) $(ARGS)

.PHONY: verify-rolling
verify-rolling: build ## both servers are replaced with SIGTERM under load, one after the other (ROUNDS=3, SEED=N)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/rolling.json \
	  --rolling $(or $(ROUNDS),3) $(if $(SEED),--seed $(SEED)) $(if $(CLIENTS),--clients $(CLIENTS)) $(ARGS)

.PHONY: verify-storm
verify-storm: build ## 2 to 64 requests at once under one key, to both servers (KEYS=200, SEED=N)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/storm.json \
	  --storm $(or $(KEYS),200) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: verify-notifications
verify-notifications: build ## 200 orders' notifications, shuffled and repeated, under kills (SHUFFLES=20, SEED=N)
	cargo test --locked --test faults -- --program target/release/ichido --json target/faults/notifications.json \
	  --notifications $(or $(SHUFFLES),20) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: verify-model
verify-model: ## every interleaving of larger worlds of the design model (minutes)
	MODEL=full cargo test --release --locked --test model -- --nocapture --test-threads 1

.PHONY: verify-stateful
verify-stateful: ## random sequences on real servers beside a model (CASES=256, OPERATIONS=40, SEED=1, JSON=FILE)
	CASES=$(or $(CASES),256) OPERATIONS=$(or $(OPERATIONS),40) SEED=$(SEED) VERIFY_JSON=$(abspath $(JSON)) \
	  cargo test --locked --test stateful -- --nocapture

.PHONY: verify-failpoints
verify-failpoints: ## dies, fails and waits at every failpoint, and is judged (FULL=1 in every way, SEED=N, ONLY=charge/)
	cargo test --locked --features failpoints --test sweep -- $(if $(FULL),--full) $(if $(SEED),--seed $(SEED)) \
	  $(if $(ONLY),--only $(ONLY)) $(ARGS)

.PHONY: verify-teeth
verify-teeth: ## plants one fault after the other, each of which its test has to catch (ARGS=NAME for one)
	cargo test --locked --features planted,failpoints --test teeth -- $(ARGS)

.PHONY: verify-fuzz
verify-fuzz: ## fuzzes every reader of foreign bytes, with coverage (needs a C++ compiler; SECONDS=20 each, SEED=N)
	@fuzz/run $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: bench
bench: ## load bench beside pgbench on the same server (QUICK=1 for a short one, PEERS=1 with other services, ARGS=--help)
	cargo bench --locked --bench load -- $(ARGS)

.PHONY: bench-growth
bench-growth: ## the service on a database of many orders beside an empty one (ROWS=20000000)
	cargo bench --locked --bench load -- growth $(ARGS)

.PHONY: clean
clean: ## remove what was built; the data in .ichido stays
	cargo clean
