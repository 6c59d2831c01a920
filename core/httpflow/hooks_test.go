package httpflow_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
)

// A hook sees the answer as it will leave, and what it attached reaches the
// handler.
func TestHooksOverHTTP(t *testing.T) {
	type key struct{}
	verdicts := make(chan idem.HookVerdict, 10)
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.Header.Get("Do-Status"))
		w.Header().Set("X-Attached", r.Context().Value(key{}).(string))
		w.WriteHeader(status)
	}, func(s *setting) {
		s.guard.Hooks = idem.Hooks{
			BeforeClaim: func(ctx context.Context, in idem.HookIntent) context.Context {
				return context.WithValue(ctx, key{}, "for "+in.Scope+" by "+in.Source)
			},
			BeforeSettle: func(_ context.Context, plan idem.SettlePlan) idem.SettleChange {
				reply, ok := plan.Value.(*httpflow.Reply)
				return idem.SettleChange{Doubt: ok && reply.Status == http.StatusBadGateway}
			},
			AfterVerdict: func(_ context.Context, v idem.HookVerdict) { verdicts <- v },
		}
	})
	for _, row := range []struct {
		key     string
		status  int
		answers int
		want    idem.Verdict
		ran     bool
	}{
		{"gateway", 502, 502, idem.Uncertain, true},
		{"gateway", 502, 409, idem.Uncertain, false},
		{"fault", 500, 500, idem.Released, true},
		{"fine", 201, 201, idem.Executed, true},
		{"fine", 201, 201, idem.Replayed, false},
	} {
		req, err := http.NewRequest(http.MethodPost, b.server.URL+"/do/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer ann")
		req.Header.Set("Idempotency-Key", row.key)
		req.Header.Set("Do-Status", strconv.Itoa(row.status))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Idempotency-Status"); resp.StatusCode != row.answers || got != row.want.String() {
			t.Errorf("%s: %d %s, want %d %s", row.key, resp.StatusCode, got, row.answers, row.want)
		}
		if v := <-verdicts; v.Verdict != row.want || v.Ran != row.ran {
			t.Errorf("%s: the hook was told %s (ran %v), want %s (%v)", row.key, v.Verdict, v.Ran, row.want, row.ran)
		}
		if got := resp.Header.Get("X-Attached"); row.ran && got != "for ann by header" {
			t.Errorf("%s: the handler found %q", row.key, got)
		}
	}
}
