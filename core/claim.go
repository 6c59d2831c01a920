package idem

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// Claim is one request's part in an intent: the right to run it, or what is
// known about it. A claim that was won ends once, by Complete, Fail, Release,
// Doubt or End; its methods may be called from any goroutine.
type Claim struct {
	g        *Guard
	id       *identity
	own      identity // what id points to, where it was computed for this claim
	fp       Fingerprint
	again    func(FingerprintChoice) (Fingerprint, error)
	before   Fingerprint // by the earlier choice, once it was asked for
	trace    []byte
	source   string
	nonce    owner
	followed string // note of the record that this claim followed
	force    bool
	reserved bool // it is held for an all-or-nothing batch and not started
	looks    bool // it waits for an answer and claims nothing
	why      releaseReason
	omits    string        // why its answer is not kept, where it is not and somebody looks
	cut      bool          // its answer was more than the store takes
	warned   bool          // that its lease is nearly over; like the two before it, on mu
	opened   bool          // the answer in final was read anew from its value, sealed as that is; on mu
	bare     bool          // it runs without a record: the store is out of reach and the policy open, or it is loose
	loose    bool          // it runs without a record and leaves none: Observe, Off
	entered  bool          // of a loose run: Close waits for it
	meant    []byte        // of a bare run: what its claim was to be swapped from
	waited   time.Duration // for another owner, of patience
	patience time.Duration
	lease    time.Duration // of its record, fixed when it is first encoded
	margin   time.Duration // of that
	verdict  Verdict
	won      bool
	ahead    bool  // nobody of this process came before it; guarded by the shard of running.go, as are
	leads    bool  // it has the turn of its look-out
	joined   bool  // it is one of the users of its look-out
	enlisted bool  // it is one of those who wait there
	seen     found // what the verdict was read from, where it was not won
	retry    time.Duration
	refusal  error

	run    *runContext   // nil before it is begun
	shard  *runningShard // of its name, once it has entered
	shown  bool          // others of this process may hold it; guarded by that shard
	unseen bool          // it ended without having been shown
	unkept bool          // it ended with no renewal under way
	lone   bool          // it is its Do's alone, if its run does not hand it out
	parted bool          // and its run did not, and has let go of it: see recycle
	unsure bool          // a call about it had no known outcome, if only at first

	out     atomic.Pointer[lookout] // who looks out for its record, if several callers are about it
	arrived arrival                 // when it came there

	mu         sync.Mutex
	space      [traceSize + headSize + 8]byte // of most claims' first value
	known      []byte                         // the value now known to be in the store
	rec        record                         // what it says
	sends      []send                         // values sent and not known to be gone
	firstSends [1]send                        // where sends begins, so that a short run allocates none
	deadline   time.Time
	start      time.Time // of the run, by the host's clock; before it: of the last call to the store
	last       uint16    // the highest counter used
	marked     bool      // effects were marked, or may have been
	ended      bool      // a settle was begun
	holding    bool      // the outcome is not known to be written
	writing    bool      // a renewal or mark is on its way: one at a time
	pending    *pending  // a renewal of unknown outcome: sent again as it is
	lost       error     // why the claim is no longer ours
	markErr    error     // what a failed mark returned
	excused    error     // what a failed mark of many returned
	note       []byte
	audited    *audited // nil where no audit log is kept
	hooked     *hooked  // nil where no hook is called about this claim
	final      pending  // the outcome, as written or still being written
	scratch    []byte   // where that is to be encoded
	told       bool     // a duplicate in this process is answered from final
	wake       chan struct{}
	waiting    int

	quiet    sync.Cond // on mu: writing ended
	due      time.Time // when the next renewal is due
	keepAt   time.Time // keeper: when the claim next needs looking at
	position int       // keeper: place in its heap, -1 outside
	queued   bool      // keeper: its renewal is due or under way
}

// send is one value on its way, and the moment before it was first sent: a
// resend does not move the deadline that follows from it (PROTOCOL P5).
type send struct {
	counter uint16
	first   time.Time
}

// Won says that the action is to be run now, by the caller.
func (c *Claim) Won() bool { return c.won }

// Verdict returns what became of the intent: for a claim that was won, what
// its settle said, and zero before it.
func (c *Claim) Verdict() Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verdict
}

// Context returns the context to run the action in, nil unless won. It ends
// with cause ErrClaimLost, ErrMaxRun or ErrClosed, and after the settle; where
// nothing is guarded ([Intent.Unguarded]) it ends as the one given to Claim does.
func (c *Claim) Context() context.Context {
	if !c.won {
		return nil
	}
	return c.run
}

// Record returns the name of the claim's record, which holds a keyed hash and
// never the key; "" of an intent that was refused from its head alone.
func (c *Claim) Record() string { return c.id.name }

// Fence returns the number that orders the runs of this record, 0 unless won.
func (c *Claim) Fence() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.won {
		return 0
	}
	return c.rec.fence
}

// Kept returns the answer that was found, false where none was. Its bytes are the
// caller's.
func (c *Claim) Kept() (Payload, bool) {
	p := c.seen.rec.payload
	if !c.seen.rec.answered || c.verdict != Replayed && c.verdict != Used {
		return p, false
	}
	if c.seen.shared && !broken.Is(broken.I4AnswerShared) {
		p.Bytes = bytes.Clone(p.Bytes)
	}
	return p, true
}

// Followed returns the note of the record that this claim followed, where it
// took the place of one: a release, a run that had crashed, or one it was forced
// over. "" elsewhere.
func (c *Claim) Followed() string { return c.followed }

// Origin returns the traceparent of the run that did the work, as its record
// keeps it; nil where none is kept.
func (c *Claim) Origin() []byte { return unpackTrace(c.seen.rec.trace) }

// Refused returns why the intent was neither run nor replayed, nil otherwise.
func (c *Claim) Refused() *RefusedError {
	if c.won || c.verdict == Replayed {
		return nil
	}
	return &RefusedError{Verdict: c.verdict, Operation: c.id.op.policy.Operation, RetryAfter: c.retry, Err: c.refusal}
}

// policy is shorthand.
func (c *Claim) policy() *Policy { return c.id.op.policy }

// asker gathers what judges this claim beside the record.
func (c *Claim) asker() asker {
	a := asker{token: c.id.token, bound: c.id.bound, retake: c.policy().OnCrash == Retake, fp: c.fp, provable: true, force: c.force}
	if c.again != nil {
		a.earlier = c.earlier
	}
	if a.token {
		a.at = c.g.clock.now()
		age := c.g.clock.correct(a.at).Sub(c.id.issued)
		a.expired = age >= c.id.life
		a.provable = c.id.op.card.proves(c.id.issued, age, c.policy())
		if c.observes() { // what is counted is what Enforce would have said
			a.provable = c.id.op.card.remembers(c.id.issued, age, c.policy())
		}
	}
	return a
}

// earlier computes the fingerprint by the choice before the present one.
func (c *Claim) earlier(version byte) (Fingerprint, bool) {
	if c.before.Version == version {
		return c.before, true
	}
	choice := c.id.op.card.earlier.Load()
	if choice == nil || choice.Version() != version {
		return Fingerprint{}, false
	}
	fp, err := c.again(*choice)
	if err != nil || fp.Version != version {
		return Fingerprint{}, false
	}
	c.before = fp
	return fp, true
}

// Claim claims an intent, waiting where the policy says so and another owner
// is running it. The decision is the claim's Verdict; an error means that
// nothing could be decided: the store is out of reach (ErrUnavailable, with a
// claim that says Unavailable), the guard is closed, or the intent itself is
// wrong (nil claim).
func (g *Guard) Claim(ctx context.Context, in Intent) (*Claim, error) {
	watched := g.hooks.enter()
	if watched {
		defer g.hooks.leave()
	}
	c, err := g.claimFor(ctx, &in, watched)
	if c != nil && c.hooked != nil && !c.won {
		c.judged(ctx, c.seen.rec.state)
	}
	return c, err
}

// claimFor is Claim, without the hook that is told the verdict. in is read, and may
// be given its identity.
func (g *Guard) claimFor(ctx context.Context, in *Intent, watched bool) (*Claim, error) {
	c := claims.Get().(*Claim)
	if in.id == nil {
		if err := g.verify(in, &c.own); err != nil {
			claims.Put(c)
			return g.refused(ctx, *in, err)
		}
		in.id = &c.own
	}
	if in.id.off {
		out := g.unguarded(ctx, *in) // with an identity of its own
		c.own = identity{}
		claims.Put(c)
		return out, nil
	}
	var told *hooked
	if watched && in.id.op.standing != g.reconciles { // a reconciler's own claim is nobody's business
		told = &hooked{}
		ctx = g.withHooks(ctx, *in)
	}
	g.fill(ctx, c, in)
	c.hooked = told
	err := g.claim(ctx, c)
	if in.Waited != nil {
		*in.Waited = c.waited
	}
	if !c.won && c.observes() && !broken.Is(broken.S8ObserveRefuses) {
		c.beside(ctx)
		return c, nil
	}
	return c, err
}

// claim fills in c.
func (g *Guard) claim(ctx context.Context, c *Claim) (err error) {
	if err := c.id.op.card.refusal(); err != nil {
		return c.unavailable(err)
	}
	local, out, open := g.running.enter(c)
	if !open {
		return c.unavailable(ErrClosed)
	}
	defer func() {
		if !c.won {
			g.running.quit(c, err)
		}
	}()
	obs, end := ctx, Ending{}
	if g.watch.at(StepClaim) {
		obs, end = c.observe(ctx, Step{Kind: StepClaim})
	}
	waiting, err := g.first(obs, c, local, out)
	c.endClaim(end, err)
	if waiting && c.observes() {
		c.verdict, waiting = InFlight, false // it runs beside, at once
	}
	if waiting {
		err = g.wait(ctx, c)
	}
	return g.conclude(ctx, c, err)
}

// conclude begins the run of a claim that was won in time, and counts any other
// out.
func (g *Guard) conclude(ctx context.Context, c *Claim, err error) error {
	if !c.won {
		return err
	}
	unseen := c.tellClaim(ctx)
	if broken.Is(broken.AuditClaimUnwritten) {
		unseen = nil
	}
	now := c.now()
	if !c.bare && c.lateAt(now) {
		unseen = errLate
	}
	if unseen != nil {
		c.won, c.known = false, nil
		g.janitor.mend(c, c.rec, c.meant)
		return c.unavailable(unseen)
	}
	c.begin(ctx, now)
	return err
}

// observe starts a step about this claim.
func (c *Claim) observe(ctx context.Context, s Step) (context.Context, Ending) {
	if !c.g.watch.at(s.Kind) {
		return ctx, Ending{}
	}
	s.Operation, s.Source, s.Record = c.policy().Operation, c.source, c.id.name
	return c.g.begin(ctx, &s)
}

// fresh is a new record of this request.
func (c *Claim) fresh(s State, flags byte) record { return c.freshAt(c.g.clock.now(), s, flags) }

func (c *Claim) freshAt(now time.Time, s State, flags byte) (r record) {
	c.freshIn(&r, now, s, flags)
	return r
}

func (c *Claim) freshIn(r *record, now time.Time, s State, flags byte) {
	c.takesLease()
	*r = record{
		state: s, flags: flags, owner: c.nonce, fence: uint64(c.g.clock.correct(now).UnixMicro()),
		lease: uint16(c.lease / minLease), t0: uint32(c.policy().retentionFor(c.id.life) / time.Second), fp: c.fp, trace: c.trace,
		note: c.note, scope: c.id.scope,
	}
}

// hear wins the claim where the store did it, or where f, which is what is there
// instead, is ours.
func (c *Claim) hear(op *Op, mine *record, first time.Time, res Result, f *found) {
	if !res.Done {
		ours := f.value != nil && f.unread == nil && f.rec.isOf(mine.owner, mine.fence)
		if !ours || broken.Is(broken.P3ForeignNonce) {
			return
		}
		op.Value, mine = f.value, &f.rec
	}
	if broken.Is(broken.P5DeadlineFromReply) {
		first = c.g.clock.now()
	}
	if res.Weak {
		mine.flags |= flagWeak // told by every later write
	}
	c.won, c.known, c.rec = true, op.Value, *mine
	c.deadline = first.Add(c.lease - c.margin)
	c.due = first.Add(c.lease / 3)
	c.sends = append(c.firstSends[:0], send{mine.counter, first})
}

// answer ends a claim that was not won.
func (c *Claim) answer(ctx context.Context, f *found, v Verdict, confirm confirmation) error {
	if v == Dead && !c.observes() {
		// The card is read once more before a death is certified: somebody may
		// have run without a record since it was read last (PROTOCOL T6).
		if confirm == nil {
			confirm = c.g.confirm
		}
		if err := confirm(ctx, c.id.op); err != nil {
			return c.unavailable(err)
		}
		if !c.asker().provable && !broken.Is(broken.T1DeadUnproved) {
			v = Forgotten
		}
	}
	c.verdict, c.seen = v, *f
	if broken.Is(broken.P6RefusalWrites) {
		c.touch(ctx, *f)
	}
	switch {
	case f.unread != nil:
		c.g.log.LogAttrs(ctx, slogError, "record cannot be read: it is held", attrOperation(c), attrKey(c), attrError(f.unread))
	case v == Uncertain:
		c.retry = retryUncertain
	case (v == Replayed || v == Used) && f.rec.fp.Version != c.fp.Version && f.rec.fp.Version != c.before.Version:
		c.g.counts.strange.Add(1)
	}
	return nil
}

// unavailable ends a claim about which nothing could be decided.
func (c *Claim) unavailable(err error) error {
	c.verdict, c.retry = Unavailable, time.Second
	c.refusal = fmt.Errorf("%w: %w", ErrUnavailable, err)
	return c.refusal
}

// detach makes the context that the action runs in.
func (c *Claim) detach(ctx context.Context, now time.Time) {
	if c.policy().OnDisconnect != Cancel && !broken.Is(broken.P7Attached) {
		c.run = beginRun(c, ctx)
	} else {
		c.run = attachRun(c, ctx)
	}
	c.quiet.L = &c.mu
	c.start = now
}

// begin starts the run of a won claim.
func (c *Claim) begin(ctx context.Context, now time.Time) {
	g := c.g
	c.detach(ctx, now)
	if c.rec.flags&flagForced != 0 {
		g.counts.forced.Add(1)
		g.log.LogAttrs(ctx, slog.LevelWarn, "run forced over what would have refused it", attrOperation(c), attrKey(c))
	}
	g.running.hold(c)
	g.keeper.add(c, c.due)
	g.cutShort(c)
}
