package storetest

import (
	"time"

	idem "github.com/go-idem/idem/core"
)

var abilityStatements = []statement{
	{says: "a declared ability is there, an undeclared one is not", holds: func(s *scene) {
		for _, h := range []idem.Store{s.here, s.there} {
			s.declared("Clocker", s.Clock, told[idem.Clocker](h))
			s.declared("Describer", s.Describes, told[idem.Describer](h))
			_, batches := h.(idem.Batcher)
			s.declared("Batcher", s.Batches, batches)
			s.declared("Watcher", s.Watches, watches(h))
		}
	}},
	{says: "the description is the one declared", holds: func(s *scene) {
		d := idem.Describe(s.here)
		if d.Local != s.Local {
			s.errorf("Local is %v, declared %v", d.Local, s.Local)
		}
		if d.MaxValue != s.maxValue() {
			s.errorf("MaxValue is %d, declared %d", d.MaxValue, s.maxValue())
		}
		if d.Name == "" || d.WorstCall <= 0 {
			s.errorf("a store has a name and a worst call, got %+v", d)
		}
	}},
	{says: "the clock goes on and judges the expiries", needs: needsClock, holds: func(s *scene) {
		before := s.now(s.here)
		sp := s.created("a", []byte("v"), s.unit)
		s.gone("a", sp)
		after := s.now(s.there)
		if went := after.Sub(before); went < s.unit {
			s.errorf("a value of %v expired while the clock went on by %v", s.unit, went)
		}
	}},
	{says: "a clock that is moved moves", needs: needsAdvance, holds: func(s *scene) {
		if !s.Clock {
			return
		}
		before := s.now(s.here)
		s.pass(time.Hour)
		if went := s.now(s.there).Sub(before); went < time.Hour {
			s.errorf("moved on by an hour, the clock went on by %v", went)
		}
	}},
}

// told tells whether a store has an ability that is also found behind a
// decorator, see [idem.Decorator].
func told[T any](h idem.Store) bool {
	for h != nil {
		if _, ok := h.(T); ok {
			return true
		}
		d, ok := h.(idem.Decorator)
		if !ok {
			return false
		}
		h = d.Unwrap()
	}
	return false
}

func (s *scene) declared(ability string, declared, there bool) {
	switch {
	case declared && !there:
		s.errorf("%s is declared and not there", ability)
	case !declared && there:
		s.errorf("%s is there and not declared", ability)
	}
}

func (s *scene) now(h idem.Store) time.Time {
	ctx, cancel := callContext()
	defer cancel()
	now, ok, err := idem.StoreClock(ctx, h)
	if err != nil || !ok {
		s.fatalf("Now: told %v, %v", ok, err)
	}
	return now
}

func needsClock(f Factory, _ *Backend) string {
	if !f.Clock {
		return "the store declares no clock"
	}
	return ""
}

func needsAdvance(_ Factory, b *Backend) string {
	if b.Advance == nil {
		return "the store's clock cannot be moved"
	}
	return ""
}

func needsWire(_ Factory, b *Backend) string {
	if b.Wire == nil {
		return "there is no wire to disturb"
	}
	return ""
}
