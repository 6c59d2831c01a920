# Everything a contributor runs. `make` alone prints this list.
#
# Nothing but Go is asked for: `make test` sees to the rest, or says in one line
# what to install and skips by name.

SHELL := /bin/sh
GO ?= go

# Folders with a go.mod: all of them, and those of go.work.
every = $(shell find . -name node_modules -prune -o -name testdata -prune -o -name go.mod -print | sed 's|/go.mod$$||' | sort)
worked = $(shell $(GO) list -m -f '{{.Dir}}' | sed 's|^$(CURDIR)$$|.|; s|^$(CURDIR)/||')
sources = find . -name node_modules -prune -o -name .git -prune -o -name '*.go' -print

.PHONY: help test race lint fmt bench bench-check drill fuzz broken conformance frontend examples jaeger trace-demo tidy
.DEFAULT_GOAL := help

help: ## print this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)$$/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done

test: ## run every test of every module and of idem.js, and say what ran and what was skipped
	@$(GO) run ./internal/summary

race: ## run Go tests only, with the race detector: make race PKG=./core/... RUN=TestP3
	@$(GO) run ./internal/summary -only go $(if $(RUN),-run '$(RUN)') $(PKG)

drill: ## run the long drills at full length (hours on a small machine): make drill RUN=TestDrill
	@$(GO) run ./internal/summary -drill $(if $(RUN),-run '$(RUN)') $(PKG)

fuzz: ## fuzz each parser for 20 s: make fuzz PKG=./core TARGET=FuzzParseKey TIME=5m
	@set -e; for p in $$($(GO) list $(or $(PKG),./core/... ./stores/...)); do \
	for f in $$($(GO) test -list '$(or $(TARGET),^Fuzz)' $$p | grep '^Fuzz' || true); do echo "$$f in $$p"; \
	$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(or $(TIME),20s) $$p; done; done

broken: ## break each rule of the protocol in turn and see its test fail: make broken RULE=name
	@$(GO) run ./internal/broken/run $(if $(RULE),-rule '$(RULE)')

lint: bin/staticcheck ## check format, vet and staticcheck, and that each module builds alone and is tidy
	@set -e; bad=$$($(sources) | xargs gofmt -l); \
	if [ -n "$$bad" ]; then echo "not formatted (make fmt):"; echo "$$bad"; exit 1; fi
	@set -e; for m in $(worked); do echo "vet, staticcheck: $$m"; \
	(cd "$$m" && [ -n "$$(find . -name '*.go' -print | head -n 1)" ] || exit 0; $(GO) vet ./... && $(CURDIR)/bin/staticcheck ./...); done
	@set -e; for m in $(every); do echo "alone, tidy: $$m"; \
	(cd "$$m" && GOWORK=off $(GO) build -o /dev/null ./... && GOWORK=off $(GO) mod tidy -diff); done

# The version is pinned in tools/go.mod.
bin/staticcheck: tools/go.mod tools/go.sum
	@echo "building staticcheck"
	@cd tools && GOWORK=off $(GO) build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

fmt: ## format every Go file
	@$(sources) | xargs gofmt -w

bench: ## run the benchmarks, and write docs/reference/benchmarks.md: idem beside its rivals
	$(GO) test -run '^$$' -bench . -benchtime 200ms -benchmem ./core/... ./stores/... ./adapters/... ./telemetry
	$(GO) run ./bench -docs docs/reference

conformance: ## play every statement on every adapter and store, and write docs/reference/conformance.md
	@rm -f bin/conformance.jsonl; mkdir -p bin
	IDEM_CONFORMANCE=$(CURDIR)/bin/conformance.jsonl $(GO) test -count=1 -run 'TestStatementsOn' ./adapters/stdhttp ./adapters/echo ./adapters/fiber
	$(GO) run ./internal/conformance bin/conformance.jsonl > bin/conformance.md && mv bin/conformance.md docs/reference/conformance.md

frontend: ## build dist/ of idem.js, check sizes and package, and print each file's integrity value
	@cd frontend && npm ci --no-audit --no-fund --silent && npm run --silent build && npm run --silent size && npm run --silent package && npm run --silent integrity

bench-check: ## fail on a broken budget: a count at all, a time by more than a quarter in its best round
	$(GO) test -count=1 -v -run Budget ./bench ./telemetry
	$(GO) run ./bench -check -rounds 7 -for 40ms

examples: ## build every example and have the shop check itself on each store and adapter
	$(GO) build -o bin/ ./examples/...
	@set -e; for adapter in stdhttp echo fiber; do for store in memory miniredis; do \
	echo; echo "shop: $$adapter on $$store"; ./bin/shop -adapter $$adapter -store $$store -lease 8s -selfcheck; done; done
	@echo; echo "shop without the guard: every row must be red"; \
	if ./bin/shop -selfcheck -lease 8s -without=guard; then echo "the self-check is green without the guard: it checks nothing"; exit 1; fi

# The version is pinned in tools/jaeger/jaeger.mod, which no other build reads: it
# asks for some hundred modules.
jaeger_version = $(shell sed -n 's|.*github.com/jaegertracing/jaeger \(v[^ ]*\).*|\1|p' tools/jaeger/jaeger.mod)
jaeger_cache = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/idem
jaeger_program = $(jaeger_cache)/jaeger-$(jaeger_version)

jaeger: ## start a real Jaeger on loopback, built once into your cache folder
	@[ -x $(jaeger_program) ] || { echo "building Jaeger $(jaeger_version) into $(jaeger_cache) (once: minutes on a fast machine, up to an hour on a busy one; nothing is printed meanwhile)"; mkdir -p $(jaeger_cache); \
	cd tools && GOWORK=off $(GO) build -modfile=jaeger/jaeger.mod -trimpath -ldflags '-s -w' -o $(jaeger_cache)/building-$(jaeger_version) github.com/jaegertracing/jaeger/cmd/jaeger && \
	mv $(jaeger_cache)/building-$(jaeger_version) $(jaeger_program); }
	@echo "Jaeger: API on http://127.0.0.1:16686, spans to http://127.0.0.1:4318; Ctrl-C ends it"
	@exec $(jaeger_program) --config examples/tracing/jaeger.yaml

trace-demo: ## press twice in two shops and draw what Jaeger shows (beside make jaeger)
	$(GO) run ./examples/tracing -svg docs/how-to/trace.svg

tidy: ## bring every go.mod and go.sum up to date
	@set -e; for m in $(every); do echo "tidy: $$m"; (cd "$$m" && GOWORK=off $(GO) mod tidy); done
	@$(GO) mod verify
