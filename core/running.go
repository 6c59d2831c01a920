package idem

import (
	"sync"
	"sync/atomic"

	"github.com/go-idem/idem/internal/broken"
)

// runningClaims are what this process has to do with records, by name: claims
// on their way, claims that run here or whose outcome is not written yet, and
// the look-outs for what other processes run. Requests of one process find each
// other here without a store call.
type runningClaims struct {
	shards [64]runningShard
}

type runningShard struct {
	mu     sync.Mutex
	claims claimSet
	looks  map[string]*lookout
	count  int // claims entered and not left
	closed bool
	idle   func()
}

// shard is that of a name, by two characters of the keyed hash at its end, so nobody
// outside can aim at one. (The last is made of three bits only.) Of the 1,024 pairs
// every shard gets 14 to 19.
func (r *runningClaims) shard(name string) *runningShard {
	n := len(name)
	if n < 3 {
		return &r.shards[0]
	}
	return &r.shards[(uint(name[n-2])+uint(name[n-3])*41)%uint(len(r.shards))]
}

// of is the shard of a claim's record.
func (r *runningClaims) of(c *Claim) *runningShard {
	if c.shard != nil {
		return c.shard
	}
	return r.shard(c.id.name)
}

// enter counts a request in. Where nobody here has to do with its record, it
// goes ahead: it is entered itself, which costs no more than entering the claim
// it may win, and who comes after it finds it. Else it gets what runs here
// (local), or the look-out to ask (out). It fails once close was called.
func (r *runningClaims) enter(c *Claim) (local *Claim, out *lookout, open bool) {
	s := r.shard(c.id.name)
	c.shard = s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, false
	}
	s.count++
	there, out := s.claims.at(c.id.name), s.looks[c.id.name]
	switch {
	case there == nil && out == nil:
		s.claims.put(c.id.name, c)
		c.ahead = true
		return nil, nil, true
	case there != nil && !there.ahead:
		there.shown = true
		return there, nil, true
	case out == nil: // the first to come after who goes ahead: that one's look is for both
		out = s.open(c)
		out.aheadOf()
		there.out.Store(out)
	}
	s.join(out, c)
	return nil, out, true
}

// count counts a request in that has nothing to do with its record. It fails
// once close was called.
func (r *runningClaims) count(name string) bool {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.count++
	}
	return !s.closed
}

// list makes c the claim under a name.
func (r *runningClaims) list(name string, c *Claim) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims.put(name, c)
}

// join has c take part in the look-out for its record.
func (r *runningClaims) join(c *Claim) *lookout {
	if c.joined {
		return c.out.Load()
	}
	s := r.shard(c.id.name)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := c.out.Load() // of one that goes ahead: somebody came after it
	if out == nil {
		out = s.looks[c.id.name]
	}
	switch there := s.claims.at(c.id.name); {
	case out == nil && c.ahead:
		out = s.open(c)
		out.aheadOf()
	case out == nil:
		out = s.open(c)
		if there != nil && there.ahead { // its look is for both, as in enter
			out.aheadOf()
			there.out.Store(out)
		}
	case c.ahead && c.out.Load() == nil: // it has no turn at a look-out that was there before
		s.step(c)
	}
	s.join(out, c)
	return out
}

// open makes a look-out. Ones that nobody uses are taken out by those that come
// after them, a few each.
func (s *runningShard) open(c *Claim) *lookout {
	looked, now := 0, c.g.clock.now()
	for name, out := range s.looks {
		if out.users == 0 && out.over(now) {
			delete(s.looks, name)
		}
		if looked++; looked == 4 {
			break
		}
	}
	if s.looks == nil {
		s.looks = make(map[string]*lookout)
	}
	out := newLookout(c.g, c.id.name)
	s.looks[c.id.name] = out
	return out
}

func (s *runningShard) join(out *lookout, c *Claim) {
	out.users++
	c.joined = true
	c.arrived = out.arrive()
	c.out.Store(out)
}

// pass ends the turn of a claim that was not won: who waited for it goes on.
// why is what its look failed with, nil if it did not.
func (r *runningClaims) pass(c *Claim, why error) {
	s := r.shard(c.id.name)
	s.mu.Lock()
	turn := s.step(c)
	s.mu.Unlock()
	if turn != nil {
		turn.pass(why)
	}
}

// step has c go ahead no longer, and returns the look-out whose turn it had.
// s.mu is held.
func (s *runningShard) step(c *Claim) (turn *lookout) {
	if c.ahead || c.leads {
		turn = c.out.Load()
	}
	if c.ahead {
		s.claims.remove(c.id.name, c)
	}
	c.ahead, c.leads = false, false
	return turn
}

// part has c leave its look-out. s.mu is held.
func (s *runningShard) part(c *Claim) {
	if !c.joined {
		return
	}
	c.joined = false
	out := c.out.Load()
	if out.users--; out.users == 0 && s.looks[c.id.name] == out && !out.worthKeeping() {
		delete(s.looks, c.id.name)
	}
}

// quit counts a request out whose claim was not won.
func (r *runningClaims) quit(c *Claim, why error) {
	c.retire()
	s := r.of(c)
	s.mu.Lock()
	turn := s.step(c)
	s.part(c)
	if s.count--; s.count == 0 && s.closed {
		defer s.idle()
	}
	s.mu.Unlock()
	if turn != nil {
		turn.pass(why)
	}
}

// leave counts a claim out.
func (r *runningClaims) leave(name string) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count == 0 && s.closed {
		s.idle()
	}
}

// hold makes c the claim that runs under its name; end takes it away again. A
// claim that lost its record may have been followed by another.
func (r *runningClaims) hold(c *Claim) {
	c.retire()
	s := r.of(c)
	s.mu.Lock()
	var turn *lookout
	if c.ahead && s.claims.at(c.id.name) == c { // it stays where it is, and is seen now
		turn, c.ahead, c.leads = c.out.Load(), false, false
	} else {
		turn = s.step(c)
		s.claims.put(c.id.name, c)
	}
	s.part(c)
	s.mu.Unlock()
	if out := c.out.Load(); out != nil {
		out.outdate()
	}
	if turn != nil {
		turn.pass(nil)
	}
}

func (r *runningClaims) end(name string, c *Claim) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims.remove(name, c)
}

// finish is end and leave for a claim whose outcome is written. It tells whether
// nobody else has been shown the claim.
func (r *runningClaims) finish(c *Claim) (unseen bool) {
	s := r.of(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims.remove(c.id.name, c)
	if s.count--; s.count == 0 && s.closed {
		s.idle()
	}
	return !c.shown
}

// at is the claim that runs here under a name, nil where none does.
func (r *runningClaims) at(name string) *Claim {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claims.at(name); c != nil && !c.ahead {
		c.shown = true
		return c
	}
	return nil
}

func (r *runningClaims) each(do func(*Claim)) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		var list []*Claim
		s.claims.all(func(c *Claim) {
			if !c.ahead {
				c.shown = true
				list = append(list, c)
			}
		})
		s.mu.Unlock()
		for _, c := range list {
			do(c)
		}
	}
}

// close lets nobody in any more and returns a channel that is closed when all
// have left.
func (r *runningClaims) close() <-chan struct{} {
	idle := make(chan struct{})
	var busy atomic.Int64
	busy.Store(1) // this loop itself
	done := func() {
		if busy.Add(-1) == 0 {
			close(idle)
		}
	}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.closed, s.idle = true, done
		if s.count > 0 {
			busy.Add(1)
		}
		s.mu.Unlock()
	}
	done()
	return idle
}

// view is what a duplicate in this process may conclude from a claim without
// asking the store: while the claim is surely live it is PROCESSING, and once
// its outcome is known, or is being written by us, that is the answer.
func (c *Claim) view() (found, bool) {
	if c == nil {
		return found{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.told && c.holding && c.final.rec.state == StateReleased && !broken.Is(broken.P8HeldReleaseClaimed):
		// Not in the store yet. A repeat that claimed from it could be outrun by
		// our own settle: its claim would land after the janitor had looked for it.
		return found{}, false
	case c.told && c.holding && c.outlived():
		return found{}, false
	case c.told:
		return c.outcome()
	case c.verdict != 0 || c.lost != nil || !c.bare && passed(c.deadline, c.g.clock.now()):
		return found{}, false
	}
	left := c.rec.retention()
	if !c.bare { // what the store would say, about
		left -= c.lease - c.margin - c.deadline.Sub(c.g.clock.now())
	}
	return found{value: c.known, left: max(left, 1), rec: c.rec}, true
}

// outlived tells whether an outcome that is not written yet may have a successor:
// once the lease is over another process may have claimed, run and settled (PROTOCOL
// P8: the record is what a crash leaves). Then it is for the store to say. c.mu is
// held.
func (c *Claim) outlived() bool {
	return !c.bare && passed(c.deadline, c.g.clock.now()) && !broken.Is(broken.P8HeldBeyondLease)
}

// holder is the claim of this process that holds such an outcome of c's record, nil
// where none does. A claim that goes ahead found nobody here.
func (c *Claim) holder() *Claim {
	if c.ahead {
		return nil
	}
	if here := c.g.running.at(c.id.name); here.holds() {
		return here
	}
	return nil
}

func (c *Claim) holds() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told && c.holding && c.outlived() && c.final.rec.state != StateReleased
}

// inPlaceOf puts the outcome that c holds in the place of what a look found: its own
// claim, or nothing, so that nobody came after it.
func (c *Claim) inPlaceOf(f *found) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.unread != nil || f.value != nil && !f.rec.isOf(c.rec.owner, c.rec.fence) {
		return
	}
	if held, ok := c.outcome(); ok {
		*f = held
	}
}

// keeps is outcome for others.
func (c *Claim) keeps() (found, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outcome()
}

// outcome is what the store says, or will say, of a claim that has ended. None of
// its bytes are those that the run returned. c.mu is held.
func (c *Claim) outcome() (found, bool) {
	f := found{value: c.final.value, left: c.final.rec.retention(), rec: c.final.rec, shared: true}
	if !f.rec.answered || c.opened || !c.g.sealer.sealing() || broken.Is(broken.I4AnswerShared) {
		return f, true
	}
	sealed := found{value: f.value}
	sealed.decode()
	if c.g.open(c.id.name, &sealed); sealed.unread != nil {
		return found{}, false
	}
	f.rec.payload, c.final.rec.payload, c.opened = sealed.rec.payload, sealed.rec.payload, true
	return f, true
}
