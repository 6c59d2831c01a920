package storetest_test

import (
	"context"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

func TestStoreThatKeepsTheContractPasses(t *testing.T) {
	storetest.Run(t, factory(flawless))
}

func TestFaultDecoratorWithoutFaultsPasses(t *testing.T) {
	f := factory(flawless)
	f.New, f.Small = wrapped(f.New), wrapped(f.Small)
	storetest.Run(t, f)
}

// wrapped has every handle go through a fault decorator of its own.
func wrapped(build func() (*storetest.Backend, error)) func() (*storetest.Backend, error) {
	return func() (*storetest.Backend, error) {
		b, err := build()
		if err != nil {
			return nil, err
		}
		open := b.Open
		b.Open = func() (idem.Store, error) {
			s, err := open()
			return storetest.NewFaults().Wrap(s), err
		}
		return b, nil
	}
}

// TestEveryFlawIsFoundOut gives the suite stores that are wrong in one point. The
// sentence that must fail is named by a part of it, so that a flaw is found for
// its own sake and not by accident.
func TestEveryFlawIsFoundOut(t *testing.T) {
	for f, sentence := range map[flaw]string{
		checkThenSet:      "of many Creates at once exactly one",
		swapLooksFirst:    "of many Swaps from one value exactly one",
		createResetsLife:  "Create on a taken name changes nothing",
		ownValueResets:    "Swap that finds its own value there",
		ownValueRefused:   "Swap that finds its own value there",
		equalCreateIsDone: "Create of an equal value is not Done",
		tornRead:          "a time left belongs to the value told with it",
		roundsDown:        "a time left is never less than the truth",
		lostIsDone:        "a call whose reply is lost is an error",
		lostIsRefused:     "a call whose reply is lost is an error",
		retries:           "a call whose reply is lost is an error",
		keepsValue:        "slices handed in are not kept",
		handsOutOwn:       "slices handed out belong to the caller",
		evicts:            "a full store refuses a Create",
		neverExpires:      "gone after it",
		expiresEarly:      "a value is there for the whole of its time",
		noLifeIsForever:   "no value is stored without a time to live",
		cutsValue:         "values are bytes of any kind",
		caseBlind:         "names are up to 200 bytes",
		prefixMatch:       "Swap from anything else changes nothing",
		swapCreates:       "Swap on nothing does nothing",
		keepsOldLife:      "Swap sets the time to live from now",
		readsReplica:      "what one handle wrote another sees",
		emptyIsNothing:    "an empty value is a value",
		takesTooLong:      "the largest value described",
		ignoresContext:    "a context that is over",
		hangs:             "a store that falls silent",
		silentLoss:        "Create on a taken name changes nothing",
		leftUntold:        "Load returns the value and always what it has left",
		applyShuffles:     "Apply of a thousand operations",
		applyReorders:     "Apply does operations on one name in the order given",
		applyFailsWhole:   "in an Apply an operation that fails fails alone",
		applyStops:        "Apply of a thousand operations",
		applyForgets:      "Apply does each operation as its method alone",
		applyAgain:        "in an Apply a lost reply is an error",
		applyLostIsDone:   "in an Apply a lost reply is an error",
		wakesNobody:       "a Swap that says to wake wakes",
		wakesAlways:       "nothing else wakes",
		wakesAnyName:      "by their own name only",
		wakesStopped:      "who has stopped watching",
		applyWakesNobody:  "an operation of an Apply that says to wake",
		staysInterrupted:  "a watch that was interrupted",
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			if failures := storetest.Check(factory(f), sentence); len(failures) != 1 {
				t.Fatalf("wrong as it is, the store keeps the sentence %q; failures: %v", sentence, failures)
			}
			if failures := storetest.Check(factory(flawless), sentence); len(failures) != 0 {
				t.Fatalf("a store without the flaw fails as well: %v", failures)
			}
		})
	}
}

// What is declared and what is there have to agree, both ways.
func TestDeclarationsAreCheckedBothWays(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*storetest.Factory)
		sentence string
	}{
		"an undeclared clock":       {func(f *storetest.Factory) { f.Clock = false }, "a declared ability is there"},
		"an undeclared Apply":       {func(f *storetest.Factory) { f.Batches = false }, "a declared ability is there"},
		"an undeclared Watch":       {func(f *storetest.Factory) { f.Watches = false }, "a declared ability is there"},
		"an undeclared description": {func(f *storetest.Factory) { f.Describes = false }, "a declared ability is there"},
		"a clock that is not there": {func(f *storetest.Factory) { f.New = bare(f.New) }, "a declared ability is there"},
		"another limit":             {func(f *storetest.Factory) { f.MaxValue = 1 << 19 }, "the description is the one declared"},
		"not local after all":       {func(f *storetest.Factory) { f.Local = false }, "the description is the one declared"},
		"a clock that does not move": {func(f *storetest.Factory) { f.New = unmoved(f.New) },
			"a clock that is moved moves"},
	} {
		t.Run(name, func(t *testing.T) {
			f := factory(flawless)
			f.Small = nil
			c.change(&f)
			if failures := storetest.Check(f, c.sentence); len(failures) != 1 {
				t.Fatal("the wrong declaration went through")
			}
		})
	}
}

// plain hides every ability of a store.
type plain struct{ idem.Store }

func bare(build func() (*storetest.Backend, error)) func() (*storetest.Backend, error) {
	return func() (*storetest.Backend, error) {
		b, err := build()
		open := b.Open
		b.Open = func() (idem.Store, error) { s, err := open(); return plain{s}, err }
		return b, err
	}
}

func unmoved(build func() (*storetest.Backend, error)) func() (*storetest.Backend, error) {
	return func() (*storetest.Backend, error) {
		b, err := build()
		b.Advance = func(time.Duration) {}
		return b, err
	}
}

func TestDecoratorLosesAndInventsNoAbility(t *testing.T) {
	m := newModel(flawless, 10)
	for name, store := range map[string]idem.Store{
		"all": m, "none": plain{m},
		"clock alone": struct {
			idem.Store
			idem.Clocker
		}{m, m},
		"description alone": struct {
			idem.Store
			idem.Describer
		}{m, m},
		"many at once alone": struct {
			idem.Store
			idem.Batcher
		}{m, m},
	} {
		_, wantClock := store.(idem.Clocker)
		_, wantMany := store.(idem.Batcher)
		w := storetest.NewFaults().Wrap(store)
		if _, clock := w.(idem.Clocker); clock != wantClock {
			t.Errorf("%s: wrapped, clock %v", name, clock)
		}
		if _, many := w.(idem.Batcher); many != wantMany {
			t.Errorf("%s: wrapped, many at once %v", name, many)
		}
		_, wantWatch := store.(idem.Watcher)
		if stop, err := idem.Watch(context.Background(), w, "a", func() {}); (err == nil) != wantWatch {
			t.Errorf("%s: wrapped, it watches: %v", name, err)
		} else if err == nil {
			stop()
		}
		if d := idem.Describe(w); d != idem.Describe(store) {
			t.Errorf("%s: wrapped, it describes itself as %+v", name, d)
		}
		if u, ok := w.(idem.StepUser); !ok || !u.UsesStoreStep() {
			t.Errorf("%s: wrapped, it does not ask for the step of a call", name)
		}
		if _, ok, err := idem.StoreClock(context.Background(), w); ok != wantClock || err != nil {
			t.Errorf("%s: wrapped, its clock says %v, %v", name, ok, err)
		}
	}
}
