package idem

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// chaos is three processes over one store that misbehaves at random, and a
// ledger that sees every value the store ever held. What the ledger checks are
// the invariants of PROTOCOL section 10.
type chaos struct {
	*shelf
	t      *testing.T
	retake bool
	open   bool
	watch  bool // mode observe: what would be refused runs beside

	mu       sync.Mutex
	rng      *rand.Rand
	calm     bool
	owners   map[owner]*chaosRun
	runs     map[string]int // by record name
	released map[string]int
	retaken  map[string]int
	dead     map[string]bool
	effects  map[string]int
	faults   int
}

// chaosRun is one claim that was won, and the process it was won in.
type chaosRun struct {
	claim   *Claim
	process *chaosProcess
}

type chaosProcess struct {
	*chaos
	killed bool
}

// chance draws from the seeded source. c.mu is held.
func (c *chaos) chance(p float64) bool { return c.rng.Float64() < p }

func (p *chaosProcess) fault(step string) fault {
	often := 0.25
	switch step {
	case "renew":
		often = 0.95 // so that leases are lost
	case "claim":
		often = 0.5 // so that claims stay unknown
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.killed:
		return fault{refuse: true}
	case p.calm || !p.chance(often):
		return fault{}
	}
	p.faults++
	switch p.rng.IntN(4) {
	case 0:
		return fault{refuse: true}
	case 1:
		return fault{loseReply: true}
	case 2:
		return fault{late: time.Duration(p.rng.IntN(3000)) * time.Millisecond}
	}
	return fault{slow: time.Duration(p.rng.IntN(9)) * time.Millisecond}
}

func (p *chaosProcess) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	return p.disturbed(ctx, name, value, ttl, func() (Result, error) { return p.shelf.Create(context.Background(), name, value, ttl) })
}

func (p *chaosProcess) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (Result, error) {
	return p.disturbed(ctx, name, value, ttl, func() (Result, error) { return p.shelf.Swap(context.Background(), name, old, value, ttl) })
}

func (p *chaosProcess) Load(ctx context.Context, name string) (Result, error) {
	return p.disturbed(ctx, name, nil, 0, func() (Result, error) { return p.shelf.Load(context.Background(), name) })
}

// disturbed makes one call, with its fault, and shows the ledger what changed.
func (p *chaosProcess) disturbed(ctx context.Context, name string, value []byte, ttl time.Duration, call func() (Result, error)) (Result, error) {
	if isCard(name) {
		return call()
	}
	apply := func() (Result, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		before, was := p.peek(name)
		res, err := call()
		if value != nil && res.Done {
			p.enter(name, before, was, ttl)
			if r, err := decodeRecord(value); err == nil && p.owners[r.owner] == nil {
				p.owners[r.owner] = &chaosRun{process: p}
			}
		}
		return res, err
	}
	switch f := p.fault(StoreStep(ctx)); {
	case f.refuse:
		return Result{}, errShelf
	case f.loseReply:
		_, _ = apply()
		return Result{}, errShelf
	case f.late > 0:
		p.late.Go(func() { pass(f.late); _, _ = apply() })
		return Result{}, errShelf
	case f.slow > 0:
		pass(f.slow)
	}
	return apply()
}

func (c *chaos) peek(name string) (record, bool) {
	c.shelf.mu.Lock()
	defer c.shelf.mu.Unlock()
	held, ok := c.at(name)
	if !ok {
		return record{}, false
	}
	r, err := decodeRecord(held.value)
	if err != nil {
		c.t.Errorf("unreadable record: %v", err)
	}
	return r, true
}

// enter checks one change of a record. c.mu is held.
func (c *chaos) enter(name string, before record, was bool, ttl time.Duration) {
	after, _ := c.peek(name)
	wrong := func(format string, args ...any) {
		c.t.Errorf("%s → %s: "+format, append([]any{before.state, after.state}, args...)...)
	}
	if ttl <= 0 {
		wrong("I7: no time to live")
	}
	if c.watch && after.state == StateBuried {
		wrong("S8: Observe buries")
	}
	if !was || string(before.append(nil)) == string(after.append(nil)) {
		return
	}
	if after.fence < before.fence {
		wrong("I2: the fence fell from %d to %d", before.fence, after.fence)
	}
	same := after.owner == before.owner && after.fence == before.fence
	run := c.owners[after.owner]
	bare := run != nil && run.claim != nil && run.claim.bare // its outcome takes the place of what its claim was to be swapped from
	switch before.state {
	case StateSucceeded, StateFailed, StateBuried:
		wrong("I3: it was settled for good")
	case StateUncertain:
		if !same {
			wrong("I3: doubt was settled by another")
		}
	case StateReleased:
		if after.state != StateProcessing && !bare && !(after.state == StateReleased && after.counter == before.counter+1) {
			wrong("I3: released is left by a claim only")
		}
	case StateProcessing:
		if same {
			if after.state == StateReleased {
				c.released[name]++
			}
			return
		}
		c.retaken[name]++
		unstarted := before.flags&flagReserved != 0 // an item of a batch that never ran
		if after.state != StateProcessing && !(bare && unstarted) || !c.retake && !unstarted || before.flags&flagEffects != 0 {
			wrong("P13: taken from its owner (retake %v, flags %b)", c.retake, before.flags)
		}
		// A run beside is no owner, although its claim may have landed after all.
		if run := c.owners[before.owner]; run != nil && run.claim != nil && run.claim.Recorded() && !run.process.killed && run.claim.Context().Err() == nil && !run.claim.isEnded() {
			wrong("I1: its owner still believes in it")
		}
	}
}

// request is one client's request with its handler.
func (c *chaos) request(p *chaosProcess, g *Guard, in Intent) {
	c.mu.Lock()
	takes, ends := time.Duration(c.rng.IntN(5000))*time.Millisecond, c.rng.IntN(5)
	mark, heed := c.chance(0.3), c.chance(0.5)
	c.mu.Unlock()
	var name string
	_, verdict, _ := Do(context.Background(), g, in, JSON[int](), func(ctx context.Context) (int, error) {
		claim, _ := ClaimFrom(ctx)
		name = claim.id.name
		c.mu.Lock()
		c.owners[claim.nonce] = &chaosRun{claim, p}
		c.runs[name]++
		if c.dead[name] {
			c.t.Error("I5: it runs, and dead was said of it")
		}
		c.mu.Unlock()
		pass(takes / 2)
		if mark {
			if err := MarkEffects(ctx); err != nil {
				return 0, err
			}
		}
		if heed && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if ends == 0 {
			return 0, errors.New("refused without effect")
		}
		c.mu.Lock()
		if !p.killed {
			c.effects[name]++
		}
		c.mu.Unlock()
		pass(takes / 2)
		return 1, nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if verdict == Dead {
		verified, _ := g.Verify(context.Background(), in)
		c.dead[verified.id.name] = true
		if c.open || c.watch || c.runs[verified.id.name] > c.released[verified.id.name] {
			c.t.Error("I5: dead was said of a token that ran")
		}
	}
	if verdict == 0 {
		c.t.Error("I6: a request ended without a verdict")
	}
}

const (
	chaosIntents  = 60
	chaosRequests = 300
)

// hooks are slow, panic, hang, and doubt errors.
func (c *chaos) hooks() Hooks {
	spoil := func() (doubt bool) {
		c.mu.Lock()
		n := c.rng.IntN(10)
		c.mu.Unlock()
		switch n {
		case 0:
			panic("a hook")
		case 1, 2, 3:
			pass(time.Duration(n) * 500 * time.Millisecond)
		}
		return n == 4
	}
	return Hooks{
		BeforeClaim:  func(ctx context.Context, _ HookIntent) context.Context { spoil(); return ctx },
		BeforeSettle: func(context.Context, SettlePlan) SettleChange { return SettleChange{Doubt: spoil()} },
		AfterSettle:  func(context.Context, HookSettled) { spoil() },
		AfterVerdict: func(context.Context, HookVerdict) { spoil() },
	}
}

func runChaos(t *testing.T, seed uint64, batches ...bool) (faults, runs, takeOvers int) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		}()
		c := &chaos{
			shelf: newShelf(), t: t, retake: seed%3 == 0, open: seed%3 == 1, watch: seed%5 == 4, rng: rand.New(rand.NewPCG(seed, 7)),
			owners: map[owner]*chaosRun{}, runs: map[string]int{}, released: map[string]int{},
			retaken: map[string]int{}, dead: map[string]bool{}, effects: map[string]int{},
		}
		var processes []*chaosProcess
		var guards []*Guard
		for range 3 {
			p := &chaosProcess{chaos: c}
			g := guardOn(t, p, policy(func(p *Policy) {
				p.TokenLife, p.OnDuplicate, p.Wait = 8*time.Second, Wait, 2*time.Second
				if c.retake {
					p.OnCrash = Retake
				}
				if c.open {
					p.OnOutage = Open
				}
				if c.watch {
					p.Mode = ModeObserve
				}
			}), func(cfg *Config) {
				if seed%2 == 1 {
					cfg.Sealer = sealerOf(t, 1)
				}
				if seed%4 == 3 {
					cfg.Hooks = c.hooks()
				}
			})
			processes, guards = append(processes, p), append(guards, g)
		}
		pass(2 * time.Second)
		var intents []Intent
		for i := range chaosIntents {
			in := testIntent(fmt.Sprint("key ", i))
			if i%2 == 1 {
				in = tokenIntent(issued(t, guards[0], time.Now()))
			}
			intents = append(intents, in)
		}
		var clients sync.WaitGroup
		for range chaosRequests {
			c.mu.Lock()
			at, who, in := time.Duration(c.rng.IntN(25_000))*time.Millisecond, c.rng.IntN(3), intents[c.rng.IntN(len(intents))]
			c.mu.Unlock()
			clients.Go(func() {
				pass(at)
				if len(batches) > 0 {
					c.batch(processes[who], guards[who], intents, in)
					return
				}
				c.request(processes[who], guards[who], in)
			})
		}
		clients.Go(func() {
			pass(12 * time.Second)
			c.mu.Lock()
			processes[2].killed = true
			c.mu.Unlock()
		})
		clients.Wait()
		c.mu.Lock()
		c.calm = true
		c.mu.Unlock()
		pass(time.Minute) // I13: what was unknown is settled or released by now
		c.late.Wait()
		c.check(guards)
		faults, runs, takeOvers = c.faults, sum(c.runs), sum(c.retaken)
	})
	return faults, runs, takeOvers
}

// check looks at what is left when the store has come back.
func (c *chaos) check(guards []*Guard) {
	bare := map[string]int{}
	for _, run := range c.owners {
		if run.claim != nil && run.claim.bare {
			bare[run.claim.id.name]++
		}
	}
	for name, n := range c.runs {
		if most := 1 + c.released[name] + c.retaken[name] + bare[name]; n > most {
			c.t.Errorf("I9: %d runs of one record, with %d releases, %d take-overs and %d runs without a record", n, c.released[name], c.retaken[name], bare[name])
		}
		if !c.retake && !c.open && !c.watch && c.effects[name] > 1 {
			c.t.Errorf("%d effects under Hold", c.effects[name])
		}
		if _, there := c.peek(name); !there && bare[name] == 0 { // a process that ran without one may have died with it
			c.t.Error("a record of a run is gone")
		}
	}
	for _, name := range c.names() {
		r, there := c.peek(name)
		// What a dead process claimed stays, and so does a take-over that landed
		// long after its time-out: the next claim takes it over in turn.
		left := there && r.state == StateProcessing && !c.owners[r.owner].process.killed && r.flags&flagTakenOver == 0
		if left {
			c.t.Errorf("I13: a claim is left open (it ran: %v)", c.owners[r.owner].claim != nil)
		}
	}
	for _, g := range guards[:2] {
		if st := g.Stats(); st.Pending != 0 || st.Unknown != st.Mended {
			c.t.Errorf("I13: left undone: %+v", st)
		}
	}
}

// names lists the records there are, cards left out.
func (c *chaos) names() (list []string) {
	c.shelf.mu.Lock()
	defer c.shelf.mu.Unlock()
	for name := range c.items {
		if !isCard(name) {
			list = append(list, name)
		}
	}
	return list
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// TestI10_WithFaultsAtEveryCall is I1 to I9 and I13 with faults at every store
// call: refused, applied but the reply lost, applied long after, slow; and one
// process that dies. IDEM_DRILL=1 plays more of it.
//
// Faults: 9, 10, 21, 22.
func TestI10_WithFaultsAtEveryCall(t *testing.T) {
	seeds := uint64(60)
	if drill() {
		seeds = 2000
	}
	faults, runs, takeOvers := 0, 0, 0
	for seed := range seeds {
		f, r, o := runChaos(t, seed)
		faults, runs, takeOvers = faults+f, runs+r, takeOvers+o
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d histories of %d requests for %d intents: %d faults, %d runs, %d take-overs", seeds, chaosRequests, chaosIntents, faults, runs, takeOvers)
	if faults < int(seeds)*50 || takeOvers < int(seeds)/10 {
		t.Error("too little went wrong for this to show anything")
	}
}
