package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

func creates(names ...string) []idem.Op {
	ops := make([]idem.Op, len(names))
	for i, name := range names {
		ops[i] = idem.Op{Kind: idem.OpCreate, Name: name, Value: []byte("v"), TTL: time.Hour}
	}
	return ops
}

// Each operation of an Apply meets a fault of its own; the others are done.
func TestFaultsHitOperationsOfAnApply(t *testing.T) {
	for _, c := range []struct {
		mode    storetest.Mode
		failed  []string // the operations that the caller sees fail, of a, b, c, d
		applied []string // when the caller has its answers
		takes   time.Duration
	}{
		{storetest.Refuse, []string{"b"}, []string{"a", "c", "d"}, 0},
		{storetest.Timeout, []string{"b"}, []string{"a", "c", "d"}, 2 * time.Second},
		{storetest.Slow, nil, []string{"a", "b", "c", "d"}, 2 * time.Second},
		{storetest.LostReply, []string{"b"}, []string{"a", "b", "c", "d"}, 0},
		{storetest.Late, []string{"b"}, []string{"a", "c", "d"}, 0},
		{storetest.CutOff, []string{"b", "c", "d"}, []string{"a", "b", "c", "d"}, 0},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults, m := storetest.NewFaults(), newModel(flawless, 100)
				store := faults.Wrap(m)
				ops := creates("a", "b", "c", "d")
				ops[1].Step = "bury" // the others are of the context's step
				_ = faults.Set("bury", storetest.Fault{Mode: c.mode, Times: 1, Delay: 2 * time.Second})
				start := time.Now()
				results := idem.Apply(step(t, "claim"), store, ops)
				if took := time.Since(start); took != c.takes {
					t.Errorf("took %v, want %v", took, c.takes)
				}
				for i, op := range ops {
					fails := slices.Contains(c.failed, op.Name)
					if (results[i].Err != nil) != fails || results[i].Done == fails {
						t.Errorf("%s: %+v", op.Name, results[i])
					}
					if fails && !errors.Is(results[i].Err, storetest.ErrInjected) {
						t.Errorf("%s: the error does not say that it was injected: %v", op.Name, results[i].Err)
					}
					if got, want := holds(t, m, op.Name, "v"), slices.Contains(c.applied, op.Name); got != want {
						t.Errorf("%s: applied %v, want %v", op.Name, got, want)
					}
				}
				faults.Wait()
				if c.mode == storetest.Late && !holds(t, m, "b", "v") {
					t.Error("what was late did not arrive")
				}
				if claims, buries, trips := faults.Calls("claim", "Create"), faults.Calls("bury", "Create"), faults.Trips(); claims != 3 || buries != 1 || trips != 1 {
					t.Errorf("counted %d claims, %d burials, %d trips, want 3, 1, 1", claims, buries, trips)
				}
			})
		})
	}
}

// A pipeline that is slow is slow as a whole: a caller who gives up has applied
// nothing of it.
func TestASlowApplyHonoursTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, m := storetest.NewFaults(), newModel(flawless, 100)
		_ = faults.Set("", storetest.Fault{Mode: storetest.Slow, Times: 1, Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		for i, r := range idem.Apply(ctx, faults.Wrap(m), creates("a", "b")) {
			if !errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("operation %d: %+v, want the deadline's error", i, r)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want the second of the deadline", took)
		}
		if holds(t, m, "a", "v") || holds(t, m, "b", "v") {
			t.Error("applied, though the caller had given up")
		}
	})
}

// A killed process applies nothing.
func TestKillEndsApply(t *testing.T) {
	faults, m := storetest.NewFaults(), newModel(flawless, 100)
	store := faults.Wrap(m)
	faults.Kill()
	for _, r := range idem.Apply(t.Context(), store, creates("a", "b")) {
		if !errors.Is(r.Err, storetest.ErrKilled) {
			t.Errorf("a dead process made a call: %+v", r)
		}
	}
	if holds(t, m, "a", "v") {
		t.Error("a dead process wrote")
	}
}

func ExampleFaults_Trips() {
	faults := storetest.NewFaults()
	store := faults.Wrap(newModel(flawless, 100))
	_ = faults.Set("", storetest.Fault{Mode: storetest.CutOff, Times: 1})

	for _, r := range idem.Apply(context.Background(), store, creates("a", "b", "c")) {
		fmt.Println(r.Done, r.Err != nil)
	}
	for _, r := range idem.Apply(context.Background(), store, creates("a", "b", "c")) {
		fmt.Printf("%s\n", r.Value)
	}
	fmt.Println(faults.Calls("", "Create"), "calls in", faults.Trips(), "trips")
	// Output:
	// false true
	// false true
	// false true
	// v
	// v
	// v
	// 6 calls in 2 trips
}
