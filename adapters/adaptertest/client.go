package adaptertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// request is a request being written.
type request struct {
	s       *scene
	node    Node
	method  string
	target  string
	header  http.Header
	body    []byte
	chunked bool
}

// post begins a POST to a server; with other for other methods.
func (s *scene) post(n Node, target string) *request { return s.request(n, http.MethodPost, target) }

func (s *scene) request(n Node, method, target string) *request {
	return &request{s: s, node: n, method: method, target: target, header: http.Header{}}
}

// with adds a header line.
func (r *request) with(name, value string) *request {
	r.header.Add(name, value)
	return r
}

func (r *request) key(field string) *request      { return r.with("Idempotency-Key", field) }
func (r *request) token(token string) *request    { return r.with("Idempotency-Token", token) }
func (r *request) as(user string) *request        { return r.with("Authorization", "Bearer "+user) }
func (r *request) do(name, value string) *request { return r.with("Do-"+name, value) }

// send is a body and its type.
func (r *request) carry(contentType, body string) *request {
	r.header.Set("Content-Type", contentType)
	r.body = []byte(body)
	return r
}

func (r *request) json(text string) *request { return r.carry("application/json", text) }
func (r *request) form(text string) *request {
	return r.carry("application/x-www-form-urlencoded", text)
}

// inChunks sends the body without telling its length.
func (r *request) inChunks() *request {
	r.chunked = true
	return r
}

// send sends the request and reads the answer whole. A request that gets none
// ends the statement.
func (r *request) send() answer {
	a := r.try()
	if a.err != nil {
		r.s.fatalf("%s %s: %v", r.method, r.target, a.err)
	}
	return a
}

// try is send for where no answer is an answer. Where the store has only a few
// milliseconds for a call (NodeOptions.Quick), a busy machine may let some pass:
// then the request was not run, and is sent again, as its answer says it may.
func (r *request) try() answer {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		a := r.once()
		if a.verdict() != "unavailable" || !r.s.isQuick() || time.Since(begin) > patience {
			return a
		}
	}
}

func (r *request) once() answer {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	if r.chunked {
		body = struct{ io.Reader }{body}
	}
	req, err := http.NewRequest(r.method, r.node.URL()+r.target, body)
	if err != nil {
		return answer{err: err}
	}
	req.Header = r.header
	resp, err := r.s.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, length: resp.ContentLength}
	a.body, a.err = io.ReadAll(resp.Body)
	a.trailer = resp.Trailer
	return a
}

// start sends the request in the background.
func (r *request) start() <-chan answer {
	got := make(chan answer, 1)
	go func() { got <- r.try() }()
	return got
}

// await waits for the answer of a request that was started.
func (s *scene) await(got <-chan answer) answer {
	a := <-got // the client's own time-out bounds it
	if a.err != nil {
		s.fatalf("a request sent in the background: %v", a.err)
	}
	return a
}

// order posts JSON to a control endpoint and reads the JSON that comes back.
func (s *scene) order(n Node, path string, order, into any) {
	text, err := json.Marshal(order)
	if err != nil {
		s.fatalf("writing an order: %v", err)
	}
	a := s.post(n, path).json(string(text)).send()
	if a.status != http.StatusOK {
		s.fatalf("%s %s: status %d: %s", path, text, a.status, a.body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		s.fatalf("%s: %v in %s", path, err, a.body)
	}
}

// fault has the next calls of a server's store misbehave; times below zero is
// until it is set again.
func (s *scene) fault(n Node, op, mode string, times int, delay string) {
	if delay == "" {
		delay = "0s"
	}
	s.order(n, "/control/fault", map[string]any{"op": op, "mode": mode, "times": times, "delay": delay}, nil)
}

// seen tells what a server's guard has done.
func (s *scene) seen(n Node) Seen {
	var seen Seen
	s.order(n, "/control/seen", struct{}{}, &seen)
	return seen
}

// calls counts a server's store calls about records.
func (s *scene) calls(n Node) (all int) {
	for _, n := range s.seen(n).Calls {
		all += n
	}
	return all
}

// arrived waits until a number of handlers stand at a gate. A request that was
// to come there and is answered instead ends the statement.
func (s *scene) arrived(n Node, gate string, want int, sent ...<-chan answer) {
	s.until("a handler at its gate", func() bool {
		for _, got := range sent {
			select {
			case a := <-got:
				s.fatalf("a request was answered %d %s (%v) instead of being held at a gate: %.300s", a.status, a.verdict(), a.err, a.body)
			default:
			}
		}
		var told struct{ Arrived int }
		s.order(n, "/control/gate", map[string]any{"name": gate}, &told)
		return told.Arrived >= want
	})
}

// open opens a gate.
func (s *scene) open(n Node, gate string) {
	s.order(n, "/control/gate", map[string]any{"name": gate, "open": true}, nil)
}

// issue fetches a token from the token endpoint, as user.
func (s *scene) issue(n Node, user, operation, context string) string {
	order, err := json.Marshal(map[string]string{"operation": operation, "context": context})
	if err != nil {
		s.fatalf("writing an order: %v", err)
	}
	a := s.post(n, "/idempotency/tokens").as(user).json(string(order)).send()
	var told struct {
		Token     string
		ExpiresIn int
	}
	if err := json.Unmarshal(a.body, &told); err != nil || a.status != http.StatusOK || told.Token == "" || told.ExpiresIn <= 0 {
		s.fatalf("the token endpoint answered %d: %.300s", a.status, a.body)
	}
	return told.Token
}

// oldToken makes a token that was issued some time ago.
func (s *scene) oldToken(n Node, user, operation, context, age string) string {
	var told struct{ Token string }
	s.order(n, "/control/issue", map[string]any{"operation": operation, "scope": user, "context": context, "age": age}, &told)
	return told.Token
}

// headers returns the names of headers, sorted.
func headers(h http.Header) []string {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// escaped writes a query or a form.
func escaped(pairs ...string) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	return strings.Join(parts, "&")
}
