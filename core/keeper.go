package idem

import (
	"sync"
	"time"
)

// keeper looks after the leases of a guard's running claims: one goroutine, one
// heap ordered by when a claim next needs looking at. It judges deadlines itself
// and makes no call of the store: renewals that are due leave together, on one of
// a few carriers, and while one is on its way its claim stays in the heap, so that
// a slow store holds up nobody's deadline.
type keeper struct {
	g        *Guard
	mu       sync.Mutex
	heap     []*Claim
	armed    time.Time // when the goroutine wakes next; zero: it sleeps until poked
	queue    []*Claim  // whose renewals are due and not under way
	carriers int       // that are under way
	back     []*Claim  // of run: its own, kept to be used again
	poke     chan struct{}
	quit     chan struct{}
	work     sync.WaitGroup
}

const (
	// longestNap bounds how long the keeper sleeps while claims run. A machine
	// that slept itself is noticed by then: its timers stood still, its wall clock
	// did not (PROTOCOL P5).
	longestNap = time.Second

	// shortestNap keeps a claim that is past its time from being looked at without
	// a pause.
	shortestNap = time.Millisecond

	// maxCarriers is how many exchanges with renewals are under way at once. What
	// is due meanwhile waits for one to come back, and leaves with the others that
	// do.
	maxCarriers = 4

	// soonShare is the part of a lease by which a renewal is early where another
	// leaves anyway: a tenth of what lies between two.
	soonShare = 30
)

func newKeeper(g *Guard) *keeper {
	k := &keeper{g: g, poke: make(chan struct{}, 1), quit: make(chan struct{})}
	k.work.Go(k.loop)
	return k
}

// add puts a claim into the heap, to be looked at when a renewal is due.
func (k *keeper) add(c *Claim, due time.Time) {
	k.mu.Lock()
	k.put(c, due)
	early := k.wakes(due)
	k.mu.Unlock()
	if early {
		k.wake()
	}
}

// wakes tells whether the goroutine has to be woken for a look at due. k.mu is
// held.
func (k *keeper) wakes(due time.Time) bool {
	early := k.armed.IsZero() || due.Before(k.armed)
	if early {
		k.armed = due
	}
	return early
}

func (k *keeper) wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// remove takes a claim out, if it is in, and tells whether nobody is at work on it.
func (k *keeper) remove(c *Claim) (idle bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.position < 0 {
		return false
	}
	k.take(c.position)
	return !c.queued
}

func (k *keeper) stop() {
	close(k.quit)
	k.work.Wait()
}

func (k *keeper) loop() {
	timer := time.NewTimer(longestNap)
	defer timer.Stop()
	last := k.g.clock.now()
	for {
		nap, any := k.run(&last)
		if any {
			timer.Reset(nap)
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-k.poke:
		case <-k.quit:
			return
		}
	}
}

// run judges what is due, sends renewals on their way and returns how long to
// sleep, and whether at all.
func (k *keeper) run(last *time.Time) (time.Duration, bool) {
	now := k.g.clock.now()
	slept := now.Round(0).Sub(last.Round(0)) - now.Sub(*last)
	*last = now
	k.mu.Lock()
	defer k.mu.Unlock()
	back := k.back[:0]
	for len(k.heap) > 0 {
		c, soon := k.heap[0], time.Duration(0)
		if len(k.queue) > 0 {
			soon = c.lease / soonShare
		}
		if !passed(c.keepAt.Add(-soon), now) && slept <= longestNap/2 {
			break
		}
		k.take(0)
		renew, next, over := c.look(now, soon)
		switch {
		case over != nil:
			k.work.Go(func() { c.stop(over) }) // it logs and wakes, which may take its time
			continue
		case next.IsZero():
			continue
		case renew && !c.queued:
			c.queued = true
			k.queue = append(k.queue, c)
		}
		c.keepAt = latest(next, now.Add(shortestNap))
		back = append(back, c)
	}
	for _, c := range back {
		k.put(c, c.keepAt)
	}
	clear(back)
	k.back = back
	for len(k.queue) > 0 && k.carriers < maxCarriers {
		k.carriers++
		load := k.load()
		k.work.Go(func() { k.carry(load) })
	}
	if len(k.heap) == 0 {
		k.armed = time.Time{}
		return 0, false
	}
	nap := min(longestNap, k.heap[0].keepAt.Sub(now))
	k.armed = now.Add(nap)
	return max(nap, 0), true
}

// load takes what one carrier carries out of the queue. k.mu is held.
func (k *keeper) load() []*Claim {
	select {
	case <-k.quit:
		return nil
	default:
	}
	n := min(len(k.queue), maxPipeline)
	load := k.queue[:n:n]
	if k.queue = k.queue[n:]; len(k.queue) == 0 {
		k.queue = nil
	}
	return load
}

// carry renews until nothing is due.
func (k *keeper) carry(load []*Claim) {
	for len(load) > 0 {
		k.g.renewAll(load)
		k.mu.Lock()
		if load = k.load(); len(load) == 0 {
			k.carriers--
		}
		k.mu.Unlock()
	}
}

// renewed takes a claim back from a carrier, to be looked at again at next.
func (k *keeper) renewed(c *Claim, next time.Time) {
	k.mu.Lock()
	c.queued = false
	early := false
	if c.position >= 0 {
		c.keepAt = latest(next, k.g.clock.now().Add(shortestNap))
		k.up(c.position)
		k.down(c.position)
		early = k.wakes(c.keepAt)
	}
	k.mu.Unlock()
	if early {
		k.wake()
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// put, take, up and down are a binary heap that knows where each claim stands.
// k.mu is held.
func (k *keeper) put(c *Claim, due time.Time) {
	c.keepAt, c.position = due, len(k.heap)
	k.heap = append(k.heap, c)
	k.up(c.position)
}

func (k *keeper) take(i int) *Claim {
	c, end := k.heap[i], len(k.heap)-1
	if i < end {
		k.swap(i, end)
	}
	k.heap[end] = nil
	k.heap = k.heap[:end]
	c.position = -1
	if i < end {
		k.down(i)
		k.up(i)
	}
	return c
}

func (k *keeper) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !k.heap[i].keepAt.Before(k.heap[parent].keepAt) {
			return
		}
		k.swap(i, parent)
		i = parent
	}
}

func (k *keeper) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(k.heap) {
			return
		}
		if r := child + 1; r < len(k.heap) && k.heap[r].keepAt.Before(k.heap[child].keepAt) {
			child = r
		}
		if !k.heap[child].keepAt.Before(k.heap[i].keepAt) {
			return
		}
		k.swap(i, child)
		i = child
	}
}

func (k *keeper) swap(i, j int) {
	k.heap[i], k.heap[j] = k.heap[j], k.heap[i]
	k.heap[i].position, k.heap[j].position = i, j
}
