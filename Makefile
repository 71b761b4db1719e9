# Every target sets up .venv by itself, once, and again when pyproject.toml changes; that needs the package registry.
# PYTHON=... names the Python to use; ARGS=... is passed on to pytest, to the benchmarks or to the chat.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PYTHON

.PHONY: help demo chat test lint format types layers check twins bench soak docs site clean

help: ## show the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

$(READY): pyproject.toml scripts/venv.sh
	@scripts/venv.sh $(VENV)
	@touch $@

demo: $(READY) ## run the main job on a long conversation with tool calls
	@$(BIN)/playhead demo

chat: $(READY) ## talk on a tape named for this folder, kept in ~/.local/share/playhead; PLAYHEAD_MODEL=openai:gpt-5-mini names who answers
	@$(BIN)/playhead chat --model "$${PLAYHEAD_MODEL:-echo:}" $(ARGS)

test: $(READY) ## run the tests
	@scripts/postgres.sh $(BIN)/python
	@$(BIN)/python -m pytest -q -n auto --dist worksteal $(ARGS)

lint: $(READY) ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(READY) ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

types: $(READY) ## check the types
	@$(BIN)/mypy

layers: $(READY) ## check that imports only point down
	@$(BIN)/lint-imports --no-logo

check: test lint types layers ## everything CI runs

twins: $(READY) ## write the blocking twins anew, from scripts/twins/table.py
	@$(BIN)/python -m scripts.twins

bench: $(READY) ## measure, see benchmarks/README.md
	@$(BIN)/python -m benchmarks $(ARGS)

soak: $(READY) ## repeat the random tests for minutes
	@scripts/postgres.sh $(BIN)/python
	@PLAYHEAD_SOAK=1 $(BIN)/python -m pytest -q --timeout 3600 tests/property tests/crash tests/integration/test_chat_terminal.py $(ARGS)

docs: $(READY) ## run every example of README and docs
	@$(BIN)/python -m pytest -q tests/docs $(ARGS)

site: $(READY) ## build the documentation into build/site, to read without a network
	@$(BIN)/python -c "import material" 2>/dev/null || $(BIN)/python -m pip -qq install --group docs
	@$(BIN)/python -m scripts.site

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
