package httpflow_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/core/storetest"
)

// beside counts what would have become of requests that Observe let run.
type beside struct {
	mu   sync.Mutex
	seen map[idem.Verdict]int
}

func (o *beside) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	if s.Kind != idem.StepObserve {
		return ctx, nil
	}
	return ctx, func(r idem.StepResult) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.seen[r.Observed]++
	}
}

func (o *beside) take() map[idem.Verdict]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen
	o.seen = map[idem.Verdict]int{}
	return seen
}

// observing is a bed whose policy observes, and what it observed.
func observing(t *testing.T, h http.HandlerFunc, changes ...func(*setting)) (*bed, *beside) {
	o := &beside{seen: map[idem.Verdict]int{}}
	b := newBed(t, h, append([]func(*setting){func(s *setting) {
		s.policy.Mode, s.policy.KeyRequired, s.policy.MaxBody = idem.ModeObserve, idem.Yes, 100_000
		s.guard.Observer = idem.Observers(s.guard.Observer, o)
	}}, changes...)...)
	return b, o
}

// summed answers with the hash of the body it read, and the read's error.
func summed(w http.ResponseWriter, r *http.Request) {
	h := sha256.New()
	n, err := io.Copy(h, r.Body)
	w.Header().Set("Location", "/orders/7")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintln(w, n, hex.EncodeToString(h.Sum(nil)), err, idem.MarkEffects(r.Context()))
}

func TestObserveAnswersAsTheHandlerDoes(t *testing.T) {
	b, o := observing(t, summed)
	long := strings.Repeat("idem.", 60_000) // three times the limit
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 1)
	for i, row := range []struct {
		would  idem.Verdict
		body   string
		change []string
	}{
		{idem.Replayed, "{}", []string{"Idempotency-Key: a"}},
		{idem.Conflict, "{ }x", []string{"Idempotency-Key: a"}},
		{idem.Missing, "{}", nil},
		{idem.Missing, "{}", []string{"Early-Data: 1"}},
		{idem.Malformed, "{}", []string{"Idempotency-Key: b", "Idempotency-Key: c"}},
		{idem.Malformed, "{}", []string{"Idempotency-Token: no token"}},
		{idem.Malformed, `{"idempotentToken":7}`, nil},
		{idem.Malformed, long, []string{"Idempotency-Key: d", "Content-Type: text/plain"}},
		{idem.Malformed, long, nil}, // looked into for a token
		{idem.Foreign, "{}", []string{"Idempotency-Key: a", "Authorization: "}},
		{idem.Foreign, "{}", []string{"Idempotency-Token: " + strings.Repeat("A", 32)}},
	} {
		for _, chunked := range []bool{false, true} {
			runs := b.runs.Load()
			a := b.sendAs(row.body, chunked, row.change...)
			sum := sha256.Sum256([]byte(row.body))
			want := fmt.Sprintf("%d %x <nil> <nil>\n", len(row.body), sum)
			b.want(a, 201, "unprotected", runs+1)
			if string(a.body) != want || a.Header.Get("Location") != "/orders/7" {
				t.Errorf("row %d, chunked %v: the handler answered %s, want %s", i, chunked, a.body, want)
			}
			if got := o.take(); len(got) != 1 || got[row.would] != 1 {
				t.Errorf("row %d, chunked %v: observed %v, want one %s", i, chunked, got, row.would)
			}
		}
	}
	if b.seen.begun.Load() != b.runs.Load() || b.seen.ended[idem.Unprotected].Load() != b.runs.Load()-1 {
		t.Errorf("%d runs, %d judged, %d of them unprotected", b.runs.Load(), b.seen.begun.Load(), b.seen.ended[idem.Unprotected].Load())
	}
}

// sendAs is send with a body that says its length or does not.
func (b *bed) sendAs(body string, chunked bool, changes ...string) answer {
	if !chunked {
		return b.send(body, changes...)
	}
	req, err := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", struct{ io.Reader }{strings.NewReader(body)})
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Content-Type", "application/json")
	for _, change := range changes {
		switch name, value, _ := strings.Cut(change, ": "); {
		case value == "":
			req.Header.Del(name)
		case name == "Idempotency-Key":
			req.Header.Add(name, value)
		default:
			req.Header.Set(name, value)
		}
	}
	return b.do(req)
}

func TestAScopeThatCannotBeToldRefusesNothingUnderObserve(t *testing.T) {
	b, o := observing(t, created, func(s *setting) {
		s.flow.Scope = func(httpflow.Request) (string, error) { return "", fmt.Errorf("the session store is down") }
	})
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "unprotected", 1)
	if got := o.take(); got[idem.Unavailable] != 1 {
		t.Errorf("observed %v", got)
	}
}

// What leaves before the run has ended says that no record protects it.
func TestAStreamBesideSaysUnprotected(t *testing.T) {
	b, _ := observing(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "first")
	})
	b.want(b.send("{}", "Idempotency-Key: a"), 200, "executed", 1)
	b.want(b.send("{}", "Idempotency-Key: a"), 200, "unprotected", 2)
}

func TestOffMakesNoStoreCallOverHTTP(t *testing.T) {
	faults := storetest.NewFaults()
	b := newBed(t, summed, func(s *setting) {
		s.policy.Mode, s.policy.KeyRequired, s.policy.MaxBody = idem.ModeOff, idem.Yes, 8
		s.guard.Store = faults.Wrap(s.guard.Store)
	})
	faults.Reset() // the card was read
	sum := sha256.Sum256([]byte(`{"a":"123456789"}`))
	for _, row := range []struct {
		verdict string
		change  []string
	}{
		{"", nil},
		{"unguarded", []string{"Idempotency-Key: a"}},
		{"unguarded", []string{"Idempotency-Key: a"}},
		{"unguarded", []string{"Idempotency-Key: a", "Authorization: "}},
		{"unguarded", []string{"Idempotency-Key: a", "Idempotency-Key: b"}},
		{"unguarded", []string{"Idempotency-Token: " + b.token("")}},
	} {
		a := b.send(`{"a":"123456789"}`, row.change...)
		b.want(a, 201, row.verdict, b.runs.Load())
		if want := fmt.Sprintf("17 %x <nil> <nil>\n", sum); string(a.body) != want {
			t.Errorf("%v: the handler answered %s, want %s", row.change, a.body, want)
		}
	}
	if b.runs.Load() != 6 {
		t.Errorf("%d runs", b.runs.Load())
	}
	if n := faults.Calls("", ""); n != 0 {
		t.Errorf("%d calls of the store: %v", n, faults.Log())
	}
}

func TestTheShareOverHTTP(t *testing.T) {
	b := newBed(t, created, policy(func(p *idem.Policy) { p.Share, p.KeyRequired = 0.5, idem.Yes }))
	inside, outside := 0, 0
	for i := range 40 {
		key := fmt.Sprintf("Idempotency-Key: k%d", i)
		first, again := b.send("{}", key), b.send("{}", key)
		switch {
		case first.verdict() == "executed" && again.verdict() == "replayed":
			inside++
		case first.verdict() == "unguarded" && again.verdict() == "unguarded":
			outside++
		default:
			t.Errorf("%s, then %s", first.verdict(), again.verdict())
		}
	}
	if inside < 8 || outside < 8 || b.runs.Load() != int64(inside+2*outside) {
		t.Errorf("%d inside, %d outside, %d runs", inside, outside, b.runs.Load())
	}
	runs := b.runs.Load()
	b.want(b.send("{}"), 201, "", runs+1)                    // who has no key needs none
	b.want(b.send("{}", "Authorization: "), 201, "", runs+2) // nor somebody who is signed in
	b.want(b.send("{}", "Early-Data: 1"), 201, "", runs+3)
	b.want(b.send("{}", "Idempotency-Key: a", "Idempotency-Key: b"), 400, "malformed", runs+3)
	for range 20 { // a token in the body
		token := b.token("")
		body := `{"idempotentToken":"` + token + `"}`
		first, again := b.send(body), b.send(body)
		if first.verdict() == "unguarded" && bytes.Contains(b.send("{}", "Idempotency-Token: "+token).body, []byte("order")) {
			continue
		}
		if first.verdict() != "executed" || again.verdict() != "replayed" {
			t.Errorf("%s, then %s", first.verdict(), again.verdict())
		}
	}
}

func TestTokensSayThatTheyAreDegraded(t *testing.T) {
	ask := func(b *bed) bool {
		a := b.send(`{"operation":"`+operation+`"}`, "/idempotency/tokens")
		degraded, _ := a.json(t)["degraded"].(bool)
		return degraded
	}
	for mode, want := range map[idem.Mode]bool{idem.ModeEnforce: false, idem.ModeObserve: true, idem.ModeOff: true} {
		if got := ask(newBed(t, created, policy(func(p *idem.Policy) { p.Mode = mode }))); got != want {
			t.Errorf("%s: degraded %v", mode, got)
		}
	}
	b := newBed(t, created, policy(func(p *idem.Policy) { p.Share = 0.5 }))
	said := map[bool]int{}
	for range 40 {
		said[ask(b)]++
	}
	if said[true] < 8 || said[false] < 8 {
		t.Errorf("half of the tokens are outside the share; degraded were %v", said)
	}
}

func TestStatusAndDiscardUnderObserveAndOff(t *testing.T) {
	for _, mode := range []idem.Mode{idem.ModeObserve, idem.ModeOff} {
		b := newBed(t, created, policy(func(p *idem.Policy) { p.Mode = mode }))
		ask := func(endpoint, header string) map[string]any {
			return b.send(`{"operation":"`+operation+`"}`, "/idempotency/"+endpoint, header).json(t)
		}
		token := "Idempotency-Token: " + b.token("")
		if got := ask("discard", token); got["state"] != "absent" || got["verdict"] != nil {
			t.Errorf("%s: discard says %v", mode, got)
		}
		b.send("{}", token)
		want := map[idem.Mode]string{idem.ModeObserve: "succeeded", idem.ModeOff: "absent"}[mode]
		if got := ask("status", token); got["state"] != want {
			t.Errorf("%s: status says %v, want %s", mode, got, want)
		}
		if got := ask("discard", token); got["state"] != want || got["verdict"] != nil {
			t.Errorf("%s: discard says %v, want %s", mode, got, want)
		}
	}
}

func TestThePublishedRulesSayWhatIsInForce(t *testing.T) {
	for _, row := range []struct {
		says   string
		change func(*idem.Policy)
	}{
		{"| in force | not yet", func(p *idem.Policy) { p.Mode = idem.ModeObserve }},
		{"| in force | no: every request runs", func(p *idem.Policy) { p.Mode = idem.ModeOff }},
		{"| in force for | a share of 0.5 of the keys", func(p *idem.Policy) { p.Share = 0.5 }},
	} {
		b := newBed(t, created, policy(row.change))
		if a := b.send("", "GET", "/idempotency/policies"); !bytes.Contains(a.body, []byte(row.says)) {
			t.Errorf("the page does not say %q:\n%s", row.says, a.body)
		}
	}
}
