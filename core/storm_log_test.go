package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// What a storm writes down, and what it makes of it.

// stormLog is what became of one key.
type stormLog struct {
	operation, key            string
	runs, releases, unguarded int
	forces                    int
	active                    int
	done                      string // why nothing may run any more
	fence, doneAt             uint64
	fences                    map[uint64]bool
	answers                   map[string]bool
}

// stormRun is one run of a key, and what is left of it.
type stormRun struct {
	*stormLog
	s          *storm
	ctx        context.Context
	claim      *idem.Claim // where the handler kept it
	fence      uint64
	downstream string
	forced     bool
	recorded   bool
	stopped    bool // its context had ended when it returned
	undone     bool
	over       bool // its caller has the answer
}

func (s *storm) wrong(l *stormLog, format string, args ...any) {
	s.t.Errorf("%s, key %s: "+format, append([]any{l.operation, l.key}, args...)...)
}

func (s *storm) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[what]++
}

// log is that of a key. s.mu is held.
func (s *storm) log(operation, key string) *stormLog {
	at := operation + " " + key
	if s.logs[at] == nil {
		s.logs[at] = &stormLog{operation: operation, key: key, answers: map[string]bool{}, fences: map[uint64]bool{}}
	}
	return s.logs[at]
}

// begins takes down a run that begins.
func (s *storm) begins(ctx context.Context, in idem.Intent) *stormRun {
	r := &stormRun{s: s, ctx: ctx, fence: idem.Fence(ctx), forced: in.Force, recorded: idem.Recorded(ctx)}
	r.downstream, _ = idem.DownstreamKey(ctx, "bank")
	s.mu.Lock()
	defer s.mu.Unlock()
	r.stormLog = s.log(in.Operation, in.Key)
	l := r.stormLog
	if !r.recorded {
		l.unguarded++
		return r
	}
	if l.runs++; r.forced {
		l.forces++
		return r
	}
	strict := l.operation == "storm:hold:run" || l.operation == "storm:cancel:run"
	switch {
	case l.done != "" && (strict || l.operation == "storm:retake:run" && r.fence > l.doneAt): // a zombie of before may only now be told that it won
		s.wrong(l, "it runs again, and %s", l.done)
	case strict && l.active > 0:
		s.wrong(l, "it runs twice at once")
	case strict && r.fence <= l.fence || l.fences[r.fence]:
		s.wrong(l, "its fence fell from %d to %d", l.fence, r.fence)
	}
	l.fences[r.fence] = true
	l.active++
	l.fence = max(l.fence, r.fence)
	return r
}

// marks is the point of no return, which may fail.
func (r *stormRun) marks() error {
	err := idem.MarkEffects(r.ctx, "note of "+r.key)
	if err == nil && r.recorded && !r.forced {
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		r.done, r.doneAt = "its effects were marked", max(r.doneAt, r.fence)
	}
	return err
}

// returns takes down a run that ends with an answer or an error.
func (r *stormRun) returns(err error) ([]byte, error) {
	answer := fmt.Sprintf("%s|%s|%d|%p", r.operation, r.key, r.fence, r)
	if got := idem.Fence(r.ctx); got != r.fence {
		r.s.wrong(r.stormLog, "its fence is %d and was %d", got, r.fence)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.stopped = r.ctx.Err() != nil
	var undone interface{ Unwrap() error }
	r.undone = errors.As(err, &undone) && idem.Cause(err) != err
	if r.undone && r.done == "its effects were marked" {
		r.done = ""
	}
	if r.recorded && !r.forced {
		r.active--
	}
	if err == nil {
		r.answers[answer] = true
	}
	return []byte(answer), err
}

// ends takes down what the caller was told of a run.
func (r *stormRun) ends(v idem.Verdict, returned error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.over = true
	switch {
	case !r.recorded || r.forced:
	case v == idem.Released:
		if r.stopped && !r.undone && !errors.Is(returned, idem.ErrClaimLost) && !errors.Is(returned, idem.ErrUnavailable) {
			r.s.wrong(r.stormLog, "it was stopped half-way, and released")
		}
	case r.operation == "storm:retake:run": // a settle that is still on its way may find another's claim (PROTOCOL P8)
	case v == idem.Executed && returned == nil:
		r.done = "its answer is kept"
	case v == idem.Uncertain && r.done == "":
		r.done = "it is in doubt"
	}
	if v == idem.Released {
		r.releases++
	}
	if len(r.s.old) < 400 {
		r.s.old = append(r.s.old, r)
	} else {
		r.s.old[rand.IntN(400)] = r
	}
}

// answered checks an answer and spoils it, as its receiver may.
func (s *storm) answered(in idem.Intent, got []byte, v idem.Verdict, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[v.String()]++
	if v == 0 && err == nil {
		s.t.Error("a request ended without a verdict")
	}
	if v == idem.Replayed && (err != nil || !s.log(in.Operation, in.Key).answers[string(got)]) {
		s.wrong(s.log(in.Operation, in.Key), "replayed %q, %v", got, err)
	}
	clear(got)
}

// check is what has to hold of every key when all is over.
func (s *storm) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logs {
		most := 1 + l.releases + l.forces
		if strings.HasPrefix(l.operation, "storm:open") {
			most += l.unguarded
		}
		if l.runs > most && l.operation != "storm:retake:run" {
			s.wrong(l, "I9: %d runs, with %d releases, %d forces and %d without a record", l.runs, l.releases, l.forces, l.unguarded)
		}
	}
}
