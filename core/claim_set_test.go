package idem

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// A set of claims is a map of them, whether few or many.
func TestClaimSetIsAMap(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var set claimSet
		want := map[string]*Claim{}
		for range 300 {
			name, c := fmt.Sprint(r.IntN(9)), new(Claim)
			switch r.IntN(3) {
			case 0:
				set.put(name, c)
				want[name] = c
			case 1:
				set.remove(name, c) // another's place
			default:
				set.remove(name, want[name])
				delete(want, name)
			}
			for name := range 9 {
				if name := fmt.Sprint(name); set.at(name) != want[name] {
					t.Fatalf("seed %d: another claim is at %s", seed, name)
				}
			}
		}
		got := map[*Claim]bool{}
		set.all(func(c *Claim) { got[c] = true })
		for c := range maps.Values(want) {
			if !got[c] || len(got) != len(want) {
				t.Fatalf("seed %d: all are %d claims, want %d", seed, len(got), len(want))
			}
		}
	}
}
