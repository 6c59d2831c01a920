package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

const (
	duePage    = 500 // entries of an index that are followed together
	duePages   = 20  // of one index in one pass
	loadedOnce = 100 // records that are loaded together
)

// pass follows the indexes and walks one page.
func (r *Reconciler) pass(ctx context.Context) (sum Summary, err error) {
	r.passing.Lock()
	defer r.passing.Unlock()
	if err = r.secondLook(ctx); err == nil {
		err = r.followAll(ctx, &sum)
	}
	if err == nil {
		_, err = r.walkOn(ctx, &sum)
	}
	return sum, err
}

// Once follows every index and walks over all records, and returns when each
// held record that is due was asked about once. It is for jobs that run now and
// then, for "reconcile now", and for tests. ctx ends it early, without an error;
// the errors are those of a store that does not answer, or of a guard that is
// closed.
func (r *Reconciler) Once(ctx context.Context) (Summary, error) {
	var sum Summary
	ctx, over := r.enterRun(ctx)
	defer over()
	err := r.followAll(ctx, &sum)
	for w := (walker{}); err == nil && ctx.Err() == nil; {
		var last bool
		if last, err = r.page(ctx, &w, &sum); last {
			break
		}
	}
	if err == nil {
		r.report(ctx, sum, nil)
	}
	return sum, err
}

func (r *Reconciler) followAll(ctx context.Context, sum *Summary) error {
	for _, operation := range r.operations {
		for range duePages {
			n, err := r.follow(ctx, operation, sum)
			if errors.Is(err, idem.ErrUnable) {
				return nil // no index here: the walk finds everything
			}
			if err != nil {
				return err
			}
			if n < duePage || ctx.Err() != nil {
				break
			}
		}
	}
	return nil
}

// follow looks at the records behind the entries of one index that are due, and
// moves each entry to when its record is to be looked at again, or takes it out.
func (r *Reconciler) follow(ctx context.Context, operation string, sum *Summary) (int, error) {
	due, err := r.Guard.Due(ctx, operation, duePage)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	names := make([]string, len(due))
	was := make(map[string]time.Time, len(due))
	for i, e := range due {
		names[i], was[e.Name] = e.Name, e.Due
	}
	return len(due), r.look(ctx, names, sum, func(seen []looked) error {
		moves := make([]idem.IndexMove, 0, len(seen))
		for _, s := range seen {
			moves = append(moves, idem.IndexMove{Name: s.rec.Name, Was: was[s.rec.Name], Due: s.next})
			if s.settled {
				r.again.add(s.rec.Name, r.Guard.Now())
			}
		}
		return r.Guard.Move(ctx, operation, moves)
	})
}

// looked is a record that was looked at.
type looked struct {
	rec     Record
	next    time.Time // when to look again; zero: never
	settled bool      // nobody has to look any more, as it is
}

// look loads records and asks about those that are held and due. told hears of
// all of them, some at a time: at once of those that nobody has to be asked about.
func (r *Reconciler) look(ctx context.Context, names []string, sum *Summary, told func([]looked) error) error {
	for len(names) > 0 && ctx.Err() == nil {
		n := min(len(names), loadedOnce)
		records, err := r.Guard.Records(ctx, names[:n])
		if err != nil {
			return err
		}
		names = names[n:]
		sum.Looked += n
		var idle, held []looked
		for _, rec := range records {
			switch is, in := rec.Held(); {
			case is && in <= 0:
				held = append(held, looked{rec: rec})
			case is:
				idle = append(idle, looked{rec: rec, next: r.Guard.Now().Add(in)})
			default:
				idle = append(idle, looked{rec: rec, settled: true})
			}
		}
		if err := told(idle); err != nil {
			return err
		}
		if err := errors.Join(r.tryAll(ctx, held, sum), told(held)); err != nil {
			return err
		}
	}
	return nil
}

// tryAll asks about records, some at the same time, and fills in when to look
// again.
func (r *Reconciler) tryAll(ctx context.Context, held []looked, sum *Summary) error {
	var mu sync.Mutex
	var work sync.WaitGroup
	var failed error
	room := make(chan struct{}, r.AtOnce)
	for i := range held {
		held[i].next = r.Guard.Now().Add(r.BackOff)
		if ctx.Err() != nil {
			continue
		}
		room <- struct{}{}
		work.Go(func() {
			defer func() { <-room }()
			result, next, err := r.try(ctx, held[i].rec)
			mu.Lock()
			defer mu.Unlock()
			if failed = errors.Join(failed, err); err == nil {
				held[i].next = next
				held[i].settled = result == resultSucceeded || result == resultFailed || result == resultReleased
			}
			sum.add(result)
		})
	}
	work.Wait()
	return failed
}
