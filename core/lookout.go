package idem

import (
	"context"
	"sync"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// lookout is what one process keeps of a record that another process is
// running: all its callers of that record share it, so that a hot key costs the
// store one call for each process and poll interval, however many ask (PROTOCOL
// section 8, Waiting).
//
// One caller at a time has the turn: it looks, and claims where that is
// possible. The others hear what it saw. What they may make of it depends on
// when it was seen:
//
//   - A look that began after they came is as good as their own.
//   - An older one can only tell them that somebody is running the record, under
//     a lease that still stands. Those who wait may start from that: they hear of
//     the end. Those who do not would be told in-flight of a run whose answer may
//     be out, so they share it in a storm only, of a hundred callers and more
//     within the slow poll. It is never older than that, and is not believed at
//     all once the store has told of a change.
//   - From anything else they conclude nothing, and least of all that they may
//     run: to claim takes the turn, and the store.
//
// It has no goroutine. Its timer and its subscription stand while somebody
// waits, not longer.
type lookout struct {
	g     *Guard
	name  string
	turn  chan struct{} // holds one token while nobody has the turn
	knock chan struct{} // one of those who wait is to look

	users int // guarded by the mutex of its shard

	mu      sync.Mutex
	version uint64        // moves on with everything seen
	news    chan struct{} // closed when it has moved on
	flights uint32        // turns taken so far
	flying  bool          // somebody has the turn
	seen    observation
	since   time.Time // when the callers below began to be counted
	callers int       // that came since then
	before  int       // and in the time before
	failed  uint32
	err     error // what the flight of that number failed with

	waiting int
	poll    *time.Timer
	watched watching
	stop    func() // ends the subscription
}

// observation is what a look found under the name.
type observation struct {
	f      found
	flight uint32    // whose look it was; 0: nobody has looked yet
	asked  time.Time // the moment before the call was sent
	stale  bool      // the record has changed since, or may have
}

// watching is how far a look-out is with its subscription.
type watching uint8

const (
	unwatched watching = iota
	subscribing
	subscribed
	unwatchable // by a store that cannot, or did not
)

// arrival is when a caller came: which looks are as good as its own, and whose
// failure is its own too.
type arrival struct{ fresh, fails uint32 }

func newLookout(g *Guard, name string) *lookout {
	l := &lookout{g: g, name: name, turn: make(chan struct{}, 1), knock: make(chan struct{}, 1), news: make(chan struct{})}
	l.turn <- struct{}{}
	return l
}

// aheadOf makes it the look-out of a claim that is on its way already.
func (l *lookout) aheadOf() {
	<-l.turn
	l.flights, l.flying = 1, true
}

func (l *lookout) arrive() arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := arrival{fresh: l.flights + 1, fails: l.flights + 1}
	if l.flying {
		a.fails--
	}
	return a
}

// over tells whether what was seen is of no use to anybody any more.
func (l *lookout) over(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.flight == 0 || elapsed(l.seen.asked, now) >= 2*slowPoll
}

// worthKeeping tells whether those who come after the last may use what it saw.
func (l *lookout) worthKeeping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.flight > 0 && l.seen.f.unread == nil && l.seen.f.rec.state == StateProcessing
}

// begin takes note that the caller who has the turn looks now. It fails where
// something was seen since version: that has to be looked at first.
func (l *lookout) begin(version uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version != version {
		return false
	}
	l.version++
	l.flights++
	l.flying = true
	l.seen.stale = false
	return true
}

// storm is how many callers within the slow poll make one.
const storm = 100

// came counts a caller.
func (l *lookout) came() {
	now := l.g.clock.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := elapsed(l.since, now); d >= slowPoll {
		if l.before = l.callers; d >= 2*slowPoll {
			l.before = 0
		}
		l.since, l.callers = now, 0
	}
	l.callers++
}

// saw takes what the caller who has the turn was told.
func (l *lookout) saw(f found, asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	l.seen.f, l.seen.flight, l.seen.asked = f, l.flights, asked
	l.seen.f.shared = true
}

// pass ends a turn. Everybody looks at what was seen, and whoever is first at
// the turn has it next.
func (l *lookout) pass(why error) {
	l.mu.Lock()
	l.version++
	l.flying = false
	if why != nil {
		l.failed, l.err = l.flights, why
	}
	news := l.news
	l.news = make(chan struct{})
	if l.poll != nil {
		l.poll.Reset(slowPoll)
	}
	l.mu.Unlock()
	close(news) // without the lock, which a thousand who wake would all wait for
	l.turn <- struct{}{}
}

// wake takes what was seen for old, and has one of those who wait look.
func (l *lookout) wake() {
	l.outdate()
	l.rouse()
}

// outdate says that the record has changed since it was seen, or may have.
func (l *lookout) outdate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.stale = true
}

func (l *lookout) rouse() {
	select {
	case l.knock <- struct{}{}:
	default: // somebody is about to look anyway
	}
}

// freshen says that a look begins now that comes after the subscription.
func (l *lookout) freshen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.stale = false
}

// glance is the state of a look-out at one moment.
type glance struct {
	observation
	version uint64
	news    <-chan struct{}
	storm   bool // what was seen may be told to those who came later
	failed  uint32
	err     error
}

func (l *lookout) glance() glance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return glance{l.seen, l.version, l.news, max(l.callers, l.before) >= storm, l.failed, l.err}
}

// running tells what f, seen then, is now, if it surely still says that
// somebody runs it: asked again it might say that the lease was renewed.
func (o *observation) running(a asker, now time.Time) (found, bool) {
	f, age := o.f, elapsed(o.asked, now)
	if o.stale || f.left <= age || age >= slowPoll && !broken.Is(broken.S8OldNewsShared) {
		return found{}, false
	}
	f.left -= age
	st, _ := judge(&a, &f)
	return f, st == stepWait
}

// enlist counts c in among those who wait, until retire. It fails where too
// many do already.
func (l *lookout) enlist(c *Claim) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.enlisted {
		return true
	}
	if l.waiting >= maxRecordWaiters {
		return false
	}
	if l.waiting++; l.poll == nil {
		l.poll = time.AfterFunc(max(0, slowPoll-l.g.clock.since(l.seen.asked)), l.rouse)
	}
	c.enlisted = true
	return true
}

// retire counts c out again. The last one takes down what was put up for the
// first.
func (c *Claim) retire() {
	if !c.enlisted {
		return
	}
	c.enlisted = false
	l := c.out.Load()
	l.mu.Lock()
	var stop func()
	if l.waiting--; l.waiting == 0 {
		l.poll.Stop()
		stop = l.stop
		l.poll, l.stop, l.watched = nil, nil, unwatched
	}
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// subscribe has the store wake this look-out, if it can and does not yet. c is
// enlisted. Who subscribed looks again: what happened before is told to nobody.
func (l *lookout) subscribe(ctx context.Context) {
	l.mu.Lock()
	if l.watched != unwatched || !l.g.watches {
		l.mu.Unlock()
		return
	}
	l.watched = subscribing
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.g.describe.WorstCall)
	defer cancel()
	stop, err := Watch(ctx, l.g.store, l.name, l.wake)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.watched = unwatchable // by these: the next who wait try again
		return
	}
	l.watched, l.stop = subscribed, stop
	if !broken.Is(broken.S8WaiterLooksFirst) {
		l.seen.stale = true
	}
}
