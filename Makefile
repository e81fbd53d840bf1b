# `make` lists the targets. Each can be run again at any time, and does only the missing steps.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Rustup's folder is not in every shell's PATH.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

target := $(abspath $(or $(CARGO_TARGET_DIR),target))
browser := tests/browser
node_modules := $(browser)/node_modules/.package-lock.json
clients := tests/clients
generators := $(clients)/node_modules/.package-lock.json
conformance := tests/conformance
suite := $(conformance)/node_modules/.package-lock.json
python := $(target)/python
smtp_server := $(python)/.requirements
spelling := $(target)/spelling
packages_python := $(target)/packages-python/requirements.txt
cyclonedx := $(target)/tools/bin/cargo-cyclonedx
# The program as `cargo test` builds it. Dev-dependencies add features to libraries of the program: without a test,
# cargo would compile these libraries and the program a second time.
build := cargo build --locked --bins --test architecture
black_box := --test 'api_*' --test console --test interface --test operations --test transparency_log
chromium = $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Install what is missing, build, and start the service on http://localhost:8000
	@scripts/install-missing
	@scripts/first-run

.PHONY: test
test: ## Check, and run all tests: unit, black-box, browser, clients, conformance, packages
	@scripts/install-missing $(if $(filter 0,$(shell id -u)),--lints,--quick)
	@scripts/with-postgres $(MAKE) --no-print-directory check-and-install test-rust test-browser test-clients \
		test-conformance test-packages-quick

# The linter compiles for minutes. Meanwhile everything is installed that the tests need, programs too where nobody
# is asked for a password.
.PHONY: check-and-install
check-and-install: fmt-check
	@mkdir -p $(target)
	@$(MAKE) --no-print-directory test-tools typecheck installed >$(target)/installed.log 2>&1 & installing=$$!; \
		checked=0; scripts/sqlx-metadata --check || checked=$$?; \
		wait $$installing || { cat $(target)/installed.log >&2; exit 1; }; \
		grep '^Skipped' $(target)/installed.log >&2 || true; \
		exit $$checked

.PHONY: installed
installed: $(node_modules) $(smtp_server) $(generators) $(suite)
	@PACKAGES_PYTHON=$(target)/packages-python scripts/test-packages --install

.PHONY: check
check: fmt-check typecheck ## Formatting, lints, types of the browser scripts, query descriptions
	@scripts/sqlx-metadata --check

.PHONY: fmt
fmt: ## Format the Rust code
	@cargo fmt

.PHONY: fmt-check
fmt-check:
	@cargo fmt --check

.PHONY: typecheck
typecheck: $(node_modules) ## Types of the browser scripts
	@npm --prefix $(browser) run --silent typecheck

.PHONY: spelling
spelling: $(spelling) ## Spelling of code and documents
	@$(spelling)/bin/typos

.PHONY: deny
deny: ## Licences, advisories and sources of the libraries (needs cargo-deny)
	@cargo deny --locked check

.PHONY: doc
doc: ## Documentation of the source, in target/doc; broken links are errors
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items

.PHONY: sqlx-prepare
sqlx-prepare: ## Rewrite .sqlx/ after a query or a migration has changed
	@scripts/sqlx-metadata

.PHONY: unit
unit: ## Unit tests only; they need no database
	@cargo test --locked --lib --bins

.PHONY: test-rust
test-rust: $(smtp_server) $(generators)
	@scripts/with-postgres env TEST_PYTHON=$(python)/bin/python RUST_TEST_THREADS=8 scripts/rust-tests

.PHONY: test-api
test-api: $(smtp_server) $(generators) ## Black-box tests of the HTTP interface
	@scripts/with-postgres env TEST_PYTHON=$(python)/bin/python cargo test --locked --no-fail-fast $(black_box)

.PHONY: test-cluster
test-cluster: $(smtp_server) $(generators) ## The black-box tests on a cluster of three PostgreSQL with Citus
	@scripts/with-cluster env TEST_PYTHON=$(python)/bin/python RUST_TEST_THREADS=4 \
		cargo test --locked --no-fail-fast $(black_box)

.PHONY: test-long
test-long: $(smtp_server) ## What takes many rows or many seconds: long days, attacks
	@scripts/with-postgres env TEST_PYTHON=$(python)/bin/python cargo test --locked --test long -- --test-threads 1 --nocapture

.PHONY: test-deploy
test-deploy: image-test shuttle-check ## The container image and Shuttle's entry; `make test` runs tests/deploy

.PHONY: image-test
image-test: ## Build the container image without a registry, and try it (as root)
	@scripts/image-test

.PHONY: shuttle-check
shuttle-check: ## Check that Shuttle's entry compiles
	@cargo fmt --check --manifest-path deploy/shuttle/Cargo.toml
	@cargo check --manifest-path deploy/shuttle/Cargo.toml

.PHONY: fuzz
fuzz: $(smtp_server) ## More than 20,000 requests that Schemathesis makes up from /openapi.json
	@scripts/with-postgres env TEST_PYTHON=$(python)/bin/python RUST_TEST_THREADS=2 FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),150) \
		cargo test --locked --test interface -- fuzz:: --nocapture

.PHONY: test-browser
test-browser: $(node_modules) ## Tests in Chromium and, where it is installed, in Firefox
	@$(build)
	@scripts/with-postgres env CHROMIUM="$(chromium)" \
		ASSENT_BIN=$(target)/debug/assent npm --prefix $(browser) test

.PHONY: pictures
pictures: $(node_modules) ## Take the pictures of docs/console.md again, also in PICTURES_LANGUAGES=de,pl
	@$(build)
	@mkdir -p docs/pictures
	@scripts/with-postgres env CHROMIUM="$(chromium)" ASSENT_BIN=$(target)/debug/assent \
		npm --prefix $(browser) test -- --config pictures.config.ts

.PHONY: test-clients
test-clients: $(generators) $(smtp_server) ## Clients generated from /openapi.json, and its linters
	@$(build)
	@scripts/with-postgres $(python)/bin/python $(clients)/run.py $(target)/debug/assent

.PHONY: test-conformance
test-conformance: $(suite) ## The conformance suite of MCP, the official TypeScript client, afdocs
	@$(build) --quiet
	@scripts/with-postgres $(conformance)/node_modules/.bin/node $(conformance)/run.mjs $(target)/debug/assent

.PHONY: test-packages-quick
test-packages-quick: ## The packages without applications, WordPress and Debian; `make test` runs it
	@scripts/install-missing --quick
	@$(build)
	@scripts/with-postgres env ASSENT_BIN=$(target)/debug/assent PACKAGES_PYTHON=$(target)/packages-python \
		scripts/test-packages --quick

.PHONY: test-packages
test-packages: $(node_modules) ## All packages, six applications with the tag, WordPress, Debian, npx and uvx
	@scripts/install-missing --packages
	@$(build)
	@scripts/with-postgres env CHROMIUM="$(chromium)" ASSENT_BIN=$(target)/debug/assent \
		PACKAGES_PYTHON=$(target)/packages-python scripts/test-packages

.PHONY: test-tools
test-tools:
	@scripts/install-missing --quick

.PHONY: torture
torture: $(smtp_server) ## Kill service and database in turn, 20 rounds; nothing confirmed may be lost
	@scripts/with-postgres env TORTURE_ROUNDS=20 TEST_PYTHON=$(python)/bin/python \
		cargo test --locked --test operations torture:: -- --nocapture 2>&1 | grep -E '^(test |[0-9]+ rounds)|panicked|error'

.PHONY: bench
bench: ## Measure the service beside alternatives, and write bench/results.md
	@scripts/install-missing --bench
	@cargo build --release --locked
	@CHROMIUM="$(chromium)" python3 bench/bench.py

.PHONY: release
release: $(cyclonedx) $(packages_python) ## Program, packages, bill of materials (CycloneDX) and checksums, in target/release-files
	@CYCLONEDX=$(cyclonedx) PACKAGES_PYTHON=$(target)/packages-python scripts/release

.PHONY: tag-hash
tag-hash: ## SHA-256 of the consent tag, as the public log has it
	@scripts/tag-hash

.PHONY: clean
clean: ## Remove all build results; the data in .data/ are kept
	@cargo clean
	@rm -rf $(browser)/node_modules $(browser)/test-results $(clients)/node_modules $(clients)/generated $(conformance)/node_modules
	@rm -rf packages/web/node_modules packages/web/dist packages/web/apps/node_modules packages/web/apps/*/node_modules packages/python/dist

$(spelling): tests/spelling/requirements.txt
	@python3 -m venv $@
	@$@/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(packages_python): packages/requirements.txt
	@python3 -m venv $(dir $@)
	@$(dir $@)bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@cp $< $@

$(cyclonedx):
	@cargo install --locked --quiet --version 0.5.9 --root $(target)/tools cargo-cyclonedx

$(node_modules): $(browser)/package-lock.json
	@npm --prefix $(browser) ci --no-audit --no-fund
	@touch $@

$(generators): $(clients)/package-lock.json
	@npm --prefix $(clients) ci --ignore-scripts --no-audit --no-fund
	@touch $@

# The package `node` brings the Node.js that the suite needs.
$(suite): $(conformance)/package-lock.json
	@npm --prefix $(conformance) ci --no-audit --no-fund
	@touch $@

$(smtp_server): tests/requirements.txt tests/fuzz/requirements.txt $(clients)/requirements.txt tests/log/requirements.txt
	@python3 -m venv $(python)
	@$(python)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		$(addprefix --requirement ,$(filter-out tests/log/%,$^))
	@$(python)/bin/python -m pip install --quiet --disable-pip-version-check --ignore-requires-python --no-deps \
		--requirement tests/log/requirements.txt
	@touch $@
