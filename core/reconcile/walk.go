package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// walker is how far a walk over all records has come.
type walker struct {
	cursor string
	rest   time.Time // not on before
	failed int       // pages in a row that failed
}

// walkOn walks one page on, and begins anew after a rest.
func (r *Reconciler) walkOn(ctx context.Context, sum *Summary) (over bool, err error) {
	if r.walk.rest.After(r.Guard.Now()) {
		return true, nil
	}
	return r.page(ctx, &r.walk, sum)
}

// page walks one page on and looks at what is ours there: claims of an operation
// whose resolver came later, of a store that keeps no index, or whose entry was
// lost. over says that it was the last page.
func (r *Reconciler) page(ctx context.Context, w *walker, sum *Summary) (over bool, err error) {
	page, err := r.Guard.Walk(ctx, w.cursor, r.Page)
	if errors.Is(err, idem.ErrUnable) {
		return true, nil // nothing can be walked here: the index has to do
	}
	if err != nil {
		if w.failed++; w.failed > 3 {
			w.cursor, w.failed = "", 0 // it may be the cursor: from the start, then
		}
		return false, err
	}
	w.failed = 0
	if w.cursor = page.Next; w.cursor == "" {
		w.rest, over = r.Guard.Now().Add(r.Rest), true
	}
	names := page.Names[:0]
	for _, name := range page.Names {
		if r.looksAfter(name) {
			names = append(names, name)
		}
	}
	return over, r.look(ctx, names, sum, func(seen []looked) error { return r.enter(ctx, seen) })
}

// enter adds entries for what has to be looked at again, so that the index is
// followed and not the next walk.
func (r *Reconciler) enter(ctx context.Context, seen []looked) error {
	moves := map[string][]idem.IndexMove{}
	for _, s := range seen {
		if !s.next.IsZero() {
			moves[s.rec.Operation] = append(moves[s.rec.Operation], idem.IndexMove{Name: s.rec.Name, Due: s.next})
		}
	}
	for operation, list := range moves {
		if err := r.Guard.Move(ctx, operation, list); err != nil && !errors.Is(err, idem.ErrUnable) {
			return err
		}
	}
	return nil
}

// leftBehind are records whose entry was taken out because they were settled. A
// claim that found its entry there, and left it, may land a moment later: they
// are looked at once more.
type leftBehind struct {
	mu    sync.Mutex
	names map[string]time.Time
}

// settling is longer than a claim can take that is still used when it lands:
// later it is too late to be started (PROTOCOL I11).
const settling = 5 * time.Second

func (l *leftBehind) add(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[string]time.Time{}
	}
	l.names[name] = now
}

// take returns those that were left behind long enough ago.
func (l *leftBehind) take(now time.Time) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, then := range l.names {
		if now.Sub(then) >= settling {
			names = append(names, name)
			delete(l.names, name)
		}
	}
	return names
}

// secondLook enters again what has been claimed after all.
func (r *Reconciler) secondLook(ctx context.Context) error {
	names := r.again.take(r.Guard.Now())
	for len(names) > 0 {
		n := min(len(names), loadedOnce)
		records, err := r.Guard.Records(ctx, names[:n])
		if err != nil {
			return err
		}
		names = names[n:]
		var claimed []looked
		for _, rec := range records {
			if held, in := rec.Held(); held {
				claimed = append(claimed, looked{rec: rec, next: r.Guard.Now().Add(in)})
			}
		}
		if err := r.enter(ctx, claimed); err != nil {
			return err
		}
	}
	return nil
}
