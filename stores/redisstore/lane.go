package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// lane is the way to one node: group commit by back-pressure. A caller who finds
// fewer than pipelines under way sends at once, alone, in its own goroutine.
// While so many are under way the others queue; whenever one comes back, all that
// wait leave together in the next. Nobody ever waits for company: what makes a
// pipeline long is only that the server is busy, and a server that is not has
// nothing to gain from it.
type lane struct {
	pipelines int   // how many may be under way
	size      int   // the most commands in one
	crowd     int   // the most commands that wait
	wait      []any // the words of WAIT, where claims wait for replicas
	flushed   func(Flush)

	mu      sync.Mutex
	node    *redis.Client
	flying  int
	queue   []*exchange
	waiting int // commands in the queue
	stats   Stats
}

// ErrNotSent is matched by the error of a call that ended before anything of it
// was sent: its context was over while it waited, or too many wait already.
var ErrNotSent = errors.New("redisstore: not sent")

// send sends an exchange to a node and waits until it has come back, until the
// deadline that the context has. With an error
// the exchange is not the caller's any more. It matches ErrNotSent if nothing was
// sent; else the outcome is unknown.
func (l *lane) send(ctx context.Context, node *redis.Client, x *exchange) error {
	if err := ctx.Err(); err != nil {
		x.free()
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	l.mu.Lock()
	l.node = node // a client that was closed has been replaced
	if l.flying < l.pipelines || broken.Is(broken.S9CallsLeaveAlone) {
		l.flying++
		l.mu.Unlock()
		began := time.Now()
		// Deferred: where a hook of Options.Instrument panics, and somebody recovers
		// from it, the lane goes on.
		defer func() { l.land(Flush{Calls: 1, Commands: len(x.cmds), Took: time.Since(began)}) }()
		l.fly(untimed(ctx), node, x.cmds, x.sync)
		return nil
	}
	if l.waiting+len(x.cmds) > l.crowd && l.waiting > 0 {
		waiting := l.waiting
		l.mu.Unlock()
		x.free()
		return fmt.Errorf("%w: %d commands wait for the server already", ErrNotSent, waiting)
	}
	x.keep()
	x.state, x.since = queued, time.Now()
	x.deadline, _ = ctx.Deadline()
	l.queue = append(l.queue, x)
	l.waiting += len(x.cmds)
	l.mu.Unlock()
	return l.await(ctx, x)
}

// await waits in the queue and for the reply.
func (l *lane) await(ctx context.Context, x *exchange) error {
	over, timed := ending(ctx)
	if !timed {
		select {
		case <-x.done:
			return nil
		case <-over:
			return l.leave(x, ctx.Err())
		}
	}
	if x.timer == nil {
		x.timer = time.NewTimer(x.deadline.Sub(x.since))
	} else {
		x.timer.Reset(x.deadline.Sub(x.since))
	}
	select {
	case <-x.done:
		x.timer.Stop()
		return nil
	case <-over:
		x.timer.Stop() // before it may be another's
		return l.leave(x, ctx.Err())
	case <-x.timer.C:
		return l.leave(x, context.DeadlineExceeded)
	}
}

// ending is what ends a context, and whether a timer has to keep its deadline
// beside that.
func ending(ctx context.Context) (over <-chan struct{}, timed bool) {
	if _, only := idem.DeadlineOnly(ctx); only {
		return nil, true
	}
	over = ctx.Done()
	_, ours := ctx.(until)
	return over, ours || over == nil
}

// leave gives an exchange up, unless it has just been delivered.
func (l *lane) leave(x *exchange, why error) error {
	l.mu.Lock()
	was := x.state
	switch was {
	case queued: // it is the queue's now, and need not hold what will not be sent
		l.waiting -= len(x.cmds)
		x.empty()
		x.state = left
	case sent:
		x.state = left
	}
	l.mu.Unlock()
	switch was {
	case delivered:
		<-x.done
		return nil
	case queued:
		return fmt.Errorf("%w: %w", ErrNotSent, why)
	}
	return unknown(why)
}

// land ends a flight of one exchange. If others wait by now, they leave, in a
// goroutine of their own: its owner is this lane, and it ends when none waits.
func (l *lane) land(f Flush) {
	l.mu.Lock()
	l.count(f)
	more := len(l.queue) > 0
	if !more {
		l.flying--
	}
	l.mu.Unlock()
	if more {
		go l.serve()
	}
	if l.flushed != nil {
		l.flushed(f)
	}
}

// serve sends what waits until nothing does.
func (l *lane) serve() {
	var load []*exchange
	var cmds []*command
	for {
		var node *redis.Client
		var f Flush
		if load, node, f = l.take(load[:0]); len(load) == 0 {
			return
		}
		cmds = cmds[:0]
		latest, sync := load[0].deadline, false
		for _, x := range load {
			cmds = append(cmds, x.cmds...)
			sync = sync || x.sync
			if x.deadline.After(latest) {
				latest = x.deadline
			}
		}
		began := time.Now()
		l.fly(until{context.Background(), latest}, node, cmds, sync)
		f.Commands, f.Took = len(cmds), time.Since(began)
		l.deliver(load, f)
		clear(load)
		clear(cmds)
		if l.flushed != nil {
			l.flushed(f)
		}
	}
}

// take takes what leaves next out of the queue: all of it, if it is not too much
// for one pipeline. With nothing to take the flight is over.
func (l *lane) take(load []*exchange) ([]*exchange, *redis.Client, Flush) {
	var f Flush
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	n, commands := 0, 0
	for _, x := range l.queue {
		if x.state == left {
			n++
			x.free()
			continue
		}
		if commands += len(x.cmds); commands > l.size && len(load) > 0 {
			break
		}
		n++
		l.waiting -= len(x.cmds)
		x.state = sent
		waited := now.Sub(x.since)
		f.Waited += waited
		f.LongestWait = max(f.LongestWait, waited)
		load = append(load, x)
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	if f.Calls = len(load); f.Calls == 0 {
		l.flying--
	}
	return load, l.node, f
}

// deliver tells the callers of a flight, those that are still there.
func (l *lane) deliver(load []*exchange, f Flush) {
	l.mu.Lock()
	l.count(f)
	for i, x := range load {
		if x.state == left {
			x.free()
			load[i] = nil
			continue
		}
		x.state = delivered
	}
	l.mu.Unlock()
	for _, x := range load {
		if x != nil {
			x.done <- struct{}{}
		}
	}
}

// fly makes a flight. One WAIT at the end serves all claims in it: it waits for
// everything that this connection wrote before. What leaves with them and is none
// hears nothing of it: a settle that is written is written, whatever replicas do.
func (l *lane) fly(ctx context.Context, node *redis.Client, cmds []*command, sync bool) {
	if !sync {
		fly(ctx, node, cmds)
		return
	}
	wait := newCommand(ctx, l.wait...)
	for _, c := range cmds {
		if c.sync || broken.Is(broken.S9WaitHeardByAll) {
			c.wait = wait
		}
	}
	fly(ctx, node, append(cmds[:len(cmds):len(cmds)], wait))
}

// fly writes commands to a node, all in one go, and reads their replies. What
// became of each is in its own answer.
func fly(ctx context.Context, node *redis.Client, cmds []*command) {
	if len(cmds) == 1 {
		_ = node.Process(ctx, cmds[0])
		return
	}
	list := make([]redis.Cmder, len(cmds))
	for i, c := range cmds {
		list[i] = c
	}
	pipe := node.Pipeline()
	_ = pipe.BatchProcess(ctx, list...)
	if _, err := pipe.Exec(ctx); err != nil {
		for _, c := range cmds {
			c.whole = err
		}
	}
}

// until is a context with a deadline that costs no timer: the driver hands the
// deadline to the socket.
type until struct {
	context.Context
	at time.Time
}

func (u until) Deadline() (time.Time, bool) { return u.at, true }

// unwatched is until, of a context that would set a timer for whoever asks for Done,
// as the driver does each time and never waits: its connections, its dialling
// (Options.CallTimeout, once) and the socket have bounds of their own.
type unwatched struct{ until }

func (unwatched) Done() <-chan struct{} { return nil }
func (unwatched) Err() error            { return nil }

func untimed(ctx context.Context) context.Context {
	if at, only := idem.DeadlineOnly(ctx); only {
		return unwatched{until{ctx, at}}
	}
	return ctx
}
