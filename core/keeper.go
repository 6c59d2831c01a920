package idem

import (
	"sync"
	"time"
)

// keeper looks after the leases of a guard's running claims: one goroutine, one
// heap ordered by when a claim next needs looking at. A claim that is due is
// ticked in a goroutine of its own, because its store call may block.
type keeper struct {
	clock *clock
	mu    sync.Mutex
	heap  []*Claim
	armed time.Time // when the goroutine wakes next; zero: it sleeps until poked
	poke  chan struct{}
	quit  chan struct{}
	work  sync.WaitGroup
}

// longestNap bounds how long the keeper sleeps while claims run. A machine that
// slept itself is noticed by then: its timers stood still, its wall clock did
// not (PROTOCOL P5).
const longestNap = time.Second

// shortestNap keeps a claim that is past its time from being looked at without
// a pause.
const shortestNap = time.Millisecond

func newKeeper(c *clock) *keeper {
	k := &keeper{clock: c, poke: make(chan struct{}, 1), quit: make(chan struct{})}
	k.work.Go(k.loop)
	return k
}

// add puts a claim into the heap, to be ticked at due.
func (k *keeper) add(c *Claim, due time.Time) {
	k.mu.Lock()
	k.put(c, due)
	early := k.armed.IsZero() || due.Before(k.armed)
	if early {
		k.armed = due
	}
	k.mu.Unlock()
	if early {
		select {
		case k.poke <- struct{}{}:
		default:
		}
	}
}

// remove takes a claim out, if it is in.
func (k *keeper) remove(c *Claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.position >= 0 {
		k.take(c.position)
	}
}

func (k *keeper) stop() {
	close(k.quit)
	k.work.Wait()
}

func (k *keeper) loop() {
	timer := time.NewTimer(longestNap)
	defer timer.Stop()
	last := k.clock.now()
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

// run ticks what is due and returns how long to sleep, and whether at all.
func (k *keeper) run(last *time.Time) (time.Duration, bool) {
	now := k.clock.now()
	slept := now.Round(0).Sub(last.Round(0)) - now.Sub(*last)
	*last = now
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.heap) > 0 && (passed(k.heap[0].keepAt, now) || slept > longestNap/2) {
		c := k.take(0)
		k.work.Go(func() {
			if next := c.tick(); !next.IsZero() {
				k.add(c, latest(next, k.clock.now().Add(shortestNap)))
			}
		})
	}
	if len(k.heap) == 0 {
		k.armed = time.Time{}
		return 0, false
	}
	nap := min(longestNap, k.heap[0].keepAt.Sub(now))
	k.armed = now.Add(nap)
	return max(nap, 0), true
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
	k.swap(i, end)
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
