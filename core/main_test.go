package idem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("IDEM_BROKEN"); !broken.Set(name) {
		fmt.Fprintf(os.Stderr, "IDEM_BROKEN=%s names no rule\n", name)
		os.Exit(2)
	}
	leaktest.Main(m)
}

// shelf is a small store of these tests: linearizable, with the (fake) clock of
// the test's bubble, and a script of faults. The real stores have their own
// suite; this one exists to be disturbed in exact places.
type shelf struct {
	mu    sync.Mutex
	items map[string]shelved
	// fault is asked before each call; nil lets it pass.
	fault  func(call shelfCall) fault
	calls  []shelfCall
	local  bool
	untold bool // Create does not tell the time left
	late   sync.WaitGroup
}

type shelved struct {
	value   []byte
	expires time.Time
}

type shelfCall struct {
	step, do, name string
	ttl            time.Duration
	n              int // how many calls of this step came before
}

// fault is what happens to one call.
type fault struct {
	refuse    bool          // not applied, an error
	loseReply bool          // applied, an error
	late      time.Duration // applied this long after the error was given
	slow      time.Duration // applied and answered after this long
	weak      bool          // applied, and marked so
}

var errShelf = errors.New("shelf: connection reset")

func newShelf() *shelf { return &shelf{items: map[string]shelved{}} }

func (s *shelf) Describe() Description {
	return Description{Name: "shelf", WorstCall: 10 * time.Millisecond, MaxValue: 1 << 20, Local: s.local}
}

func (s *shelf) UsesStoreStep() bool { return true }

func (s *shelf) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	return s.do(ctx, "create", name, ttl, func() Result {
		if held, ok := s.at(name); ok && s.untold {
			return Result{Value: bytes.Clone(held.value)}
		} else if ok {
			return Result{Value: bytes.Clone(held.value), Left: time.Until(held.expires)}
		}
		s.items[name] = shelved{bytes.Clone(value), time.Now().Add(ttl)}
		return Result{Done: true}
	})
}

func (s *shelf) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (Result, error) {
	return s.do(ctx, "swap", name, ttl, func() Result {
		held, ok := s.at(name)
		switch {
		case ok && string(held.value) == string(old):
			s.items[name] = shelved{bytes.Clone(value), time.Now().Add(ttl)}
			return Result{Done: true}
		case ok && string(held.value) == string(value):
			return Result{Done: true}
		case ok:
			return Result{Value: bytes.Clone(held.value), Left: time.Until(held.expires)}
		}
		return Result{}
	})
}

func (s *shelf) Load(ctx context.Context, name string) (Result, error) {
	return s.do(ctx, "load", name, 0, func() Result {
		if held, ok := s.at(name); ok {
			return Result{Value: bytes.Clone(held.value), Left: time.Until(held.expires)}
		}
		return Result{}
	})
}

// at is what is there and not over. s.mu is held.
func (s *shelf) at(name string) (shelved, bool) {
	held, ok := s.items[name]
	if ok && !time.Now().Before(held.expires) {
		delete(s.items, name)
		return shelved{}, false
	}
	return held, ok
}

func (s *shelf) do(ctx context.Context, do, name string, ttl time.Duration, apply func() Result) (Result, error) {
	locked := func() Result { s.mu.Lock(); defer s.mu.Unlock(); return apply() }
	call := shelfCall{step: StoreStep(ctx), do: do, name: name, ttl: ttl}
	s.mu.Lock()
	for _, c := range s.calls {
		if c.step == call.step {
			call.n++
		}
	}
	s.calls = append(s.calls, call)
	script := s.fault
	s.mu.Unlock()
	var f fault
	if script != nil && !isCard(name) {
		f = script(call)
	}
	switch {
	case f.refuse:
		return Result{}, errShelf
	case f.loseReply:
		locked()
		return Result{}, errShelf
	case f.late > 0:
		s.late.Go(func() { pass(f.late); locked() })
		return Result{}, errShelf
	case f.slow > 0:
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
	r := locked()
	r.Weak = f.weak && r.Done
	return r, nil
}

func isCard(name string) bool { return len(name) > 5 && name[len(name)-5:] == ":card" }

// script sets the faults from now on.
func (s *shelf) script(f func(shelfCall) fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// only disturbs the calls of one step.
func only(step string, f fault) func(shelfCall) fault {
	return func(c shelfCall) fault {
		if c.step == step {
			return f
		}
		return fault{}
	}
}

// first disturbs only the first n calls of one step from now on.
func (s *shelf) first(n int, step string, f fault) {
	s.script(func(c shelfCall) fault {
		if c.step != step || n == 0 {
			return fault{}
		}
		n--
		return f
	})
}

// record is what is under the only name that is no card's.
func (s *shelf) record(t testing.TB) (record, time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.items {
		held, ok := s.at(name)
		if isCard(name) || !ok {
			continue
		}
		r, err := decodeRecord(held.value)
		if err != nil {
			t.Fatalf("record of %s: %v", name, err)
		}
		return r, time.Until(held.expires)
	}
	return record{}, 0
}

// count is how many calls were made for a step, cards left out.
func (s *shelf) count(step string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.step == step && !isCard(c.name) {
			n++
		}
	}
	return n
}

const testOperation = "test:do:run"

var testNameKey = NameKey("0123456789abcdef0123456789abcdef")

func guardSigner(t testing.TB) *Signer {
	t.Helper()
	s, err := NewSigner(SigningKey{ID: 1, Secret: []byte("fedcba9876543210fedcba9876543210")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// guardOn builds a guard over a store and closes it at the end of the test.
func guardOn(t testing.TB, s Store, change ...func(*Config)) *Guard {
	t.Helper()
	cfg := Config{
		Store: s, Signer: guardSigner(t), NameKey: testNameKey,
		Policies: []Policy{{
			Operation: testOperation, Preset: API, Key: []string{"token", "header:Idempotency-Key"},
			Lease: time.Second, MaxRun: time.Minute,
		}},
	}
	for _, c := range change {
		c(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}

// policy changes the only policy of a test's guard.
func policy(change func(*Policy)) func(*Config) {
	return func(c *Config) { change(&c.Policies[0]) }
}

func testIntent(key string) Intent {
	return Intent{Operation: testOperation, Scope: "alice", Key: key, Fingerprint: Fingerprint{Version: 1, Sum: [15]byte{1}}}
}

func claimed(t testing.TB, g *Guard, in Intent) *Claim {
	t.Helper()
	c, err := g.Claim(context.Background(), in)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

func won(t testing.TB, g *Guard, in Intent) *Claim {
	t.Helper()
	c := claimed(t, g, in)
	if !c.Won() {
		t.Fatalf("claim was not won: %s", c.Verdict())
	}
	return c
}

func wantVerdict(t testing.TB, c *Claim, want Verdict) {
	t.Helper()
	if got := c.Verdict(); got != want || c.Won() && !want.Ran() && want != Uncertain {
		t.Errorf("verdict %q (won %v), want %q", got, c.Won(), want)
	}
}

// pass lets the clock of the test's bubble run on.
func pass(d time.Duration) { <-time.After(d) }

// drill tells whether the long form of a test is wanted.
func drill() bool { return os.Getenv("IDEM_DRILL") != "" }
