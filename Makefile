# `make help` lists the targets. They need Go and make; other programs are
# installed when a target needs them (by apt on Debian).

GO ?= go
TOOL = $(GO) tool -modfile=tools.mod
export GOTOOLCHAIN ?= local
# All is compiled without a C compiler, which only the race detector needs, and without
# paths of this machine: so programs, tests and checks compile once for all. Data for
# debuggers would take a tenth of the time.
export CGO_ENABLED = 0
FLAGS = -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(filter-out $(FLAGS),$(shell $(GO) env GOFLAGS)) $(FLAGS)
BIN = bin/servery
# The version that the programs print. Without git, set VERSION.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
STAMP = -ldflags '-X main.built=$(VERSION)'
# Run in plugins/proto.
BUF = $(GO) tool -modfile=../../tools.mod buf

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/servery and bin/plugins
	$(GO) build $(STAMP) -o $(BIN) ./core/cmd/servery
	@$(MAKE) --no-print-directory $(PLUGINS:%=bin/plugins/%)

# Each plugin has a directory named by its id, with its manifest and the digest of
# the program. A new digest publishes all menus, so it changes with the code only.
# The directory of a plugin has its id as name, or the id without hyphens.
PLUGINS := $(foreach dir,$(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go)),$(if \
  $(findstring -,$(dir)),$(dir),$(patsubst aggregator%,aggregator-%,$(dir))))
.PHONY: $(PLUGINS:%=bin/plugins/%)
$(PLUGINS:%=bin/plugins/%): bin/plugins/%:
	@rm -rf $@ && mkdir -p $@
	$(GO) build -buildvcs=false -o $@/$* ./plugins/$(if $(wildcard plugins/$*/main.go),$*,$(subst -,,$*))
	@$(BIN) plugin describe $@/$* --manifest > $@.yaml && mv $@.yaml $@/plugin.yaml

.PHONY: run
run: build ## Build and start everything with a demo business; print URL, API key and a curl command
	@exec env -u SERVERY_DATABASE_URL $(BIN) serve --demo

.PHONY: dev
dev: build ## Like run, but from source and with the log in the terminal
	env -u SERVERY_DATABASE_URL SERVERY_DEMO=true SERVERY_LOG_LEVEL=debug SERVERY_LOG_FILE=/dev/stderr \
	  SERVERY_PLUGIN_DIR=bin/plugins $(GO) run ./core/cmd/servery serve

.PHONY: generate
generate: ## Regenerate all generated files
	$(TOOL) templ generate -path adminui
	gofmt -w adminui
	cd web/client && $(GO) run ./generate ../openapi.yaml
	cd plugins/proto && $(BUF) generate
	cd plugins/proto && $(BUF) build --as-file-descriptor-set --exclude-source-info -o descriptor.binpb
	cd plugins/python-reference && $(GO) run ./generate

.PHONY: lint
lint: ## Check formatting, vet and staticcheck
	@unformatted=$$(gofmt -l core web adminui migrations plugins deploy); \
	  if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

.PHONY: verify
verify: lint ## Lint, check prose, generated files, modules, architecture, OpenAPI, vulnerabilities
	$(GO) run ./deploy/check/prose
	cd plugins/proto && $(BUF) lint && $(BUF) breaking --against descriptor.binpb
	@sh deploy/check/generated.sh $(MAKE)
	$(GO) mod tidy -diff
	$(GO) test -count=1 -run 'Architecture|Convention|SQL|Developer' ./core/cmd/servery
	$(GO) test -count=1 -run 'OpenAPI' ./web
	@dir=$$(mktemp -d) && $(GO) run ./core/cmd/servery plugin new tasty --dir $$dir/tasty --source $(CURDIR) >&2 && \
	  (cd $$dir/tasty && GOPROXY=off GOWORK=off $(GO) vet ./...) && rm -r $$dir
	@GO=$(GO) sh deploy/check/vulnerabilities.sh

# The longest come first. With -short, random sequences are fewer.
TESTS = $(GO) run ./core/cmd/gotest -timeout 20m
END_TO_END = ./core/cmd/servery ./core/cmd/servery-chaos ./core/internal/hub ./core/internal/compat \
       ./adminui ./adminui/reference ./adminui/receiver ./plugins/simulator
# Not core/pluginhost: with the race detector its processes end too slowly for the clock of its tests.
RACE = ./core ./core/access ./core/inbound ./core/internal/devpg ./core/internal/postgres/... ./core/job ./core/limit \
       ./core/publish ./core/queue ./core/relay ./core/relay/jwks ./core/toggle ./core/webhook ./adminui/shell \
       ./plugins/sdk ./web ./web/body

.PHONY: test
test: ## Run all tests, in a browser too
	@sh deploy/check/needs.sh
	@$(TESTS) -p 3 ./adminui ./core/cmd/servery ./core/internal/hub ./core/internal/postgres/storetest \
	  ./core/pluginhost ./core/cmd/servery-chaos ./adminui/reference ./core/internal/devpg ./core/internal/compat \
	  ./plugins/plugintest ./plugins/examples ./web ./core/webhook ./...

.PHONY: quick
quick: ## Run the tests of what changed, without those that start a hub or a browser
	@sh deploy/check/needs.sh
	@$(TESTS) -short -p 3 $$($(GO) list ./... | grep -vxF "$$($(GO) list $(END_TO_END))")

.PHONY: race
race: ## Run the packages in which goroutines meet with the race detector
	@sh deploy/check/needs.sh
	@$(TESTS) -race -p 3 -short ./core/internal/hub $(RACE)

.PHONY: fuzz
fuzz: ## Fuzz each decoder for FUZZTIME (default 30s)
	@sh deploy/check/fuzz.sh $(or $(FUZZTIME),30s)

.PHONY: bench
bench: build ## Run the benchmarks; BENCH_FLAGS=--quick for a short run
	$(GO) run ./core/cmd/servery-bench --json bin/bench-$$(date +%Y%m%d-%H%M).json $(BENCH_FLAGS)

.PHONY: chaos
chaos: ## Check that random faults lose nothing; CHAOS_FLAGS='--for=2m --seed=7'
	$(GO) test -count=1 -v -timeout 60m -run TestChaos ./core/cmd/servery-chaos -args --for=10m $(CHAOS_FLAGS)

.PHONY: shipped
shipped: ## Check the files in deploy/: image, unit, proxy, alerts, manifests
	@GO=$(GO) sh deploy/check/shipped.sh

.PHONY: restore
restore: build ## Check that a backup restores all accepted data
	sh deploy/check/restore.sh $(BIN)

.PHONY: rollback
rollback: build ## Check that the program of REF (default HEAD~1) works on the new schema
	sh deploy/check/rollback.sh $(BIN) $(or $(REF),HEAD~1)

.PHONY: image
image: ## Build the container image
	docker build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) -t servery .
