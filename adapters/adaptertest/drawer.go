package adaptertest

import (
	"bytes"
	"context"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// drawer is the least a guard that only issues tokens needs of a store: values
// under names, in this process, for as long as the drawer lives.
type drawer struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (d *drawer) Create(_ context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if there, ok := d.values[name]; ok {
		return idem.Result{Value: bytes.Clone(there), Left: ttl}, nil
	}
	if d.values == nil {
		d.values = map[string][]byte{}
	}
	d.values[name] = bytes.Clone(value)
	return idem.Result{Done: true}, nil
}

func (d *drawer) Swap(_ context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch there, ok := d.values[name]; {
	case !ok:
		return idem.Result{}, nil
	case bytes.Equal(there, old), bytes.Equal(there, value):
		d.values[name] = bytes.Clone(value)
		return idem.Result{Done: true}, nil
	default:
		return idem.Result{Value: bytes.Clone(there), Left: ttl}, nil
	}
}

func (d *drawer) Load(_ context.Context, name string) (idem.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	there, ok := d.values[name]
	if !ok {
		return idem.Result{}, nil
	}
	return idem.Result{Value: bytes.Clone(there), Left: 24 * time.Hour}, nil
}

func (d *drawer) Describe() idem.Description {
	return idem.Description{Name: "drawer", WorstCall: time.Millisecond, Local: true}
}
