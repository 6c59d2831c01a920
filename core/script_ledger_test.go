package idem

import (
	"fmt"
	"sync"
	"time"
)

// scriptLedger sees every value that a script's store ever held, and every claim
// and verdict, and holds them against the invariants of PROTOCOL section 10.
type scriptLedger struct {
	mu      sync.Mutex
	wrong   []string
	written map[string]time.Time     // when a record was written last, by the store's clock
	process map[owner]*scriptProcess // who made a claim
	claims  map[owner]*scriptClaim   // those that were won
	wrote   map[owner]bool           // a value of this owner was in the store
	accts   map[string]*scriptAccount
}

// scriptAccount counts what happened to one record.
type scriptAccount struct {
	runs, releases, retakes, forces, bare, stale int
	dead, discarded                              bool
	kept                                         map[string]bool
}

// mayHaveHadAnEffect tells whether one of the runs may have. Of those that were
// retaken the policy says in writing that they count for nothing.
func (a *scriptAccount) mayHaveHadAnEffect() bool { return a.runs > a.releases+a.retakes }

// scriptClaim is one claim that was won.
type scriptClaim struct {
	*Claim
	process *scriptProcess
	payload string
}

func newScriptLedger() *scriptLedger {
	return &scriptLedger{
		written: map[string]time.Time{}, process: map[owner]*scriptProcess{}, claims: map[owner]*scriptClaim{},
		wrote: map[owner]bool{}, accts: map[string]*scriptAccount{},
	}
}

// says notes a broken invariant. l.mu is held.
func (l *scriptLedger) says(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

func (l *scriptLedger) account(name string) *scriptAccount {
	a := l.accts[name]
	if a == nil {
		a = &scriptAccount{kept: map[string]bool{}}
		l.accts[name] = a
	}
	return a
}

// enter checks one change of a record, made by process p. l.mu is held.
func (l *scriptLedger) enter(p *scriptProcess, name string, before record, was bool, after record, ttl time.Duration) {
	last := l.written[name]
	l.written[name] = time.Now()
	if after.state != StateBuried { // behind a dead, or a forgotten: since may have moved meanwhile
		l.wrote[after.owner] = true
	}
	if l.process[after.owner] == nil {
		l.process[after.owner] = p
	}
	says := func(format string, args ...any) {
		l.says("%s → %s: "+format, append([]any{before.state, after.state}, args...)...)
	}
	moved := was && before.state == StateReleased && after.state == StateReleased && after.owner == before.owner
	if ttl < time.Second {
		says("I7: it is written for %v", ttl)
	}
	if l.process[after.owner] != p && !moved {
		says("I8: process %d wrote what is not its own", p.number)
	}
	if !was {
		return
	}
	if after.fence < before.fence {
		says("I2: the fence fell from %d to %d", before.fence, after.fence)
	}
	same := after.owner == before.owner && after.fence == before.fence
	if !same && after.fence == before.fence && !moved {
		says("I2: the fence stands at %d", before.fence)
	}
	forced := after.flags&flagForced != 0 && !same
	bare := l.claims[after.owner] != nil && l.claims[after.owner].bare
	if forced && after.state == StateProcessing {
		l.account(name).forces++
	}
	switch before.state {
	case StateSucceeded, StateFailed:
		if !forced {
			says("I3: it was settled for good")
		}
	case StateBuried:
		says("I3: it was buried")
	case StateUncertain:
		if !same && !forced {
			says("I3: doubt was settled by another")
		}
	case StateReleased:
		discarded := after.state == StateBuried && after.flags&flagDiscarded != 0
		if after.state != StateProcessing && !discarded && !bare && !(moved && after.counter == before.counter+1) {
			says("I3: released is left by a claim or a discard only")
		}
	case StateProcessing:
		if !same && !forced {
			l.takeOver(says, p, name, before, after, time.Since(last), bare)
		}
	}
}

// takeOver checks a claim that was taken from its owner, its lease that old.
func (l *scriptLedger) takeOver(says func(string, ...any), p *scriptProcess, name string, before, after record, age time.Duration, bare bool) {
	l.account(name).retakes++
	switch {
	case age < before.leaseTime():
		says("I1: it was taken %v after its last renewal, with a lease of %v", age, before.leaseTime())
	case before.flags&flagEffects != 0:
		says("P13: its effects were marked")
	case !p.mayRetake:
		says("P13: process %d holds what crashed", p.number)
	case after.state != StateProcessing && !bare:
		says("P13: it was not claimed")
	}
	if c := l.claims[before.owner]; c != nil && !c.process.killed && !c.bare && c.Context().Err() == nil && !c.isEnded() {
		says("I1: its owner still believes in it")
	}
}

// won notes a claim that was won.
func (l *scriptLedger) won(c *scriptClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims[c.nonce] = c
	a := l.account(c.id.name)
	a.runs++
	if c.bare {
		a.bare++
	}
	// A live token that was discarded is found out by its record alone: where the
	// policy was opened since, and the store is away, it runs without one.
	if a.dead && !(c.bare && a.discarded) {
		l.says("I5: it runs, and dead was said of it")
	}
}

// refused notes what a claim that was not won was told.
func (l *scriptLedger) refused(c *Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, verdict := l.account(c.id.name), c.Verdict()
	switch verdict {
	case 0:
		l.says("I6: a request ended without a verdict")
	case Dead:
		a.dead = true
		if a.mayHaveHadAnEffect() {
			l.says("I5: dead was said of a token that ran")
		}
	case Replayed:
		if kept, _ := c.Kept(); !a.kept[string(kept.Bytes)] {
			l.says("I4: replayed %q, which no run answered", kept.Bytes)
		}
	}
	if l.wrote[c.nonce] && verdict != Unavailable {
		l.says("I8: what was refused as %s has written", verdict)
	}
}

// ended notes how a claim ended.
func (l *scriptLedger) ended(c *scriptClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(c.id.name)
	switch c.Verdict() {
	case 0:
		l.says("I6: a run ended without a verdict")
	case Unprotected:
		a.stale++
	}
	if c.final.rec.state == StateReleased {
		a.releases++
	}
}

// keeps notes an answer before it is kept.
func (l *scriptLedger) keeps(c *scriptClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(c.id.name).kept[c.payload] = true
}

// judge returns what is wrong so far, "" if nothing is.
func (l *scriptLedger) judge() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, a := range l.accts {
		if most := 1 + a.releases + a.retakes + a.forces + a.bare + a.stale; a.runs > most {
			l.says("I9: %d runs of %s, with %+v", a.runs, name, *a)
		}
	}
	if len(l.wrong) == 0 {
		return ""
	}
	return l.wrong[0]
}
