package redisstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

func creates(prefix string, n int) []idem.Op {
	ops := make([]idem.Op, n)
	for i := range ops {
		ops[i] = idem.Op{Kind: idem.OpCreate, Name: fmt.Sprint(prefix, i), Value: []byte("v"), TTL: time.Minute}
	}
	return ops
}

// Given a batch whose pipeline breaks half-way, then what was answered is known
// and the rest is not, although all of it was done: never the other way round.
func TestS9_AHalfAnsweredPipelineIsKnownByHalves(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr())
	ops := append(creates("answered:", 10), idem.Op{Kind: idem.OpLoad, Name: "lost"})
	ops = append(ops, creates("unheard:", 10)...)
	proxy.Lose(1, "GET")
	for i, r := range s.Apply(t.Context(), ops) {
		switch known := i < 10; {
		case known && (r.Err != nil || !r.Done):
			t.Errorf("%s was answered before the line went dead: %+v", ops[i].Name, r)
		case !known && (r.Err == nil || r.Done || r.Value != nil || errors.Is(r.Err, redisstore.ErrNotSent)):
			t.Errorf("%s was not answered: %+v", ops[i].Name, r)
		}
	}
}

// Given a hundred claims, then they are one round trip and every item has its own
// answer, in order; what is wrong with one is no matter of the others.
func TestABatchIsOnePipeline(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	redistest.Do(t, addr, "SET", "batch:7", "older", "PX", "60000")
	redistest.Do(t, addr, "LPUSH", "batch:8", "a list")
	ops := creates("batch:", 100)
	ops[9].TTL = 0
	ops[10] = idem.Op{Kind: idem.OpLoad, Name: "batch:7"}
	ops[11] = idem.Op{Kind: idem.OpLoad, Name: "not there"}
	before := s.Stats()
	results := s.Apply(t.Context(), ops)
	if n := s.Stats().Flushes - before.Flushes; n != 2 { // batch:7 comes twice
		t.Errorf("%d pipelines, want 2", n)
	}
	for i, r := range results {
		switch i {
		case 7, 10:
			if r.Err != nil || string(r.Value) != "older" || (i == 10) != (r.Left > 0) {
				t.Errorf("%d: %+v, want to be told of the older one", i, r)
			}
		case 8, 9:
			if r.Err == nil {
				t.Errorf("%d: %+v, want an error", i, r)
			}
		case 11:
			if r.Err != nil || r.Done || r.Value != nil {
				t.Errorf("%d: %+v, want nothing", i, r)
			}
		default:
			if r.Err != nil || !r.Done {
				t.Errorf("%d: %+v, want Done", i, r)
			}
		}
	}
	if results := s.Apply(t.Context(), nil); len(results) != 0 {
		t.Errorf("of no operations: %+v", results)
	}
}

// Operations on one name are made in the order given, although the server does
// not know the script of the second and has it sent again.
func TestABatchKeepsTheOrderOfAName(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	redistest.Do(t, addr, "SCRIPT", "FLUSH")
	s := open(t, addr)
	var ops []idem.Op
	for _, name := range []string{"a", "b"} {
		ops = append(ops,
			idem.Op{Kind: idem.OpCreate, Name: name, Value: []byte("1"), TTL: time.Minute},
			idem.Op{Kind: idem.OpSwap, Name: name, Old: []byte("1"), Value: []byte("2"), TTL: time.Minute},
			idem.Op{Kind: idem.OpSwap, Name: name, Old: []byte("2"), Value: []byte("3"), TTL: time.Minute},
			idem.Op{Kind: idem.OpLoad, Name: name})
	}
	for i, r := range s.Apply(t.Context(), ops) {
		if r.Err != nil || r.Done == (i%4 == 3) || (i%4 == 3 && string(r.Value) != "3") {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// A batch that is longer than a pipeline may be takes several.
func TestALongBatchIsSeveralPipelines(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr, func(o *redisstore.Options) { o.PipelineSize = 32 })
	for i, r := range s.Apply(t.Context(), creates("long:", 100)) {
		if r.Err != nil || !r.Done {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if st := s.Stats(); st.Flushes != 4 || st.Commands != 100 {
		t.Errorf("%+v", st)
	}
}

// Without a server every item says so, and none is Done.
func TestABatchWithoutAServer(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Miniredis(t).Addr())
	s := open(t, proxy.Addr())
	resume := proxy.Refuse()
	defer resume()
	for i, r := range s.Apply(t.Context(), creates("x", 3)) {
		if r.Err == nil || r.Done {
			t.Errorf("%d: %+v", i, r)
		}
	}
	down := open(t, redistest.FreeAddr(t))
	for i, r := range down.Apply(t.Context(), creates("x", 3)) {
		if !errors.Is(r.Err, redisstore.ErrUnseen) {
			t.Errorf("%d, never seen a server: %+v", i, r)
		}
	}
}
