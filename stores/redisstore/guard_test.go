package redisstore_test

import (
	"context"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
)

// The budget of PERFORMANCE B4, counted at the server: a first request costs
// two commands, its claim and its settle, and a replay one.
func TestB4_RoundTripsOfAGuard(t *testing.T) {
	addr := redistest.Server(t)
	proxy := redistest.NewProxy(t, addr)
	guard, err := idem.New(idem.Config{
		Store: open(t, proxy.Addr()), Prefix: "b4:", NameKey: idem.NameKey(idem.GenerateKey()),
		Policies: []idem.Policy{{Operation: "test:do:run", Preset: idem.API, MaxRun: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close(context.Background())
	send := func(key string, want idem.Verdict) int {
		t.Helper()
		before := proxy.Count()
		_, verdict, err := idem.Do(t.Context(), guard, idem.Intent{Operation: "test:do:run", Scope: "alice", Key: key},
			idem.JSON[int](), func(context.Context) (int, error) { return 7, nil })
		if verdict != want || err != nil {
			t.Fatalf("%s, %v; want %s", verdict, err, want)
		}
		return proxy.Count() - before
	}
	send("warm", idem.Executed) // the script is loaded with the first settle
	if n := send("k", idem.Executed); n != 2 {
		t.Errorf("a first request made %d round trips, want 2", n)
	}
	if n := send("k", idem.Replayed); n != 1 {
		t.Errorf("a replay made %d round trips, want 1", n)
	}
}
