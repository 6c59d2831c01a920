package idem

import (
	"context"
	"time"
)

// Measures are a store's own numbers, for telemetry.
type Measures struct {
	Memory  int64 // bytes taken, of a store in this process
	Room    int64 // of which it has so many
	Expired int64 // expired records taken out since it was made
	Waiting int64 // commands that wait to be sent
	Flying  int64 // exchanges under way
}

// Measurer is the ability of a store to tell its numbers. It makes no call.
type Measurer interface{ Measure() Measures }

// Measure returns a store's numbers, or those of what stands behind it; ok is
// false where neither tells any.
func Measure(s Store) (m Measures, ok bool) {
	x, ok := ability[Measurer](s)
	if !ok {
		return Measures{}, false
	}
	return x.Measure(), true
}

// Measure returns the numbers of the guard's store, with its name: see the
// function of that name.
func (g *Guard) Measure() (store string, m Measures, ok bool) {
	m, ok = Measure(g.store)
	return g.describe.Name, m, ok
}

// Local tells whether the guard's records live and die with this process.
func (g *Guard) Local() bool { return g.describe.Local }

// Tally is how many records of one operation a census found in one state, and
// the age of the one that has been claimed longest.
type Tally struct {
	Operation string
	State     State // as a request would read it: a crashed run that is held counts as uncertain
	Records   int64
	Oldest    time.Duration
}

// Census walks through the records of this guard's operations and counts them,
// looking at most at limit. whole is false where there were more. It is for
// stores in this process and for small ones: on another it reads every record
// over the network. Errors: [ErrUnable] where the store cannot be walked,
// [ErrUnavailable].
func (g *Guard) Census(ctx context.Context, limit int) (list []Tally, whole bool, err error) {
	const page = 500
	type place struct {
		operation string
		state     State
	}
	at, now := map[place]int{}, g.clock.corrected()
	for cursor, looked := "", 0; ; {
		names, err := g.Walk(ctx, cursor, page)
		if err != nil {
			return nil, false, err
		}
		ours := names.Names[:0]
		for _, name := range names.Names {
			if g.operations[g.OperationOf(name)] != nil {
				ours = append(ours, name)
			}
		}
		records, err := g.Records(ctx, ours)
		if err != nil {
			return nil, false, err
		}
		for i := range records {
			r := &records[i]
			where := place{r.Operation, r.State}
			if held, _ := r.Held(); held && r.LeaseLeft == 0 || r.Unreadable != nil {
				where.state = StateUncertain
			}
			if where.state == StateAbsent {
				continue // it has gone since
			}
			n, there := at[where]
			if !there {
				n = len(list)
				at[where], list = n, append(list, Tally{Operation: where.operation, State: where.state})
			}
			list[n].Records++
			if !r.Since.IsZero() {
				list[n].Oldest = max(list[n].Oldest, now.Sub(r.Since))
			}
		}
		looked += max(page, len(names.Names))
		switch cursor = names.Next; {
		case cursor == "":
			return list, true, nil
		case looked >= limit:
			return list, false, nil
		}
	}
}
