package storetest

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"time"
)

var loadStatements = []statement{
	{says: "Load of nothing is a zero Result", holds: func(s *scene) {
		s.findsNothing("a")
		s.created("a", []byte("v"), s.unit)
		s.findsNothing("A")
		s.findsNothing("a ")
	}},
	{says: "Load returns the value and always what it has left", holds: func(s *scene) {
		sp := s.created("a", []byte("v"), 4*s.unit)
		for range 3 {
			s.finds("a", []byte("v"), sp)
			s.pass(s.unit)
		}
	}},
	{says: "Load changes nothing, the time to live included", holds: func(s *scene) {
		sp := s.created("a", []byte("v"), 3*s.unit)
		for range 20 {
			s.load(s.there, "a")
		}
		s.pass(s.unit)
		s.finds("a", []byte("v"), sp)
	}},
	{says: "what one handle wrote another sees at once", holds: func(s *scene) {
		for i := range 100 {
			name := fmt.Sprintf("n%d", i)
			s.created(name, []byte("one"), 100*s.unit)
			if r, _, _ := s.load(s.there, name); !bytes.Equal(r.Value, []byte("one")) {
				s.fatalf("after a Create of one handle the other found %s", result(r))
			}
			if r, _ := s.swap(s.there, name, []byte("one"), []byte("two"), 100*s.unit); !r.Done {
				s.fatalf("the other handle's Swap: got %s, want Done", result(r))
			}
			if r, _, _ := s.load(s.here, name); !bytes.Equal(r.Value, []byte("two")) {
				s.fatalf("after a Swap of the other handle the first found %s", result(r))
			}
		}
	}},
	{says: "a time left belongs to the value told with it or to a later moment", holds: tornReads},
}

// tornReads has readers look on while a short-lived value is swapped for a
// long-lived one. Who sees the second has to see its time; the first's time
// beside the second's value would make a claim look older than it is, and a live
// claim would be taken over.
func tornReads(s *scene) {
	for i := range 40 {
		s.tornRead(fmt.Sprintf("n%d", i), 1000*time.Second, 100_000*time.Second)
		if len(s.faults()) > 0 {
			return
		}
	}
}

func (s *scene) tornRead(name string, short, long time.Duration) {
	s.created(name, []byte("short"), short)
	ctx, cancel := callContext()
	var readers, looking sync.WaitGroup
	defer readers.Wait()
	defer cancel() // in this order: a reader whose Swap failed must not wait for it
	for range 2 {
		looking.Add(1)
		readers.Go(func() {
			first := sync.OnceFunc(looking.Done)
			defer first()
			for range 100_000 {
				r, err := s.there.Load(ctx, name)
				switch {
				case err != nil || r.Value == nil:
					s.errorf("Load while another handle swaps: %s, %v", result(r), err)
					return
				case bytes.Equal(r.Value, []byte("long")):
					if r.Left < long/2 {
						s.errorf("the new value was told with the old one's time left, %v", r.Left)
					}
					return
				}
				first()
				runtime.Gosched() // a store in this process would leave the writer no turn
			}
			s.errorf("the value another handle swapped in was never seen")
		})
	}
	looking.Wait()
	s.swap(s.here, name, []byte("short"), []byte("long"), long)
	readers.Wait()
}
