package redisstore_test

import (
	"bytes"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// Given a user with no rights but those that the page on Redis settings names, then
// everything works.
func TestTheRightsThatThePageNamesAreEnough(t *testing.T) {
	addr := redistest.StartWithRights(t, "../../docs/how-to/choose-redis-settings.md", "A user with ACL rights")
	s := open(t, addr, func(o *redisstore.Options) {
		o.EvictionChecked = ""
		o.Universal.Username, o.Universal.Password = redistest.LimitedUser, redistest.LimitedPassword
		o.WaitReplicas = redisstore.WaitReplicas{Replicas: 1, Timeout: time.Millisecond}
	})
	woken := make(chan struct{}, 1)
	stop, err := s.Watch(briefly(t, 30*time.Second), "idem:a", func() { woken <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	done(t, "a claim", "Create")(s.Create(t.Context(), "idem:a", []byte("1"), time.Minute))
	done(t, "a settle", "Swap")(s.Swap(idem.WithWake(t.Context()), "idem:a", []byte("1"), []byte("2"), time.Minute))
	found(t, "a look", "Load", "2")(s.Load(t.Context(), "idem:a"))
	if _, err := s.Now(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-woken:
	case <-briefly(t, 30*time.Second).Done():
		t.Error("nobody was woken")
	}
	entry := idem.IndexEntry{Name: "idem:b", Due: time.UnixMicro(1)}
	done(t, "an indexed claim", "Indexed")(s.Indexed(t.Context(), "idem:index", entry, time.Hour,
		idem.Op{Kind: idem.OpCreate, Name: "idem:b", Value: []byte("1"), TTL: time.Minute}))
	if list, err := s.Entries(t.Context(), "idem:index", time.UnixMicro(2), 10); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Reindex(t.Context(), "idem:index", []idem.IndexMove{
		{Name: "idem:b", Was: entry.Due, Due: time.UnixMicro(2)}, {Name: "idem:b", Was: time.UnixMicro(2)}, {Name: "idem:c", Due: time.UnixMicro(3)},
	}); err != nil {
		t.Error(err)
	}
	if page, err := s.Scan(t.Context(), "idem:", "", 100); err != nil || len(page.Names) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
	answer := bytes.Repeat([]byte("4"), 200_000) // a kept one, of more than one packet
	done(t, "a long answer", "Swap")(s.Swap(t.Context(), "idem:a", []byte("2"), answer, time.Minute))
	found(t, "a replay", "Load", string(answer))(s.Load(t.Context(), "idem:a"))
	for i, one := range s.Apply(t.Context(), []idem.Op{
		{Kind: idem.OpCreate, Name: "idem:d", Value: []byte("1"), TTL: time.Minute},
		{Kind: idem.OpSwap, Name: "idem:a", Old: answer, Value: []byte("3"), TTL: time.Minute},
		{Kind: idem.OpLoad, Name: "idem:b"},
	}) {
		if one.Err != nil {
			t.Errorf("call %d of a batch: %v", i, one.Err)
		}
	}
}
