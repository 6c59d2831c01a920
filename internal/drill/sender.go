package drill

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-idem/idem/internal/testserver"
)

// sender sends one key once, and again where the answer allows that, until it
// has the outcome: what a patient client does.
type sender struct {
	client  *http.Client
	servers []*testserver.Process
	key     string
	first   int // the server to begin with; each repetition goes to the next
	waits   *waits
	report  *Report
}

// again is how long a sender waits before it repeats itself: short, so that
// what is measured is how long the key was locked and not how patient we are.
const again = 10 * time.Millisecond

func (s *sender) send(patience time.Duration) {
	deadline := time.Now().Add(patience)
	for try := 0; ; try++ {
		verdict, status := s.once(s.servers[(s.first+try)%len(s.servers)])
		s.report.answered(verdict)
		switch verdict {
		case "executed", "replayed":
			s.waits.outcome(s.key)
			if status != http.StatusCreated {
				s.report.wrong("%s was %s with status %d", s.key, verdict, status)
			}
			return
		case "in-flight", "uncertain", "unavailable", "":
			s.waits.heldOff(s.key, verdict != "in-flight")
		default:
			s.report.wrong("%s was answered %s (%d)", s.key, verdict, status)
			return
		}
		if time.Now().After(deadline) {
			s.report.wrong("%s had no outcome after %v, but %q (%d)", s.key, patience, verdict, status)
			return
		}
		time.Sleep(again)
	}
}

// once sends the request once. No answer at all is the verdict "".
func (s *sender) once(server *testserver.Process) (verdict string, status int) {
	req, err := http.NewRequest(http.MethodPost, server.URL()+"/drill/order", strings.NewReader(`{"order":1}`))
	if err != nil {
		return "", 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", s.key)
	req.Header.Set("Do-Delay", "2ms")
	resp, err := s.client.Do(req)
	if err != nil {
		return "", 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", 0
	}
	return resp.Header.Get("Idempotency-Status"), resp.StatusCode
}

// waits measures how long each key was seen locked: from the first answer that
// held a sender off to the first that gave the outcome.
type waits struct {
	mu   sync.Mutex
	keys map[string]*wait
}

type wait struct {
	since   time.Time
	unknown bool // somebody was told that nobody knows
	over    bool
	took    time.Duration
}

func newWaits() *waits { return &waits{keys: map[string]*wait{}} }

func (w *waits) get(key string) *wait {
	if w.keys[key] == nil {
		w.keys[key] = &wait{}
	}
	return w.keys[key]
}

func (w *waits) heldOff(key string, unknown bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.get(key)
	k.unknown = k.unknown || unknown
	if k.since.IsZero() {
		k.since = time.Now()
	}
}

func (w *waits) outcome(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.get(key)
	if !k.since.IsZero() && !k.over {
		k.over, k.took = true, time.Since(k.since)
	}
}

// longest returns the longest time of a key about which everything was known,
// and of one about which somebody was once told that nobody knows.
func (w *waits) longest() (known, unknown time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.keys {
		if k.unknown {
			unknown = max(unknown, k.took)
		} else {
			known = max(known, k.took)
		}
	}
	return known, unknown
}
