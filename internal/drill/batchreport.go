package drill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// leftIn counts the records under a prefix that somebody still holds, or that are in
// doubt, once there are none or patience is over. A record's first byte says what it
// is (PROTOCOL section 9, "The value").
func leftIn(addr, prefix string, patience time.Duration) (left map[string]int, err error) {
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	defer client.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		left = map[string]int{}
		ctx := context.Background()
		names := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for names.Next(ctx) {
			if strings.HasSuffix(names.Val(), ":card") {
				continue
			}
			first, err := client.GetRange(ctx, names.Val(), 0, 0).Result()
			if err != nil {
				return nil, fmt.Errorf("looking at what is left: %w", err)
			}
			switch first {
			case "\x11":
				left["processing"]++
			case "\x15":
				left["uncertain"]++
			}
		}
		if err := names.Err(); err != nil {
			return nil, fmt.Errorf("looking at what is left: %w", err)
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left, nil
		}
	}
}

// Judge returns everything that must not have been, nil if all is well.
func (r *BatchReport) Judge() error {
	var errs []error
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, f := range r.Counts.faults {
		errs = append(errs, errors.New(f))
	}
	b, c := r.Batches, r.Counts
	for key, n := range c.RunsOfKey {
		say(n != 1, "%s ran %d times", key, n)
	}
	say(int(c.Runs) != c.Verdicts["executed"], "%d runs, %d items said executed", c.Runs, c.Verdicts["executed"])
	say(len(r.Left) > 0, "claims are left: %v", r.Left)
	say(r.WaitedOut > 0, "%d all-or-nothing batches waited %v in vain: a deadlock", r.WaitedOut, b.Wait)
	say(c.Pending != 0, "%d settles were not written", c.Pending)
	say(c.Unknown != c.Mended, "%d claims of unknown outcome, %d were dealt with", c.Unknown, c.Mended)
	// A claim that is given back unstarted, and whose reply is lost, may be another's
	// when its owner asks again: stale, and nobody's harm. A run that was stale would
	// have been answered unprotected, which is none of the outcomes above.
	say(c.Stale > int64(c.Injected["settle"]), "%d stale, and only %d replies to settles were lost", c.Stale, c.Injected["settle"])
	say(c.Recreated != 0, "%d recreated, but nothing was lost", c.Recreated)
	say(b.Loss > 0 && c.Lost == 0, "no reply was lost, so nothing was shown")
	say(20*r.Whole < b.Count, "%d of %d batches ran all or nothing: too few to show anything", r.Whole, b.Count)
	say(20*r.None < b.Count, "%d of %d batches were refused for an item of another: they hardly met", r.None, b.Count)
	return errors.Join(errs...)
}

// String is the report for people.
func (r *BatchReport) String() string {
	var s strings.Builder
	b, c := r.Batches, r.Counts
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&s, "%-22s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("servers", "%d processes (%s), one redis-server, seed %d", len(b.Servers), strings.Join(b.Servers, " + "), b.Seed)
	line("batches", "%d of 1 to %d items out of %d, by %d clients, in %v", b.Count, b.Most, 2*b.Keys, b.Clients, r.Took.Round(time.Millisecond))
	line("all or nothing", "%d ran whole, %d were refused for an item that was done", r.Whole, r.None)
	line("runs", "%d, of %d items, none twice", c.Runs, len(c.RunsOfKey))
	line("sent again", "%d requests; waited in vain %d; the longest took %v (wait %v)", r.Again, r.WaitedOut, r.Longest.Round(time.Millisecond), b.Wait)
	line("replies lost", "%d (%.0f %%): %s", c.Lost, 100*b.Loss, counts(c.Injected))
	line("claims unknown", "%d, dealt with %d; settles left %d; stale %d; recreated %d; left in the store %d", c.Unknown, c.Mended, c.Pending, c.Stale, c.Recreated, len(r.Left))
	line("verdicts", "%s", counts(c.Verdicts))
	return s.String()
}
