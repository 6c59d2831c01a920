package storetest_test

import "context"

// modelWatch is somebody who watches a name of a model.
type modelWatch struct {
	name    string
	wake    func()
	stopped bool
}

func (m *model) Watch(ctx context.Context, name string, wake func()) (stop func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &modelWatch{name: name, wake: wake}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches = append(m.watches, w)
	return func() { m.mu.Lock(); w.stopped = true; m.mu.Unlock() }, nil
}

// wake wakes those who watch a name, with the flaws that this can have.
func (m *model) wake(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.watches {
		if (!w.stopped || m.flaw == wakesStopped) && (w.name == name || m.flaw == wakesAnyName) && m.flaw != wakesNobody {
			w.wake()
		}
	}
}

// cut is what the loss of a connection looks like: who watches is woken when
// there is another.
func (m *model) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flaw == staysInterrupted {
		m.watches = nil
		return
	}
	for _, w := range m.watches {
		if !w.stopped {
			w.wake()
		}
	}
}
