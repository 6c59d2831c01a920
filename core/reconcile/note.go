package reconcile

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// progress is what is known of the attempts at a record. It stands as the note in
// the record of the reconcilers' own claim, so that a process which dies does not
// take the count with it: a resolver that kills its process is not asked for ever.
type progress struct {
	fence uint64 // of the claim that was asked about: a later one is another matter
	tries int
	next  time.Time // not asked again before
}

func (p progress) String() string {
	if p.tries == 0 {
		return ""
	}
	return fmt.Sprintf("attempt %d at fence %d, next at %d", p.tries, p.fence, p.next.UnixMicro())
}

// progressOf reads the note of an earlier attempt at the claim of that fence;
// anything else is no attempt at all.
func progressOf(note string, fence uint64) progress {
	var p progress
	var next int64
	if n, err := fmt.Sscanf(note, "attempt %d at fence %d, next at %d", &p.tries, &p.fence, &next); n != 3 || err != nil || p.fence != fence {
		return progress{fence: fence}
	}
	p.next = time.UnixMicro(next)
	return p
}

// pause is how long to wait after so many attempts: doubled each time, up to the
// longest, and shortened at random by up to a half, so that what crashed together
// is not asked about together.
func (c *Config) pause(tries int) time.Duration {
	d := c.BackOff
	for range tries - 1 {
		if d *= 2; d >= c.MaxBackOff {
			d = c.MaxBackOff
			break
		}
	}
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}
