package httpflow_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/internal/suitetest"
)

// Whatever is used again from one request to the next: each gets its own answer,
// and what middleware outside has set for it.
func TestI4_NothingOfARequestGetsIntoAnother(t *testing.T) {
	bd := newBed(t, created, as("alice"), policy(func(p *idem.Policy) { p.OnDuplicate, p.Key = idem.Wait, nil }))
	h := guarded(bd.flow, operation, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Answer", r.Header.Get("X-Who"))
		_, _ = io.Copy(w, r.Body)
	})
	suitetest.NothingMixes(t, func() func(suitetest.Asked) suitetest.Answered {
		return func(a suitetest.Asked) suitetest.Answered {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/do/it", strings.NewReader(a.Body))
			w.Header().Set("X-Outside", a.Body)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Who", a.Who)
			if a.Key != "" {
				r.Header.Set("Idempotency-Key", a.Key)
			}
			h.ServeHTTP(w, r)
			if got := w.Header().Get("X-Outside"); got != a.Body {
				t.Errorf("what was set outside for %.60q is %.60q", a.Body, got)
			}
			return suitetest.Answered{Status: w.Code, Verdict: w.Header().Get("Idempotency-Status"), Who: w.Header().Get("X-Answer"), Body: w.Body.String()}
		}
	})
}

// as makes somebody the scope of every request.
func as(who string) func(*setting) {
	return func(s *setting) { s.flow.Scope = func(httpflow.Request) (string, error) { return who, nil } }
}
