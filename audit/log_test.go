package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-idem/idem/audit"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/memstore"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("IDEM_BROKEN"); !broken.Set(name) {
		fmt.Fprintf(os.Stderr, "IDEM_BROKEN=%s names no rule\n", name)
		os.Exit(2)
	}
	leaktest.Main(keeping{m})
}

// keeping runs the tests with one server for all that want it.
type keeping struct{ m *testing.M }

func (k keeping) Run() int {
	defer redistest.Keep()()
	return k.m.Run()
}

// paper is a sink that keeps what it is given, or is down.
type paper struct {
	mu     sync.Mutex
	events []audit.Event
	down   error
	panics bool
	calls  int
}

func (p *paper) Write(_ context.Context, events []audit.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.panics {
		panic("torn")
	}
	if p.down != nil {
		return p.down
	}
	p.events = append(p.events, events...)
	return nil
}

func (p *paper) set(down error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *paper) says() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		list = append(list, e.Change+" "+e.From+"-"+e.To)
	}
	return list
}

func logOf(t testing.TB, o audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Close(ctx)
	})
	return l
}

const operation = "shop:order:create"

func guardOf(t testing.TB, s idem.Store, l *audit.Log) *idem.Guard {
	t.Helper()
	g, err := idem.New(idem.Config{
		Store: s, NameKey: idem.NameKey(strings.Repeat("k", 32)), Auditor: l,
		Policies: []idem.Policy{{Operation: operation, Preset: idem.API, MaxRun: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}

func do(g *idem.Guard, key string, fn func() int) (int, idem.Verdict, error) {
	return idem.Do(context.Background(), g, idem.Intent{Operation: operation, Scope: "alice", Key: key}, idem.JSON[int](),
		func(context.Context) (int, error) { return fn(), nil })
}

func seven() int { return 7 }

var errDown = errors.New("the sink is down")

// Given a sink that is down and a queue of three, when five events come, then two
// are dropped, counted, handed to OnDrop and said in the log, and three are written
// when it is back: what was told is what was written and what was counted.
func TestAuditDropsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{down: errDown}
		var said bytes.Buffer
		handed := 0
		l := logOf(t, audit.Options{Sink: p, Queue: 3, Logger: slog.New(slog.NewTextHandler(&said, nil)), OnDrop: func(audit.Event) { handed++ }})
		for range 5 {
			if err := l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim}); err != nil {
				t.Errorf("a log that is not strict failed a request: %v", err)
			}
		}
		synctest.Wait()
		if l.Drops() != 2 || handed != 2 || l.Waiting() != 3 {
			t.Errorf("%d dropped, %d handed on, %d wait; want 2, 2, 3", l.Drops(), handed, l.Waiting())
		}
		if n := strings.Count(said.String(), "audit events dropped"); n != 1 {
			t.Errorf("said %d times:\n%s", n, said.String())
		}
		p.set(nil)
		<-time.After(10 * time.Second)
		if len(p.says()) != 3 || l.Waiting() != 0 || l.Drops() != 2 {
			t.Errorf("afterwards %d are written, %d wait", len(p.says()), l.Waiting())
		}
		if err := l.Open(); err != nil {
			t.Errorf("a log that is not strict closed its gate: %v", err)
		}
	})
}

// Given a strict log whose sink goes down while a run is under way, then that run
// ends as it would, nothing new begins, replays go on, and when the sink is back
// every event is there.
func TestAuditStrictLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{}
		l := logOf(t, audit.Options{Sink: p, Strict: true, Queue: 1})
		g := guardOf(t, memstore.New(memstore.Options{}), l)
		v, verdict, err := do(g, "a", func() int { p.set(errDown); return 7 })
		if v != 7 || verdict != idem.Executed || err != nil {
			t.Errorf("the run under way: %v, %v, %v", v, verdict, err)
		}
		synctest.Wait()
		runs := 0
		for i := range 20 {
			if _, verdict, err := do(g, fmt.Sprint("new", i), func() int { runs++; return 0 }); verdict != idem.Unavailable || !errors.Is(err, idem.ErrUnavailable) {
				t.Errorf("a new key while the sink is down: %v, %v", verdict, err)
			}
		}
		if v, verdict, _ := do(g, "a", seven); v != 7 || verdict != idem.Replayed {
			t.Errorf("the repeat while the sink is down: %v, %v", v, verdict)
		}
		if runs != 0 || l.Waiting() == 0 || l.Drops() != 0 {
			t.Errorf("%d ran unseen, %d wait, %d dropped", runs, l.Waiting(), l.Drops())
		}
		p.set(nil)
		<-time.After(10 * time.Second)
		if _, verdict, err := do(g, "new0", seven); verdict != idem.Executed {
			t.Errorf("a new key when it is back: %v, %v", verdict, err)
		}
		synctest.Wait()
		want := "claim absent-processing, complete processing-succeeded, claim absent-processing, complete processing-succeeded"
		if got := strings.Join(p.says(), ", "); got != want {
			t.Errorf("written: %s\nwant: %s", got, want)
		}
	})
}

// Given a strict log whose sink is down when a claim is made, before anybody knew,
// then the handler does not start, and both the claim and its release are in the
// log when the sink is back.
func TestAuditStrictGivesTheClaimBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{down: errDown}
		l := logOf(t, audit.Options{Sink: p, Strict: true})
		g := guardOf(t, memstore.New(memstore.Options{}), l)
		if _, verdict, err := do(g, "a", func() int { t.Error("the handler ran"); return 0 }); verdict != idem.Unavailable || !errors.Is(err, idem.ErrUnaudited) {
			t.Errorf("%v, %v", verdict, err)
		}
		p.set(nil)
		<-time.After(10 * time.Second)
		written := p.says()
		slices.Sort(written) // their places may differ: the sink was down for one and back for the other
		if got := strings.Join(written, ", "); got != "claim absent-processing, mend processing-released" {
			t.Errorf("written: %s", got)
		}
	})
}

func TestAuditCloseWritesWhatWaitsOrSaysWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{down: errDown}
		l := logOf(t, audit.Options{Sink: p})
		_ = l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := l.Close(ctx); err == nil || l.Drops() != 1 {
			t.Errorf("closed with %v, %d dropped", err, l.Drops())
		}
		_ = l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim})
		if l.Drops() != 2 {
			t.Errorf("what came after was not counted: %d", l.Drops())
		}

		p = &paper{}
		l = logOf(t, audit.Options{Sink: p})
		for range 1000 {
			_ = l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim})
		}
		if err := l.Close(context.Background()); err != nil || len(p.says()) != 1000 || p.calls > 250 { // how many gather behind one call is the scheduler's
			t.Errorf("closed with %v, %d written in %d calls", err, len(p.says()), p.calls)
		}
	})
}

// Given a sink that is slow, when a log is closed, then it gives up once its
// context ends, counts what is left, and says in the log how many that is.
func TestAuditCloseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		slow := &sluggish{}
		l := logOf(t, audit.Options{Sink: slow, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		for range 2000 {
			_ = l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		err := l.Close(ctx)
		if took := time.Since(began); err == nil || took > time.Second {
			t.Errorf("closed after %v with %v", took, err)
		}
		written := int64(slow.written.Load())
		if l.Drops() == 0 || l.Drops()+written != 2000 || !strings.Contains(said.String(), fmt.Sprint("idem.audit.drops=", l.Drops())) {
			t.Errorf("%d written, %d dropped:\n%s", written, l.Drops(), said.String())
		}
	})
}

// sluggish is a sink that takes nine tenths of a write's time.
type sluggish struct{ written atomic.Int64 }

func (s *sluggish) Write(ctx context.Context, events []audit.Event) error {
	select {
	case <-time.After(900 * time.Millisecond):
		s.written.Add(int64(len(events)))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Given drops in one burst, then the log is told their number when the sink is back,
// although no more come; and a sink that is down is an error.
func TestAuditDropsOfABurstAreSaidInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{down: errDown}
		var said bytes.Buffer
		l := logOf(t, audit.Options{Sink: p, Queue: 3, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		for range 50 {
			_ = l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim})
		}
		synctest.Wait()
		p.set(nil)
		<-time.After(10 * time.Second)
		synctest.Wait() // the log is told at that very moment, too
		for _, want := range []string{`level=ERROR msg="audit sink does not take events"`, "idem.audit.drops=1 ", "idem.audit.drops=47 ", `msg="audit sink takes events again" idem.audit.drops=47`} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%q was not said:\n%s", want, said.String())
			}
		}
	})
}

func TestAuditContainsASinkThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{panics: true}
		l := logOf(t, audit.Options{Sink: p, Strict: true})
		if err := l.Audit(t.Context(), idem.Transition{Change: idem.ChangeClaim}); err == nil || l.Open() == nil {
			t.Error("a torn event counts as written")
		}
	})
}

func TestAuditNeedsASink(t *testing.T) {
	for _, o := range []audit.Options{{}, {Sink: &paper{}, Queue: -1}, {Sink: &paper{}, Timeout: -1}} {
		if _, err := audit.New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// No key, token, scope, body or note is in an event, whichever way it is written.
func TestAuditHoldsNothingRaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := logOf(t, audit.Options{Sink: audit.Slog(slog.New(slog.NewJSONHandler(&out, nil)))})
		g := guardOf(t, memstore.New(memstore.Options{}), l)
		in := idem.Intent{Operation: operation, Scope: "alice-the-customer", Key: "order-4711-key", Client: "192.0.2.7", Trace: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")}
		_, _, _ = idem.Do(context.Background(), g, in, idem.JSON[string](), func(ctx context.Context) (string, error) {
			return "secret-answer", idem.Note(ctx, "note-of-the-run")
		})
		if err := l.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		for _, raw := range []string{"alice", "4711", "secret-answer", "note-of"} {
			if strings.Contains(said, raw) {
				t.Errorf("%q is in the log:\n%s", raw, said)
			}
		}
		for _, want := range []string{`"change":"claim"`, `"change":"complete"`, `"verdict":"executed"`, `"client":"192.0.2.7"`, `"trace":"0af7651916cd43dd8448eb211c80319c"`, `"scope":"` + g.ScopeHash("alice-the-customer")} {
			if !strings.Contains(said, want) {
				t.Errorf("%s is not in the log:\n%s", want, said)
			}
		}
	})
}
