package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	idem "github.com/go-idem/idem/core"
)

// looksPerName bounds how many records a page looks at, those of other prefixes
// included; the shard it is in is always looked at whole.
const looksPerName = 8

// Scan returns a page of the names that begin with prefix, exactly as
// [idem.Scanner] says: shard by shard, each in the order of its hashes, so that
// records may come and go between two pages. Errors: a context that is over, a
// cursor that is none.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (idem.Page, error) {
	if err := ctx.Err(); err != nil {
		return idem.Page{}, err
	}
	at, after := 0, uint64(0)
	begun := false // whether after was told already
	if cursor != "" {
		if n, err := fmt.Sscanf(cursor, "%d-%x", &at, &after); n != 2 || err != nil || at < 0 || at >= shards {
			return idem.Page{}, fmt.Errorf("memstore: %d bytes of a cursor that is none", len(cursor))
		}
		begun = true
	}
	var page idem.Page
	for looked := 0; at < shards && len(page.Names) < limit && looked < looksPerName*limit; at, begun = at+1, false {
		list, all := s.shards[at].list(s, prefix, after, begun)
		looked += all
		if room := limit - len(page.Names); len(list) > room {
			// Names of one hash stay together, or the second would be passed over.
			for room < len(list) && list[room].hash == list[room-1].hash {
				room++
			}
			if room < len(list) {
				page.Names = append(page.Names, names(list[:room])...)
				page.Next = fmt.Sprintf("%d-%x", at, list[room-1].hash)
				return page, nil
			}
		}
		page.Names = append(page.Names, names(list)...)
	}
	if at < shards {
		// The next shard from its start: no hash before zero was told.
		page.Next = fmt.Sprintf("%d-%x", at-1, ^uint64(0))
	}
	return page, nil
}

// listed is a name in a shard.
type listed struct {
	hash uint64
	name string
}

// list returns the names of a shard that begin with prefix and are not over, in
// the order of their hashes, those up to after left out, and how many records it
// looked at.
func (sh *shard) list(s *Store, prefix string, after uint64, begun bool) (kept []listed, looked int) {
	var found []listed
	sh.mu.Lock()
	now := s.elapsed()
	looked = len(sh.order)
	for _, at := range sh.order {
		if name := at.r.name(); at.expires > now && len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix {
			found = append(found, listed{name: string(name)})
		}
	}
	sh.mu.Unlock()
	kept = found[:0]
	for _, l := range found {
		if l.hash = s.hash(l.name); !begun || l.hash > after {
			kept = append(kept, l)
		}
	}
	slices.SortFunc(kept, func(a, b listed) int { return cmp.Compare(a.hash, b.hash) })
	return kept, looked
}

func names(list []listed) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.name
	}
	return out
}
