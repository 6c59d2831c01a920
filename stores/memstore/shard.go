package memstore

import (
	"runtime"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// sweepPerWrite is how many expired records one write takes out: two, so that
// sweeping outruns writing, and no more, so that no write is slow.
const sweepPerWrite = 2

// record is one name with its value. Both lie in one immutable string, so the
// store cannot share bytes with a caller, and a record is two allocations.
type record struct {
	text    string // name, a zero byte, value
	nameLen int32
	place   int32         // in shard.order
	expires time.Duration // on the store's clock
}

func (r *record) name() string  { return r.text[:r.nameLen] }
func (r *record) value() string { return r.text[r.nameLen+1:] }

// told is the answer to a caller who finds r there.
func (r *record) told(now time.Duration) idem.Result {
	return idem.Result{Value: []byte(r.value()), Left: r.expires - now}
}

// join lays a name and a value into one string. The literal between them lets
// the compiler do it in one allocation.
func join(name string, value []byte) string { return name + "\x00" + string(value) }

// shard is a part of the records, with a lock of its own. Its methods need the
// lock, save where they say otherwise.
//
// Records are found by the hash of their names, which a growing map moves without
// reading the names again. Two names with one hash are as good as impossible, and
// must not be confused all the same: the second one goes to strays.
type shard struct {
	mu     sync.Mutex
	byHash map[uint64]*record
	strays map[string]*record
	order  []*record // a heap: the next to expire first
	_      [16]byte  // two shards to a cache line would share its traffic
}

// find returns the record under a name and whether it still counts; nil where
// none was ever, or none any more.
func (sh *shard) find(hash uint64, name string, now time.Duration) (r *record, live bool) {
	r = sh.byHash[hash]
	if r != nil && r.name() != name {
		r = sh.strays[name]
	} else if r == nil && len(sh.strays) > 0 {
		r = sh.strays[name]
	}
	return r, r != nil && r.expires > now
}

// insert adds a record whose cost is booked already, under a name that is free.
func (sh *shard) insert(hash uint64, name string, value []byte, expires time.Duration) {
	r := &record{text: join(name, value), nameLen: int32(len(name)), place: int32(len(sh.order)), expires: expires}
	switch {
	case sh.byHash == nil:
		sh.byHash = map[uint64]*record{hash: r}
	case sh.byHash[hash] == nil:
		sh.byHash[hash] = r
	case sh.strays == nil:
		sh.strays = map[string]*record{r.name(): r}
	default:
		sh.strays[r.name()] = r
	}
	sh.order = append(sh.order, r)
	sh.up(r)
}

// replace gives a record another value and life.
func (sh *shard) replace(r *record, value []byte, expires time.Duration) {
	r.text = join(r.name(), value)
	later := expires >= r.expires
	if r.expires = expires; later {
		sh.down(r)
	} else {
		sh.up(r)
	}
}

// sweep takes out at most n records that have expired, and returns how many.
func (sh *shard) sweep(s *Store, now time.Duration, n int) (swept int) {
	for swept < n && len(sh.order) > 0 && sh.order[0].expires <= now {
		sh.remove(s, sh.order[0])
		swept++
	}
	return swept
}

func (sh *shard) remove(s *Store, r *record) {
	if hash := s.hash(r.name()); sh.byHash[hash] == r {
		delete(sh.byHash, hash)
	} else {
		delete(sh.strays, r.name())
	}
	s.used.Add(-int64(len(r.text)-1) - recordCost)
	s.expired.Add(1) // nothing else is ever taken out

	last := sh.order[len(sh.order)-1]
	sh.order[len(sh.order)-1] = nil
	sh.order = sh.order[:len(sh.order)-1]
	if last != r {
		last.place = r.place
		sh.order[last.place] = last
		sh.down(last)
		sh.up(last)
	}
}

// up moves a record towards the front until what is before it expires sooner.
func (sh *shard) up(r *record) {
	i := r.place
	for i > 0 {
		parent := (i - 1) / 2
		p := sh.order[parent]
		if p.expires <= r.expires {
			break
		}
		sh.order[i], p.place = p, i
		i = parent
	}
	sh.order[i], r.place = r, i
}

// down moves a record towards the back until what is behind it expires later.
func (sh *shard) down(r *record) {
	i, n := r.place, int32(len(sh.order))
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && sh.order[child+1].expires < sh.order[child].expires {
			child++
		}
		c := sh.order[child]
		if r.expires <= c.expires {
			break
		}
		sh.order[i], c.place = c, i
		i = child
	}
	sh.order[i], r.place = r, i
}

// lookAway is what a store that looks and then sets does in between: it lets
// others in. Only a broken rule calls it.
func (sh *shard) lookAway() {
	sh.mu.Unlock()
	for range 10 {
		runtime.Gosched()
	}
	sh.mu.Lock()
}

// reclaimPerShard bounds what reclaim takes out of one shard under its lock.
const reclaimPerShard = 64

// reclaim looks through the shards for expired records until n bytes are free for
// a Create, and reports whether it took out any. It is called only by a write
// that found no room, and takes one shard's lock at a time.
func (s *Store) reclaim(n int64) bool {
	took := false
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		took = sh.sweep(s, s.elapsed(), reclaimPerShard) > 0 || took
		sh.mu.Unlock()
		if took && s.used.Load()+n <= s.room-s.room/settleShare {
			break
		}
	}
	return took
}
