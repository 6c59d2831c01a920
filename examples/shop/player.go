package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

const (
	playLimit  = 60 * time.Second       // for one trouble
	playsKept  = 50                     // results
	resendFor  = 20 * time.Second       // how long a press is repeated that is told to wait
	humanPause = 400 * time.Millisecond // between two presses, for the eye; nothing depends on it
)

// player plays troubles: it sends real requests over real connections to the
// shop's own address, as a visitor of its own, and counts in the order table
// what came of them. Several may be played at once.
type player struct {
	shop  *shop
	base  string
	spawn spawner

	mu    sync.Mutex
	next  int
	plays []*played
	names map[string]string // visitor's hash → the trouble he played in

	busy sync.RWMutex // read-locked while a trouble is played
}

// attempt is one line of what happened: one request, or several alike.
type attempt struct {
	Count   int // of requests
	Did     string
	Form    string // short hash of the form that was sent
	Order   string // what it asked for, in words
	Status  int
	Verdict string // "lost" where no answer came
	To      string // where the answer leads
	Took    time.Duration
	Again   bool // it was told to wait, so the same was sent again
}

// played is what came of a trouble.
type played struct {
	ID       string
	Trouble  trouble
	Owner    string // the short hash of the visitor it was played as
	At       time.Time
	Attempts []attempt
	Requests int
	Runs     int // rows in the order table
	OK       bool
	Err      error // it could not be played to its end
}

// Came lists what came back, in words: "lost, replayed".
func (p *played) Came() string {
	var list []string
	for _, a := range p.Attempts {
		word := a.Verdict
		if word == "" {
			word = "none"
		}
		if a.Count > 1 {
			word = fmt.Sprintf("%d × %s", a.Count, word)
		}
		list = append(list, word)
	}
	return strings.Join(list, ", ")
}

// Says counts the orders in one sentence.
func (p *played) Says() string { return verdictOn(p.OK, p.Runs, p.Trouble.Runs) }

// act is a trouble being played.
type act struct {
	*player
	ctx     context.Context
	browser *browser
	who     visitor
	result  *played
	ending  []func()
}

// play plays a trouble and keeps its result.
func (p *player) play(ctx context.Context, t trouble) *played {
	p.busy.RLock()
	defer p.busy.RUnlock()
	a := &act{player: p, ctx: ctx, browser: &browser{base: p.base, cookies: map[string]string{}}, result: &played{Trouble: t, At: time.Now()}}
	a.result.Err = t.play(a)
	for _, end := range slices.Backward(a.ending) {
		end()
	}
	a.judge()

	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	a.result.ID = strconv.Itoa(p.next)
	if p.plays = append(p.plays, a.result); len(p.plays) > playsKept {
		p.plays = slices.Delete(p.plays, 0, 1)
	}
	return a.result
}

// judge compares what came with what was promised. Requests that were told to
// wait and were sent again, as the verdict allows, are counted and shown but
// promise nothing.
func (a *act) judge() {
	r := a.result
	came := map[string]int{}
	var order []string
	for _, at := range r.Attempts {
		r.Requests += at.Count
		if !at.Again {
			came[at.Verdict] += at.Count
			order = append(order, at.Verdict)
		}
	}
	runs, err := a.shop.table.countOf(a.who.hash())
	if r.Runs = runs; err != nil && r.Err == nil {
		r.Err = err
	}
	r.OK = r.Err == nil && r.Runs == r.Trouble.Runs
	if r.Trouble.Storm > 0 {
		r.OK = r.OK && came["executed"] == 1 && came["executed"]+came["replayed"]+came["in-flight"] == r.Trouble.Storm
	} else {
		r.OK = r.OK && slices.Equal(order, r.Trouble.Verdicts)
	}
}

// result returns a result by its id; ok is false if it is not kept.
func (p *player) result(id string) (r *played, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.plays, func(r *played) bool { return r.ID == id })
	if i < 0 {
		return nil, false
	}
	return p.plays[i], true
}

// nameOf returns the title of the trouble in which a visitor played, "" for
// one who did not.
func (p *player) nameOf(owner string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[owner]
}

// reset forgets everything that was played and empties the table and the log,
// as soon as nothing is being played.
func (p *player) reset() error {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.mu.Lock()
	p.plays, p.names = nil, map[string]string{}
	p.mu.Unlock()
	p.shop.log.reset()
	return p.shop.table.reset()
}

// open loads the shop's page and fills in its form.
func (a *act) open() (url.Values, error) {
	page, err := a.browser.visit(a.ctx, "/", nil)
	if err != nil {
		return nil, err
	}
	a.who = visitor(a.browser.cookies[visitorCookie])
	a.mu.Lock()
	a.result.Owner = a.who.hash()
	a.names[a.result.Owner] = a.result.Trouble.Title
	a.mu.Unlock()
	return formIn(page.body, "Ada Staged")
}

// stage sets up a stage for a request of this act.
func (a *act) stage(hold chan struct{}) *stage {
	st := a.shop.stages.open(hold)
	a.ending = append(a.ending, func() { a.shop.stages.strike(st) })
	return st
}

// hold returns a channel that holds orders up until release is called, at the
// latest when the act is over.
func (a *act) hold() (hold chan struct{}, release func()) {
	hold = make(chan struct{})
	release = sync.OnceFunc(func() { close(hold) })
	a.ending = append(a.ending, release)
	return hold, release
}

// await waits for an event on a stage.
func (a *act) await(e *event, what string) error {
	select {
	case <-e.done:
		return nil
	case <-a.ctx.Done():
		return fmt.Errorf("%s: %w", what, a.ctx.Err())
	}
}

// pause waits as a person would.
func (a *act) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
	}
}

// send posts the form to the shop without waiting for the answer.
func (a *act) send(form url.Values, st *stage) (*exchange, error) {
	return a.browser.send(a.ctx, a.base, "/orders", form, st)
}

// attempt says what was sent and what came back.
func (a *act) attempt(form url.Values, got answer) attempt {
	typed, _ := readForm(form)
	order := typed.order().Lines + " for " + typed.Name
	if typed.Name == "" {
		order = typed.order().Lines + ", without a name"
	}
	return attempt{
		Form: a.shop.formHash(a.who, form.Get(idem.TokenField)), Order: order,
		Status: got.status, Verdict: got.verdict, To: got.to, Took: got.took,
	}
}

// note writes down what came back for a form.
func (a *act) note(did string, form url.Values, got answer, err error) {
	at := a.attempt(form, got)
	at.Count, at.Did = 1, did
	if err != nil {
		at.Verdict = lostWord.Verdict
	}
	a.result.Attempts = append(a.result.Attempts, at)
}

// read waits for the answer of an exchange and writes it down.
func (a *act) read(did string, form url.Values, x *exchange) answer {
	got, err := x.read()
	a.note(did, form, got, err)
	return got
}

// drop ends an exchange without reading and writes that down.
func (a *act) drop(did string, form url.Values, x *exchange) {
	took := time.Since(x.sent)
	x.drop()
	a.note(did, form, answer{took: took}, context.Canceled)
}

// press sends the form and waits for its answer. Told that the same form is
// running or that the store is away, it sends the same again after the time it
// was told: those verdicts ask for it, and allow nothing else.
func (a *act) press(did string, form url.Values) (answer, error) {
	for begun := time.Now(); ; did = "The same form once more, after the wait it was told." {
		x, err := a.send(form, nil)
		if err != nil {
			return answer{}, err
		}
		got := a.read(did, form, x)
		told := got.verdict == idem.InFlight.String() || got.verdict == idem.Unavailable.String()
		if !told || time.Since(begun) > resendFor || a.ctx.Err() != nil {
			return got, a.ctx.Err()
		}
		a.result.Attempts[len(a.result.Attempts)-1].Again = true
		a.pause(max(got.wait, 100*time.Millisecond))
	}
}
