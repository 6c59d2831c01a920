package idem

import (
	"context"
	"testing"
)

// Given a claim that goes ahead, and somebody who waited for an earlier run of
// the record and opens a look-out only now, then the turn is the claim's: with a
// second one, two would look at once, and whoever passed it last would wait for
// ever.
func TestTheTurnIsOneWhoeverOpensTheLookOut(t *testing.T) {
	g := guardOn(t, newShelf(), waiting)
	claim := func() *Claim {
		in, err := g.Verify(context.Background(), testIntent("k"))
		if err != nil {
			t.Fatal(err)
		}
		return g.newClaim(context.Background(), in)
	}
	ahead, waiter := claim(), claim()
	if local, out, open := g.running.enter(ahead); local != nil || out != nil || !open || !ahead.ahead {
		t.Fatal("nobody was there, and it does not go ahead")
	}
	g.running.count(waiter.id.name)
	l := g.running.join(waiter)
	if len(l.turn) != 0 {
		t.Error("the turn is free while a claim is on its way")
	}
	if g.running.join(ahead) != l {
		t.Error("they have two look-outs")
	}
	g.running.pass(ahead, nil)
	if len(l.turn) != 1 {
		t.Error("the turn was not passed on")
	}
	g.running.quit(ahead, nil)
	g.running.quit(waiter, nil)
	if len(l.turn) != 1 {
		t.Error("the turn is not free in the end")
	}
}
