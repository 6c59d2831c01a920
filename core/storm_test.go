package idem_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// A storm is everything at once, in real time: two guards over a store that fails,
// many goroutines, few keys, all ways in, and handlers that do with their context
// what they should not. What it checks is a log of the runs themselves.
type storm struct {
	t    *testing.T
	keys atomic.Int64 // moves on, so that there are always new ones
	on   atomic.Bool  // the store fails now and then

	mu   sync.Mutex
	logs map[string]*stormLog // by operation and key
	old  []*stormRun          // contexts that were kept
	seen map[string]int       // what happened how often
}

// late does with the context of a run that is over what its handler left behind.
func (s *storm) late(rng *rand.Rand) {
	s.mu.Lock()
	if len(s.old) == 0 {
		s.mu.Unlock()
		return
	}
	r := s.old[rng.IntN(len(s.old))]
	s.mu.Unlock()
	if err := idem.MarkEffects(r.ctx); err == nil && r.recorded {
		s.wrong(r.stormLog, "it is over, and was marked")
	}
	if err := idem.Note(r.ctx, "late"); !errors.Is(err, idem.ErrNoClaim) {
		s.wrong(r.stormLog, "it is over, and took a note: %v", err)
	}
	key, ok := idem.DownstreamKey(r.ctx, "bank")
	if !ok || key != r.downstream || idem.Fence(r.ctx) != r.fence || r.ctx.Err() == nil {
		s.wrong(r.stormLog, "its context speaks of another run: %v, fence %d (%d), %v", key == r.downstream, idem.Fence(r.ctx), r.fence, r.ctx.Err())
	}
	c, _ := idem.ClaimFrom(r.ctx)
	if r.claim != nil && c != r.claim {
		s.wrong(r.stormLog, "its claim is another")
	}
	if err := c.Complete(context.Background(), idem.Payload{Bytes: []byte("late")}); !errors.Is(err, idem.ErrNoClaim) {
		s.wrong(r.stormLog, "it is over, and was completed: %v", err)
	}
	s.count("late")
}

// handler is what a run does.
func (s *storm) handler(rng *rand.Rand, in idem.Intent, ran **stormRun) func(ctx context.Context) ([]byte, error) {
	does, takes, kept, doubts := rng.IntN(12), time.Duration(rng.IntN(3000))*time.Microsecond, rng.IntN(4) == 0, rng.IntN(2) == 0
	return func(ctx context.Context) ([]byte, error) {
		r := s.begins(ctx, in)
		*ran = r
		if kept {
			r.claim, _ = idem.ClaimFrom(ctx)
		}
		wait := func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
		}
		switch does {
		case 0: // refused, without effect
			return r.returns(errNoEffect)
		case 1:
			wait(takes)
			return r.returns(errNoEffect)
		case 2, 3:
			if err := r.marks(); err != nil {
				return r.returns(err)
			}
			wait(takes)
			if doubts {
				return r.returns(errNoEffect) // in doubt, for it was marked
			}
		case 4:
			if r.marks() == nil {
				return r.returns(idem.NoEffects(errNoEffect))
			}
			return r.returns(idem.NoEffects(errNoEffect))
		case 5: // a run past its MaxRun, now and then deaf
			if s.rare() {
				s.count("overrun")
				if doubts {
					<-ctx.Done()
				} else {
					<-time.After(350 * time.Millisecond)
				}
			}
		case 6: // somebody else marks and looks while it runs
			var beside sync.WaitGroup
			beside.Go(func() { _ = idem.Note(ctx, "beside") })
			beside.Go(func() { _ = ctx.Err(); _ = r.marks() })
			beside.Wait()
		case 7: // it is left to a goroutine that outlives it
			left := time.After(takes)
			go func() {
				<-left
				_ = idem.Fence(ctx)
				_, _ = idem.ClaimFrom(ctx)
				<-ctx.Done()
			}()
		case 8: // it settles by itself
			c, _ := idem.ClaimFrom(ctx)
			answer, _ := r.returns(nil)
			kept := bytes.Clone(answer)
			go func() { _ = c.Complete(context.Background(), idem.Payload{Bytes: kept}) }()
			return answer, nil
		default:
			if takes > 1500*time.Microsecond {
				wait(takes)
			}
		}
		return r.returns(nil)
	}
}

// rare keeps what is slow from being all that happens.
func (s *storm) rare() bool { return rand.IntN(12) == 0 }

func (s *storm) intent(rng *rand.Rand, operation string) idem.Intent {
	key := s.keys.Add(1)/60 + rng.Int64N(4)
	return idem.Intent{Operation: operation, Scope: "alice", Key: fmt.Sprint(key), Fingerprint: idem.Fingerprint{Version: 1}, Force: rng.IntN(8) == 0 && operation == "storm:force:run"}
}

// request is one request, by one of the ways in.
func (s *storm) request(rng *rand.Rand, g *idem.Guard) {
	ctx := context.Background()
	if rng.IntN(3) == 0 {
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, time.Duration(rng.IntN(20_000))*time.Microsecond)
		defer leave()
	}
	in := s.intent(rng, stormOperations[rng.IntN(len(stormOperations))])
	switch rng.IntN(10) {
	case 0:
		s.batch(ctx, rng, g, in.Operation)
	case 1:
		s.byHand(ctx, rng, g, in)
	case 2:
		s.late(rng)
	case 3:
		s.resolves(ctx, g, in)
	default:
		var ran *stormRun
		var returned error
		run := s.handler(rng, in, &ran)
		panics := rng.IntN(20) == 0
		got, v, err := func() (got []byte, v idem.Verdict, err error) {
			defer func() { _ = recover() }()
			return idem.Do(ctx, g, in, idem.Codec[[]byte](bytesCodec{}), func(ctx context.Context) ([]byte, error) {
				if panics { // before there was any effect
					ran = s.begins(ctx, in)
					_, returned = ran.returns(errNoEffect)
					panic("a handler's")
				}
				v, err := run(ctx)
				returned = err
				return v, err
			})
		}()
		if ran != nil {
			if panics && v == 0 {
				c, _ := idem.ClaimFrom(ran.ctx)
				v = c.Verdict()
			}
			ran.ends(v, returned)
		}
		s.answered(in, got, v, err)
	}
}

// byHand claims and ends.
func (s *storm) byHand(ctx context.Context, rng *rand.Rand, g *idem.Guard, in idem.Intent) {
	c, err := g.Claim(ctx, in)
	if c == nil || !c.Won() {
		if c != nil {
			kept, _ := c.Kept()
			s.answered(in, kept.Bytes, c.Verdict(), err)
		}
		return
	}
	r := s.begins(c.Context(), in)
	r.claim = c
	switch rng.IntN(4) {
	case 0:
		_, err = r.returns(errNoEffect)
		_ = c.Release(ctx)
	case 1:
		_, err = r.returns(errNoEffect)
		_ = c.Doubt(ctx)
	case 2:
		_, err = r.returns(errNoEffect)
		c.End(ctx)
	default:
		var answer []byte
		answer, err = r.returns(nil)
		_ = c.Complete(ctx, idem.Payload{Bytes: answer})
		clear(answer)
	}
	r.ends(c.Verdict(), err)
}

// batch is many keys at once, one of them twice.
func (s *storm) batch(ctx context.Context, rng *rand.Rand, g *idem.Guard, operation string) {
	var intents []idem.Intent
	for range 3 {
		in := s.intent(rng, operation)
		in.Force = false
		intents = append(intents, in)
	}
	intents = append(intents, intents[0])
	var options []idem.BatchOption
	if rng.IntN(2) == 0 {
		options = append(options, idem.Atomic())
	}
	runs, errs := map[int]*stormRun{}, map[int]error{}
	fails, marks := rng.IntN(3) == 0, rng.IntN(3) == 0
	answers, err := idem.DoBatch(ctx, g, intents, idem.Codec[[]byte](bytesCodec{}), func(ctx context.Context, won []idem.Item) (list []idem.Answer[[]byte]) {
		for _, at := range won {
			runs[at.Index] = s.begins(at.Claim.Context(), intents[at.Index])
		}
		var failed error
		if marks {
			failed = idem.MarkEffects(ctx)
		} else if fails {
			failed = errNoEffect
		}
		for _, at := range won {
			v, err := runs[at.Index].returns(failed)
			errs[at.Index] = err
			list = append(list, idem.Answer[[]byte]{Value: v, Err: err})
		}
		return list
	}, options...)
	if err != nil {
		return
	}
	for i, r := range runs {
		r.ends(answers[i].Verdict, errs[i])
	}
	for i, a := range answers {
		first := slices.IndexFunc(intents, func(in idem.Intent) bool { return in.Key == intents[i].Key })
		if runs[i] == nil && first == i { // those of one key share their bytes
			s.answered(intents[i], a.Value, a.Verdict, a.Err)
		}
	}
}

// resolves settles a held record for its owner, as an operator does.
func (s *storm) resolves(ctx context.Context, g *idem.Guard, in idem.Intent) {
	r, err := g.Record(ctx, g.RecordName(in.Operation, in.Scope, idem.KindKey, in.Key))
	if held, after := r.Held(); err != nil || !held || after > 0 {
		return
	}
	answer := "resolved " + in.Key
	s.mu.Lock()
	s.log(in.Operation, in.Key).answers[answer] = true
	s.mu.Unlock()
	if _, err := g.Resolve(ctx, r, idem.Resolution{Outcome: idem.Completes, Payload: idem.Payload{Bytes: []byte(answer)}}, idem.By{Actor: "storm"}); err == nil {
		s.count("resolved")
	}
}

func runStorm(t *testing.T, seed uint64, lasts time.Duration) map[string]int {
	s := &storm{t: t, logs: map[string]*stormLog{}, seen: map[string]int{}}
	s.keys.Store(int64(seed) << 32)
	store := &roughStore{Store: memstore.New(memstore.Options{}), storm: s}
	var guards []*idem.Guard
	for i := range 2 {
		guards = append(guards, stormGuard(t, s, store, i == 1))
	}
	s.on.Store(true)
	until := time.Now().Add(lasts)
	var all sync.WaitGroup
	for n := range 16 {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		all.Go(func() {
			for time.Now().Before(until) && !t.Failed() {
				s.request(rng, guards[rng.IntN(2)])
			}
		})
	}
	all.Wait()
	s.on.Store(false)
	for i, g := range guards {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		if err := g.Close(ctx); err != nil {
			t.Errorf("guard %d: %v", i, err)
		}
		stop()
	}
	store.late.Wait()
	s.check()
	return s.seen
}

// Given everything at once, a key runs once, save where it was released or somebody
// chose so in writing; every answer is that of its key, and a context that was kept
// reaches no run but its own. IDEM_DRILL=1 goes on for ten minutes.
//
// Faults: 9, 10, 21.
func TestI1_NothingIsMixedUpInAStorm(t *testing.T) {
	seeds, lasts := uint64(2), 800*time.Millisecond
	if os.Getenv("IDEM_DRILL") != "" {
		seeds, lasts = 120, 5*time.Second
	}
	all := map[string]int{}
	for seed := range seeds {
		for what, n := range runStorm(t, seed, lasts) {
			all[what] += n
		}
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, all)
		}
	}
	t.Logf("%d storms of %v: %v", seeds, lasts, all)
	for _, what := range []string{"executed", "replayed", "released", "uncertain", "in-flight", "late", "faults"} {
		if all[what] == 0 {
			t.Errorf("nothing was %s: too little happened for this to show anything", what)
		}
	}
}
