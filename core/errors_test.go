package idem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Given what people get wrong first, when the guard is built, then the error says
// what is wrong and what to write instead, each thing once.
func TestErrorsOfAPolicySayWhatToWrite(t *testing.T) {
	for given, c := range map[string]struct {
		policy Policy
		want   string
	}{
		"a sentence for a name": {Policy{Operation: "create order"}, `policy "create order": operation "create order" has 1 parts: name it system:domain:action, such as shop:order:create`},
		"no name":               {Policy{}, `policy "": the operation has no name: name it system:domain:action, such as shop:order:create`},
		"another's choice":      {Policy{Operation: testOperation, OnCrash: Release}, `onCrash "release" is none of hold, retake`},
		"a header's bare name":  {Policy{Operation: testOperation, Key: []string{"Idempotency-Key"}}, `for the header of that name say header:Idempotency-Key`},
	} {
		_, err := New(Config{Store: newShelf(), NameKey: GenerateKey(), Policies: []Policy{c.policy}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", given, err, c.want)
		}
	}
}

// Given a store that outlives the process and no name key, then the error says
// how to make one.
func TestAMissingNameKeySaysHowToMakeOne(t *testing.T) {
	_, err := New(Config{Store: newShelf(), Policies: []Policy{{Operation: testOperation, Preset: API}}})
	if err == nil || !strings.Contains(err.Error(), "config: NameKey is nil") || !strings.Contains(err.Error(), "openssl rand -hex 32") {
		t.Errorf("%v", err)
	}
}

// Given a refusal, when it is printed, then its meaning stands there once, and a
// guard that was closed does not blame the store.
func TestARefusalSaysThingsOnce(t *testing.T) {
	for want, err := range map[string]*RefusedError{
		"idem: the guard is closed (shop:order:create)": {
			Verdict: Unavailable, Operation: "shop:order:create", Err: errors.Join(ErrUnavailable, ErrClosed),
		},
		"idem: the store did not answer in a way that can be relied on (shop:order:create): dial tcp: refused": {
			Verdict: Unavailable, Operation: "shop:order:create", Err: behind{ErrUnavailable.Error() + ": dial tcp: refused"},
		},
		"idem: another owner is running this intent (shop:order:create)": {Verdict: InFlight, Operation: "shop:order:create"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

type behind struct{ text string }

func (w behind) Error() string { return w.text }

// Given a codec or a function that is nil, then nothing is claimed: held by
// policy, it would be in doubt for as long as records are kept.
func TestNothingIsClaimedForNothingToRun(t *testing.T) {
	s := newShelf()
	g := guardOn(t, s)
	_, _, noCodec := Do(context.Background(), g, testIntent("k"), nil, func(context.Context) (int, error) { return 1, nil })
	_, _, noFunc := Do(context.Background(), g, testIntent("k"), JSON[int](), nil)
	_, noBatch := DoBatch(context.Background(), g, []Intent{testIntent("k")}, JSON[int](), nil)
	for _, err := range []error{noCodec, noFunc, noBatch} {
		if !errors.Is(err, errNothingToRun) {
			t.Errorf("%v, want %v", err, errNothingToRun)
		}
	}
	if n := s.count("claim"); n != 0 {
		t.Errorf("%d claims were made", n)
	}
}

// Given a run that does not end and a store that does not answer, when the guard
// is closed, then the error says which of them it was.
func TestI12_CloseSaysWhatIsLeftUndone(t *testing.T) {
	closed := func(t *testing.T, g *Guard, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		c := won(t, g, testIntent("k"))
		closed(t, g, "runs that have not ended (1)")
		c.End(context.Background())
	})
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.script(func(shelfCall) fault { return fault{refuse: true} })
		if _, err := g.Claim(context.Background(), testIntent("k")); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("%v, want unavailable", err)
		}
		closed(t, g, "the store has not answered (1)")
	})
}
