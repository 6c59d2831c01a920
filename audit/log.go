package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// Options say where events go and what happens where they cannot.
type Options struct {
	// Sink is required.
	Sink Sink
	// Ride has the store that keeps the records append events to this stream, in
	// the pipeline of the claim or settle itself, where it is one Redis. Use the
	// same stream for Sink ([Stream] with the same store and Journal): it gets what
	// cannot travel so.
	Ride *Journal
	// Strict fails what cannot be written instead of counting it: see the package.
	Strict bool
	// Queue is how many events wait for a sink that is slow or down; 10,000 if
	// zero. Under Strict it bounds nothing: the runs under way do.
	Queue int
	// Timeout bounds one write of the sink; a second if zero. Under Strict a
	// request waits that long.
	Timeout time.Duration
	// OnDrop is told of each event that was dropped, from whatever goroutine; it
	// must not block. Use it to count into your metrics.
	OnDrop func(Event)
	Logger *slog.Logger // nil discards
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
	atOnce     = 256              // events in one write
	sayAgain   = 30 * time.Second // how often drops are said in the log
)

// Log takes down transitions: an [idem.Auditor], [idem.AuditGate] and
// [idem.AuditRider]. Make it with [New], close it after the guard. It may be used
// from any number of goroutines, by several guards.
type Log struct {
	options Options

	mu      sync.Mutex
	queue   []Event
	writing int // taken from the queue and not written yet
	drops   int64
	told    int64     // how many of them the log was told of
	said    time.Time // when that was
	failing error     // why the sink did not take the last write; nil: it did
	closed  bool

	poke   chan struct{}
	ctx    context.Context // ends where what is left is given up
	giveUp context.CancelFunc
	done   chan struct{}
}

var errClosed = errors.New("audit: the log is closed")

// New starts a log. It returns an error where the options are wrong.
func New(o Options) (*Log, error) {
	if o.Sink == nil {
		return nil, errors.New("audit: Options.Sink is nil: name where events go, audit.Slog(logger) for the program's own log")
	}
	if o.Queue < 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("audit: Options.Queue %d and Timeout %v must not be negative", o.Queue, o.Timeout)
	}
	if o.Queue == 0 {
		o.Queue = 10_000
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ride != nil {
		ride := o.Ride.withDefaults()
		o.Ride = &ride
	}
	l := &Log{options: o, poke: make(chan struct{}, 1), done: make(chan struct{})}
	l.ctx, l.giveUp = context.WithCancel(context.Background())
	go l.loop()
	return l, nil
}

// Audit takes a transition down. Without Strict it puts it into the queue, or
// drops and counts it, and returns nil. Under Strict it writes it before it
// returns, unless a handler ran: then it queues it, however many wait. What could
// not be written is queued as well, and the error says so.
func (l *Log) Audit(ctx context.Context, t idem.Transition) error {
	e := EventOf(t)
	if !l.options.Strict || t.Ran {
		l.put(e)
		return nil
	}
	err := l.write(context.WithoutCancel(ctx), []Event{e})
	l.heard(err)
	if err != nil {
		l.put(e)
		return fmt.Errorf("audit: the event is held and written later: %w", err)
	}
	return nil
}

// Open returns, under Strict, why the sink did not take the last event; nil
// where it did, and always nil without Strict.
func (l *Log) Open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.options.Strict {
		return nil
	}
	if l.closed {
		return errClosed
	}
	return l.failing
}

// Drops returns how many events were dropped since the log was made.
func (l *Log) Drops() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.drops
}

// Waiting returns how many events are not written yet.
func (l *Log) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) + l.writing
}

// Close writes what waits, until ctx ends, and stops; a write that is under way
// then is given up, and how soon Close returns is how well the sink honours that.
// What is left is dropped and counted, and the error says how many. Close the
// guard before, so that its last events are among what waits.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if again {
		<-l.done
		return nil
	}
	l.wake()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.giveUp()
		<-l.done
	}
	l.giveUp()
	l.mu.Lock()
	left := l.queue
	l.queue = nil
	l.mu.Unlock()
	for _, e := range left {
		l.drop(e)
	}
	l.sayDrops(0)
	if len(left) > 0 {
		return fmt.Errorf("audit: %d events could not be written before the log was closed", len(left))
	}
	return nil
}

// put queues an event, or drops it where there is no room.
func (l *Log) put(e Event) {
	l.mu.Lock()
	full := l.closed || !l.options.Strict && len(l.queue)+l.writing >= l.options.Queue
	if !full {
		l.queue = append(l.queue, e)
	}
	l.mu.Unlock()
	if full {
		l.drop(e)
		return
	}
	l.wake()
}

// drop counts an event that is lost, and says so: at once, and then a count each
// half minute.
func (l *Log) drop(e Event) {
	if broken.Is(broken.AuditDropsUnseen) {
		return
	}
	l.mu.Lock()
	l.drops++
	l.mu.Unlock()
	if l.options.OnDrop != nil {
		l.options.OnDrop(e)
	}
	l.sayDrops(sayAgain)
}

// sayDrops tells the log how many were dropped, where it does not know yet and was
// not told of any for so long.
func (l *Log) sayDrops(quiet time.Duration) {
	now := time.Now()
	l.mu.Lock()
	drops, why := l.drops, l.failing
	say := drops > l.told && now.Sub(l.said) >= quiet
	if say {
		l.told, l.said = drops, now
	}
	l.mu.Unlock()
	if say {
		l.options.Logger.Error("audit events dropped", "idem.audit.drops", drops, "error", why)
	}
}

func (l *Log) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// loop writes what is queued, and goes on trying where the sink is down.
func (l *Log) loop() {
	defer close(l.done)
	pause := firstPause
	for {
		batch, over := l.take()
		if len(batch) == 0 {
			if over {
				return
			}
			select {
			case <-l.poke:
			case <-l.ctx.Done():
			}
			continue
		}
		err := l.write(l.ctx, batch)
		l.took(batch, err)
		if l.ctx.Err() != nil {
			return
		}
		l.heard(err)
		l.sayDrops(sayAgain)
		if err == nil {
			pause = firstPause
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// take takes what is written next. over says that there is nothing and will be
// nothing.
func (l *Log) take() (batch []Event, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), atOnce)
	batch, l.queue = l.queue[:n:n], l.queue[n:]
	l.writing = n
	return batch, l.closed
}

// took puts what was not written back, first.
func (l *Log) took(batch []Event, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = 0
	if err != nil {
		l.queue = append(batch, l.queue...)
	} else if len(l.queue) == 0 {
		l.queue = nil
	}
}

// heard takes note of what came of a write. Under Strict an open gate is closed by
// the first write that fails and opened by the first that does not.
func (l *Log) heard(err error) {
	l.mu.Lock()
	was := l.failing
	l.failing = err
	l.mu.Unlock()
	switch {
	case err != nil && was == nil:
		l.options.Logger.Error("audit sink does not take events", "error", err)
	case err == nil && was != nil:
		l.sayDrops(0)
		l.options.Logger.Info("audit sink takes events again", "idem.audit.drops", l.Drops())
	}
}

// write is one write of the sink, bounded and contained.
func (l *Log) write(ctx context.Context, events []Event) (err error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("audit: the sink panicked with a %T", p)
		}
	}()
	return l.options.Sink.Write(ctx, events)
}
