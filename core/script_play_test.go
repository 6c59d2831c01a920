package idem

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// scriptProcess is a guard and its own way to the store.
type scriptProcess struct {
	*shelf
	stage     *scriptStage
	number    int
	guard     *Guard
	killed    bool
	mayRetake bool // its policy says so, or has said so
	troubles  []scriptStep
}

// scriptStage is where a script is played.
type scriptStage struct {
	*scriptLedger
	*shelf
	processes [scriptProcesses]*scriptProcess
	past      []*scriptProcess
	intents   []Intent
	claims    []*scriptClaim // won and not ended
	ran       int
	policy    scriptPolicy // of every process
}

// play plays a script in a bubble and returns the first invariant that is
// broken, with the number of its step, "" if none is.
func (script script) play(t *testing.T) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		st := &scriptStage{scriptLedger: newScriptLedger(), shelf: newShelf()}
		for i := range st.processes {
			st.processes[i] = st.start(i)
		}
		pass(2 * time.Second)
		g := st.processes[0].guard
		st.intents = []Intent{testIntent("A"), testIntent("B"), tokenIntent(issued(t, g, time.Now())), tokenIntent(issued(t, g, time.Now()))}
		st.intents[3].Token = issued(t, g, time.Now().Add(-time.Second)) // its life is 8 s
		pass(7 * time.Second)
		st.intents[2] = tokenIntent(issued(t, g, time.Now()))
		for i, step := range script {
			st.take(step)
			synctest.Wait()
			if wrong = st.judge(); wrong != "" {
				wrong = fmt.Sprintf("after step %d: %s", i+1, wrong)
				break
			}
		}
		if st.heal(); wrong == "" {
			if wrong = st.judge(); wrong != "" {
				wrong = "when all is over: " + wrong
			}
		}
	})
	return wrong
}

// start starts a process.
func (st *scriptStage) start(number int) *scriptProcess {
	p := &scriptProcess{shelf: st.shelf, stage: st, number: number, mayRetake: st.policy.retake}
	g, err := New(Config{
		Store: p, Signer: scriptSigner, NameKey: testNameKey, Policies: []Policy{st.policy.policy()},
		ForceAuthorizer: func(context.Context, Intent) bool { return true },
	})
	if err != nil {
		panic(err)
	}
	p.guard = g
	return p
}

var scriptSigner, _ = NewSigner(SigningKey{ID: 1, Secret: []byte("fedcba9876543210fedcba9876543210")})

func (s scriptPolicy) policy() Policy {
	p := Policy{
		Operation: testOperation, Preset: API, Key: []string{"token", "header:Idempotency-Key"},
		OnDuplicate: Force, Lease: time.Second, MaxRun: 6 * time.Second, TokenLife: 8 * time.Second,
	}
	if s.retake {
		p.OnCrash = Retake
	}
	if s.open {
		p.OnOutage = Open
	}
	return p
}

// take plays one step.
func (st *scriptStage) take(s scriptStep) {
	p := st.processes[s.who]
	switch s.do {
	case "claim", "claim another request", "force":
		in := st.intents[s.key]
		in.Force = s.do == "force"
		if s.do == "claim another request" {
			in.Fingerprint.Sum[0]++
		}
		st.claim(p, in)
	case "discard":
		if st.intents[s.key].Key == "" {
			st.discard(p, st.intents[s.key])
		}
	case "pass":
		pass(s.span)
	case "crash":
		st.crash(p)
	case "policy":
		st.policy = s.policy
		for _, p := range st.processes {
			st.mu().Lock()
			p.mayRetake = p.mayRetake || s.policy.retake
			st.mu().Unlock()
			_ = p.guard.SetPolicy(s.policy.policy())
		}
	case "disturb":
		st.mu().Lock()
		p.troubles = append(p.troubles, s)
		st.mu().Unlock()
	default:
		if len(st.claims) > 0 {
			st.act(s.do, s.which%len(st.claims))
		}
	}
}

func (st *scriptStage) mu() interface {
	Lock()
	Unlock()
} {
	return &st.scriptLedger.mu
}

func (st *scriptStage) claim(p *scriptProcess, in Intent) {
	c, _ := p.guard.Claim(context.Background(), in)
	if !c.Won() {
		if c.id.name != "" {
			st.refused(c)
		}
		return
	}
	st.ran++
	won := &scriptClaim{Claim: c, process: p, payload: fmt.Sprint("answer ", st.ran)}
	st.won(won)
	st.claims = append(st.claims, won)
}

func (st *scriptStage) discard(p *scriptProcess, in Intent) {
	_, verdict, _ := p.guard.Discard(context.Background(), in)
	if verdict == Dead {
		in, _ := p.guard.Verify(context.Background(), in)
		st.mu().Lock()
		defer st.mu().Unlock()
		a := st.account(in.id.name)
		a.dead, a.discarded = true, true
		if a.mayHaveHadAnEffect() {
			st.says("I5: dead was said of a discarded token that ran")
		}
	}
}

// act has a running claim do something; an ending takes it out of those that
// run. Those of a process that was killed are with it no more.
func (st *scriptStage) act(do string, i int) {
	c, ctx := st.claims[i], context.Background()
	payload := Payload{Bytes: []byte(c.payload)}
	switch do {
	case "mark":
		_ = c.MarkEffects(ctx, "a note")
		return
	case "complete", "fail":
		st.keeps(c)
		if do == "complete" {
			_ = c.Complete(ctx, payload)
		} else {
			_ = c.Fail(ctx, payload)
		}
	case "release":
		_ = c.Release(ctx)
	case "doubt":
		_ = c.Doubt(ctx)
	case "end":
		c.End(ctx)
	}
	st.claims = append(st.claims[:i:i], st.claims[i+1:]...)
	st.ended(c)
}

// crash ends a process as kill -9 does: nothing of it reaches the store any more.
func (st *scriptStage) crash(p *scriptProcess) {
	st.mu().Lock()
	p.killed = true
	st.mu().Unlock()
	rest := st.claims[:0:0]
	for _, c := range st.claims {
		if c.process != p {
			rest = append(rest, c)
		} else {
			c.cancel(ErrClosed) // its goroutines have to end, unlike those of the dead
		}
	}
	st.claims = rest
	st.past = append(st.past, p)
	st.processes[p.number] = st.start(p.number)
}

// heal gives the store back, ends what runs, waits, and closes everything.
func (st *scriptStage) heal() {
	st.mu().Lock()
	for _, p := range st.processes {
		p.troubles = nil
	}
	st.mu().Unlock()
	for len(st.claims) > 0 {
		st.act("end", 0)
	}
	pass(40 * time.Second) // the janitor pauses for up to thirty
	st.late.Wait()
	st.settled()
	for _, p := range append(st.past, st.processes[:]...) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = p.guard.Close(ctx)
		cancel()
	}
}

// settled is I13: a lease and a janitor's period after the store came back
// nothing of a living process is open. A take-over, or a forced claim, that landed
// long after its time-out is left to its lease.
func (st *scriptStage) settled() {
	st.mu().Lock()
	defer st.mu().Unlock()
	for _, p := range st.processes {
		if s := p.guard.Stats(); s.Pending != 0 || s.Unknown != s.Mended {
			st.says("I13: process %d has left undone %+v", p.number, s)
		}
	}
	for name := range st.accts {
		r, there := st.peek(name)
		owner := st.process[r.owner]
		if there && r.state == StateProcessing && !owner.killed && r.flags&(flagTakenOver|flagForced) == 0 {
			st.says("I13: a claim of process %d is left open", owner.number)
		}
	}
}

// peek is the record of a name.
func (st *scriptStage) peek(name string) (record, bool) {
	st.shelf.mu.Lock()
	defer st.shelf.mu.Unlock()
	held, ok := st.at(name)
	if !ok {
		return record{}, false
	}
	r, err := decodeRecord(held.value)
	if err != nil {
		panic(err)
	}
	return r, true
}

func (p *scriptProcess) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	return p.disturbed(ctx, name, ttl, func() (Result, error) { return p.shelf.Create(context.Background(), name, value, ttl) })
}

func (p *scriptProcess) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (Result, error) {
	return p.disturbed(ctx, name, ttl, func() (Result, error) { return p.shelf.Swap(context.Background(), name, old, value, ttl) })
}

func (p *scriptProcess) Load(ctx context.Context, name string) (Result, error) {
	return p.disturbed(ctx, name, 0, func() (Result, error) { return p.shelf.Load(context.Background(), name) })
}

// trouble is what becomes of the next call of a step.
func (p *scriptProcess) trouble(step string) fault {
	p.stage.mu().Lock()
	defer p.stage.mu().Unlock()
	if p.killed {
		return fault{refuse: true}
	}
	for i := range p.troubles {
		if s := &p.troubles[i]; s.times > 0 && (s.call == "" || s.call == step) {
			s.times--
			return s.fault()
		}
	}
	return fault{}
}

// disturbed makes one call with what the script has for it, and shows the ledger
// what it changed.
func (p *scriptProcess) disturbed(ctx context.Context, name string, ttl time.Duration, call func() (Result, error)) (Result, error) {
	if isCard(name) {
		return call()
	}
	apply := func() (Result, error) {
		p.stage.mu().Lock()
		defer p.stage.mu().Unlock()
		before, was := p.stage.peek(name)
		res, err := call()
		after, there := p.stage.peek(name)
		if there && (!was || string(before.append(nil)) != string(after.append(nil))) {
			p.stage.enter(p, name, before, was, after, ttl)
		}
		return res, err
	}
	switch f := p.trouble(StoreStep(ctx)); {
	case f.refuse:
		return Result{}, errShelf
	case f.loseReply:
		_, _ = apply()
		return Result{}, errShelf
	case f.late > 0:
		p.late.Go(func() { pass(f.late); _, _ = apply() })
		return Result{}, errShelf
	case f.slow > 0:
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
	return apply()
}
