package idem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// changed sets the running policy with a change.
func changed(t testing.TB, g *Guard, change func(*Policy)) {
	t.Helper()
	if err := g.SetPolicy(with(g, change)); err != nil {
		t.Fatal(err)
	}
}

// with is the running policy with a change.
func with(g *Guard, change func(*Policy)) Policy {
	running, _ := g.Policy(testOperation)
	p := *running
	change(&p)
	return p
}

// recordOf is the record of a claim, which its keeper may be renewing.
func recordOf(c *Claim) *record {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rec
	return &r
}

// cardOf is the card of the operation of these tests.
func (s *shelf) cardOf(t testing.TB) (c card) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	held, _ := s.at("idem:" + testOperation + ":card")
	if err := json.Unmarshal(held.value, &c); err != nil {
		t.Fatalf("card %q: %v", held.value, err)
	}
	return c
}

// Who asked for the number before it read the policy never keeps an old one.
func TestPolicyChangesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		if n := g.PolicyChanges(); n != 0 {
			t.Errorf("%d changes of a new guard", n)
		}
		changed(t, g, func(p *Policy) { p.MaxRun = time.Minute })
		if n := g.PolicyChanges(); n != 1 {
			t.Errorf("%d changes after one", n)
		}
		if err := g.SetPolicy(with(g, func(p *Policy) { p.Lease = -1 })); err == nil || g.PolicyChanges() != 1 {
			t.Errorf("a policy that was refused (%v) is a change", err)
		}
	})
}

func TestS8_ARunKeepsThePolicyItBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.On5xx, p.MaxRun = Release, 10*time.Second }))
		before, _ := g.Policy(testOperation)
		old := won(t, g, testIntent("old"))
		changed(t, g, func(p *Policy) { p.On5xx, p.Lease, p.MaxRun = Doubt, 3*time.Second, time.Minute })
		after, _ := g.Policy(testOperation)
		if after == before || after.Lease != 3*time.Second || before.Lease != time.Second {
			t.Errorf("the running policy is %+v", after)
		}
		fresh := won(t, g, testIntent("new"))
		if a, b := recordOf(old).leaseTime(), recordOf(fresh).leaseTime(); a != time.Second || b != 3*time.Second {
			t.Errorf("leases %v and %v, want the old policy's 1s and the new one's 3s", a, b)
		}
		pass(11 * time.Second)
		if cause := context.Cause(old.Context()); !errors.Is(cause, ErrMaxRun) {
			t.Errorf("the old run ended with %v, want its own MaxRun", cause)
		}
		if err := fresh.Context().Err(); err != nil {
			t.Errorf("the new run ended with %v", err)
		}
		short := won(t, g, testIntent("short"))
		changed(t, g, func(p *Policy) { p.On5xx = Release })
		short.End(context.Background()) // as an error would
		wantVerdict(t, short, Uncertain)
		fresh.End(context.Background())
		wantVerdict(t, fresh, Uncertain)
		last := won(t, g, testIntent("last"))
		last.End(context.Background())
		wantVerdict(t, last, Released)
		old.End(context.Background())
	})
}

func TestAPolicyThatIsWrongStaysOut(t *testing.T) {
	g := guardOn(t, newShelf(), func(c *Config) { c.Signer = nil; c.Policies[0].Key = []string{"header:Idempotency-Key"} })
	running, _ := g.Policy(testOperation)
	err := g.SetPolicy(Policy{Operation: "test:other:run", Lease: 7, Retention: time.Minute, OnCrash: "pray", OnDuplicate: Force, Methods: []string{"GET"}, Key: []string{"token"}})
	for _, says := range []string{"test:other:run", "lease", "retention", "onCrash", "GET", "Signer", "ForceAuthorizer"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("nothing is said of %s: %v", says, err)
		}
	}
	if !errors.Is(err, ErrUnknownOperation) {
		t.Errorf("an operation nobody knows: %v", err)
	}
	if err := g.SetPolicy(with(g, func(p *Policy) { p.Lease = -time.Second })); err == nil {
		t.Error("a negative lease was taken")
	}
	if now, _ := g.Policy(testOperation); now != running {
		t.Error("a policy that was refused changed the running one")
	}
	if err := g.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := g.SetPolicy(*running); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A guard over a store of this process makes keys of its own, so tokens can be
// taken later.
func TestTokensCanBeTakenLaterWhereTheStoreIsLocal(t *testing.T) {
	s := newShelf()
	s.local = true
	g := guardOn(t, s, func(c *Config) { c.Signer, c.NameKey, c.Policies[0].Key = nil, nil, []string{"header:Idempotency-Key"} })
	changed(t, g, func(p *Policy) { p.Key = []string{"token"} })
	if _, err := g.Issue(context.Background(), TokenRequest{Operation: testOperation, Scope: "alice"}); err != nil {
		t.Error(err)
	}
}

func TestS7_TheCardKeepsTheLastTwoChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		choose := func(field string) {
			t.Helper()
			changed(t, g, func(p *Policy) { p.Fingerprint = FingerprintChoice{Ignore: []string{field}} })
		}
		kept := func(want ...string) {
			t.Helper()
			for i, field := range want {
				want[i] = FingerprintChoice{Ignore: []string{field}}.String()
			}
			if got := s.cardOf(t).Fingerprints; !slices.Equal(got, want) {
				t.Errorf("the card keeps %q, want %q", got, want)
			}
		}
		choose("/a")
		choose("/b")
		kept("/a", "/b")
		choose("/a") // back again: /b is now the older one
		kept("/b", "/a")
		choose("/c")
		kept("/a", "/c")
		pass(5 * time.Minute) // the card is read each minute, by another process too
		_ = guardOn(t, s, policy(func(p *Policy) { p.Fingerprint = FingerprintChoice{Ignore: []string{"/a"}} }))
		kept("/c", "/a")
		pass(5 * time.Minute) // two processes that differ do not take turns at it
		n := s.cardOf(t).Counter
		pass(5 * time.Minute)
		if again := s.cardOf(t).Counter; again != n {
			t.Errorf("the card was written %d times in five minutes", again-n)
		}
	})
}

// alike is a choice that is another than canonical and has its version byte.
func alike(t testing.TB, other FingerprintChoice) FingerprintChoice {
	t.Helper()
	for i := range 10_000 {
		if c := (FingerprintChoice{Ignore: []string{fmt.Sprintf("/field%d", i)}}); c.Version() == other.Version() {
			return c
		}
	}
	t.Fatal("no two choices share a byte")
	return other
}

// Faults: 45.
func TestS7_AChoiceWhoseByteIsTakenIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		twin := alike(t, FingerprintChoice{})
		names := func(err error) bool {
			return err != nil && strings.Contains(err.Error(), testOperation) && strings.Contains(err.Error(), twin.Ignore[0])
		}
		running, _ := g.Policy(testOperation)
		if err := g.SetPolicy(with(g, func(p *Policy) { p.Fingerprint = twin })); !names(err) || errors.Is(err, ErrUnavailable) {
			t.Errorf("set: %v, want a refusal that names it", err)
		}
		if now, _ := g.Policy(testOperation); now != running || slices.Contains(s.cardOf(t).Fingerprints, twin.String()) {
			t.Error("it was refused, and changed something")
		}
		won(t, g, testIntent("k")).End(context.Background()) // the guard goes on

		cfg := Config{Store: s, NameKey: testNameKey, Policies: []Policy{{Operation: testOperation, Preset: API, Fingerprint: twin}}}
		if started, err := New(cfg); !names(err) {
			t.Errorf("start: %v, want a refusal that names it", err)
			_ = started.Close(context.Background())
		}
		down := &downStore{shelf: s, down: true}
		late := guardOn(t, down, policy(func(p *Policy) { p.Fingerprint = twin }))
		down.set(false)
		pass(2 * time.Second)
		if _, err := late.Claim(context.Background(), testIntent("l")); !errors.Is(err, ErrUnavailable) || !names(late.Ready(context.Background())) {
			t.Errorf("once the card was read: %v, want every request unavailable", err)
		}
		changed(t, late, func(p *Policy) { p.Fingerprint = FingerprintChoice{} })
		pass(2 * time.Second)
		won(t, late, testIntent("l")).End(context.Background())

		// Two choices later nothing of it is left, and the byte is free.
		for _, field := range []string{"/a", "/b"} {
			changed(t, g, func(p *Policy) { p.Fingerprint = FingerprintChoice{Ignore: []string{field}} })
		}
		changed(t, late, func(p *Policy) { p.Fingerprint = FingerprintChoice{Ignore: []string{"/b"}} })
		changed(t, g, func(p *Policy) { p.Fingerprint = twin })
	})
}

func TestT1_ALongerRetentionProvesNothingOfWhatRanBefore(t *testing.T) {
	short := policy(func(p *Policy) { p.Retention = time.Hour })
	for _, way := range []string{"swapped", "in another process", "restarted"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := aged(t, s, short)
				ran := tokenIntent(issued(t, g, time.Now()))
				_ = won(t, g, ran).Complete(context.Background(), Payload{})
				pass(2 * time.Hour) // its record is gone
				judge := g
				switch way {
				case "swapped":
					changed(t, g, func(p *Policy) { p.Retention = 24 * time.Hour })
				case "in another process":
					judge = guardOn(t, s)
					changed(t, judge, func(p *Policy) { p.Retention = 48 * time.Hour })
					changed(t, g, func(p *Policy) { p.Retention = 48 * time.Hour })
				case "restarted":
					_ = g.Close(context.Background())
					judge = guardOn(t, s)
				}
				wantVerdict(t, claimed(t, judge, ran), Forgotten) // dead would run it again
				pass(2 * time.Hour)
				wantVerdict(t, claimed(t, judge, ran), Forgotten)
				later := tokenIntent(issued(t, judge, time.Now()))
				pass(2 * time.Hour)
				wantVerdict(t, claimed(t, judge, later), Dead)
			})
		})
	}
}

// A shorter retention makes old records no shorter, and what it makes itself is
// told to whoever raises it again.
func TestT1_AShorterRetentionIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		kept := tokenIntent(issued(t, g, time.Now()))
		_ = won(t, g, kept).Complete(context.Background(), Payload{Bytes: []byte("1")})
		changed(t, g, func(p *Policy) { p.Retention = time.Hour })
		ran := tokenIntent(issued(t, g, time.Now()))
		_ = won(t, g, ran).Complete(context.Background(), Payload{})
		pass(2 * time.Hour)
		wantVerdict(t, claimed(t, g, kept), Replayed)
		wantVerdict(t, claimed(t, g, ran), Forgotten) // older than retention − slack
		changed(t, g, func(p *Policy) { p.Retention = 24 * time.Hour })
		wantVerdict(t, claimed(t, g, ran), Forgotten)
	})
}

func TestT2_ATokenOfAnotherPolicyIsOutlivedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s, policy(func(p *Policy) { p.TokenLife, p.Retention = 24*time.Hour, 48*time.Hour }))
		token := tokenIntent(issued(t, g, time.Now()))
		changed(t, g, func(p *Policy) { p.TokenLife, p.Retention = 15*time.Minute, time.Hour })
		_ = won(t, g, token).Complete(context.Background(), Payload{Bytes: []byte("1")})
		pass(3 * time.Hour) // past the retention, and the token could still run
		c := claimed(t, g, token)
		wantVerdict(t, c, Replayed)
		c.End(context.Background())
		// A client's key knows no life: its record is kept for the retention.
		_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{})
		pass(2 * time.Hour)
		won(t, g, testIntent("k")).End(context.Background())
	})
}

func TestT6_WhoLeavesOpenMovesSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s, policy(func(p *Policy) { p.OnOutage = Open }))
		token := tokenIntent(issued(t, g, time.Now())) // another process may have run it, and died
		pass(time.Hour)
		wantVerdict(t, claimed(t, g, token), Forgotten)
		changed(t, g, func(p *Policy) { p.OnOutage = Closed })
		wantVerdict(t, claimed(t, g, token), Forgotten)
		pass(time.Hour)
		wantVerdict(t, claimed(t, g, token), Forgotten)
		later := tokenIntent(issued(t, g, time.Now()))
		pass(time.Hour)
		wantVerdict(t, claimed(t, g, later), Dead)
	})
}

func TestInAnOutageOnlyWhatTheCardNeedNotKnowIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &downStore{shelf: newShelf()}
		g := guardOn(t, down)
		down.set(true)
		for name, change := range map[string]func(*Policy){
			"longer retention":  func(p *Policy) { p.Retention = 48 * time.Hour },
			"shorter retention": func(p *Policy) { p.Retention = time.Hour },
			"fingerprint":       func(p *Policy) { p.Fingerprint.Mode = FingerprintNone },
		} {
			running, _ := g.Policy(testOperation)
			err := g.SetPolicy(with(g, change))
			if now, _ := g.Policy(testOperation); !errors.Is(err, ErrUnavailable) || now != running {
				t.Errorf("%s: %v, want unavailable and nothing changed", name, err)
			}
		}
		changed(t, g, func(p *Policy) { p.OnOutage, p.Lease = Open, 2*time.Second })
		down.set(false)
		changed(t, g, func(p *Policy) { p.Retention = 48 * time.Hour })
	})
}

// Policies are swapped while requests run; each is judged by one of them.
func TestPoliciesAreSwappedWhileRequestsRun(t *testing.T) {
	s := newShelf()
	s.local = true
	g := guardOn(t, s, func(c *Config) { c.Policies = append(c.Policies, Policy{Operation: "test:other:run", Preset: API}) })
	var swaps, runs sync.WaitGroup
	stop := make(chan struct{})
	for i := range 2 {
		swaps.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				err := g.SetPolicy(with(g, func(p *Policy) {
					p.Lease, p.Retention = time.Duration(1+n%2)*time.Second, time.Duration(24+n%2)*time.Hour
					p.Fingerprint.Ignore = [][]string{nil, {"/a"}, {"/b"}}[n%3]
				}))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = json.Marshal(g.Policies())
			}
		})
	}
	for i := range 4 {
		runs.Go(func() {
			for n := range 200 {
				c := claimed(t, g, testIntent(fmt.Sprint(i, n)))
				p, r := c.policy(), recordOf(c)
				if !c.Won() || r.leaseTime() != p.Lease || r.retention() != p.Retention {
					t.Errorf("won %v under lease %v and retention %v, of a policy with %v and %v", c.Won(), r.leaseTime(), r.retention(), p.Lease, p.Retention)
				}
				_ = c.Complete(context.Background(), Payload{})
			}
		})
	}
	runs.Wait()
	close(stop)
	swaps.Wait()
}
