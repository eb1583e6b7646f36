# One short word for each chore. Needs Python 3.11 or newer and make; everything else is set up by the first target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
.DEFAULT_GOAL := help
# Tests start hundreds of processes: what one has compiled is there for the next, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE :=

# What most changes break first: pure code and whole conversations, no servers, no browsers, no processes.
QUICK := tests/policy tests/language tests/conversations tests/spine tests/tools tests/docs/test_vocabulary.py

.PHONY: help run quick test test-adapters fuzz fuzz-api check wheel docs bench services lock hashes sbom try-image clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Circumspect needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a minute or two the first time) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group dev --editable '.[agent,server,terminal,otel,business,postgres,redis]'
	@touch $@

run: $(STAMP)  ## serve the demo: console, API, sample tenants (offline model, embedded database)
	@$(BIN)/circumspect serve --demo

quick: $(STAMP)  ## lint what changed since main, and test the core and its policy: within a minute
	@changed=$$(git diff --name-only --diff-filter=d "$$(git merge-base HEAD main 2>/dev/null || echo HEAD)" -- '*.py'; \
	  git ls-files --others --exclude-standard -- '*.py'); \
	  echo "ruff:   $$(echo $$changed | wc -w) changed files"; \
	  test -z "$$changed" || { $(BIN)/ruff check --quiet $$changed && $(BIN)/ruff format --quiet --check $$changed; }
	@echo "pytest: $(QUICK)"
	@$(BIN)/python -m pytest -n 2 -m 'not slow and not llm' $(QUICK)

test: $(STAMP)  ## run all tests
	@$(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder

test-adapters:  ## test the adapters for Claude Agent SDK, CrewAI, LlamaIndex and ADK, each in an environment of its own
	@PYTHON=$(PYTHON) bash scripts/test_adapters.sh

fuzz: $(STAMP)  ## run the property tests with new examples, more of them where a test does not say how many
	@$(BIN)/python -m pytest -n auto -m hypothesis --hypothesis-profile fuzz

fuzz-api: $(STAMP)  ## send the server whatever its description allows, and what lies beyond it: for the night (MINUTES=60, ONLY=operation)
	@$(BIN)/python -m tests.security.fuzz_api $(addprefix --only ,$(ONLY)) $(addprefix --minutes ,$(MINUTES))

check: $(STAMP)  ## lint, types and import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
# On a busy machine a worker of mypy's may not answer in time; alone it takes longer and needs none.
	@$(BIN)/mypy --num-workers auto || $(BIN)/mypy
	@$(BIN)/lint-imports

wheel: $(STAMP)  ## build the wheel, install it alone and use it, on every Python from 3.11 to 3.14 that can be had
	@bash scripts/try_wheel.sh

docs: $(STAMP)  ## write the generated pages anew (reason codes, policy schema)
	@$(BIN)/python -m scripts.generate_docs

bench: $(STAMP)  ## measure overhead, cost, enforce and start-up, beside the peers where they are installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group bench --editable '.[bench-peers]'
	@$(BIN)/python -m bench all

services: $(STAMP)  ## find or install PostgreSQL, Redis, HAProxy, nginx, promtool, Chromium, Ray and the Node clients for the tests that need them
	@bash scripts/services.sh

lock: $(STAMP)  ## pin everything anew
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile pyproject.toml --quiet --universal --upgrade --all-extras --group dev --group bench --group build \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --output-file constraints.txt
	@$(MAKE) --no-print-directory hashes

hashes: $(STAMP)  ## write the hashes of what constraints.txt pins to hashes.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile constraints.txt --quiet --universal --no-deps --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --output-file hashes.txt

sbom: $(STAMP)  ## list the packages that the image brings, in CycloneDX's format
	@$(BIN)/python -m scripts.sbom dist/sbom.cdx.json agent server business otel postgres redis

try-image: $(STAMP)  ## do what Containerfile, compose file, manifests and unit say, in roots of their own (Linux, root)
	@TRY_IMAGE=1 $(BIN)/python -m pytest tests/ops/test_image.py tests/ops/test_started.py

clean:  ## remove the virtual environment and caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
