# What each target does is said by `make help`. Nothing is needed beforehand but
# Go and make; what else a target needs, it installs (by apt on Debian).

GO ?= go
TOOL = $(GO) tool -modfile=tools.mod
export GOTOOLCHAIN ?= local
# Without a C compiler the programs build all the same; only the race detector needs one.
BUILD_ENV = CGO_ENABLED=0
BIN = bin/servery
# What the programs say that they are: where there is no git, VERSION may be given.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
STAMP = -ldflags '-X main.built=$(VERSION)'
BUF = $(GO) tool -modfile=$(CURDIR)/tools.mod buf

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/servery and bin/plugins
	$(BUILD_ENV) $(GO) build -trimpath $(STAMP) -o $(BIN) ./core/cmd/servery
	@$(MAKE) --no-print-directory $(PLUGINS:%=bin/plugins/%)

# Each plugin lies in a directory of its id, with the manifest that it asks for
# and the digest of the very file that was built: another one has menus published
# anew, so it changes with the code alone.
PLUGINS = aggregator-a aggregator-b aggregator-c
.PHONY: $(PLUGINS:%=bin/plugins/%)
$(PLUGINS:%=bin/plugins/%): bin/plugins/%:
	@rm -rf $@ && mkdir -p $@
	$(BUILD_ENV) $(GO) build -trimpath -buildvcs=false -o $@/$* ./plugins/$(subst -,,$*)
	@$(BIN) plugin describe $@/$* --manifest > $@.yaml && mv $@.yaml $@/plugin.yaml

.PHONY: run
run: build ## Build and start everything with a demo business; prints address, key and a curl
	@exec $(BIN) serve --demo

.PHONY: dev
dev: ## As run, from source and with the log on the terminal
	SERVERY_DEMO=true SERVERY_LOG_LEVEL=debug SERVERY_LOG_FILE=/dev/stderr $(GO) run ./core/cmd/servery serve

.PHONY: generate
generate: ## Write the generated files anew
	$(TOOL) templ generate -path adminui
	gofmt -w adminui
	cd web/client && $(GO) run ./generate ../openapi.yaml
	cd plugins/proto && $(BUF) generate && $(BUF) build --as-file-descriptor-set --exclude-source-info -o descriptor.binpb
	cd plugins/python-reference && $(GO) run ./generate

.PHONY: lint
lint: ## Format check, vet, staticcheck
	@unformatted=$$(gofmt -l core web adminui migrations plugins deploy); \
	  if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

.PHONY: verify
verify: lint ## Lint, prose, generated files up to date, modules tidy, architecture, OpenAPI, vulnerabilities
	$(GO) run ./deploy/check/prose
	cd plugins/proto && $(BUF) lint && $(BUF) breaking --against descriptor.binpb
	@sh deploy/check/generated.sh $(MAKE)
	$(GO) mod tidy -diff
	$(GO) test -count=1 -run 'Architecture|HabitsOfTheCode|SQLIsKept' ./core/cmd/servery
	$(GO) test -count=1 -run 'OpenAPI' ./web
	@GO=$(GO) sh deploy/check/vulnerabilities.sh

.PHONY: test
test: ## Every test with the race detector, browser tests included
	@sh deploy/check/needs.sh
	CGO_ENABLED=1 sh deploy/check/inmemory.sh $(GO) test -race -vet=off -p 3 -timeout 25m ./core/cmd/servery ./core/internal/postgres ./... # the longest first; they wait more than they work; verify vets

.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME (30s each)
	@sh deploy/check/fuzz.sh $(or $(FUZZTIME),30s)

.PHONY: bench
bench: build ## Measure against floors of the same run; BENCH_FLAGS=--quick for a short one
	$(GO) run ./core/cmd/servery-bench --json bin/bench-$$(date +%Y%m%d-%H%M).json $(BENCH_FLAGS)

.PHONY: chaos
chaos: ## Break hubs, plugins, database and network at random; CHAOS_FLAGS='--for=2m --seed=7'
	$(GO) test -count=1 -v -timeout 60m -run TestChaos ./core/cmd/servery-chaos -args --for=10m $(CHAOS_FLAGS)

.PHONY: shipped
shipped: ## Hold what deploy/ ships against what reads it: image, unit, proxy, alerts, manifests
	@GO=$(GO) sh deploy/check/shipped.sh

.PHONY: restore
restore: build ## Prove that a backup brings back what was accepted
	sh deploy/check/restore.sh $(BIN)

.PHONY: rollback
rollback: build ## Prove that the program of REF (HEAD~1) works on this one's database
	sh deploy/check/rollback.sh $(BIN) $(or $(REF),HEAD~1)

.PHONY: image
image: ## Build the container image servery
	docker build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) -t servery .
