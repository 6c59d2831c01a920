package adaptertest

import "time"

// longestStall is how long a machine may stand still and still be expected to
// hold the suite's leases: they are renewed a third of the way.
const longestStall = 75 * time.Millisecond

// longestPause is the same for the deadlines of store calls, where no short lease
// is held: half of one.
const longestPause = 125 * time.Millisecond

// watchStalls measures, until the function it returns is called, the longest
// time for which this process did not get to run when it wanted to.
func watchStalls() (longest func() time.Duration) {
	const every = 5 * time.Millisecond
	stop, told := make(chan struct{}), make(chan time.Duration)
	go func() {
		var worst time.Duration
		last := time.Now()
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				told <- worst
				return
			case <-ticker.C:
				now := time.Now()
				worst = max(worst, now.Sub(last)-every)
				last = now
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-told
	}
}
