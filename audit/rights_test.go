package audit_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/audit"
	"github.com/go-idem/idem/audit/redisstream"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// Given a Redis user with no rights but those that the page on Redis settings
// names, when an audit log rides with its guard, then every event arrives, those
// that travel in the pipelines, those that go beside, and those of a client.
func TestTheRightsThatThePageNamesAreEnoughForAnAudit(t *testing.T) {
	addr := redistest.StartWithRights(t, "../docs/how-to/choose-redis-settings.md", "A user with ACL rights")
	as := redis.UniversalOptions{Addrs: []string{addr}, Username: redistest.LimitedUser, Password: redistest.LimitedPassword}
	s, err := redisstore.Open(t.Context(), redisstore.Options{Universal: &as, CallTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	j := audit.Journal{} // the usual one
	l := logOf(t, audit.Options{Sink: audit.Stream(s, j), Ride: &j, Strict: true, Timeout: 10 * time.Second})
	g := guardOn(t, s, "idem", func(c *idem.Config) {
		c.Auditor = l
		c.Signer, err = idem.NewSigner(idem.SigningKey{ID: 1, Secret: idem.GenerateKey()})
		c.Policies[0].Key = []string{"token", "header:Idempotency-Key"}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []idem.Verdict{idem.Executed, idem.Replayed} {
		if _, verdict, err := do(g, "k", seven); verdict != want {
			t.Fatalf("%v, %v; want %v", verdict, err, want)
		}
	}
	token, err := g.Issue(t.Context(), idem.TokenRequest{Operation: operation, Scope: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	if _, verdict, err := g.Discard(t.Context(), idem.Intent{Operation: operation, Scope: "alice", Token: token}); err != nil {
		t.Fatal(verdict, err)
	}
	reader := redis.NewUniversalClient(&as)
	t.Cleanup(func() { _ = reader.Close() })
	if err := redisstream.New(reader).Append(t.Context(), audit.DefaultStream, 1000, [][]string{{"change", "client"}}); err != nil {
		t.Errorf("a client of the same user: %v", err)
	}
	want := []string{"client", "discard", "complete", "claim"}
	eventually(t, "every event", func() bool {
		entries, err := reader.XRevRangeN(t.Context(), audit.DefaultStream, "+", "-", 10).Result()
		if err != nil {
			t.Fatal(err)
		}
		got := map[any]bool{}
		for _, e := range entries {
			got[e.Values["change"]] = true
		}
		for _, w := range want {
			if !got[w] {
				return false
			}
		}
		return true
	})
	if n := l.Drops(); n != 0 {
		t.Errorf("%d events were dropped", n)
	}
}
