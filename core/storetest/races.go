package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

var raceStatements = []statement{
	{says: "of many Creates at once exactly one is Done and the others see its value", holds: func(s *scene) {
		for round := range 20 {
			name := fmt.Sprintf("n%d", round)
			s.oneWins(24, name, func(ctx context.Context, h idem.Store, mine []byte) (idem.Result, error) {
				return h.Create(ctx, name, mine, 1000*s.unit)
			})
		}
	}},
	{says: "of many Swaps from one value exactly one is Done and the others see its value", holds: func(s *scene) {
		for round := range 20 {
			name := fmt.Sprintf("n%d", round)
			s.created(name, []byte("old"), 1000*s.unit)
			s.oneWins(24, name, func(ctx context.Context, h idem.Store, mine []byte) (idem.Result, error) {
				return h.Swap(ctx, name, []byte("old"), mine, 1000*s.unit)
			})
		}
	}},
	{says: "of many takers of an expired name exactly one is Done", holds: func(s *scene) {
		for round := range 3 {
			name := fmt.Sprintf("n%d", round)
			s.gone(name, s.created(name, []byte("expired"), s.unit))
			s.oneWins(24, name, func(ctx context.Context, h idem.Store, mine []byte) (idem.Result, error) {
				return h.Create(ctx, name, mine, 1000*s.unit)
			})
		}
	}},
	{says: "no Swap is lost among many at once", holds: noLostSwap},
	{says: "calls on many names at once do not meet", holds: func(s *scene) {
		var all sync.WaitGroup
		for g := range 16 {
			all.Go(func() {
				ctx, cancel := callContext()
				defer cancel()
				for i := range 20 {
					s.oneLife(ctx, s.handle(g), fmt.Sprintf("g%d:%d", g, i))
				}
			})
		}
		all.Wait()
	}},
}

func (s *scene) handle(i int) idem.Store {
	if i%2 == 0 {
		return s.here
	}
	return s.there
}

// oneWins has n callers make one call at once, each with a value of its own: one
// is Done, the others are told of its value, and it is what is there.
func (s *scene) oneWins(n int, name string, call func(context.Context, idem.Store, []byte) (idem.Result, error)) {
	ctx, cancel := callContext()
	defer cancel()
	results := make([]idem.Result, n)
	var ready, all sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		all.Go(func() {
			ready.Done()
			<-start
			var err error
			if results[i], err = call(ctx, s.handle(i), []byte(fmt.Sprintf("of caller %d", i))); err != nil {
				s.errorf("a caller among %d at once: %v", n, err)
			}
		})
	}
	ready.Wait()
	close(start)
	all.Wait()

	var winners []string
	for i, r := range results {
		if r.Done {
			winners = append(winners, fmt.Sprintf("of caller %d", i))
		}
	}
	if len(winners) != 1 {
		s.fatalf("%d of %d callers at once were Done, want exactly one", len(winners), n)
	}
	for _, r := range results {
		if !r.Done && !bytes.Equal(r.Value, []byte(winners[0])) {
			s.errorf("a loser was told %s, while %q won", result(r), winners[0])
		}
	}
	if r, _, _ := s.load(s.here, name); !bytes.Equal(r.Value, []byte(winners[0])) {
		s.errorf("afterwards there is %s, while %q won", result(r), winners[0])
	}
}

// noLostSwap counts up by Swap from several goroutines: every Swap that said Done
// has to be in the sum. Each value names its writer, so no two are the same.
func noLostSwap(s *scene) {
	const writers, each = 6, 15
	s.created("sum", []byte("0"), 1000*s.unit)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			ctx, cancel := callContext()
			defer cancel()
			for i := range each {
				if err := addOne(ctx, s.handle(w), fmt.Sprintf("%d.%d", w, i)); err != nil {
					s.errorf("a writer among %d: %v", writers, err)
					return
				}
			}
		})
	}
	all.Wait()
	r, _, _ := s.load(s.here, "sum")
	if sum, _, _ := bytes.Cut(r.Value, []byte(" ")); string(sum) != strconv.Itoa(writers*each) {
		s.errorf("%d Swaps were Done, but they add up to %s", writers*each, sum)
	}
}

func addOne(ctx context.Context, h idem.Store, writer string) error {
	r, err := h.Load(ctx, "sum")
	for range 5000 {
		if err != nil {
			return err
		}
		number, _, _ := bytes.Cut(r.Value, []byte(" "))
		sum, err := strconv.Atoi(string(number))
		if err != nil {
			return fmt.Errorf("found %s where a sum should be", result(r))
		}
		next := fmt.Appendf(nil, "%d by %s", sum+1, writer)
		if r, err = h.Swap(ctx, "sum", r.Value, next, time.Hour); err != nil || r.Done {
			return err
		}
	}
	return errors.New("its Swaps were refused 5,000 times")
}

// oneLife takes a name through its whole life; nobody else uses it.
func (s *scene) oneLife(ctx context.Context, h idem.Store, name string) {
	one, two := []byte("one of "+name), []byte("two of "+name)
	r, err := h.Create(ctx, name, one, 1000*s.unit)
	if err != nil || !r.Done {
		s.errorf("Create: %s, %v, want Done", result(r), err)
		return
	}
	r, err = h.Swap(ctx, name, one, two, 1000*s.unit)
	if err != nil || !r.Done {
		s.errorf("Swap: %s, %v, want Done", result(r), err)
	}
	r, err = h.Load(ctx, name)
	if err != nil || !bytes.Equal(r.Value, two) {
		s.errorf("Load: %s, %v, want %s", result(r), err, show(two))
	}
}
