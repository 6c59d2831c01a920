package main

import (
	"context"
	"sync"
	"time"
)

// message is what the queue delivers, at least once.
type message struct {
	id, tenant string
	body       []byte
}

// decision is what a consumer tells the queue about a delivery.
type decision struct {
	heard        string
	acknowledged bool
	dead         bool          // to the dead letters
	after        time.Duration // deliver again, not sooner
}

// delivery is one of a message's deliveries; the first has the number 1.
type delivery struct {
	message
	number int
	track  *track
}

// track is a message's way through the queue.
type track struct {
	message
	trouble string

	loseAcks  int           // so many acknowledgements get lost
	fails     failure       // what the mail server does
	alongside bool          // the second delivery comes while the first runs
	begun     chan struct{} // closed when the first runs
	second    chan struct{} // closed when the second was answered
	changed   []byte        // the body of every delivery but the first; nil: the same

	heard []string
	ended string
}

// mostDeliveries is after how many a message goes to the dead letters.
const mostDeliveries = 4

// again is how long the queue waits before it delivers again. A real one takes
// minutes, and never less than it was asked for; here its time passes faster.
const (
	again  = 50 * time.Millisecond
	faster = 100
)

// queue delivers every message until its end. Each has a goroutine: a real
// queue's deliveries come one after another too, until a time-out makes two run
// at once.
type queue struct {
	tracks  []*track
	consume func(context.Context, *delivery) decision

	mu sync.Mutex
}

func newQueue(tracks []*track, consume func(context.Context, *delivery) decision) *queue {
	return &queue{tracks: tracks, consume: consume}
}

// run delivers everything, and returns when every message is acknowledged or
// dead.
func (q *queue) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range q.tracks {
		all.Go(func() { q.deliver(ctx, t) })
	}
	all.Wait()
}

func (q *queue) deliver(ctx context.Context, t *track) {
	var beside sync.WaitGroup
	defer beside.Wait()
	lost := t.loseAcks
	for number := 1; number <= mostDeliveries; number++ {
		if number == 1 && t.alongside { // its time-out is over before its work is
			beside.Go(func() { q.once(ctx, t, number) })
			<-t.begun
			continue
		}
		d := q.once(ctx, t, number)
		if number == 2 && t.alongside {
			close(t.second)
			beside.Wait() // the third comes when the first is over
		}
		switch {
		case d.acknowledged && lost > 0:
			lost--
		case d.acknowledged:
			t.ended = "acknowledged"
			return
		case d.dead:
			t.ended = "dead letter"
			return
		}
		time.Sleep(max(again, d.after/faster))
	}
	t.ended = "dead letter"
}

// once is one delivery.
func (q *queue) once(ctx context.Context, t *track, number int) decision {
	d := &delivery{message: t.message, number: number, track: t}
	if number > 1 && t.changed != nil {
		d.body = t.changed
	}
	q.mu.Lock()
	t.heard = append(t.heard, "")
	place := len(t.heard) - 1
	q.mu.Unlock()
	told := q.consume(ctx, d)
	q.mu.Lock()
	t.heard[place] = told.heard
	q.mu.Unlock()
	return told
}

func (q *queue) deliveries() (n int) {
	for _, t := range q.tracks {
		n += len(t.heard)
	}
	return n
}
