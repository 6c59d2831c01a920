package adaptertest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	length int64 // Content-Length, -1 where none was told
	err    error

	trailer http.Header // what came behind the body
}

// verdict is the word in Idempotency-Status, "" where there is none.
func (a answer) verdict() string { return strings.Join(a.header.Values("Idempotency-Status"), ", ") }

// problem is a problem document (RFC 9457) with idem's extensions.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Verdict   string `json:"verdict"`
	Retryable *bool  `json:"retryable"`
	NewToken  *bool  `json:"newToken"`
	Operation string `json:"operation"`
}

// standard is the status of each refusal in the profile of that name.
var standard = map[string]int{
	"in-flight": 409, "uncertain": 409, "used": 409, "conflict": 422, "dead": 425, "forgotten": 410,
	"missing": 400, "malformed": 400, "foreign": 403, "unavailable": 503,
}

// want says which verdict an answer carries: for a refusal, with all that
// belongs to it.
func (s *scene) want(a answer, verdict string) {
	if got := a.verdict(); got != verdict {
		s.errorf("verdict %q (status %d: %.300s), want %q", got, a.status, a.body, verdict)
		return
	}
	if status, refusal := standard[verdict]; refusal {
		s.wantProblem(a, verdict, status)
	}
	if replayed := a.header.Get("Idempotent-Replayed"); (replayed == "true") != (verdict == "replayed") {
		s.errorf("Idempotent-Replayed is %q beside the verdict %s", replayed, verdict)
	}
}

// wantProblem says that an answer is a whole refusal.
func (s *scene) wantProblem(a answer, verdict string, status int) {
	if a.status != status {
		s.errorf("status %d, want %d for %s", a.status, status, verdict)
	}
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/problem+json") {
		s.errorf("a refusal of type %q, want application/problem+json", kind)
		return
	}
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		s.errorf("a problem document that cannot be read: %v", err)
		return
	}
	if p.Verdict != verdict || p.Status != a.status || p.Title == "" || p.Detail == "" || p.Operation == "" ||
		!strings.Contains(p.Type, "://") || p.Retryable == nil || p.NewToken == nil {
		s.errorf("an incomplete problem document: %s", a.body)
		return
	}
	if *p.NewToken && verdict != "dead" && verdict != "missing" {
		s.errorf("%s allows a new token", verdict)
	}
	if cache := a.header.Get("Cache-Control"); cache != "no-store" {
		s.errorf("Cache-Control is %q on a refusal, want no-store", cache)
	}
	waits := verdict == "in-flight" || verdict == "unavailable"
	if a.header.Get("Retry-After") == "" && waits {
		s.errorf("%s does not say when to try again", verdict)
	}
}

// wantRan says that the handler ran and answered this status.
func (s *scene) wantRan(a answer, verdict string, status int) {
	if got := a.verdict(); got != verdict {
		s.errorf("verdict %q (status %d: %.300s), want %q", got, a.status, a.body, verdict)
		return
	}
	if a.status != status {
		s.errorf("status %d, want the handler's %d", a.status, status)
	}
	if replayed := a.header.Get("Idempotent-Replayed"); (replayed != "") != (verdict == "replayed") {
		s.errorf("Idempotent-Replayed is %q beside the verdict %q", replayed, verdict)
	}
}

// wantReplay says that b is a replay of a, byte for byte.
func (s *scene) wantReplay(a, b answer) {
	s.want(b, "replayed")
	if a.status != b.status {
		s.errorf("the replay has status %d, the first answer %d", b.status, a.status)
	}
	if string(a.body) != string(b.body) {
		s.errorf("the replay's body (%d bytes: %.80q) is not the first's (%d bytes: %.80q)", len(b.body), b.body, len(a.body), a.body)
	}
	for _, name := range []string{"Content-Type", "Location", "Content-Encoding"} {
		if x, y := a.header.Values(name), b.header.Values(name); strings.Join(x, "\n") != strings.Join(y, "\n") {
			s.errorf("the replay has %s %q, the first answer %q", name, y, x)
		}
	}
}

// about reads the default answer of a scripted handler.
func (s *scene) about(a answer) about {
	var told about
	s.read(a, &told)
	return told
}

// read reads an answer of JSON.
func (s *scene) read(a answer, into any) {
	if err := json.Unmarshal(a.body, into); err != nil {
		s.fatalf("status %d, not the JSON that was asked for: %v in %.200s", a.status, err, a.body)
	}
}
