package testserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/adapters/adaptertest"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/internal/testserver"
	"github.com/go-idem/idem/stores/redisstore"
)

// hang is how long an answer may take while the store is away before a client
// would call it hung: ten times what three tries of a call take here.
const hang = 15 * time.Second

// A store that refuses, swallows what it is sent, or is slow: whatever the
// framework, nobody hangs, what a client is told follows from the policy alone,
// and what ran is answered.
//
// Faults: 54.
func TestAStoreThatIsDownHangsNobody(t *testing.T) {
	for _, adapter := range testserver.Adapters() {
		t.Run(adapter.Name, func(t *testing.T) {
			t.Parallel()
			o := newOutage(t, adapter)
			for name, begin := range map[string]func() (end func()){
				"refused": o.proxy.Refuse, "black-holed": o.proxy.Stall,
				"slow": func() func() { o.proxy.Delay(10 * time.Millisecond); return func() { o.proxy.Delay(0) } },
			} {
				t.Run(name, func(t *testing.T) { o.during(t, name, begin) })
			}
		})
	}
}

// outage is a server of an adapter whose store stands behind a proxy.
type outage struct {
	url   string
	bed   *adaptertest.Bed
	proxy *redistest.Proxy
}

func newOutage(t *testing.T, adapter adaptertest.Adapter) *outage {
	t.Helper()
	o := &outage{proxy: redistest.NewProxy(t, redistest.Miniredis(t).Addr())}
	store, err := redisstore.Open(t.Context(), redisstore.Options{
		Universal:       &redis.UniversalOptions{Addrs: []string{o.proxy.Addr()}},
		EvictionChecked: "this test: a miniredis has no memory limit",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	signer, err := adaptertest.TestSigner()
	if err != nil {
		t.Fatal(err)
	}
	o.bed, err = adaptertest.NewBed(adaptertest.BedConfig{
		Store: store, NameKey: adaptertest.TestNameKey(""), Signer: signer, Control: true,
		Policies: []idem.Policy{
			{Operation: "test:key:run", Preset: idem.API, KeyRequired: idem.Yes},
			{Operation: "test:open:run", Preset: idem.API, KeyRequired: idem.Yes, OnOutage: idem.Open},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop, err := adapter.Serve(l, o.bed.Flow, o.bed.Routes())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Error(err)
		}
		if err := o.bed.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	o.url = "http://" + l.Addr().String()
	return o
}

// during plays an outage from its begin to its end.
func (o *outage) during(t *testing.T, name string, begin func() (end func())) {
	before := len(o.bed.Counts.Tally().ByKey)
	// One run has begun when the store goes away.
	gate, running := "gate-"+name, make(chan string, 1)
	go func() { running <- o.send("/key/running-"+name, name+"-running", "Do-Gate: "+gate) }()
	eventually(t, "the handler to begin", func() bool { return o.bed.Gates.Arrived(gate) == 1 })

	end := begin()
	closed, open := o.send("/key/"+name, name+"-closed"), o.send("/open/"+name, name+"-open")
	o.bed.Gates.Open(gate)
	ran := <-running
	end()

	want := map[string][2]string{"slow": {"201 executed", "201 executed"}}[name]
	runs := 3
	if name != "slow" {
		want, runs = [2]string{"503 unavailable", "201 unprotected"}, 2
	}
	if closed != want[0] || open != want[1] || ran != "201 executed" {
		t.Errorf("closed was told %s and open %s, want %s and %s; what ran was told %s", closed, open, want[0], want[1], ran)
	}
	if n := len(o.bed.Counts.Tally().ByKey) - before; n != runs {
		t.Errorf("%d of three requests ran, want %d", n, runs)
	}
	eventually(t, "everything to be written", func() bool { return o.bed.Guard.Stats().Pending == 0 })
	for path, key := range map[string]string{"/key/running-" + name: "-running", "/open/" + name: "-open"} {
		if again := o.send(path, name+key); again != "201 replayed" {
			t.Errorf("%s, when the store is back: %s, want 201 replayed", path, again)
		}
	}
}

// send sends a request and returns its status and verdict, or that it hung.
func (o *outage) send(path, key string, lines ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+path, strings.NewReader("{}"))
	if err != nil {
		return err.Error()
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Idempotency-Status"))
}
