package suitetest

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// Cost is how many allocations a request of each kind may make beyond the bare
// handler's and, where it has a key, beyond what the core makes of the same claim
// without HTTP around it.
type Cost struct{ NoKey, First, Replay float64 }

// Operation is what the requests of this package's tests are guarded by, under
// preset API.
const Operation = "shop:order:create"

// The request that is counted, and its answer. The bare handler answers alike.
const (
	CountedBody   = `{"cart":42,"items":[{"sku":"tea","count":2}],"note":"ring twice"}`
	CountedAnswer = `{"order":7}`
)

const counted = 500 // requests, behind as many that are not

// Allocates holds an adapter to what its requests may cost. bare and guarded send
// one POST of CountedBody as JSON each, with the key or, where it is empty, without,
// past the network and with as few allocations as can be, and return the status:
// what they need themselves counts out.
func Allocates(t *testing.T, most Cost, bare, guarded func(key string) (status int)) {
	t.Helper()
	Counts(t)
	core := coreAllocates(t)
	for _, kind := range []struct {
		name       string
		key        func() string
		core, most float64
	}{
		{"no key", func() string { return "" }, 0, most.NoKey},
		{"first", fresh(), core.First, most.First},
		{"replay", func() string { return "00000000-0000-4000-8000-00000000000x" }, core.Replay, most.Replay},
	} {
		count := func(send func(key string) int) float64 {
			return allocations(func() {
				if status := send(kind.key()); status != 201 {
					t.Fatalf("%s: answered %d", kind.name, status)
				}
			})
		}
		with, without := count(guarded), count(bare)
		if more := with - without - kind.core; more > kind.most+0.5 { // maps grow when they will
			t.Errorf("%s: %.1f allocations more than the bare handler's %.1f and the core's %.1f; at most %.0f", kind.name, more, without, kind.core, kind.most)
		} else {
			t.Logf("%s: %.1f allocations, %.1f bare, %.1f in the core", kind.name, with, without, kind.core)
		}
	}
}

// Counts skips a test that counts allocations where they cannot be counted: under
// the race detector, whose pools drop what they hold at random.
func Counts(t *testing.T) {
	t.Helper()
	if racing {
		t.Skip("the race detector allocates too")
	}
}

// allocations counts what one call makes; testing.AllocsPerRun rounds it off.
func allocations(call func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	for range counted {
		call()
	}
	runtime.ReadMemStats(&before)
	for range counted {
		call()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / counted
}

// Keys are different ones, 36 characters long.
func Keys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
	}
	return keys
}

// fresh gives out keys that nobody had before.
func fresh() func() string {
	n, keys := 0, Keys(4*counted)
	return func() string { n++; return keys[n%len(keys)] }
}

// coreAllocates is the same work without HTTP around it.
func coreAllocates(t *testing.T) (c Cost) {
	t.Helper()
	g, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: Operation, Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(context.Background()) }()
	policy, _ := g.Policy(Operation)
	content := idem.Content{Method: "POST", Path: "/orders", ContentType: "application/json", Body: []byte(CountedBody)}
	kept := []byte(CountedAnswer)
	do := func(key string) {
		in := idem.Intent{Operation: Operation, Scope: "alice", Key: key, Fingerprint: g.Fingerprint(policy, content)}
		run := func(context.Context) ([]byte, error) { return kept, nil }
		if _, _, err := idem.Do(context.Background(), g, in, idem.Codec[[]byte](plain{}), run); err != nil {
			t.Fatal(err)
		}
	}
	key := fresh()
	c.First = allocations(func() { do(key()) })
	c.Replay = allocations(func() { do("one") })
	return c
}

// plain keeps bytes as they are.
type plain struct{}

func (plain) Encode(v []byte) (idem.Payload, error) { return idem.Payload{Bytes: v}, nil }
func (plain) Decode(p idem.Payload) ([]byte, error) { return p.Bytes, nil }
