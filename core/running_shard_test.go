package idem

import "testing"

// Names spread over the shards, which nobody outside can foresee: two of the
// characters of their keyed hash choose.
func TestNamesSpreadOverTheShards(t *testing.T) {
	var r runningClaims
	counts := map[*runningShard]int{}
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	for _, a := range letters {
		for _, b := range letters {
			counts[r.shard("idem:a:b:c:"+string(a)+string(b)+"a")]++
		}
	}
	for shard, n := range counts {
		if n < 14 || n > 19 {
			t.Errorf("%d of 1,024 pairs in the shard at %p: want 14 to 19", n, shard)
		}
	}
	if len(counts) != len(r.shards) {
		t.Errorf("%d of %d shards are used", len(counts), len(r.shards))
	}
	for _, short := range []string{"", "a", "ab"} {
		if r.shard(short) != &r.shards[0] {
			t.Errorf("%q has another shard than the first", short)
		}
	}
}
