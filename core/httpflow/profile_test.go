package httpflow_test

import (
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// A profile changes the number of two refusals and no word of any.
func TestProfilesChangeNumbersNeverWords(t *testing.T) {
	cases := []struct {
		profile                 httpflow.Profile
		dead, missing, deadPage int
	}{
		{"", 425, 400, 425},
		{httpflow.Standard, 425, 400, 425},
		{httpflow.TooEarly, 425, 425, 425},
		{httpflow.Strict, 410, 400, 410},
	}
	for _, c := range cases {
		t.Run("profile "+string(c.profile), func(t *testing.T) {
			b := newBed(t, created, policy(func(p *idem.Policy) { p.KeyRequired = idem.Yes }), func(s *setting) { s.flow.Profile = c.profile })
			old := "Idempotency-Token: " + b.token("")
			b.ahead.Add(int64(16 * time.Minute))
			dead := b.send("{}", old)
			b.want(dead, c.dead, "dead", 0)
			if doc := dead.json(t); doc["status"] != float64(c.dead) || doc["newToken"] != true {
				t.Errorf("dead says %s", dead.body)
			}
			b.want(b.send("", old, "Accept: text/html", "Content-Type: application/x-www-form-urlencoded"), c.deadPage, "dead", 0)
			missing := b.send("{}")
			b.want(missing, c.missing, "missing", 0)
			if doc := missing.json(t); doc["status"] != float64(c.missing) || doc["newToken"] != false {
				t.Errorf("missing says %s", missing.body)
			}
			// What is no refusal for want of a token keeps its number.
			b.want(b.send("{}", "Idempotency-Token: short"), 400, "malformed", 0)
			b.want(b.send("{}", "Idempotency-Token: "+strings.Repeat("A", 32)), 403, "foreign", 0)
			b.want(b.send("{}", "Early-Data: 1"), 425, "", 0) // T5: not judged
		})
	}
}

func TestAnUnknownProfileIsRefused(t *testing.T) {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: operation}}, Unscoped: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(t.Context()) })
	_, err = httpflow.New(httpflow.Config{Guard: guard, Profile: "early"})
	if err == nil || !strings.Contains(err.Error(), `Profile "early" is none of standard, too-early, strict`) {
		t.Errorf("got %v", err)
	}
}
