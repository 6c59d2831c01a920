package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	idem "github.com/go-idem/idem/core"
)

// censusLimit is how long one may take.
const censusLimit = 2 * time.Second

// censusCache keeps the last census. A state of which no record is left is told
// as none from then on, so that an alert about it ends.
type censusCache struct {
	mu   sync.Mutex
	at   time.Time
	list []idem.Tally
}

func (c *censusCache) of(ctx context.Context, g *idem.Guard, o WatchOptions) []idem.Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.at.IsZero() || now.Sub(c.at) >= o.Every {
		ctx, cancel := context.WithTimeout(ctx, censusLimit)
		defer cancel()
		list, _, err := g.Census(ctx, o.Census)
		if err != nil { // what was seen last is told on
			otel.Handle(err)
			return c.list
		}
		c.at, c.list = now, with(list, c.list)
	}
	return c.list
}

// with is a census with what an earlier one found and this one did not, as none.
func with(list, earlier []idem.Tally) []idem.Tally {
	for _, was := range earlier {
		there := false
		for _, is := range list {
			there = there || is.Operation == was.Operation && is.State == was.State
		}
		if !there {
			list = append(list, idem.Tally{Operation: was.Operation, State: was.State})
		}
	}
	return list
}
