package idem_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/memstore"
)

// Given that all can be had, all run: one exchange claims, one starts, one
// settles.
func TestStatement34_AllRun(t *testing.T) {
	g, faults := batchGuard(t, memstore.New(memstore.Options{}))
	answers, ran := answersOf(t, g, batchOf("a", "b", "c", "a"), idem.Atomic())
	wantVerdicts(t, answers, idem.Executed, idem.Executed, idem.Executed, idem.Executed)
	if !slices.Equal(ran, []int{0, 1, 2}) || faults.Trips() != 3 || faults.Calls("renew", "") != 3 {
		t.Errorf("items %v ran, in %d exchanges with %d renewals; want 0 1 2, 3 and 3", ran, faults.Trips(), faults.Calls("renew", ""))
	}
	answers, ran = answersOf(t, g, batchOf("c", "b"), idem.Atomic())
	wantVerdicts(t, answers, idem.Replayed, idem.Replayed)
	if len(ran) != 0 || answers[0].Value != 2 {
		t.Errorf("again: items %v ran, %+v", ran, answers)
	}
}

// Given one item that stands in the way, none runs, and of those that were held
// only RELEASED records are left: they run with the next batch.
func TestS8_NoneIsLeftHeld(t *testing.T) {
	other := batchIntent("conflict")
	other.Fingerprint.Sum[0]++
	for name, c := range map[string]struct {
		way     func(t *testing.T, g *idem.Guard) idem.Intent
		verdict idem.Verdict
	}{
		"done": {func(t *testing.T, g *idem.Guard) idem.Intent {
			answersOf(t, g, batchOf("done"))
			return batchIntent("done")
		}, idem.Replayed},
		"another": {func(t *testing.T, g *idem.Guard) idem.Intent { answersOf(t, g, batchOf("conflict")); return other }, idem.Conflict},
		"missing": {func(*testing.T, *idem.Guard) idem.Intent { return batchIntent("") }, idem.Missing},
		"running": {func(t *testing.T, g *idem.Guard) idem.Intent {
			c, err := g.Claim(context.Background(), batchIntent("running"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Release(context.Background()) })
			return batchIntent("running")
		}, idem.InFlight},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := batchGuard(t, memstore.New(memstore.Options{}))
			intents := append(batchOf("a", "b", "c", "d"), c.way(t, g))
			answers, ran := answersOf(t, g, intents, idem.Atomic())
			if len(ran) != 0 {
				t.Fatalf("items %v ran", ran)
			}
			wantVerdicts(t, answers, idem.Released, idem.Released, idem.Released, idem.Released, c.verdict)
			if !errors.Is(answers[0].Err, idem.ErrBatchRefused) {
				t.Errorf("a given-back item says %v", answers[0].Err)
			}
			for _, key := range []string{"a", "b", "c", "d"} {
				if st, _ := g.Status(context.Background(), batchIntent(key)); st.State != idem.StateReleased && st.State != idem.StateAbsent {
					t.Errorf("%s is left %s", key, st.State)
				}
			}
			if again, ran := answersOf(t, g, intents[:4], idem.Atomic()); len(ran) != 4 {
				t.Errorf("without what stood in the way: %v", verdicts(again))
			}
		})
	}
}

// Given a batch that dies while it collects, under Hold: what it held was never
// started, so it is not held as uncertain. Anybody may run it, with another
// request too.
func TestS8_ACrashWhileCollectingIsNeverUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		patient := func(p *idem.Policy) { p.OnDuplicate, p.Wait = idem.Wait, 50*time.Second }
		dies, faults := batchGuard(t, store, patient)
		lives, _ := batchGuard(t, store, patient)
		keys := byName(3)
		last, err := lives.Claim(context.Background(), batchIntent(keys[2]))
		if err != nil || !last.Won() {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(context.Background())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = dies.ClaimBatch(ctx, batchOf(keys...), idem.Atomic())
		}()
		<-time.After(7 * time.Second) // it holds the first two, over several leases
		for _, key := range keys[:2] {
			wantState(t, lives, key, idem.StateProcessing)
		}
		faults.Kill()
		<-time.After(4 * time.Second)
		for i, key := range keys[:2] {
			in := batchIntent(key)
			in.Fingerprint.Sum[0] += byte(i) // the second with another request
			c, err := lives.Claim(context.Background(), in)
			if err != nil || !c.Won() {
				t.Fatalf("%s: %s, %v", key, c.Verdict(), err)
			}
			_ = c.Complete(context.Background(), idem.Payload{})
		}
		leave()
		<-gone
		_ = last.Release(context.Background())
	})
}

// meeting is a store on which two batches, each sent to it in one exchange, get
// their first items before either gets its second.
type meeting struct {
	*memstore.Store
	arrive chan struct{}
}

func (m *meeting) UsesStoreStep() bool { return true }

func (m *meeting) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	if ops[0].Step != "claim" || len(ops) < 2 {
		return m.Store.Apply(ctx, ops)
	}
	first := m.Store.Apply(ctx, ops[:1])
	select {
	case m.arrive <- struct{}{}:
	case <-m.arrive:
	case <-time.After(time.Millisecond): // the other is not on its way
	}
	return append(first, m.Store.Apply(ctx, ops[1:])...)
}

// Given two batches of the same items in opposite order, one waits for the other:
// neither holds what the other waits for.
func TestS8_NoTwoBatchesWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &meeting{memstore.New(memstore.Options{}), make(chan struct{})}
		keys := byName(2)
		start := time.Now()
		done := make(chan []idem.Verdict)
		for _, order := range [][]string{{keys[0], keys[1]}, {keys[1], keys[0]}} {
			g, _ := batchGuard(t, store, waits)
			go func() {
				answers, _ := answersOf(t, g, batchOf(order...), idem.Atomic())
				done <- verdicts(answers)
			}()
		}
		all := append(<-done, <-done...)
		slices.Sort(all)
		if want := []idem.Verdict{idem.Executed, idem.Executed, idem.Replayed, idem.Replayed}; !slices.Equal(all, want) {
			t.Errorf("verdicts %v, want %v", all, want)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("they took %v", took)
		}
	})
}

// Given a start that is not known, or known too late, nothing runs.
func TestI11_ABatchRunsOnlyWhatIsKnownToBeStarted(t *testing.T) {
	for name, c := range map[string]struct {
		fault   storetest.Fault
		late    time.Duration
		verdict idem.Verdict
		says    int // how many items say it; the others were given back
	}{
		"one refused":     {storetest.Fault{Mode: storetest.Refuse, Times: 3 + 3 + 1}, 0, idem.Unavailable, 1},
		"applied, unsaid": {storetest.Fault{Mode: storetest.LostReply, Times: 9}, 0, idem.Unavailable, 3},
		"late":            {storetest.Fault{}, 2900 * time.Millisecond, idem.InFlight, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slowly{Store: memstore.New(memstore.Options{})}
				g, faults := batchGuard(t, store)
				if c.fault.Mode != "" {
					_ = faults.Set("renew", c.fault)
				}
				store.late = c.late
				claims, _ := g.ClaimBatch(context.Background(), batchOf("a", "b", "c"), idem.Atomic())
				refused := 0
				for i, claim := range claims {
					if claim.Won() {
						t.Errorf("item %d was won", i)
					}
					if claim.Verdict() == c.verdict {
						refused++
					}
				}
				if refused != c.says {
					t.Errorf("%d items say %s, want %d", refused, c.verdict, c.says)
				}
				faults.Clear()
				store.late = 0
				<-time.After(10 * time.Second)
				for _, key := range []string{"a", "b", "c"} {
					wantState(t, g, key, idem.StateReleased)
				}
			})
		})
	}
}

// slowly is a store that may keep renewals for so long, whatever their context
// says.
type slowly struct {
	*memstore.Store
	late time.Duration
}

func (s *slowly) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	if ops[0].Step == "renew" && s.late > 0 {
		<-time.After(s.late)
		ctx = context.WithoutCancel(ctx)
	}
	return s.Store.Apply(ctx, ops)
}

func (s *slowly) Describe() idem.Description {
	d := s.Store.Describe()
	d.WorstCall = 300 * time.Millisecond
	return d
}

// Given an outage between the claim and the start, a policy that is open runs all
// the same, unprotected; what is left behind is settled.
func TestS8_AStartIntoAnOutageUnderOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		g, faults := batchGuard(t, store, func(p *idem.Policy) { p.OnOutage = idem.Open })
		_ = faults.Set("renew", storetest.Fault{Mode: storetest.Refuse, Times: -1})
		answers, ran := answersOf(t, g, batchOf("a", "b"), idem.Atomic())
		wantVerdicts(t, answers, idem.Unprotected, idem.Unprotected)
		if len(ran) != 2 {
			t.Errorf("%v", ran)
		}
		wantState(t, g, "a", idem.StateSucceeded)
	})
}

// Given a double click on an all-or-nothing batch, the second waits and replays
// the whole.
func TestStatement34_ARepeatOfAWholeBatchReplaysIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		one, _ := batchGuard(t, store, waits)
		two, _ := batchGuard(t, store, waits)
		keys := byName(20)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := idem.DoBatch(context.Background(), one, batchOf(keys...), idem.JSON[int](), func(_ context.Context, won []idem.Item) []idem.Answer[int] {
				<-time.After(time.Second)
				return make([]idem.Answer[int], len(won))
			}, idem.Atomic())
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		slices.Reverse(keys)
		answers, ran := answersOf(t, two, batchOf(keys...), idem.Atomic())
		<-done
		if len(ran) != 0 || slices.ContainsFunc(answers, func(a idem.Answer[int]) bool { return a.Verdict != idem.Replayed }) {
			t.Errorf("items %v ran; %v", ran, verdicts(answers))
		}
	})
}

// Given a policy that says so, a batch is all or nothing without being asked.
func TestStatement34_ThePolicySaysAllOrNothing(t *testing.T) {
	g, _ := batchGuard(t, memstore.New(memstore.Options{}), func(p *idem.Policy) { p.Atomic = idem.Yes })
	answersOf(t, g, batchOf("done"))
	answers, ran := answersOf(t, g, batchOf("a", "done"))
	wantVerdicts(t, answers, idem.Released, idem.Replayed)
	if len(ran) != 0 {
		t.Errorf("items %v ran", ran)
	}
}

// Given a policy that only observes, nothing of a batch is refused: what would
// have been runs beside, all of it where it is all or nothing.
func TestS8_ABatchUnderObserveRefusesNothing(t *testing.T) {
	g, _ := batchGuard(t, memstore.New(memstore.Options{}), func(p *idem.Policy) { p.Mode = idem.ModeObserve })
	answersOf(t, g, batchOf("done"))
	other := batchIntent("a")
	other.Fingerprint.Sum[0]++
	intents := append(batchOf("a", "done", ""), other)
	answers, ran := answersOf(t, g, intents)
	wantVerdicts(t, answers, idem.Executed, idem.Unprotected, idem.Unprotected, idem.Unprotected)
	if len(ran) != 4 {
		t.Errorf("items %v ran", ran)
	}
	intents = batchOf("b", "done", "c")
	answers, ran = answersOf(t, g, intents, idem.Atomic())
	wantVerdicts(t, answers, idem.Unprotected, idem.Unprotected, idem.Unprotected)
	if len(ran) != 3 {
		t.Errorf("all or nothing: items %v ran", ran)
	}
	wantState(t, g, "b", idem.StateReleased)
}

// Given a share of keys, a batch runs those outside of it unguarded; all or
// nothing holds for them too.
func TestS8_ABatchOutsideTheShare(t *testing.T) {
	g, _ := batchGuard(t, memstore.New(memstore.Options{}), func(p *idem.Policy) { p.Share = 0.5 })
	intents := batchOf(byName(40)...)
	answers, ran := answersOf(t, g, intents)
	guarded := -1
	for i, a := range answers {
		if a.Verdict == idem.Executed {
			guarded = i
		} else if a.Verdict != idem.Unguarded {
			t.Errorf("item %d: %s", i, a.Verdict)
		}
	}
	if len(ran) != 40 || guarded < 0 {
		t.Fatalf("%d ran; %v", len(ran), verdicts(answers))
	}
	fresh := batchIntent("fresh")
	if answers, ran = answersOf(t, g, append(intents, fresh), idem.Atomic()); len(ran) != 0 {
		t.Errorf("with item %d done %d others ran; %v", guarded, len(ran), verdicts(answers))
	}
}

// Given hooks, each item is told of once, whatever it takes to win it.
func TestS8_HooksOfABatch(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	count := func(what string) { mu.Lock(); calls[what]++; mu.Unlock() }
	hooks := idem.Hooks{
		BeforeClaim: func(ctx context.Context, _ idem.HookIntent) context.Context { count("before claim"); return ctx },
		BeforeSettle: func(_ context.Context, p idem.SettlePlan) idem.SettleChange {
			count("before settle")
			return idem.SettleChange{}
		},
		AfterSettle:  func(context.Context, idem.HookSettled) { count("after settle") },
		AfterVerdict: func(_ context.Context, v idem.HookVerdict) { count(v.Verdict.String()) },
	}
	g, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Hooks: hooks, Policies: []idem.Policy{{Operation: batchOperation, Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(context.Background()) }()
	answersOf(t, g, batchOf("a", "b", "a"), idem.Atomic())
	answersOf(t, g, batchOf("b", "c"))
	answersOf(t, g, batchOf("c", "d"), idem.Atomic())
	mu.Lock()
	defer mu.Unlock()
	want := map[string]int{"before claim": 6, "before settle": 3, "after settle": 3, "executed": 3, "replayed": 2, "released": 1}
	if !maps.Equal(calls, want) {
		t.Errorf("hooks were called %v, want %v", calls, want)
	}
}
