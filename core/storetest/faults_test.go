package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

// step is a context that says what a call is made for, as a guard's does.
func step(t *testing.T, name string) context.Context {
	return idem.WithStoreStep(t.Context(), name)
}

// TestModes: what the caller sees, and what became of the record.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode    storetest.Mode
		fails   bool          // the caller sees an error
		takes   time.Duration // on the caller's side
		applied bool          // when the caller has its answer
		later   bool          // when everything late has arrived
	}{
		{storetest.Refuse, true, 0, false, false},
		{storetest.Timeout, true, 2 * time.Second, false, false},
		{storetest.Slow, false, 2 * time.Second, true, true},
		{storetest.LostReply, true, 0, true, true},
		{storetest.CutOff, true, 0, true, true},
		{storetest.Late, true, 0, false, true},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults, m := storetest.NewFaults(), newModel(flawless, 10)
				store := faults.Wrap(m)
				if err := faults.Set("claim", storetest.Fault{Mode: c.mode, Times: 1, Delay: 2 * time.Second}); err != nil {
					t.Fatal(err)
				}
				value := []byte("v")
				start := time.Now()
				r, err := store.Create(step(t, "claim"), "a", value, time.Hour)
				value[0] = '#' // the caller's slice is its own again
				if took := time.Since(start); took != c.takes {
					t.Errorf("took %v, want %v", took, c.takes)
				}
				if failed := err != nil; failed != c.fails || failed == r.Done {
					t.Errorf("the caller saw %+v, %v", r, err)
				}
				if err != nil && !errors.Is(err, storetest.ErrInjected) {
					t.Errorf("the error does not say that it was injected: %v", err)
				}
				if timeout := errors.Is(err, context.DeadlineExceeded); timeout != (c.mode == storetest.Timeout) {
					t.Errorf("is the error a time-out? %v: %v", timeout, err)
				}
				if got := holds(t, m, "a", "v"); got != c.applied {
					t.Errorf("applied when the caller had its answer: %v, want %v", got, c.applied)
				}
				faults.Wait()
				if got := holds(t, m, "a", "v"); got != c.later {
					t.Errorf("applied in the end: %v, want %v", got, c.later)
				}
				if n := faults.Injected("claim", c.mode); n != 1 {
					t.Errorf("counted %d faults, want 1", n)
				}
			})
		})
	}
}

func holds(t *testing.T, s idem.Store, name, value string) bool {
	t.Helper()
	r, err := s.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Value) == value
}

// A caller's deadline ends a time-out and a slow call before their own time.
func TestFaultsHonourTheDeadline(t *testing.T) {
	for _, mode := range []storetest.Mode{storetest.Timeout, storetest.Slow} {
		synctest.Test(t, func(t *testing.T) {
			faults, m := storetest.NewFaults(), newModel(flawless, 10)
			store := faults.Wrap(m)
			_ = faults.Set("", storetest.Fault{Mode: mode, Times: -1, Delay: time.Hour})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			if _, err := store.Create(ctx, "a", []byte("v"), time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want the deadline's error", mode, err)
			}
			if took := time.Since(start); took != time.Second {
				t.Errorf("%s: took %v, want the second of the deadline", mode, took)
			}
			if holds(t, m, "a", "v") {
				t.Errorf("%s: applied, though the caller had given up", mode)
			}
		})
	}
}

// A plan is for a step: other steps are spared, and its faults come in order.
func TestPlanGoesByStepAndInOrder(t *testing.T) {
	faults := storetest.NewFaults()
	store := faults.Wrap(newModel(flawless, 100))
	_ = faults.Set("settle",
		storetest.Fault{Mode: storetest.LostReply, Times: 2}, storetest.Fault{Mode: storetest.Refuse, Times: 1})
	_ = faults.Set("", storetest.Fault{Mode: storetest.Refuse, Times: 1})

	create := func(stepName, name string) error {
		_, err := store.Create(step(t, stepName), name, []byte("v"), time.Hour)
		return err
	}
	if create("claim", "hit by the plan for all") == nil || create("claim", "spared") != nil {
		t.Error("the plan for every step holds once, for the first call")
	}
	for i, want := range []storetest.Mode{"lost-reply", "lost-reply", "refuse", ""} {
		if err := create("settle", fmt.Sprint(i)); (err != nil) != (want != "") {
			t.Errorf("call %d: %v, planned %q", i, err, want)
		}
	}
	if n := faults.Calls("settle", ""); n != 4 {
		t.Errorf("counted %d calls for settle, want 4", n)
	}
	if n, all := faults.Calls("claim", "Create"), faults.Calls("", ""); n != 2 || all != 6 {
		t.Errorf("counted %d Creates for claim of %d calls, want 2 of 6", n, all)
	}
	if n := faults.Injected("", ""); n != 4 {
		t.Errorf("counted %d faults, want 4", n)
	}
	log := faults.Log()
	if want := (storetest.Call{Step: "settle", Method: "Create", Name: "2", Mode: storetest.Refuse}); len(log) != 6 || log[4] != want {
		t.Errorf("the log says %+v, want %+v fifth", log, want)
	}
	faults.Reset()
	if faults.Calls("", "") != 0 || faults.Injected("", "") != 0 || len(faults.Log()) != 0 {
		t.Error("after Reset something is still counted")
	}
}

func TestPlanIsClearedByZeroTimes(t *testing.T) {
	faults := storetest.NewFaults()
	store := faults.Wrap(newModel(flawless, 10))
	for i, clear := range []func(){
		func() { _ = faults.Set("load", storetest.Fault{Mode: storetest.Refuse, Times: 0}) },
		func() { _ = faults.Set("load") },
		faults.Clear,
	} {
		_ = faults.Set("load", storetest.Fault{Mode: storetest.Refuse, Times: -1})
		if _, err := store.Load(step(t, "load"), "a"); err == nil {
			t.Errorf("way %d: the plan did not hold", i)
		}
		clear()
		if _, err := store.Load(step(t, "load"), "a"); err != nil {
			t.Errorf("way %d: cleared, yet %v", i, err)
		}
	}
}

func TestPlanNamesWhatItDoesNotKnow(t *testing.T) {
	faults := storetest.NewFaults()
	for name, err := range map[string]error{
		"a step":   faults.Set("relese", storetest.Fault{Mode: storetest.Refuse, Times: 1}),
		"a mode":   faults.Set("claim", storetest.Fault{Mode: "explode", Times: 1}),
		"a chance": faults.Set("claim", storetest.Fault{Mode: storetest.Refuse, Times: 1, Chance: 1.5}),
	} {
		if err == nil {
			t.Errorf("%s that is not known went through", name)
		}
	}
}

// Faults by chance hit about as often as said, and the same seed the same calls.
func TestChance(t *testing.T) {
	const calls = 4000
	hits := func(seed uint64) (list []int) {
		faults := storetest.NewFaults()
		faults.Seed(seed)
		store := faults.Wrap(newModel(flawless, 10))
		_ = faults.Set("claim", storetest.Fault{Mode: storetest.LostReply, Times: -1, Chance: 0.05})
		for i := range calls {
			if _, err := store.Load(step(t, "claim"), "a"); err != nil {
				list = append(list, i)
			}
		}
		return list
	}
	first := hits(7)
	if n := len(first); n < calls/40 || n > calls/10 {
		t.Errorf("at 5 %%, %d of %d calls were hit", n, calls)
	}
	if fmt.Sprint(first) != fmt.Sprint(hits(7)) {
		t.Error("the same seed hit other calls")
	}
	if fmt.Sprint(first) == fmt.Sprint(hits(8)) {
		t.Error("another seed hit the same calls")
	}
}

// A killed process makes no further call; what was on its way late arrives.
func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, m := storetest.NewFaults(), newModel(flawless, 10)
		store := faults.Wrap(m)
		_ = faults.Set("claim", storetest.Fault{Mode: storetest.Late, Times: 1, Delay: time.Second})
		_, _ = store.Create(step(t, "claim"), "late", []byte("v"), time.Hour)
		slow := make(chan error)
		_ = faults.Set("settle", storetest.Fault{Mode: storetest.Slow, Times: 1, Delay: time.Second})
		go func() {
			_, err := store.Create(step(t, "settle"), "slow", []byte("v"), time.Hour)
			slow <- err
		}()
		synctest.Wait()
		faults.Kill()
		if err := <-slow; !errors.Is(err, storetest.ErrKilled) {
			t.Errorf("a call that was about to be made: %v", err)
		}
		for _, err := range []error{
			second(store.Create(t.Context(), "a", []byte("v"), time.Hour)),
			second(store.Swap(t.Context(), "a", nil, []byte("v"), time.Hour)),
			second(store.Load(t.Context(), "a")),
			second(store.(idem.Clocker).Now(t.Context())),
		} {
			if !errors.Is(err, storetest.ErrKilled) {
				t.Errorf("a dead process made a call: %v", err)
			}
		}
		faults.Wait()
		if !holds(t, m, "late", "v") || holds(t, m, "slow", "v") {
			t.Error("what was sent before the end arrives, what was not does not")
		}
	})
}

func second[T any](_ T, err error) error { return err }

// The clock is a step of its own, whatever the reading is for.
func TestClockIsAStep(t *testing.T) {
	faults := storetest.NewFaults()
	store := faults.Wrap(newModel(flawless, 10))
	_ = faults.Set("clock", storetest.Fault{Mode: storetest.Refuse, Times: 1})
	if _, _, err := idem.StoreClock(step(t, "claim"), store); !errors.Is(err, storetest.ErrInjected) {
		t.Errorf("got %v, want the planned fault", err)
	}
	if _, ok, err := idem.StoreClock(t.Context(), store); !ok || err != nil {
		t.Errorf("afterwards: %v, %v", ok, err)
	}
}

func ExampleFaults() {
	faults := storetest.NewFaults()
	store := faults.Wrap(newModel(flawless, 10))
	_ = faults.Set("claim", storetest.Fault{Mode: storetest.LostReply, Times: 1})

	ctx := idem.WithStoreStep(context.Background(), "claim") // a guard does this
	_, err := store.Create(ctx, "a", []byte("mine"), time.Hour)
	fmt.Println(err)
	r, err := store.Create(ctx, "a", []byte("mine"), time.Hour)
	fmt.Printf("%s, %v\n", r.Value, err)
	fmt.Println(faults.Calls("claim", "Create"), "calls,", faults.Injected("claim", storetest.LostReply), "lost reply")
	// Output:
	// Create for step "claim": lost-reply: storetest: injected fault
	// mine, <nil>
	// 2 calls, 1 lost reply
}
