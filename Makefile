# What each target does is said by `make help`. Nothing is needed beforehand but
# Go and make; what else a target needs, it installs (by apt on Debian).

GO ?= go
TOOL = $(GO) tool -modfile=tools.mod
export GOTOOLCHAIN ?= local
# Without a C compiler the programs build all the same; only the race detector needs one.
BUILD_ENV = CGO_ENABLED=0
BIN = bin/servery

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/servery
	$(BUILD_ENV) $(GO) build -trimpath -o $(BIN) ./core/cmd/servery

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

.PHONY: lint
lint: ## Format check, vet, staticcheck
	@unformatted=$$(gofmt -l core web adminui migrations); \
	  if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

.PHONY: verify
verify: lint ## Lint, generated files up to date, modules tidy, architecture, OpenAPI
	@sh deploy/check/generated.sh $(MAKE)
	$(GO) mod tidy -diff
	$(GO) test -count=1 -run 'Architecture|HabitsOfTheCode|SQLIsKept' ./core/cmd/servery
	$(GO) test -count=1 -run 'OpenAPI' ./web

.PHONY: test
test: ## Every test with the race detector, browser tests included
	@sh deploy/check/needs.sh
	CGO_ENABLED=1 $(GO) test -race -timeout 9m ./...

.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME (30s each)
	@sh deploy/check/fuzz.sh $(or $(FUZZTIME),30s)

.PHONY: bench
bench: build ## Measure against floors of the same run; BENCH_FLAGS=--quick for a short one
	$(GO) run ./core/cmd/servery-bench $(BENCH_FLAGS)
