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

// record is one name with its value. Both lie in one slice that no caller ever
// sees, with room for a claim to become a short answer where it is.
type record struct {
	text    []byte // name, value
	nameLen int32
	place   int32         // in shard.order
	expires time.Duration // on the store's clock
}

// What is returned is good under the shard's lock only.
func (r *record) name() []byte  { return r.text[:r.nameLen] }
func (r *record) value() []byte { return r.text[r.nameLen:] }

// told is the answer to a caller who finds r there.
func (r *record) told(now time.Duration) idem.Result {
	value := make([]byte, len(r.value()))
	copy(value, r.value())
	return idem.Result{Value: value, Left: r.expires - now}
}

// settleRoom is how many bytes a record has left when it is made, so that the
// answers of most services are written where the claim was.
const settleRoom = 64

// room is how many bytes are taken for n: what the runtime's sizes come to.
func room(n int) int { return (n + 15) &^ 15 }

func roomOf(name string, value []byte) int { return room(len(name) + len(value) + settleRoom) }

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
	order  []place   // a heap: the next to expire first
	spare  []record  // made together, and not used yet
	free   []*record // that were taken out
	_      [16]byte  // two shards to a cache line would share its traffic
}

// place is a record's in the order of expiry. It says the time itself, so that
// finding the way in the heap reads no records.
type place struct {
	expires time.Duration
	r       *record
}

// find returns the record under a name and whether it still counts; nil where
// none was ever, or none any more. stray tells whether another has its hash.
func (sh *shard) find(hash uint64, name string, now time.Duration) (r *record, live, stray bool) {
	r = sh.byHash[hash]
	if stray = r != nil && string(r.name()) != name; stray || r == nil && len(sh.strays) > 0 {
		r = sh.strays[name]
	}
	return r, r != nil && r.expires > now, stray
}

// insert adds a record whose cost is booked already, under a name that is free.
// stray is as find told it.
func (sh *shard) insert(hash uint64, name string, value []byte, expires time.Duration, stray bool) {
	text := make([]byte, 0, roomOf(name, value))
	r := sh.blank()
	*r = record{text: append(append(text, name...), value...), nameLen: int32(len(name)), place: int32(len(sh.order)), expires: expires}
	switch {
	case sh.byHash == nil:
		sh.byHash = map[uint64]*record{hash: r}
	case !stray:
		sh.byHash[hash] = r
	case sh.strays == nil:
		sh.strays = map[string]*record{name: r}
	default:
		sh.strays[name] = r
	}
	sh.order = append(sh.order, place{expires, r})
	sh.up(r)
}

// blank returns a record to fill in. A shard makes as many at once as it holds, up
// to a page of them, and uses those again that were taken out: what records took is
// theirs to have again, as it is with the map.
func (sh *shard) blank() (r *record) {
	const page = 64
	if n := len(sh.free); n > 0 {
		r, sh.free[n-1] = sh.free[n-1], nil
		sh.free = sh.free[:n-1]
		return r
	}
	if len(sh.spare) == 0 {
		sh.spare = make([]record, min(max(1, len(sh.order)), page))
	}
	r, sh.spare = &sh.spare[0], sh.spare[1:]
	return r
}

// grows tells by how many bytes a record's room changes with another value: not at
// all where there is enough, and not far too much.
func (r *record) grows(value []byte) int {
	if n := int(r.nameLen) + len(value); n > cap(r.text) || n+2*settleRoom < cap(r.text) {
		return room(n) - cap(r.text)
	}
	return 0
}

// replace gives a record another value and life.
func (sh *shard) replace(r *record, value []byte, expires time.Duration) {
	text := r.name()
	if more := r.grows(value); more != 0 {
		text = append(make([]byte, 0, cap(r.text)+more), text...)
	}
	r.text = append(text, value...)
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
		sh.remove(s, sh.order[0].r)
		swept++
	}
	return swept
}

func (sh *shard) remove(s *Store, r *record) {
	name := string(r.name())
	if hash := s.hash(name); sh.byHash[hash] == r {
		delete(sh.byHash, hash)
	} else {
		delete(sh.strays, name)
	}
	s.used.Add(-int64(cap(r.text)) - recordCost)
	s.expired.Add(1) // nothing else is ever taken out

	last := sh.order[len(sh.order)-1]
	sh.order[len(sh.order)-1] = place{}
	sh.order = sh.order[:len(sh.order)-1]
	if last.r != r {
		last.r.place = r.place
		sh.order[r.place] = last
		sh.down(last.r)
		sh.up(last.r)
	}
	r.text = nil
	sh.free = append(sh.free, r)
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
		sh.order[i], p.r.place = p, i
		i = parent
	}
	sh.order[i], r.place = place{r.expires, r}, i
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
		sh.order[i], c.r.place = c, i
		i = child
	}
	sh.order[i], r.place = place{r.expires, r}, i
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
