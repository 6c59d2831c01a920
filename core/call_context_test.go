package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The context of a store call is what context.WithTimeout would have made of the
// request's, whenever it is asked for what.
func TestP7_TheContextOfACallIsOne(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		request, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "the request's"))
		leave() // the browser has gone
		open := func() *callContext { return newCallContext(request, "settle", time.Second) }
		check := func(what string, ctx context.Context, want error) {
			t.Helper()
			if err := ctx.Err(); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
			select {
			case <-ctx.Done():
				if want == nil {
					t.Errorf("%s: it is done", what)
				}
			default:
				if want != nil {
					t.Errorf("%s: it is not done", what)
				}
			}
			if err := ctx.Err(); !errors.Is(err, want) || context.Cause(ctx) != err {
				t.Errorf("%s, waited for: %v by %v, want %v", what, err, context.Cause(ctx), want)
			}
			if ctx.Value(key{}) != "the request's" || StoreStep(ctx) != "settle" || ctx.Value("another") != nil {
				t.Errorf("%s: its values are %v, %q", what, ctx.Value(key{}), StoreStep(ctx))
			}
		}
		fresh := open()
		if at, only := DeadlineOnly(fresh); !only || time.Until(at) != time.Second {
			t.Errorf("its deadline is in %v, %v", time.Until(at), only)
		}
		check("fresh", fresh, nil)
		over := open()
		over.end()
		check("over", over, context.Canceled)
		fresh.end()
		check("over, asked before", fresh, context.Canceled)

		late, waited := open(), open()
		derived, stop := context.WithCancel(waited)
		defer stop()
		if _, only := DeadlineOnly(derived); only {
			t.Error("what can be cancelled ends by its deadline only")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		check("late", late, context.DeadlineExceeded)
		check("late, waited for", waited, context.DeadlineExceeded)
		check("late, derived", derived, context.DeadlineExceeded)
	})
}
