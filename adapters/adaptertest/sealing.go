package adaptertest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	idem "github.com/go-idem/idem/core"
)

// Sealing: what the store does not get to read, nor to change unseen.
var sealingStatements = []statement{
	{name: "Statement47_ASealedAnswerIsReadByNobodyAndChangedByNobody", play: func(s *scene) {
		sealing := NodeOptions{Sealing: []int{1}}
		n := s.server(sealing)
		send := func(n Node, path string) answer {
			return s.post(n, path).as("ann").key("k"+path).json(`{"n":1}`).do("Body", "body-of-ann").do("Header", "X-Order: order-of-ann").
				do("Note", "note-of-ann").do("Status", "201").send()
		}
		first := send(n, "/do/sealed")
		s.wantRan(first, "executed", http.StatusCreated)
		genuine := s.stored("test:do:run", "ann", "k/do/sealed")
		for _, secret := range []string{"body-of-ann", "order-of-ann", "note-of-ann"} {
			if bytes.Contains(genuine, []byte(secret)) {
				s.errorf("%s stands in the store", secret)
			}
		}
		s.wantReplay(first, send(n, "/do/sealed"))
		s.wantReplay(first, send(s.process(sealing), "/do/sealed"))

		// The control: without a sealer they do stand there, and that is all it takes.
		plain := s.server(NodeOptions{})
		s.wantRan(send(plain, "/do/plain"), "executed", http.StatusCreated)
		if !bytes.Contains(s.stored("test:do:run", "ann", "k/do/plain"), []byte("body-of-ann")) {
			s.errorf("what is not sealed is not found in the store: nothing was looked at")
		}
		// A guard without the key holds what it cannot open, and one that seals what
		// is not sealed: neither runs it.
		s.want(send(plain, "/do/sealed"), "uncertain")
		s.want(send(n, "/do/plain"), "uncertain")
		s.wantRuns("/do/plain", 1)

		// A bit of any byte changed: held, never a miss, never another answer.
		place, was := s.recordName("test:do:run", "ann", "k/do/sealed"), genuine
		for at := range genuine {
			value := bytes.Clone(genuine)
			value[at] ^= 1 << (at % 8)
			s.replace(place, was, value)
			was = value
			s.want(send(n, "/do/sealed"), "uncertain")
			s.soFar()
		}
		s.wantRuns("/do/sealed", 1)
		if !loud(n.Log(), "seal is broken") {
			s.errorf("the broken seal was not said aloud: no warning or error in the log")
		}
		s.replace(place, was, genuine)
		s.wantReplay(first, send(n, "/do/sealed"))
	}},

	{name: "Statement47a_ASealingRingRotatedInTwoStepsHoldsNothing", play: func(s *scene) {
		// Each row is a moment of the roll-out: the rings of the two servers.
		moments := [][2][]int{
			{{1}, {1}},
			{{1, 2}, {1}}, {{1, 2}, {1, 2}}, // first the new key opens everywhere,
			{{2, 1}, {1, 2}}, {{2, 1}, {2, 1}}, // then it seals
		}
		kept := map[string]answer{}
		send := func(n Node, path string) answer { return s.post(n, path).key(path).json(`{"n":1}`).send() }
		for m, rings := range moments {
			nodes := [2]Node{s.process(NodeOptions{Sealing: rings[0]}), s.process(NodeOptions{Sealing: rings[1]})}
			for i, n := range nodes {
				path := fmt.Sprintf("/do/moment%d%d", m, i)
				kept[path] = send(n, path)
				s.wantRan(kept[path], "executed", http.StatusCreated)
			}
			for path, first := range kept {
				for _, n := range nodes {
					s.wantReplay(first, send(n, path))
				}
				s.wantRuns(path, 1)
			}
		}
		// The control: with the steps left out, answers are held.
		hasty := send(s.server(NodeOptions{Sealing: []int{3}}), "/do/hasty")
		s.wantRan(hasty, "executed", http.StatusCreated)
		s.want(send(s.server(NodeOptions{Sealing: []int{2, 1}}), "/do/hasty"), "uncertain")
		s.wantRuns("/do/hasty", 1)
	}},
}

// recordName is the name under which the store has what became of a key.
func (s *scene) recordName(operation, scope, key string) string {
	prefix := s.shared.Prefix
	if prefix == "" {
		prefix = "idem:"
	}
	return idem.RecordName(TestNameKey(""), prefix, operation, scope, idem.KindKey, key)
}

// stored is the value of a record, read past every guard.
func (s *scene) stored(operation, scope, key string) []byte {
	var value []byte
	s.withStore(func(store idem.Store) error {
		res, err := store.Load(context.Background(), s.recordName(operation, scope, key))
		if value = res.Value; err == nil && value == nil {
			err = fmt.Errorf("nothing is stored for %s", key)
		}
		return err
	})
	return value
}

// replace puts a value in the place of another, past every guard.
func (s *scene) replace(name string, old, value []byte) {
	s.withStore(func(store idem.Store) error {
		res, err := store.Swap(context.Background(), name, old, value, patience*10)
		if err == nil && !res.Done {
			err = fmt.Errorf("another value than was put there is stored under %s", name)
		}
		return err
	})
}

// withStore lends a handle of its own on the store.
func (s *scene) withStore(use func(idem.Store) error) {
	store, err := s.shared.Open(NodeOptions{}.Call())
	if err != nil {
		s.fatalf("opening a handle on the store: %v", err)
	}
	defer func() { _ = closerOf(store)() }()
	if err := use(store); err != nil {
		s.fatalf("using the store past the guard: %v", err)
	}
}
