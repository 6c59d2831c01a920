package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/memstore"
)

// ledger is what really ran in a drill.
type ledger struct {
	mu      sync.Mutex
	running map[string]int
	effects map[string]int
	whole   int // all-or-nothing batches that ran
	refused int // and that did not
}

// Given eight processes and batches that overlap at random, each by itself or all
// or nothing, with replies that get lost: no item has its effect twice or runs
// beside itself, an all-or-nothing batch runs whole or not at all, nobody waits
// beyond the policy's Wait, and no claim is left behind. IDEM_DRILL=1 plays
// 10,000 batches.
func TestStatement34_OverlappingBatches(t *testing.T) {
	rounds, each := 4, 50
	if os.Getenv("IDEM_DRILL") != "" {
		rounds, each = 40, 250
	}
	batches, whole, refused := 0, 0, 0
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{running: map[string]int{}, effects: map[string]int{}}
			overlap(t, l, uint64(seed), each)
			batches, whole, refused = batches+each, whole+l.whole, refused+l.refused
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d batches: %d all-or-nothing ones ran, %d were refused", batches, whole, refused)
	if whole < batches/20 || refused < batches/20 {
		t.Error("too little met for this to show anything")
	}
}

func overlap(t *testing.T, l *ledger, seed uint64, batches int) {
	const processes, wait = 8, 2 * time.Second
	store := memstore.New(memstore.Options{})
	var guards []*idem.Guard
	var plans []*storetest.Faults
	for i := range processes {
		g, faults := batchGuard(t, store, waits)
		faults.Seed(seed<<8 | uint64(i))
		for _, mode := range []storetest.Mode{storetest.LostReply, storetest.Refuse, storetest.CutOff} {
			_ = faults.Set([]string{"claim", "renew", "settle"}[i%3], storetest.Fault{Mode: mode, Times: -1, Chance: 0.02})
		}
		guards, plans = append(guards, g), append(plans, faults)
	}
	rng := rand.New(rand.NewPCG(seed, 34))
	keys := byName(3 * batches)
	var all sync.WaitGroup
	for n := range batches {
		var chosen []string
		from := rng.IntN(len(keys) - 12)
		for _, i := range rng.Perm(12)[:1+rng.IntN(8)] {
			chosen = append(chosen, keys[from+i])
		}
		at, takes, atomic := time.Duration(rng.IntN(20_000))*time.Millisecond, time.Duration(rng.IntN(1500))*time.Millisecond, rng.IntN(2) == 0
		fails := rng.IntN(6) == 0
		all.Go(func() {
			<-time.After(at)
			start := time.Now()
			l.batch(t, guards[n%processes], chosen, takes, atomic, fails)
			if took := time.Since(start); took > takes+2*wait+2*time.Second {
				t.Errorf("a batch took %v of which the run %v", took, takes)
			}
		})
	}
	all.Wait()
	for _, faults := range plans {
		faults.Clear()
	}
	<-time.After(time.Minute)
	for _, key := range keys {
		if st, err := guards[0].Status(context.Background(), batchIntent(key)); err != nil || st.State == idem.StateProcessing || st.State == idem.StateUncertain {
			t.Errorf("%s is left %s, %v", key, st.State, err)
		}
		if l.effects[key] > 1 {
			t.Errorf("%s had its effect %d times", key, l.effects[key])
		}
	}
	for i, g := range guards {
		if st := g.Stats(); st.Pending != 0 || st.Unknown != st.Mended {
			t.Errorf("process %d left undone: %+v", i, st)
		}
	}
}

// batch is one batch: what it runs it holds alone.
func (l *ledger) batch(t *testing.T, g *idem.Guard, keys []string, takes time.Duration, atomic, fails bool) {
	var options []idem.BatchOption
	if atomic {
		options = append(options, idem.Atomic())
	}
	ran := 0
	answers, err := idem.DoBatch(context.Background(), g, batchOf(keys...), idem.JSON[int](), func(_ context.Context, won []idem.Item) []idem.Answer[int] {
		ran = len(won)
		list := make([]idem.Answer[int], len(won))
		for _, at := range won {
			l.mu.Lock()
			if l.running[keys[at.Index]]++; l.running[keys[at.Index]] > 1 {
				t.Errorf("%s runs beside itself", keys[at.Index])
			}
			l.mu.Unlock()
		}
		<-time.After(takes)
		for i, at := range won {
			l.mu.Lock()
			l.running[keys[at.Index]]--
			if fails {
				list[i].Err = errors.New("undone")
			} else {
				l.effects[keys[at.Index]]++
			}
			l.mu.Unlock()
		}
		return list
	}, options...)
	if err != nil || len(answers) != len(keys) {
		t.Errorf("%d answers for %d items, %v", len(answers), len(keys), err)
	}
	if !atomic {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch ran {
	case len(keys):
		l.whole++
	case 0:
		l.refused++
	default:
		t.Errorf("of %d items that are all or nothing %d ran: %v", len(keys), ran, fmt.Sprint(verdicts(answers)))
	}
}
