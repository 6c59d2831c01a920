package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Many operations at once, by the store's own Apply or, where it has none, call
// by call: the caller sees no difference but the time it takes.
var batchStatements = []statement{
	{says: "Apply does each operation as its method alone would", holds: func(s *scene) {
		taken := s.created("taken", []byte("first"), 200*s.unit)
		s.created("swapped", []byte("one"), 200*s.unit)
		own := s.created("own", []byte("mine"), 200*s.unit)
		s.pass(s.unit)
		before := s.moment()
		r := s.apply(s.there,
			idem.Op{Kind: idem.OpCreate, Name: "new", Value: []byte("v"), TTL: 50 * s.unit},
			idem.Op{Kind: idem.OpCreate, Name: "taken", Value: []byte("second"), TTL: 100 * s.unit},
			idem.Op{Kind: idem.OpSwap, Name: "swapped", Old: []byte("one"), Value: []byte("two"), TTL: 50 * s.unit},
			idem.Op{Kind: idem.OpSwap, Name: "own", Old: []byte("never there"), Value: []byte("mine"), TTL: 100 * s.unit},
			idem.Op{Kind: idem.OpSwap, Name: "taken", Old: []byte("firs"), Value: []byte("third"), TTL: 100 * s.unit},
			idem.Op{Kind: idem.OpSwap, Name: "nothing", Old: []byte("one"), Value: []byte("two"), TTL: 100 * s.unit},
			idem.Op{Kind: idem.OpLoad, Name: "taken"},
			idem.Op{Kind: idem.OpLoad, Name: "nothing"},
		)
		after := s.moment()
		sp := span{ttl: 50 * s.unit, before: before, after: after}
		for i, done := range map[int]bool{0: true, 2: true, 3: true, 5: false, 7: false} {
			if r[i].Done != done || r[i].Value != nil || r[i].Left != 0 {
				s.errorf("operation %d: %s, want Done %v and no value", i, result(r[i].Result), done)
			}
		}
		s.isTold(r[1].Result, []byte("first"), taken, before, after)
		s.isTold(r[4].Result, []byte("first"), taken, before, after)
		s.isTold(r[6].Result, []byte("first"), taken, before, after)
		s.leftIs(r[6].Left, taken, before, after)
		s.finds("new", []byte("v"), sp)
		s.finds("swapped", []byte("two"), sp)
		s.finds("taken", []byte("first"), taken)
		s.finds("own", []byte("mine"), own)
		s.findsNothing("nothing")
	}},
	{says: "Apply of a thousand operations answers each in its place", holds: func(s *scene) {
		const many = 1000
		order := rand.Perm(many)
		creates, loads := make([]idem.Op, many), make([]idem.Op, many)
		for i, n := range order {
			name := fmt.Sprintf("n%d", n)
			creates[i] = idem.Op{Kind: idem.OpCreate, Name: name, Value: []byte(name), TTL: time.Hour}
			loads[many-1-i] = idem.Op{Kind: idem.OpLoad, Name: name}
		}
		for i, r := range s.apply(s.here, creates...) {
			if !r.Done {
				s.fatalf("Create %d of %d: %s, want Done", i, many, result(r.Result))
			}
		}
		for i, r := range s.apply(s.there, loads...) {
			if string(r.Value) != loads[i].Name || r.Left <= 0 {
				s.fatalf("Load %d of %d, of %q: %s", i, many, loads[i].Name, result(r.Result))
			}
		}
		for i, r := range s.apply(s.there, creates...) {
			if r.Done || string(r.Value) != creates[i].Name {
				s.fatalf("Create %d of %d once more: %s, want to be told of %q", i, many, result(r.Result), creates[i].Name)
			}
		}
	}},
	{says: "Apply does operations on one name in the order given", holds: func(s *scene) {
		var ops []idem.Op
		const names, steps = 7, 20
		for n := range names {
			ops = append(ops, idem.Op{Kind: idem.OpCreate, Name: fmt.Sprint("n", n), Value: []byte("0"), TTL: time.Hour})
		}
		for step := range steps {
			for n := range names {
				name := fmt.Sprint("n", n)
				ops = append(ops,
					idem.Op{Kind: idem.OpSwap, Name: name, Old: fmt.Append(nil, step), Value: fmt.Append(nil, step+1), TTL: time.Hour},
					idem.Op{Kind: idem.OpLoad, Name: name})
			}
		}
		for i, r := range s.apply(s.here, ops...) {
			step := (i - names) / (2 * names)
			switch {
			case ops[i].Kind != idem.OpLoad && !r.Done:
				s.fatalf("write %d: %s, want Done: those before it on its name come first", i, result(r.Result))
			case ops[i].Kind == idem.OpLoad && string(r.Value) != fmt.Sprint(step+1):
				s.fatalf("Load %d: %s, want what the Swap before it wrote, %d", i, result(r.Result), step+1)
			}
		}
	}},
	{says: "in an Apply an operation that fails fails alone", holds: func(s *scene) {
		ctx, cancel := callContext()
		defer cancel()
		longer := noise(s.maxValue() + 1)
		r := idem.Apply(ctx, s.here, []idem.Op{
			{Kind: idem.OpCreate, Name: "a", Value: []byte("v"), TTL: time.Hour},
			{Kind: idem.OpCreate, Name: "too long", Value: longer, TTL: time.Hour},
			{Kind: idem.OpSwap, Name: "a", Old: []byte("v"), Value: longer, TTL: time.Hour},
			{Kind: idem.OpSwap, Name: "a", Old: []byte("v"), Value: []byte("w"), TTL: time.Hour},
			{Kind: idem.OpCreate, Name: "no life", Value: []byte("v")},
			{Kind: idem.OpLoad, Name: "a"},
		})
		if len(r) != 6 {
			s.fatalf("6 operations have %d answers", len(r))
		}
		for i, fails := range []bool{false, true, true, false, true, false} {
			if (r[i].Err != nil) != fails || fails && (r[i].Done || r[i].Value != nil) {
				s.errorf("operation %d: %s, error %v; want an error and nothing else: %v", i, result(r[i].Result), r[i].Err, fails)
			}
		}
		if string(r[5].Value) != "w" {
			s.errorf("behind the two that fail there is %s, want what the Swap between them wrote", result(r[5].Result))
		}
		s.findsNothing("too long")
		s.findsNothing("no life")
	}},
	{says: "Apply of nothing answers nothing", holds: func(s *scene) {
		for _, ops := range [][]idem.Op{nil, {}} {
			if r := s.apply(s.here, ops...); len(r) != 0 {
				s.errorf("no operation has %d answers", len(r))
			}
		}
	}},
	{says: "slices in an Apply are not kept, and those out of it belong to the caller", holds: func(s *scene) {
		value, old, next := []byte("handed in"), []byte("old"), []byte("next")
		s.created("swapped", []byte("old"), time.Hour)
		ops := []idem.Op{
			{Kind: idem.OpCreate, Name: "a", Value: value, TTL: time.Hour},
			{Kind: idem.OpSwap, Name: "swapped", Old: old, Value: next, TTL: time.Hour},
		}
		s.apply(s.here, ops...)
		s.unchanged("Apply", value, []byte("handed in"))
		s.unchanged("Apply", old, []byte("old"))
		s.unchanged("Apply", next, []byte("next"))
		scribble(value)
		scribble(next)
		for range 2 {
			r := s.apply(s.there, idem.Op{Kind: idem.OpLoad, Name: "a"}, idem.Op{Kind: idem.OpLoad, Name: "swapped"},
				idem.Op{Kind: idem.OpCreate, Name: "a", TTL: time.Hour})
			for i, want := range []string{"handed in", "next", "handed in"} {
				if string(r[i].Value) != want {
					s.errorf("answer %d is %s, want %q", i, result(r[i].Result), want)
				}
				scribble(r[i].Value)
				_ = append(r[i].Value, "and beyond"...)
			}
		}
	}},
	{says: "in an Apply whose context is over every operation is an error", holds: func(s *scene) {
		s.created("taken", []byte("v"), 100*s.unit)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		for i, r := range idem.Apply(over, s.here, manyOps()) {
			if r.Err == nil || r.Done || r.Value != nil {
				s.errorf("operation %d: %s, error %v", i, result(r.Result), r.Err)
			}
		}
	}},
	{says: "of many Applies at once exactly one wins each name", holds: func(s *scene) {
		const callers, names = 24, 40
		won := make([]int, names)
		var mu sync.Mutex
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				ops := make([]idem.Op, names)
				order := rand.Perm(names)
				for i, n := range order {
					ops[i] = idem.Op{Kind: idem.OpCreate, Name: fmt.Sprint("n", n), Value: fmt.Append(nil, caller), TTL: time.Hour}
				}
				ctx, cancel := callContext()
				defer cancel()
				for i, r := range idem.Apply(ctx, []idem.Store{s.here, s.there}[caller%2], ops) {
					if r.Err != nil {
						s.errorf("caller %d: %v", caller, r.Err)
					} else if r.Done {
						mu.Lock()
						won[order[i]]++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		for n, wins := range won {
			if wins != 1 {
				s.errorf("name %d was won by %d of %d callers", n, wins, callers)
			}
		}
	}},
	{says: "an Apply of a silent store is given up on soon after the deadline", needs: needsWire, holds: func(s *scene) {
		s.created("taken", []byte("v"), 1000*s.unit)
		s.apply(s.here, manyOps()...)
		resume := s.Wire.Stall()
		took := givesUp(func(ctx context.Context) {
			for i, r := range idem.Apply(ctx, s.here, manyOps()) {
				if r.Err == nil {
					s.errorf("operation %d on a silent store: %s, want an error", i, result(r.Result))
				}
			}
		})
		resume()
		if took > 0 {
			s.errorf("with a deadline of %v it took %v", silentFor, took)
		}
		s.answersAgain()
	}},
	{says: "in an Apply a lost reply is an error, and no operation is made twice", needs: needsWire, holds: func(s *scene) {
		s.created("taken", []byte("v"), 1000*s.unit)
		s.apply(s.here, manyOps()...) // once undisturbed: what a handle learns at first use is no repeat
		var ops []idem.Op
		for i := range 10 {
			ops = append(ops, idem.Op{Kind: idem.OpCreate, Name: fmt.Sprint("lost", i), Value: []byte("v"), TTL: time.Hour})
		}
		calls := s.Wire.Calls()
		s.Wire.Lose()
		ctx, cancel := callContext()
		defer cancel()
		results := idem.Apply(ctx, s.here, ops)
		if made := s.Wire.Calls() - calls; made > len(ops) {
			s.errorf("%d operations reached the store as %d calls", len(ops), made)
		}
		unknown := 0
		for i, r := range results {
			switch there, _, _ := s.load(s.there, ops[i].Name); {
			case r.Err != nil:
				unknown++
				if r.Done || r.Value != nil {
					s.errorf("operation %d told %s beside its error", i, result(r.Result))
				}
			case !r.Done || !bytes.Equal(there.Value, []byte("v")):
				s.errorf("operation %d answered %s, while there is %s", i, result(r.Result), result(there))
			}
		}
		if unknown == 0 {
			s.errorf("a reply was lost, and no operation is an error")
		}
	}},
}

// manyOps is one operation of each kind, on names of its own and "taken".
func manyOps() []idem.Op {
	return []idem.Op{
		{Kind: idem.OpLoad, Name: "taken"},
		{Kind: idem.OpCreate, Name: "taken", Value: []byte("w"), TTL: time.Hour},
		{Kind: idem.OpSwap, Name: "taken", Old: []byte("nothing like it"), Value: []byte("w"), TTL: time.Hour},
		{Kind: idem.OpCreate, Name: "also taken", Value: []byte("v"), TTL: time.Hour},
	}
}

// apply does operations none of which may fail.
func (s *scene) apply(h idem.Store, ops ...idem.Op) []idem.OpResult {
	ctx, cancel := callContext()
	defer cancel()
	results := idem.Apply(ctx, h, ops)
	if len(results) != len(ops) {
		s.fatalf("%d operations have %d answers", len(ops), len(results))
	}
	for i, r := range results {
		if r.Err != nil {
			s.fatalf("operation %d on %q: %v", i, ops[i].Name, r.Err)
		}
	}
	return results
}
