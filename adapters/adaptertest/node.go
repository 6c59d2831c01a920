package adaptertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	idem "github.com/go-idem/idem/core"
)

// guardNode is a server in this process.
type guardNode struct {
	bed     *Bed
	url     string
	stop    func(context.Context) error
	log     *lockedBuffer
	closing func() error // the store's handle

	killed atomic.Bool
	once   sync.Once
	result error
}

// startGuard starts a server of the adapter in this process.
func startGuard(adapter Adapter, sh *Shared, o NodeOptions) (*guardNode, error) {
	store, err := sh.Open(o.Call())
	if err != nil {
		return nil, fmt.Errorf("opening a handle on the store: %w", err)
	}
	n := &guardNode{log: &lockedBuffer{}, closing: closerOf(store)}
	signer, err := TestSigner(o.Ring...)
	if err != nil {
		return nil, errors.Join(err, n.closing())
	}
	sealer, err := TestSealer(o.Sealing...)
	if err != nil {
		return nil, errors.Join(err, n.closing())
	}
	n.bed, err = NewBed(BedConfig{
		Store: store, Policies: append(Policies(), SuitePolicies(idem.Describe(store))...), Prefix: sh.Prefix,
		NameKey: TestNameKey(o.NameKey), Signer: signer, Sealer: sealer, ClockOffset: o.ClockOffset, Past: o.Past,
		Control: true, Advance: sh.Advance, Ledger: o.Ledger, Log: n.log,
	})
	if err != nil {
		return nil, errors.Join(err, n.closing())
	}
	if err := n.serve(adapter); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

func (n *guardNode) serve(adapter Adapter) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	n.url = "http://" + l.Addr().String()
	if n.stop, err = adapter.Serve(l, n.bed.Flow, n.bed.Routes()); err != nil {
		return fmt.Errorf("starting %s: %w", adapter.Name, err)
	}
	return nil
}

func (n *guardNode) URL() string { return n.url }

func (n *guardNode) Log() string { return n.log.String() }

// Kill cuts the handle on the store, so that nothing this guard still does can
// reach it, and takes the server off the net. Its handlers stay at their gates.
func (n *guardNode) Kill() {
	n.killed.Store(true)
	n.bed.Faults.Kill()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.stop(now) // a dead process says nothing about how it ended
}

// Stop ends handlers, guard and handle. After a Kill it clears away what the
// dead process has left in this one.
func (n *guardNode) Stop() error {
	n.once.Do(func() {
		n.bed.Gates.OpenAll()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if n.stop != nil {
			if err := n.stop(ctx); err != nil && !n.killed.Load() {
				n.result = fmt.Errorf("stopping the server: %w", err)
			}
		}
		if n.killed.Load() { // its settles can never be written
			now, cut := context.WithCancel(ctx)
			cut()
			_ = n.bed.Close(now)
		} else if err := n.bed.Close(ctx); err != nil {
			n.result = errors.Join(n.result, fmt.Errorf("closing the guard: %w", err))
		}
		n.result = errors.Join(n.result, n.closing())
	})
	return n.result
}

// closerOf returns what closes a handle on a store, where it has to be closed.
func closerOf(store any) func() error {
	switch c := store.(type) {
	case interface{ Close() error }:
		return c.Close
	case interface{ Close() }:
		return func() error { c.Close(); return nil }
	}
	return func() error { return nil }
}

// lockedBuffer is a log that many goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
