package adaptertest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Replay: what is kept of an answer and what is not.
var replayStatements = []statement{
	// Faults: 30, 31, 37.
	{name: "Statement37_NothingOfAnotherExchangeIsReplayed", play: func(s *scene) {
		n := s.server(NodeOptions{})
		const path = "/do/denied"
		send := func(lines []string) answer {
			r := s.post(n, path).key("k").json(`{}`)
			for _, line := range lines {
				r.do("Header", line)
			}
			return r.send()
		}
		kept := []string{"X-Kept: yes", "Cache-Control: private", "ETag: \"v1\"", "Link: </next>; rel=next"}
		first := send(append(slices.Clone(kept), neverKept...))
		s.wantRan(first, "executed", 201)
		again := send(nil)
		s.wantReplay(first, again)
		for _, line := range kept {
			name, value, _ := strings.Cut(line, ": ")
			if first.header.Get(name) != value || again.header.Get(name) != value {
				s.errorf("%s is %q and then %q, want %q both times", name, first.header.Get(name), again.header.Get(name), value)
			}
		}
		for _, line := range neverKept {
			name, value, _ := strings.Cut(line, ": ")
			if endToEnd[name] && !slices.Contains(first.header.Values(name), value) {
				s.errorf("the first answer was altered: %s is %q, want %q", name, first.header.Values(name), value)
			}
			if got := again.header.Values(name); slices.Contains(got, value) {
				s.errorf("the replay has %s: %q", name, got)
			}
		}
		s.wantRuns(path, 1)
	}},

	// Faults: 31.
	{name: "Statement38_NoContentHasNoLength", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, status := range []int{204, 304} {
			path := fmt.Sprintf("/do/none%d", status)
			for i, verdict := range []string{"executed", "replayed", "replayed"} {
				a := s.byHand(n, path, "Idempotency-Key: "+path, fmt.Sprintf("Do-Status: %d", status), "X-Round: "+fmt.Sprint(i))
				s.wantRan(a, verdict, status)
				if length := a.header.Values("Content-Length"); len(length) > 0 || len(a.body) > 0 {
					s.errorf("round %d: %d with Content-Length %q and %d bytes", i, status, length, len(a.body))
				}
			}
			s.wantRuns(path, 1)
		}
		// Two answers to HEAD on one connection: had the first a body, the second
		// could not be read.
		w := s.dial(n)
		defer w.close()
		for range 2 {
			w.write("HEAD /do/head HTTP/1.1", "Host: localhost", "Idempotency-Key: k", "")
			s.wantRan(w.answer(http.MethodHead), "unguarded", 201)
		}
	}},

	// Faults: 29.
	{name: "Statement40_RedirectsAreKept", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, status := range []int{303, 302, 307, 301} {
			path, where := fmt.Sprintf("/do/moved%d", status), fmt.Sprintf("/orders/%d?thanks=1", status)
			send := func() answer {
				return s.post(n, path).key(path).form("a=1").do("Status", fmt.Sprint(status)).do("Header", "Location: "+where).do("Empty", "1").send()
			}
			first := send()
			s.wantRan(first, "executed", status)
			again := send()
			s.wantReplay(first, again)
			if got := again.header.Get("Location"); got != where {
				s.errorf("Location is %q, want %q", got, where)
			}
			s.wantRuns(path, 1)
		}
	}},

	// Faults: 29, 32.
	{name: "Statement44_BytesAndHeadersReplayAsTheyWere", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, size := range []int{0, 1, 4096, 1 << 20} {
			path := fmt.Sprintf("/do/bytes%d", size)
			send := func() answer {
				return s.post(n, path).key(path).json(`{}`).do("Body-Bytes", fmt.Sprint(size)).
					do("Header", "X-Many: first").do("Header", "X-Many: second").do("Header", "X-Many: first").send()
			}
			first := send()
			s.wantRan(first, "executed", 201)
			if len(first.body) != size {
				s.errorf("the first answer has %d bytes, want %d", len(first.body), size)
			}
			if values := byteValues(first.body); size >= 4096 && values != 256 {
				s.errorf("%d of the 256 byte values were tried", values)
			}
			again := send()
			s.wantReplay(first, again)
			if got := strings.Join(again.header.Values("X-Many"), ","); got != "first,second,first" {
				s.errorf("X-Many is %q, want first,second,first", got)
			}
			s.wantRuns(path, 1)
		}
		// Small answers that a careless store takes for nothing.
		for i, body := range []string{"0", "false", "{}", "null", " "} {
			path := fmt.Sprintf("/do/little%d", i)
			send := func() answer { return s.post(n, path).key(path).do("Body", body).do("Status", "200").send() }
			first := send()
			s.wantRan(first, "executed", 200)
			s.wantReplay(first, send())
			s.wantRuns(path, 1)
		}
	}},
}

// neverKept are header lines that belong to one exchange only.
var neverKept = []string{
	"Set-Cookie: session=alice", "Set-Cookie: cart=7", "WWW-Authenticate: Basic realm=x", "Server-Timing: db;dur=53",
	"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id: first", "Age: 7",
	"RateLimit-Limit: 10", "RateLimit-Remaining: 3", "RateLimit-Reset: 50",
	"Access-Control-Allow-Origin: https://a.example", "Access-Control-Expose-Headers: X-Kept",
	"Date: Tue, 15 Nov 1994 08:12:31 GMT", "Proxy-Authenticate: Basic", "Keep-Alive: timeout=5",
	"RateLimit: limit=10", "X-RateLimit-Remaining: 3", "X-Correlation-Id: first", "Tracestate: a=1", "Traceresponse: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	"Authentication-Info: nextnonce=7", "Idempotency-Status: theirs", "Idempotent-Replayed: theirs",
	"Connection: X-Named", "X-Named: hop", "Upgrade: h2c", "Te: trailers",
}

// endToEnd are those of them that every server lets a handler send.
var endToEnd = map[string]bool{
	"Set-Cookie": true, "WWW-Authenticate": true, "Server-Timing": true, "Traceparent": true, "X-Request-Id": true,
	"RateLimit": true, "X-RateLimit-Remaining": true, "X-Correlation-Id": true, "Tracestate": true, "Traceresponse": true, "Authentication-Info": true,
	"Age": true, "RateLimit-Limit": true, "RateLimit-Remaining": true, "RateLimit-Reset": true,
	"Access-Control-Allow-Origin": true, "Access-Control-Expose-Headers": true,
}

// byteValues counts how many of the 256 byte values occur.
func byteValues(b []byte) int {
	var seen [256]bool
	n := 0
	for _, c := range b {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n
}
