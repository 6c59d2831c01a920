package reconcile_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/stores/memstore"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("IDEM_BROKEN"); !broken.Set(name) {
		fmt.Fprintf(os.Stderr, "IDEM_BROKEN=%s names no rule\n", name)
		os.Exit(2)
	}
	leaktest.Main(m)
}

const (
	pay   = "shop:order:pay"
	lease = time.Second
)

var nameKey = idem.NameKey("0123456789abcdef0123456789abcdef")

// bed is a store in a bubble of synctest, with any number of processes on it.
type bed struct {
	t     *testing.T
	store idem.Store
	asked asked
}

func newBed(t *testing.T) *bed {
	return &bed{t: t, store: memstore.New(memstore.Options{})}
}

// process is one guard over the store, which can be killed.
type process struct {
	*bed
	*idem.Guard
	faults *storetest.Faults
}

// process starts one. Whatever the resolver says is what asked holds, unless
// change sets another one.
func (b *bed) process(change ...func(*idem.Config)) *process {
	b.t.Helper()
	faults := storetest.NewFaults()
	cfg := idem.Config{
		Store: faults.Wrap(b.store), NameKey: nameKey,
		Policies:  []idem.Policy{{Operation: pay, Preset: idem.Payment, Key: []string{"header:Idempotency-Key"}, Lease: lease, MaxRun: 30 * time.Second, Retention: time.Hour}},
		Resolvers: map[string]idem.Resolver{pay: &b.asked},
	}
	for _, c := range change {
		c(&cfg)
	}
	g, err := idem.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	return &process{b, g, faults}
}

func policy(change func(*idem.Policy)) func(*idem.Config) {
	return func(c *idem.Config) { change(&c.Policies[0]) }
}

// kill has the process die where it stands.
func (p *process) kill() { p.faults.Kill() }

func intent(key string) idem.Intent {
	return idem.Intent{Operation: pay, Scope: "alice", Key: key, Fingerprint: idem.Fingerprint{Version: 1, Sum: [15]byte{7}}}
}

func (p *process) claims(key string) *idem.Claim {
	p.t.Helper()
	c, err := p.Claim(context.Background(), intent(key))
	if err != nil || !c.Won() {
		p.t.Fatalf("claim of %s: %v, %v; want it won", key, c, err)
	}
	return c
}

// crashes claims in a process that dies at once.
func (b *bed) crashes(key, note string) {
	b.t.Helper()
	p := b.process()
	c := p.claims(key)
	if note != "" {
		if err := c.MarkEffects(c.Context(), note); err != nil {
			b.t.Fatal(err)
		}
	}
	p.kill()
}

// record is what the store keeps of a key.
func (p *process) record(key string) idem.Record {
	p.t.Helper()
	r, err := p.Record(context.Background(), p.RecordName(pay, "alice", idem.KindKey, key))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// entries is how many entries the index has, whenever they are due.
func (p *process) entries() []idem.IndexEntry {
	p.t.Helper()
	list, err := idem.Entries(context.Background(), p.store, "idem:"+pay+":index", p.Now().Add(100*time.Hour), 100)
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func (p *process) reconciler(change ...func(*reconcile.Config)) *reconcile.Reconciler {
	p.t.Helper()
	cfg := reconcile.Config{Guard: p.Guard, BackOff: 2 * time.Second, MaxBackOff: 8 * time.Second, Attempts: 3, Patience: time.Second}
	for _, c := range change {
		c(&cfg)
	}
	r, err := reconcile.New(cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *process) once(r *reconcile.Reconciler) reconcile.Summary {
	p.t.Helper()
	sum, err := r.Once(context.Background())
	if err != nil {
		p.t.Fatalf("Once: %v", err)
	}
	return sum
}

// asked is a resolver that says what it is told to say, and remembers.
type asked struct {
	mu      sync.Mutex
	says    func(context.Context, idem.Record) (idem.Resolution, error)
	records []idem.Record
	now     int
	most    int // at once, of one record
}

func (a *asked) Resolve(ctx context.Context, r idem.Record) (idem.Resolution, error) {
	a.mu.Lock()
	a.records = append(a.records, r)
	a.now++
	a.most = max(a.most, a.now)
	says := a.says
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now--
	}()
	if says == nil {
		return reconcile.Later(), nil
	}
	return says(ctx, r)
}

func (a *asked) say(res idem.Resolution, err error) {
	a.saying(func(context.Context, idem.Record) (idem.Resolution, error) { return res, err })
}

func (a *asked) saying(f func(context.Context, idem.Record) (idem.Resolution, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.says = f
}

func (a *asked) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.records)
}

func answer(t *testing.T, v any) idem.Payload {
	t.Helper()
	p, err := reconcile.JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pass lets the clock of the test's bubble run on.
func pass(d time.Duration) { <-time.After(d) }
