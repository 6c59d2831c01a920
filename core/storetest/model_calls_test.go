package storetest_test

import (
	"bytes"
	"context"
	"time"

	idem "github.com/go-idem/idem/core"
)

func (m *model) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := m.enter(ctx); err != nil {
		return idem.Result{}, err
	}
	if err := m.admits(value, ttl); err != nil {
		return idem.Result{}, err
	}
	r, err := m.create(name, value, ttl)
	if err != nil {
		return r, err
	}
	return m.leave(r, func() (idem.Result, error) { m.madeAgain(); return m.create(name, value, ttl) })
}

func (m *model) madeAgain() { m.mu.Lock(); m.calls++; m.mu.Unlock() }

func (m *model) create(name string, value []byte, ttl time.Duration) (idem.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, there := m.find(name)
	m.between(checkThenSet)
	if there {
		switch {
		case m.flaw == createResetsLife:
			m.put(name, it.value, m.now.Add(ttl))
		case m.flaw == equalCreateIsDone && bytes.Equal(it.value, value):
			return idem.Result{Done: true}, nil
		case m.flaw == silentLoss:
			return idem.Result{}, nil
		}
		return m.told(it), nil
	}
	if err := m.makeRoom(); err != nil {
		return idem.Result{}, err
	}
	m.put(name, value, m.now.Add(ttl))
	return idem.Result{Done: true}, nil
}

// makeRoom takes out what has expired, and fails where that is not enough. The
// mutex is held.
func (m *model) makeRoom() error {
	if len(m.items) < m.room {
		return nil
	}
	for k, it := range m.items {
		if !m.now.Before(it.ends) {
			delete(m.items, k)
		}
	}
	if len(m.items) < m.room {
		return nil
	}
	if m.flaw != evicts {
		return errFull
	}
	for k := range m.items {
		delete(m.items, k)
		return nil
	}
	return nil
}

func (m *model) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := m.enter(ctx); err != nil {
		return idem.Result{}, err
	}
	if err := m.admits(value, ttl); err != nil {
		return idem.Result{}, err
	}
	r := m.swap(name, old, value, ttl)
	if (r.Done || m.flaw == wakesAlways) && (idem.Wakes(ctx) || m.flaw == wakesAlways) {
		m.wake(name)
	}
	return m.leave(r, func() (idem.Result, error) {
		m.madeAgain()
		return m.swap(name, old, value, ttl), nil
	})
}

func (m *model) swap(name string, old, value []byte, ttl time.Duration) idem.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, there := m.find(name)
	m.between(swapLooksFirst)
	ends := m.now.Add(ttl)
	if m.flaw == keepsOldLife && there {
		ends = it.ends
	}
	switch {
	case !there && m.flaw != swapCreates:
		return idem.Result{}
	case !there:
	case m.matches(it.value, old):
	case bytes.Equal(it.value, value) && m.flaw != ownValueRefused:
		if m.flaw != ownValueResets {
			return idem.Result{Done: true}
		}
	default:
		return m.told(it)
	}
	m.put(name, value, ends)
	return idem.Result{Done: true}
}

func (m *model) matches(there, old []byte) bool {
	if m.flaw == prefixMatch {
		n := min(len(there), len(old))
		return n > 0 && bytes.Equal(there[:n], old[:n])
	}
	return bytes.Equal(there, old)
}

func (m *model) Load(ctx context.Context, name string) (idem.Result, error) {
	if err := m.enter(ctx); err != nil {
		return idem.Result{}, err
	}
	return m.leave(m.load(name), func() (idem.Result, error) { m.madeAgain(); return m.load(name), nil })
}

func (m *model) load(name string) idem.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, there := m.find(name)
	if it.ends.IsZero() {
		return idem.Result{}
	}
	first := it.ends
	m.between(tornRead)
	if m.flaw == tornRead {
		if it, there = m.find(name); there {
			it.ends = first
		}
	}
	if m.flaw == readsReplica {
		if old, ok := m.behind[m.key(name)]; ok {
			it = old
		}
	}
	if !there {
		return idem.Result{}
	}
	r := m.told(it)
	if m.flaw == leftUntold {
		r.Left = 0
	}
	return r
}
