package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/adapters/stdhttp"
	"github.com/go-idem/idem/audit"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// The operations of the house in which every verdict can be had.
const (
	opForm, opAPI, opPay, opFile, opTea, opOff = "shop:form:send", "shop:order:create", "shop:card:charge", "shop:file:make", "shop:tea:pour", "shop:off:go"
)

// house is a guarded server of several operations, each at a path of its name. A
// request's header Say has the handler answer with that status, and slow wait.
type house struct {
	*watched
	t       *testing.T
	store   *faulty
	log     logText
	audit   journal
	tokens  []string
	mux     *http.ServeMux
	slow    chan struct{}
	entered chan struct{}
}

func openHouse(t *testing.T) *house {
	h := &house{
		watched: &watched{spans: tracetest.NewSpanRecorder(), read: sdkmetric.NewManualReader()}, t: t, mux: http.NewServeMux(),
		store: &faulty{Store: memstore.New(memstore.Options{})}, slow: make(chan struct{}), entered: make(chan struct{}),
	}
	tel, err := telemetry.New(telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(h.read))),
		telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(h.spans))))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: idem.GenerateKey()})
	if err != nil {
		t.Fatal(err)
	}
	events, err := audit.New(audit.Options{Sink: &h.audit})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.guard, err = idem.New(idem.Config{Store: h.store, Observer: tel, Auditor: events, Logger: logger, Signer: signer, NameKey: idem.NameKey(idem.GenerateKey()), Policies: []idem.Policy{
		{Operation: opForm, Preset: idem.Form}, {Operation: opAPI, Preset: idem.API}, {Operation: opPay, Preset: idem.Payment},
		{Operation: opFile, Preset: idem.API, MaxKeptBody: 1}, {Operation: opTea, Preset: idem.API, Mode: idem.ModeObserve}, {Operation: opOff, Preset: idem.API, Mode: idem.ModeOff},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.flow, err = httpflow.New(httpflow.Config{Guard: h.guard, Scope: func(httpflow.Request) (string, error) { return rawScope, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{opForm, opAPI, opPay, opFile, opTea, opOff} {
		h.mux.Handle("POST /"+op, stdhttp.Guard(h.flow, op, http.HandlerFunc(h.serve)))
	}
	t.Cleanup(func() {
		h.store.fail("")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = h.guard.Close(ctx)
		_ = events.Close(ctx)
	})
	return h
}

func (h *house) serve(w http.ResponseWriter, r *http.Request) {
	switch r.Header.Get("Say") {
	case "422":
		w.WriteHeader(http.StatusUnprocessableEntity)
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
	case "a panic":
		time.Sleep(3 * time.Second) // the bubble's clock
		panic(rawBody)
	case "a while":
		time.Sleep(3 * time.Second) // the bubble's clock
	case "slowly":
		h.entered <- struct{}{}
		<-h.slow
	case "a stream":
		_, _ = w.Write([]byte("1"))
		_ = http.NewResponseController(w).Flush()
	default:
		_, _ = w.Write([]byte(rawAnswer))
	}
}

// send sends a request and returns its verdict. head is name, value, name, value.
func (h *house) send(op, body string, head ...string) string {
	r := httptest.NewRequest(http.MethodPost, "/"+op, strings.NewReader(rawBody+body))
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.mux.ServeHTTP(w, r)
	return w.Header().Get(httpflow.StatusHeader)
}

func (h *house) token() string {
	t, err := h.guard.Issue(context.Background(), idem.TokenRequest{Operation: opForm, Scope: rawScope})
	if err != nil {
		h.t.Fatal(err)
	}
	h.tokens = append(h.tokens, t.Reveal())
	return t.Reveal()
}

// Given requests that end with each of the verdicts there are, then each adds one to
// idem.requests under its own verdict, and nothing under another.
func TestEachVerdictAddsExactlyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHouse(t)
		const key, token = "Idempotency-Key", "Idempotency-Token"
		time.Sleep(time.Hour) // nothing is known about tokens from before the first guard
		old, before := h.token(), h.token()
		forged := strings.Repeat("A", 32)
		stages := []struct {
			want idem.Verdict
			send func() string
		}{
			{idem.Executed, func() string { return h.send(opAPI, "1", key, rawKey+"-a") }},
			{idem.Replayed, func() string { return h.send(opAPI, "1", key, rawKey+"-a") }},
			{idem.Conflict, func() string { return h.send(opAPI, "2", key, rawKey+"-a") }},
			{idem.Released, func() string { return h.send(opAPI, "1", key, rawKey+"-b", "Say", "422") }},
			{idem.Uncertain, func() string { return h.send(opPay, "1", key, rawKey+"-c", "Say", "500") }},
			{idem.Uncertain, func() string { return h.send(opPay, "1", key, rawKey+"-c") }},
			{idem.Executed, func() string { return h.send(opFile, "1", key, rawKey+"-d") }},
			{idem.Used, func() string { return h.send(opFile, "1", key, rawKey+"-d") }},
			{idem.InFlight, func() string {
				go h.send(opAPI, "1", key, rawKey+"-e", "Say", "slowly")
				<-h.entered
				return h.send(opAPI, "1", key, rawKey+"-e")
			}},
			{idem.Executed, func() string { // the one that was waited for
				h.slow <- struct{}{}
				synctest.Wait()
				return idem.Executed.String()
			}},
			{idem.Missing, func() string { return h.send(opForm, "1") }},
			{idem.Malformed, func() string { return h.send(opAPI, "1", key, `"`) }},
			{idem.Foreign, func() string { return h.send(opForm, "1", token, forged) }},
			{idem.Executed, func() string { return h.send(opTea, "1", key, rawKey+"-f") }},
			{idem.Unprotected, func() string { return h.send(opTea, "1", key, rawKey+"-f") }},
			{idem.Unguarded, func() string { return h.send(opOff, "1", key, rawKey+"-g") }},
			{idem.Dead, func() string {
				time.Sleep(16 * time.Minute)
				return h.send(opForm, "1", token, old)
			}},
			{idem.Forgotten, func() string {
				time.Sleep(25 * time.Hour)
				return h.send(opForm, "1", token, before)
			}},
			{idem.Unavailable, func() string {
				h.store.fail("all")
				return h.send(opAPI, "1", key, rawKey+"-h")
			}},
		}
		had, seen := map[string]int64{}, map[idem.Verdict]bool{}
		for _, s := range stages {
			if got := s.send(); got != s.want.String() {
				t.Fatalf("told %q, want %s", got, s.want)
			}
			seen[s.want] = true
			now, _, _ := h.counts(t)
			for _, v := range idem.Verdicts() {
				want := had[v.String()]
				if v == s.want {
					want++
				}
				if now[v.String()] != want {
					t.Errorf("after %s: %d under %s, want %d", s.want, now[v.String()], v, want)
				}
			}
			had = now
		}
		for _, v := range idem.Verdicts() {
			if !seen[v] {
				t.Errorf("nothing ended with %s", v)
			}
		}
		h.closedIsAnError(t)
		h.holdsNothingRaw(t, []string{"Change:bury", "idem.verdict=dead"}, forged)
	})
}

// Given a handler that takes three seconds, and panics, and a duplicate that waits
// for it, then none of that is our own time.
func TestOurOwnTimeIsNeitherAHandlersNorAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHouse(t)
		time.Sleep(time.Second)
		func() {
			defer func() { _ = recover() }()
			h.send(opAPI, "1", "Idempotency-Key", "p", "Say", "a panic")
		}()
		token := h.token()
		go h.send(opForm, "1", "Idempotency-Token", token, "Say", "a while")
		time.Sleep(time.Second)
		if got := h.send(opForm, "1", "Idempotency-Token", token); got != "replayed" {
			t.Fatalf("the duplicate was told %s", got)
		}
		synctest.Wait()
		var all metricdata.ResourceMetrics
		if err := h.read.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, m := range all.ScopeMetrics[0].Metrics {
			if data, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "idem.overhead.duration" {
				for _, p := range data.DataPoints {
					if told++; p.Sum > 0.001 {
						t.Errorf("our own time of %s is %v s", p.Attributes.Encoded(attribute.DefaultEncoder()), p.Sum)
					}
				}
			}
		}
		if told != 3 {
			t.Errorf("%d series, want those of released, executed and replayed", told)
		}
	})
}

// Given keys that no client should send, a handler that panics with what it was
// sent, and a store whose errors quote what it was asked to keep, then none of that
// is in logs, spans, metrics or audit events.
func TestOddKeysPanicsAndTalkativeStoresLeakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHouse(t)
		time.Sleep(time.Second)
		token := h.token()
		odd := []string{
			rawKey + "\x00\x1b[31m", strings.Repeat(rawKey, 30), `"` + rawKey, ":" + rawKey + ":", rawKey + "," + rawKey, `"` + rawKey + `" x`,
			"\xff" + rawKey, rawKey + "\n" + rawKey, " ", rawKey + "é",
		}
		for _, key := range odd {
			h.send(opAPI, "1", "Idempotency-Key", key)
			h.send(opForm, "1", "Idempotency-Token", key)
		}
		for _, cut := range []string{token[:31], token + "A", strings.ToUpper(token)} {
			h.send(opForm, "1", "Idempotency-Token", cut)
		}
		func() {
			defer func() { _ = recover() }()
			h.send(opAPI, "1", "Idempotency-Key", rawKey+"-p", "Say", "a panic")
		}()
		for _, step := range []string{"claim", "settle", "load", "bury", "all"} {
			h.store.fail(step)
			h.send(opAPI, "1", "Idempotency-Key", rawKey+"-"+step)
			h.send(opAPI, "1", "Idempotency-Key", rawKey+"-"+step)
			h.send(opForm, "1", "Idempotency-Token", token)
			_ = h.guard.Ready(t.Context())
			time.Sleep(2 * time.Minute) // the bubble's clock: cards are read, settles tried again
			h.store.fail("")
			time.Sleep(time.Minute) // likewise
		}
		h.send(opAPI, "1", "Idempotency-Key", rawKey+"-last")
		time.Sleep(20 * time.Minute) // the bubble's clock
		h.send(opForm, "1", "Idempotency-Token", h.token())
		h.holdsNothingRaw(t, []string{"Change:mend", "idem.verdict=malformed", "idem.verdict=unavailable", "store does not answer", "asked about"}, token)
	})
}

const rawAnswer = "your order 90210 is on its way"

// holdsNothingRaw looks through everything that the house said of it all.
func (h *house) holdsNothingRaw(t *testing.T, has []string, sent ...string) {
	t.Helper()
	synctest.Wait()
	_, _, text := h.counts(t)
	text += h.log.String() + h.audit.String()
	for _, s := range h.spans.Ended() {
		text += fmt.Sprintln(s.Name(), s.Attributes(), s.Links(), s.Events(), s.Status())
	}
	for _, raw := range append(append(sent, h.tokens...), rawKey, rawBody, rawScope, rawAnswer) {
		if strings.Contains(text, raw) {
			t.Errorf("%q stands in logs, spans, metrics or audit events", raw)
		}
	}
	for _, told := range append(has, "request judged", "idem.claim") {
		if !strings.Contains(text, told) {
			t.Errorf("%q was not told: this looks at nothing", told)
		}
	}
}

// Why nothing of an answer is kept is counted, by a word of a closed list.
func TestWhyAnAnswerIsNotKeptIsCounted(t *testing.T) {
	h := openHouse(t)
	h.send(opFile, "1", "Idempotency-Key", "a") // more than one byte
	h.send(opFile, "1", "Idempotency-Key", "b", "Say", "a stream")
	h.send(opAPI, "1", "Idempotency-Key", "c")
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/", fiberidem.Guard(h.flow, opFile), func(c *fiber.Ctx) error { return c.SendString(rawAnswer) })
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Idempotency-Key", "d")
	if _, err := app.Test(r, -1); err != nil {
		t.Fatal(err)
	}
	list := lines(t, h.read)
	for word, want := range map[string]float64{"too_large": 2, "stream": 1} {
		if got := list["idem.kept_body.skips{{answer}}idem.kept_body.skip="+word+",idem.operation="+opFile]; got != want {
			t.Errorf("%v are counted as %s, want %v: %v", got, word, want, list)
		}
	}
}

// closedIsAnError looks at the spans of it all: the request that a store in trouble
// closed is the one error.
func (h *house) closedIsAnError(t *testing.T) {
	t.Helper()
	failed := 0
	for _, s := range h.spans.Ended() {
		kind := ""
		for _, a := range s.Attributes() {
			if a.Key == "error.type" {
				kind = a.Value.AsString()
			}
		}
		closed := slices.Contains(s.Attributes(), attribute.String("idem.verdict", "unavailable"))
		switch is := s.Status().Code == codes.Error; {
		case is != closed, is != (kind != ""), is && kind != "unavailable":
			t.Errorf("span %s has status %v, error.type %q, %v", s.Name(), s.Status(), kind, s.Attributes())
		case is:
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d spans are errors, want that of the claim which the store did not take", failed)
	}
}
