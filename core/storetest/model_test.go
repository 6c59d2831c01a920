package storetest_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

// flaw is one thing that a store can get wrong.
type flaw string

const (
	flawless          flaw = ""
	checkThenSet      flaw = "Create looks and then sets"
	swapLooksFirst    flaw = "Swap looks and then sets"
	createResetsLife  flaw = "a repeated Create sets the time to live again"
	ownValueResets    flaw = "a Swap that finds its own value sets the time to live again"
	ownValueRefused   flaw = "a Swap that finds its own value is not Done"
	equalCreateIsDone flaw = "a Create of an equal value is Done"
	tornRead          flaw = "the time left is read before the value"
	roundsDown        flaw = "the time left is rounded down"
	lostIsDone        flaw = "a lost reply is reported as success"
	lostIsRefused     flaw = "a lost reply is reported as somebody else's"
	retries           flaw = "a call without a reply is made again"
	keepsValue        flaw = "the value handed in is kept by reference"
	handsOutOwn       flaw = "the value handed out is the store's own"
	evicts            flaw = "a full store evicts"
	neverExpires      flaw = "the time to live is not kept"
	expiresEarly      flaw = "a value expires early"
	noLifeIsForever   flaw = "no time to live means for ever"
	cutsValue         flaw = "a value ends at its first zero byte"
	caseBlind         flaw = "names differing in case are one"
	prefixMatch       flaw = "Swap compares as far as the shorter value goes"
	swapCreates       flaw = "Swap stores where nothing is"
	keepsOldLife      flaw = "Swap leaves the old time to live"
	readsReplica      flaw = "reads come from a replica that is one write behind"
	emptyIsNothing    flaw = "an empty value is nothing"
	takesTooLong      flaw = "a value over the described limit is taken"
	ignoresContext    flaw = "a context that is over is not looked at"
	hangs             flaw = "the deadline is not honoured"
	silentLoss        flaw = "the loser is told of nothing"
	leftUntold        flaw = "Load does not tell the time left"
	applyShuffles     flaw = "the answers of an Apply come in the order of its names"
	applyReorders     flaw = "an Apply writes first and loads afterwards"
	applyFailsWhole   flaw = "one failure fails all operations of an Apply"
	applyStops        flaw = "an Apply stops at 512 operations"
	applyForgets      flaw = "an Apply tells only whether it was done"
	applyAgain        flaw = "an Apply without a reply is made again"
	applyLostIsDone   flaw = "a reply lost in an Apply is reported as success"
	wakesNobody       flaw = "a Swap that says to wake wakes nobody"
	wakesAlways       flaw = "every Swap wakes"
	wakesAnyName      flaw = "a change of one name wakes those who watch another"
	wakesStopped      flaw = "who has stopped watching is woken"
	applyWakesNobody  flaw = "an operation of an Apply wakes nobody"
	staysInterrupted  flaw = "a watch that was interrupted stays so"
)

const modelMax = 1<<20 + 4096

// model is the plainest store that keeps the contract, on a clock that moves by
// hand only, with at most one flaw.
type model struct {
	flaw flaw

	mu     sync.Mutex
	now    time.Time
	items  map[string]item
	behind map[string]item // what a replica shows
	room   int
	lose   int
	calls  int
	stall  chan struct{}

	watches []*modelWatch
}

type item struct {
	value []byte
	ends  time.Time
}

var (
	errLost = errors.New("reply lost")
	errFull = errors.New("full")
)

func newModel(f flaw, room int) *model {
	return &model{flaw: f, now: time.Unix(1_700_000_000, 0), items: map[string]item{}, behind: map[string]item{}, room: room}
}

// factory makes models with one flaw; a wire and a clock to move included.
func factory(f flaw) storetest.Factory {
	backend := func(room int) (*storetest.Backend, error) {
		m := newModel(f, room)
		return &storetest.Backend{
			Open:    func() (idem.Store, error) { return m, nil },
			Advance: m.advance,
			Wire:    &storetest.Wire{Lose: m.loseNext, Stall: m.fallSilent, Calls: m.made, Cut: m.cut},
		}, nil
	}
	return storetest.Factory{
		Clock: true, Describes: true, Batches: true, Watches: true, Local: true, MaxValue: modelMax,
		New:   func() (*storetest.Backend, error) { return backend(1 << 30) },
		Small: func() (*storetest.Backend, error) { return backend(500) },
	}
}

func (m *model) advance(d time.Duration) { m.mu.Lock(); m.now = m.now.Add(d); m.mu.Unlock() }
func (m *model) loseNext()               { m.mu.Lock(); m.lose++; m.mu.Unlock() }
func (m *model) made() int               { m.mu.Lock(); defer m.mu.Unlock(); return m.calls }

func (m *model) fallSilent() func() {
	gate := make(chan struct{})
	m.mu.Lock()
	m.stall = gate
	m.mu.Unlock()
	return func() { m.mu.Lock(); m.stall = nil; m.mu.Unlock(); close(gate) }
}

func (m *model) Describe() idem.Description {
	return idem.Description{Name: "model", WorstCall: time.Millisecond, MaxValue: modelMax, Local: true}
}

func (m *model) Now(context.Context) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now, nil
}

// enter is the way to the store: it counts, and falls silent where told to.
func (m *model) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil && m.flaw != ignoresContext {
		return err
	}
	m.mu.Lock()
	m.calls++
	gate := m.stall
	m.mu.Unlock()
	if gate == nil {
		return nil
	}
	if m.flaw == hangs {
		<-time.After(2200 * time.Millisecond) // a store that answers in its own time: longer than the suite's grace
		return errLost
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave is the way back: where it is told to, the reply gets lost.
func (m *model) leave(r idem.Result, again func() (idem.Result, error)) (idem.Result, error) {
	m.mu.Lock()
	lost := m.lose > 0
	if lost {
		m.lose--
	}
	m.mu.Unlock()
	switch {
	case !lost:
		return r, nil
	case m.flaw == lostIsDone:
		return idem.Result{Done: true}, nil
	case m.flaw == lostIsRefused:
		return idem.Result{Value: []byte("somebody's")}, nil
	case m.flaw == retries:
		_, _ = again()
		return idem.Result{}, errLost
	}
	return idem.Result{}, errLost
}

func (m *model) admits(value []byte, ttl time.Duration) error {
	if len(value) > modelMax && m.flaw != takesTooLong {
		return errors.New("too long")
	}
	if ttl <= 0 && m.flaw != noLifeIsForever {
		return errors.New("no time to live")
	}
	return nil
}

// find looks a name up. The mutex is held.
func (m *model) find(name string) (item, bool) {
	it, ok := m.items[m.key(name)]
	if !ok || (m.flaw != neverExpires && !m.now.Before(it.ends)) {
		return item{}, false
	}
	if m.flaw == expiresEarly && it.ends.Sub(m.now) < time.Second {
		return item{}, false
	}
	return it, true
}

func (m *model) key(name string) string {
	if m.flaw == caseBlind {
		return string(lower(name))
	}
	return name
}

func lower(s string) []byte {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return b
}

// put stores a value. The mutex is held.
func (m *model) put(name string, value []byte, ends time.Time) {
	if m.flaw == cutsValue {
		for i, c := range value {
			if c == 0 {
				value = value[:i]
				break
			}
		}
	}
	if m.flaw != keepsValue {
		value = append([]byte{}, value...)
	}
	k := m.key(name)
	if it, ok := m.items[k]; ok {
		m.behind[k] = it
	}
	m.items[k] = item{value, ends}
}

func (m *model) told(it item) idem.Result {
	value := it.value
	if m.flaw != handsOutOwn {
		value = append([]byte{}, value...)
	}
	if m.flaw == emptyIsNothing && len(value) == 0 {
		return idem.Result{}
	}
	left := it.ends.Sub(m.now)
	if m.flaw == roundsDown {
		left = left.Truncate(time.Millisecond)
	}
	return idem.Result{Value: value, Left: left}
}

// between is where another caller gets in, in stores that look and then set.
func (m *model) between(f flaw) {
	if m.flaw == f {
		m.mu.Unlock()
		for range 10 {
			runtime.Gosched()
		}
		m.mu.Lock()
	}
}
