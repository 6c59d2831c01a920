package idem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/memstore"
)

const batchOperation = "test:batch:run"

var batchNameKey = idem.NameKey("0123456789abcdef0123456789abcdef")

// batchGuard is a process of its own on a store, which dies when its faults are
// told to kill it.
func batchGuard(t testing.TB, s idem.Store, change ...func(*idem.Policy)) (*idem.Guard, *storetest.Faults) {
	t.Helper()
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: []byte("fedcba9876543210fedcba9876543210")})
	if err != nil {
		t.Fatal(err)
	}
	faults := storetest.NewFaults()
	p := idem.Policy{Operation: batchOperation, Preset: idem.API, Key: []string{"token", "header:Idempotency-Key"}, Lease: 3 * time.Second, MaxRun: time.Minute}
	for _, c := range change {
		c(&p)
	}
	g, err := idem.New(idem.Config{Store: faults.Wrap(s), Signer: signer, NameKey: batchNameKey, Policies: []idem.Policy{p}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	faults.Reset()
	return g, faults
}

func waits(p *idem.Policy) { p.OnDuplicate, p.Wait = idem.Wait, 2*time.Second }

func batchIntent(key string) idem.Intent {
	return idem.Intent{Operation: batchOperation, Scope: "alice", Key: key, Fingerprint: idem.Fingerprint{Version: 1, Sum: [15]byte{1}}}
}

// byName returns n keys in the order of their records' names.
func byName(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return strings.Compare(idem.RecordName(batchNameKey, "idem:", batchOperation, "alice", idem.KindKey, a),
			idem.RecordName(batchNameKey, "idem:", batchOperation, "alice", idem.KindKey, b))
	})
	return keys
}

func batchOf(keys ...string) []idem.Intent {
	intents := make([]idem.Intent, len(keys))
	for i, key := range keys {
		intents[i] = batchIntent(key)
	}
	return intents
}

// answersOf runs a batch whose items each answer their index.
func answersOf(t testing.TB, g *idem.Guard, intents []idem.Intent, options ...idem.BatchOption) (answers []idem.Answer[int], ran []int) {
	t.Helper()
	answers, err := idem.DoBatch(context.Background(), g, intents, idem.JSON[int](), func(_ context.Context, won []idem.Item) []idem.Answer[int] {
		list := make([]idem.Answer[int], len(won))
		for i, at := range won {
			ran = append(ran, at.Index)
			list[i].Value = at.Index
		}
		return list
	}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return answers, ran
}

func verdicts(answers []idem.Answer[int]) []idem.Verdict {
	list := make([]idem.Verdict, len(answers))
	for i, a := range answers {
		list[i] = a.Verdict
	}
	return list
}

func wantVerdicts(t testing.TB, got []idem.Answer[int], want ...idem.Verdict) {
	t.Helper()
	if v := verdicts(got); !slices.Equal(v, want) {
		t.Errorf("verdicts %v, want %v", v, want)
	}
}

func wantState(t testing.TB, g *idem.Guard, key string, want idem.State) {
	t.Helper()
	if st, err := g.Status(context.Background(), batchIntent(key)); err != nil || st.State != want {
		t.Errorf("%s is %s, %v; want %s", key, st.State, err, want)
	}
}

// Given items of every kind in one batch, each has the answer that it would have
// had alone, in its place, and the whole of it takes one exchange to claim and
// one to settle.
func TestStatement34_EachItemIsAsItWouldBeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		g, faults := batchGuard(t, store)
		elsewhere, _ := batchGuard(t, store)
		answersOf(t, g, batchOf("done"))
		running, err := elsewhere.Claim(context.Background(), batchIntent("running"))
		if err != nil || !running.Won() {
			t.Fatal(err)
		}
		defer func() { _ = running.Release(context.Background()) }()
		faults.Reset()

		other := func(key string) idem.Intent {
			in := batchIntent(key)
			in.Fingerprint.Sum[0]++
			return in
		}
		intents := []idem.Intent{
			batchIntent("a"), batchIntent("done"), batchIntent("b"), batchIntent("running"),
			batchIntent("a"), other("b"), other("done"), other("running"), batchIntent(""), batchIntent("c"),
		}
		answers, ran := answersOf(t, g, intents)
		wantVerdicts(t, answers, idem.Executed, idem.Replayed, idem.Executed, idem.InFlight,
			idem.Executed, idem.Conflict, idem.Conflict, idem.Conflict, idem.Missing, idem.Executed)
		if !slices.Equal(ran, []int{0, 2, 9}) {
			t.Errorf("items %v were run, want 0, 2 and 9", ran)
		}
		for i, want := range map[int]int{0: 0, 1: 0, 2: 2, 4: 0, 9: 9} {
			if answers[i].Value != want || answers[i].Err != nil {
				t.Errorf("item %d: %+v, want value %d", i, answers[i], want)
			}
		}
		for i, want := range map[int]error{3: idem.ErrInFlight, 5: idem.ErrConflict, 8: idem.ErrMissing} {
			if !errors.Is(answers[i].Err, want) {
				t.Errorf("item %d: %v, want %v", i, answers[i].Err, want)
			}
		}
		if trips := faults.Trips(); trips != 2 {
			t.Errorf("%d exchanges, want one to claim and one to settle", trips)
		}
	})
}

// Given a hundred new keys, two exchanges claim and settle them.
func TestStatement34_OneExchangeForAll(t *testing.T) {
	g, faults := batchGuard(t, memstore.New(memstore.Options{}))
	answers, ran := answersOf(t, g, batchOf(byName(100)...))
	if len(ran) != 100 || answers[99].Value != 99 {
		t.Errorf("%d items were run", len(ran))
	}
	if claims, trips := faults.Calls("claim", ""), faults.Trips(); claims != 100 || trips != 2 {
		t.Errorf("%d claims, and %d exchanges in all; want 100 and 2", claims, trips)
	}
	faults.Reset()
	if answers, ran = answersOf(t, g, batchOf(byName(100)...)); len(ran) != 0 || answers[7].Verdict != idem.Replayed {
		t.Errorf("again: %d items ran, %v", len(ran), answers[7])
	}
	if trips := faults.Trips(); trips != 1 {
		t.Errorf("a hundred replays took %d exchanges, want 1", trips)
	}
}

// Given calls without an answer, only these are asked again; an item about which
// nothing can be known is unavailable by itself, and the janitor sees to it.
func TestStatement34_UnknownOutcomesAreAskedAgainOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		g, faults := batchGuard(t, store)
		_ = faults.Set("claim", storetest.Fault{Mode: storetest.LostReply, Times: 3})
		answers, ran := answersOf(t, g, batchOf(byName(10)...))
		if len(ran) != 10 || answers[0].Verdict != idem.Executed {
			t.Errorf("%d of 10 ran: %v", len(ran), verdicts(answers))
		}
		if calls, trips := faults.Calls("claim", ""), faults.Trips(); calls != 13 || trips != 3 {
			t.Errorf("%d calls in %d exchanges; want 10 and 3 again, in 2 and 1 to settle", calls, trips)
		}

		_ = faults.Set("claim", storetest.Fault{Mode: storetest.LostReply, Times: 6})
		claims, err := g.ClaimBatch(context.Background(), batchOf("x", "y"))
		if !errors.Is(err, idem.ErrUnavailable) || claims[0].Verdict() != idem.Unavailable || claims[1].Verdict() != idem.Unavailable {
			t.Fatalf("%v: %s, %s", err, claims[0].Verdict(), claims[1].Verdict())
		}
		<-time.After(3 * time.Second)
		if st := g.Stats(); st.Unknown != 2 || st.Mended != 2 {
			t.Errorf("%+v, want two unknown and mended", st)
		}
		wantState(t, g, "x", idem.StateReleased)
		wantState(t, g, "y", idem.StateReleased)

		// A pipeline that was applied whole and answered in part.
		faults.Reset()
		_ = faults.Set("claim", storetest.Fault{Mode: storetest.CutOff, Times: 1})
		if _, ran = answersOf(t, g, batchOf("p", "q", "r")); len(ran) != 3 {
			t.Errorf("%d of 3 ran after their claims were applied and not answered", len(ran))
		}
		if st := g.Stats(); st.Unknown != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// Given expired tokens, all are buried together, and the card is read once before
// their deaths are certified.
func TestStatement34_BurialsGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, faults := batchGuard(t, memstore.New(memstore.Options{}), func(p *idem.Policy) { p.TokenLife = 10 * time.Second })
		<-time.After(time.Second)
		var intents []idem.Intent
		for range 5 {
			token, err := g.Issue(context.Background(), idem.TokenRequest{Operation: batchOperation, Scope: "alice"})
			if err != nil {
				t.Fatal(err)
			}
			in := batchIntent("")
			in.Token = token
			intents = append(intents, in)
		}
		<-time.After(20 * time.Second)
		faults.Reset()
		answers, ran := answersOf(t, g, append(intents, batchIntent("k")))
		wantVerdicts(t, answers, idem.Dead, idem.Dead, idem.Dead, idem.Dead, idem.Dead, idem.Executed)
		if len(ran) != 1 || faults.Calls("bury", "") != 5 || faults.Calls("load", "") != 1 {
			t.Errorf("%d runs, %d burials, %d loads; want 1, 5 and the card", len(ran), faults.Calls("bury", ""), faults.Calls("load", ""))
		}
	})
}

// Given a batch that runs while the same batch comes once more, the second waits
// and is told the answers of the first. Given one that overlaps with another, it
// runs what is left at once, and waits for the rest when it holds nothing.
func TestStatement34_ABatchWaitsWhenItHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		one, _ := batchGuard(t, store, waits)
		two, _ := batchGuard(t, store, waits)
		over := make(chan struct{})
		first, err := one.ClaimBatch(context.Background(), batchOf("a", "b", "c"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(over)
			<-time.After(time.Second)
			var ends []idem.Settlement
			for i, c := range first {
				ends = append(ends, idem.Settlement{Claim: c, Outcome: idem.Completes, Payload: idem.Payload{Bytes: fmt.Append(nil, 10+i)}})
			}
			for _, err := range one.SettleBatch(context.Background(), ends) {
				if err != nil {
					t.Error(err)
				}
			}
		}()
		start := time.Now()
		var when time.Duration
		answers, err := idem.DoBatch(context.Background(), two, batchOf("b", "new"), idem.JSON[int](), func(_ context.Context, won []idem.Item) []idem.Answer[int] {
			when = time.Since(start)
			return []idem.Answer[int]{{Value: won[0].Index}}
		})
		if err != nil || when != 0 {
			t.Errorf("what could run did so after %v, %v; want at once", when, err)
		}
		wantVerdicts(t, answers, idem.Replayed, idem.Executed)
		if answers[0].Value != 11 {
			t.Errorf("the other's answer is %d, want 11", answers[0].Value)
		}
		again, ran := answersOf(t, two, batchOf("a", "b", "c"))
		wantVerdicts(t, again, idem.Replayed, idem.Replayed, idem.Replayed)
		if len(ran) != 0 {
			t.Errorf("items %v ran again", ran)
		}
		<-over
	})
}

// A run of many marks its effects in one exchange. An error of that, returned for
// every item, says that none had an effect.
func TestStatement34_MarksGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		g, faults := batchGuard(t, store)
		run := func(keys ...string) []idem.Answer[int] {
			answers, err := idem.DoBatch(context.Background(), g, batchOf(keys...), idem.JSON[int](), func(ctx context.Context, won []idem.Item) []idem.Answer[int] {
				list := make([]idem.Answer[int], len(won))
				if err := idem.MarkEffects(ctx, "invoice run"); err != nil {
					for i := range list {
						list[i].Err = err
					}
					return list
				}
				list[1].Err = errors.New("no answer from the provider")
				return list
			})
			if err != nil {
				t.Fatal(err)
			}
			return answers
		}
		wantVerdicts(t, run("a", "b", "c"), idem.Executed, idem.Uncertain, idem.Executed)
		if calls, trips := faults.Calls("renew", ""), faults.Trips(); calls != 3 || trips != 3 {
			t.Errorf("%d marks, %d exchanges in all; want 3 and 3", calls, trips)
		}
		_ = faults.Set("renew", storetest.Fault{Mode: storetest.Refuse, Times: 3 + 3 + 1}) // the third exchange fails for one: two marks are known, one is not
		answers := run("p", "q", "r")
		wantVerdicts(t, answers, idem.Released, idem.Released, idem.Released)
		if !errors.Is(answers[0].Err, idem.ErrUnavailable) {
			t.Errorf("the error of the mark is %v", answers[0].Err)
		}
	})
}

// However fn ends, every item is settled.
func TestStatement34_EveryExitSettlesEveryItem(t *testing.T) {
	g, _ := batchGuard(t, memstore.New(memstore.Options{}), func(p *idem.Policy) { p.On5xx = idem.Doubt })
	func() {
		defer func() {
			if recover() != "the handler's own" {
				t.Error("the panic did not come through")
			}
		}()
		_, _ = idem.DoBatch(context.Background(), g, batchOf("a", "b"), idem.JSON[int](), func(context.Context, []idem.Item) []idem.Answer[int] {
			panic("the handler's own")
		})
	}()
	wantState(t, g, "a", idem.StateUncertain)
	wantState(t, g, "b", idem.StateUncertain)

	answers, err := idem.DoBatch(context.Background(), g, batchOf("c", "d"), idem.JSON[int](), func(context.Context, []idem.Item) []idem.Answer[int] {
		return []idem.Answer[int]{{Value: 1}}
	})
	if err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, answers, idem.Executed, idem.Uncertain)
	if answers[1].Err == nil {
		t.Error("an item without an answer has no error")
	}
}

// A batch context belongs to no single claim, whatever it was derived from; an
// item's does, and ends with its own.
func TestStatement34_ContextsOfABatch(t *testing.T) {
	g, _ := batchGuard(t, memstore.New(memstore.Options{}))
	_, _, err := idem.Do(context.Background(), g, batchIntent("outer"), idem.JSON[int](), func(outer context.Context) (int, error) {
		_, err := idem.DoBatch(outer, g, batchOf("a", "b"), idem.JSON[int](), func(ctx context.Context, won []idem.Item) []idem.Answer[int] {
			if _, ok := idem.ClaimFrom(ctx); ok || idem.Note(ctx, "n") == nil {
				t.Error("the batch's context names a claim")
			}
			for _, at := range won {
				if c, ok := idem.ClaimFrom(at.Claim.Context()); !ok || c != at.Claim {
					t.Errorf("item %d's context does not name its claim", at.Index)
				}
				if err := idem.Note(at.Claim.Context(), "n"); err != nil {
					t.Error(err)
				}
			}
			_ = won[0].Claim.Release(ctx)
			<-ctx.Done() // the first of the claims has ended
			return make([]idem.Answer[int], len(won))
		})
		return 1, err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestABatchWithAWrongIntentIsRefused(t *testing.T) {
	g, faults := batchGuard(t, memstore.New(memstore.Options{}))
	for _, c := range []struct {
		change func(*idem.Intent)
		want   error
	}{
		{func(in *idem.Intent) { in.Scope = "" }, idem.ErrNoScope},
		{func(in *idem.Intent) { in.Operation = "no:such:one" }, idem.ErrUnknownOperation},
	} {
		intents := batchOf("a", "b", "c")
		c.change(&intents[1])
		if claims, err := g.ClaimBatch(context.Background(), intents); claims != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), "item 1") {
			t.Errorf("%v, %v; want %v, naming item 1", claims, err, c.want)
		}
	}
	if claims, err := g.ClaimBatch(context.Background(), nil); len(claims) != 0 || err != nil {
		t.Errorf("an empty batch: %v, %v", claims, err)
	}
	if calls := faults.Trips(); calls != 0 {
		t.Errorf("%d exchanges", calls)
	}
}
