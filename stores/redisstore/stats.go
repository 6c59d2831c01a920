package redisstore

import (
	"time"

	idem "github.com/go-idem/idem/core"
)

// Flush is one pipeline that has come back: how group commit went once.
type Flush struct {
	// Calls came together in it; Commands were written, some calls being two.
	Calls, Commands int
	// Waited is how long its calls waited before they were sent, all together, and
	// LongestWait how long the first of them did. Zero for a call that went at once.
	Waited, LongestWait time.Duration
	// Took is from the first byte written to the last reply read.
	Took time.Duration
}

// Stats is what group commit did since the store was opened, over all nodes.
type Stats struct {
	// Flushes is how many pipelines were sent, with Calls calls in Commands commands.
	Flushes, Calls, Commands uint64
	// Alone is how many of the flushes were one call that went at once.
	Alone uint64
	// Largest is the most calls that left in one.
	Largest int
	// Waited is how long calls waited before they were sent, all together, and
	// LongestWait the longest of it.
	Waited, LongestWait time.Duration
	// Unsynced is how many claims too few replicas had in time: see WaitReplicas.
	Unsynced uint64
	// Flying is how many pipelines are under way now, Waiting how many commands
	// wait for one to come back.
	Flying, Waiting int
}

// Stats returns what group commit did so far. It makes no call.
func (s *Store) Stats() Stats {
	sum := Stats{Unsynced: s.unsynced.Load()}
	s.lanes.Range(func(_, value any) bool {
		l := value.(*lane)
		l.mu.Lock()
		one := l.stats
		one.Flying, one.Waiting = l.flying, l.waiting
		l.mu.Unlock()
		sum.Flushes += one.Flushes
		sum.Calls += one.Calls
		sum.Commands += one.Commands
		sum.Alone += one.Alone
		sum.Waited += one.Waited
		sum.Flying += one.Flying
		sum.Waiting += one.Waiting
		sum.Largest = max(sum.Largest, one.Largest)
		sum.LongestWait = max(sum.LongestWait, one.LongestWait)
		return true
	})
	return sum
}

// Measure returns the store's numbers for telemetry: see [idem.Measures].
func (s *Store) Measure() idem.Measures {
	now := s.Stats()
	return idem.Measures{Waiting: int64(now.Waiting), Flying: int64(now.Flying)}
}

// count adds a flush. The lane's mutex is held.
func (l *lane) count(f Flush) {
	t := &l.stats
	t.Flushes++
	t.Calls += uint64(f.Calls)
	t.Commands += uint64(f.Commands)
	if f.LongestWait == 0 && f.Calls == 1 {
		t.Alone++
	}
	t.Waited += f.Waited
	t.Largest = max(t.Largest, f.Calls)
	t.LongestWait = max(t.LongestWait, f.LongestWait)
}
