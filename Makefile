# One line per task; `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help demo demo-pulsar test test-pulsar test-profiles check fmt clippy docs deps deny features record msrv soak fuzz-smoke bench bench-smoke bench-peers bench-peers-smoke bench-brokers bench-brokers-smoke

help: ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: ## run the example `orders` on a development broker in its process
	cargo run --example orders

demo-pulsar: ## the same on a real Pulsar
	scripts/with-pulsar cargo run --example orders

test: ## all tests, on development brokers in their processes
	cargo test --workspace

test-pulsar: ## all tests, on a real Pulsar, with the Python peer where Python is there
	@scripts/python-peer >/dev/null || echo "the tests with the Python SDK will be skipped" >&2
	scripts/with-pulsar cargo test --workspace

test-profiles: ## the live tests on other settings and on the oldest supported Pulsar
	@scripts/python-peer >/dev/null || echo "the tests with the Python SDK will be skipped" >&2
	@scripts/test-profiles

check: fmt clippy docs deps deny ## everything that needs no broker, warnings denied

fmt: ## formatting
	cargo fmt --all --check

clippy: ## lints
	cargo clippy --workspace --all-targets -- -D warnings

docs: ## documentation
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

deps: ## which crate may know which
	cargo run --quiet --package xtask -- deps

deny: ## licences, bans and sources of the dependencies
	cargo deny --all-features check --hide-inclusion-graph licenses bans sources

features: ## each crate alone, as its users build it
	@set -e; for crate in babelqueue-core babelqueue babelqueue-pulsar pulsar-wire pulsar-tokio babelqueue-cli; do \
		echo "$$crate"; cargo check --quiet --package $$crate; done

record: ## what a real Pulsar answers, anew, for the comparison with the development broker
	BABELQUEUE_RECORD=1 scripts/with-pulsar cargo test --package pulsar-devbroker --test differential the_record
	BABELQUEUE_RECORD=1 scripts/with-pulsar cargo test --package pulsar-devbroker --test clients

msrv: ## build with the oldest supported toolchain
	@scripts/msrv

soak: ## the long runs of docs/soak.md: a million seeds, faults and kills in full
	SIM_SEEDS=1000000 cargo test --release --package pulsar-tokio --lib simulation
	BABELQUEUE_SOAK=1 scripts/with-pulsar cargo test --release --package pulsar-tokio --test faults -- --nocapture
	BABELQUEUE_SOAK=1 scripts/with-pulsar cargo test --release --package babelqueue-pulsar --test killed --test cluster -- --nocapture

fuzz-smoke: ## each fuzz target for some seconds
	@scripts/fuzz-smoke

bench: ## figures beside the bare client, written to bench/RESULTS.md
	scripts/with-pulsar cargo run --release --quiet --package bench

bench-smoke: ## the same with few messages, written nowhere
	scripts/with-pulsar cargo run --release --quiet --package bench -- --smoke

bench-peers: ## ours beside the SDKs and clients of other languages, written to bench/RESULTS.md
	@scripts/python-peer >/dev/null
	scripts/with-pulsar cargo run --release --quiet --package bench -- peers

bench-peers-smoke: ## the same with few messages, written nowhere
	@scripts/python-peer >/dev/null
	scripts/with-pulsar cargo run --release --quiet --package bench -- peers --smoke

bench-brokers: ## the development broker beside Pulsar, written to bench/RESULTS.md
	@scripts/python-peer >/dev/null
	scripts/with-pulsar cargo run --release --quiet --package bench -- brokers

bench-brokers-smoke: ## the same with few messages, written nowhere
	@scripts/python-peer >/dev/null
	scripts/with-pulsar cargo run --release --quiet --package bench -- brokers --smoke
