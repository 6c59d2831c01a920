package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
)

// Scan returns a page of names by the server's own cursor (SCAN, never KEYS), of
// strings only: what is an index is not told. In a Cluster it goes through the
// masters, one after the other by their addresses; records that move to another
// node meanwhile may be passed over until the next walk. One round trip; needs
// Redis 6.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (idem.Page, error) {
	if s.options.Twemproxy {
		return idem.Page{}, idem.ErrUnable // it takes no command that is about no name
	}
	ctx = s.bound(ctx)
	if _, err := s.fit(ctx); err != nil {
		return idem.Page{}, err
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return idem.Page{}, err
	}
	at, there := 0, "0"
	if cursor != "" {
		addr, own, ok := strings.Cut(cursor, " ")
		if !ok || own == "" || strings.Trim(own, "0123456789") != "" {
			return idem.Page{}, errCursor
		}
		there = own
		// A node that is gone is passed over; its records are with the others.
		if at = slices.IndexFunc(nodes, func(n *redis.Client) bool { return n.Options().Addr >= addr }); at < 0 {
			return idem.Page{}, nil
		}
		if nodes[at].Options().Addr != addr {
			there = "0"
		}
	}
	node := nodes[at]
	scan := newCommand(ctx, "SCAN", there, "MATCH", glob(prefix)+"*", "COUNT", limit, "TYPE", "string")
	fly(ctx, node, []*command{scan})
	r, err := scan.answer()
	if err != nil {
		return idem.Page{}, err
	}
	if r.kind != array || len(r.items) != 2 || r.items[0].kind != bulk || r.items[1].kind != array {
		return idem.Page{}, r.unexpected("SCAN")
	}
	page := idem.Page{Names: make([]string, len(r.items[1].items))}
	for i, name := range r.items[1].items {
		page.Names[i] = string(name.text)
	}
	switch next := string(r.items[0].text); {
	case next != "0":
		page.Next = node.Options().Addr + " " + next
	case at+1 < len(nodes):
		page.Next = nodes[at+1].Options().Addr + " 0"
	}
	return page, nil
}

var errCursor = errors.New("redisstore: the cursor is none that Scan gave")

// nodes are the clients of all nodes that keep records, by address.
func (s *Store) nodes(ctx context.Context) ([]*redis.Client, error) {
	if s.cluster == nil {
		return []*redis.Client{s.single}, nil
	}
	var mu sync.Mutex
	var nodes []*redis.Client
	err := s.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	slices.SortFunc(nodes, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	return nodes, err
}

// glob escapes what MATCH would take for a pattern.
func glob(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`).Replace(prefix)
}
