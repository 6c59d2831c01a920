package adaptertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// What is more than a body and a status: bodies over the limit, codings, heads
// ahead of the head, streams, writers, connections that die, and the page on
// which a server tells its rules.
var wholeStatements = []statement{
	{name: "Statement16_ABodyOverTheLimitIsRefusedUnread", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for framing, c := range map[string]struct{ line, piece string }{
			"in chunks":        {"Transfer-Encoding: chunked", "10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"},
			"of a told length": {"Content-Length: 1073741824", strings.Repeat("x", 1<<16)},
		} {
			w := s.dial(n)
			w.write("POST /do/huge HTTP/1.1", "Host: localhost", "Content-Type: application/octet-stream", "Idempotency-Key: k", c.line, "")
			var sent atomic.Int64
			var sending sync.WaitGroup
			sending.Go(func() { // until the server hangs up, which is all it can do
				for piece := []byte(c.piece); sent.Load() < 128<<20; sent.Add(1 << 16) {
					if _, err := w.conn.Write(piece); err != nil {
						return
					}
				}
				w.hangUp()
			})
			s.wantProblem(w.answer(http.MethodPost), "malformed", http.StatusRequestEntityTooLarge)
			w.close()
			sending.Wait()
			// What the two ends of a connection buffer is some megabytes.
			if got := sent.Load(); got > 32<<20 {
				s.errorf("%d bytes of a body %s were taken, and it may have 1 MiB", got, framing)
			}
		}
		s.wantRuns("/do/huge", 0)
	}},

	// Faults: 33.
	{name: "Statement39_EachRepeatGetsACodingItAccepts", play: func(s *scene) {
		n := s.server(NodeOptions{})
		send := func(path, accepts string, do ...string) answer {
			r := s.post(n, path).key(path).json(`{}`).with("Accept-Encoding", accepts)
			for i := 0; i < len(do); i += 2 {
				r.do(do[i], do[i+1])
			}
			return r.send()
		}
		// A compressor outside of the guard: what is kept is plain.
		text := strings.Repeat("the same words again and again, ", 200) + "and once more"
		for i, first := range []string{"gzip", "identity"} {
			path := fmt.Sprintf("/zip/outside%d", i)
			s.wantRan(s.coded(send(path, first, "Body", text), first, text), "executed", http.StatusCreated)
			for _, again := range []string{"gzip", "identity", "gzip"} {
				a := s.coded(send(path, again), again, text)
				if a.verdict() != "replayed" {
					s.errorf("first %s, then %s: %s", first, again, a.verdict())
				}
			}
			s.wantRuns(path, 1)
		}
		// A handler that encodes by itself chose the coding for the first client.
		const inside = "/do/inside"
		encoded := send(inside, "gzip", "Encoding", "gzip", "Body", text)
		s.wantRan(s.coded(encoded, "gzip", text), "executed", http.StatusCreated)
		s.wantReplay(encoded, send(inside, "br, gzip"))
		for _, refuses := range []string{"gzip;q=0", "identity", "br"} {
			a := send(inside, refuses)
			s.want(a, "used")
			if a.header.Get("Location") != encoded.header.Get("Location") || a.header.Get("Content-Encoding") != "" {
				s.errorf("accepting %s: Location %q, Content-Encoding %q", refuses, a.header.Get("Location"), a.header.Get("Content-Encoding"))
			}
		}
		s.wantRuns(inside, 1)
	}},

	{name: "Statement41_InformationalAnswersAreNeitherKeptNorReplayed", play: func(s *scene) {
		n := s.server(NodeOptions{})
		w := s.dial(n)
		defer w.close()
		send := func() {
			w.write("POST /do/hinted HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 2", "Idempotency-Key: k", "Do-Early-Hints: 1", "", "{}")
		}
		send()
		hint := w.answer(http.MethodPost)
		if hint.status != http.StatusEarlyHints || hint.header.Get("Link") == "" || hint.verdict() != "" {
			s.errorf("first came %d with Link %q and verdict %q, want 103", hint.status, hint.header.Get("Link"), hint.verdict())
		}
		first := w.answer(http.MethodPost)
		s.wantRan(first, "executed", http.StatusCreated)
		w.write("POST /do/hinted HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 2", "Idempotency-Key: k", "", "{}")
		again := w.answer(http.MethodPost)
		s.wantReplay(first, again)
		if link := again.header.Get("Link"); link != "" {
			s.errorf("the replay has the hint's Link %q", link)
		}
		s.wantRuns("/do/hinted", 1)
	}},

	// Faults: 34.
	{name: "Statement42_AStreamLeavesAtOnceAndIsUsedAfterwards", play: func(s *scene) {
		n := s.server(NodeOptions{})
		client := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: patience}}
		defer client.CloseIdleConnections()
		for _, kind := range []string{"Stream", "Flush"} {
			path, gate := "/do/streamed"+kind, s.gate()
			req, _ := http.NewRequest(http.MethodPost, n.URL()+path, strings.NewReader("{}"))
			req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {kind}, "Do-" + kind: {"3"}, "Do-Gate-Stream": {gate}, "Do-Body": {"one two three"}}
			resp, err := client.Do(req)
			if err != nil {
				s.fatalf("the stream's head did not come while its handler still ran: %v", err)
			}
			defer resp.Body.Close()
			piece := make([]byte, 64)
			got, err := resp.Body.Read(piece)
			if err != nil || got == 0 { // the handler stands at its gate: what came was not held back
				s.errorf("the first piece did not come while the handler still ran: %v", err)
			}
			if v := resp.Header.Get("Idempotency-Status"); v != "executed" {
				s.errorf("a stream's head says %q", v)
			}
			// Whether a run that streams is over is the framework's to say: Fiber
			// streams when its handlers have returned.
			if v := s.post(n, path).key(kind).json("{}").send().verdict(); v != "in-flight" && v != "used" {
				s.errorf("a repeat while it streams: %q", v)
			}
			s.open(n, gate)
			rest, err := io.ReadAll(resp.Body)
			if err != nil || len(rest) == 0 {
				s.errorf("the rest of the stream: %d bytes, %v", len(rest), err)
			}
			s.until("the stream's end", func() bool { return s.post(n, path).key(kind).json("{}").send().verdict() != "in-flight" })
			again := s.post(n, path).key(kind).json("{}").send()
			s.want(again, "used")
			s.wantRuns(path, 1)
		}
	}},

	// Faults: 36.
	{name: "Statement43_WritersWorkThroughTheGuard", play: func(s *scene) {
		n := s.server(NodeOptions{})
		body := strings.Repeat("0123456789abcdef", 1<<9) // it is asked for in a header
		for _, c := range []struct{ how, then string }{{"copy", "replayed"}, {"controller", "used"}, {"hijack", "used"}} {
			path := "/do/by-" + c.how
			send := func() answer { return s.post(n, path).key(c.how).json("{}").do("By", c.how).do("Body", body).send() }
			first := send()
			if first.status != http.StatusCreated || string(first.body) != body {
				s.errorf("%s: status %d, %d bytes, ignored %q", c.how, first.status, len(first.body), first.header.Get("Testbed-Ignored"))
			}
			if c.how != "hijack" && first.verdict() != "executed" { // a connection that was handed over says what the handler says
				s.errorf("%s: verdict %q", c.how, first.verdict())
			}
			again := send()
			s.until("the run's end", func() bool { // what left early left before it
				if again.verdict() == "in-flight" {
					again = send()
				}
				return again.verdict() != "in-flight"
			})
			if s.want(again, c.then); c.then == "replayed" {
				s.wantReplay(first, again)
			}
			s.wantRuns(path, 1)
		}
	}},

	{name: "Statement43a_TrailersReachTheFirstClientAndAreNotKept", play: func(s *scene) {
		n := s.server(NodeOptions{})
		send := func() answer { return s.post(n, "/do/trailed").key("k").json("{}").do("Trailer", "X-Sum: 7").send() }
		first := send()
		s.wantRan(first, "executed", http.StatusCreated)
		if got := first.trailer.Get("X-Sum"); got != "7" {
			s.errorf("the trailer is %q, want 7 (ignored: %q)", got, first.header.Get("Testbed-Ignored"))
		}
		again := send()
		s.until("the run's end", func() bool { // what left early left before it
			if again.verdict() == "in-flight" {
				again = send()
			}
			return again.verdict() != "in-flight"
		})
		if s.want(again, "used"); again.header.Get("Location") != first.header.Get("Location") {
			s.errorf("the repeat leads to %q, want %q", again.header.Get("Location"), first.header.Get("Location"))
		}
		s.wantRuns("/do/trailed", 1)
	}},

	{name: "Statement54_AClientThatResendsByItselfGetsTheReplay", play: func(s *scene) {
		n := s.server(NodeOptions{})
		cutting := s.cutter(n)
		defer cutting.close()
		client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
		defer client.CloseIdleConnections()
		post := func(body string) (*http.Response, []byte) {
			req, _ := http.NewRequest(http.MethodPost, cutting.url+"/do/resent", bytes.NewReader([]byte(body)))
			req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"k" + body}}
			resp, err := client.Do(req)
			if err != nil {
				s.fatalf("the client did not send it again by itself: %v", err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				s.fatalf("reading the answer: %v", err)
			}
			return resp, text
		}
		if resp, _ := post("1"); resp.Header.Get("Idempotency-Status") != "executed" { // so that the connection is a used one
			s.errorf("the first request: %q", resp.Header.Get("Idempotency-Status"))
		}
		cutting.next.Store(true)
		resp, _ := post("2")
		if resp.StatusCode != http.StatusCreated || resp.Header.Get("Idempotency-Status") != "replayed" {
			s.errorf("the request whose answer was lost: %d %q, want the replay", resp.StatusCode, resp.Header.Get("Idempotency-Status"))
		}
		if cutting.next.Load() {
			s.errorf("no connection died")
		}
		s.wantRuns("/do/resent", 2) // one each
	}},

	{name: "Statement55_TheRulesInForceArePublished", play: func(s *scene) {
		n := s.server(NodeOptions{})
		rules := func() (page string, of map[string]any) {
			a := s.request(n, http.MethodGet, "/idempotency/policies").with("Accept", "text/markdown").send()
			if kind := a.header.Get("Content-Type"); a.status != http.StatusOK || !strings.HasPrefix(kind, "text/markdown") {
				s.fatalf("the page: %d, %s", a.status, kind)
			}
			var doc struct{ Policies []map[string]any }
			s.read(s.request(n, http.MethodGet, "/idempotency/policies").with("Accept", "application/json").send(), &doc)
			for _, p := range doc.Policies {
				if p["operation"] == "test:keep:run" {
					return string(a.body), p
				}
			}
			s.fatalf("the operation is not among the policies: %s", a.body)
			return "", nil
		}
		long := `"` + strings.Repeat("x", 2<<10) + `"`
		send := func(key string) answer { return s.post(n, "/keep/it").key(key).json(long).send() }
		page, of := rules()
		if of["maxBody"] != "1MiB" || !strings.Contains(page, "1048576 bytes") {
			s.errorf("maxBody is %v, and the page does not say 1048576 bytes", of["maxBody"])
		}
		s.wantRan(send("before"), "executed", http.StatusCreated)
		of["maxBody"] = "1KiB"
		s.order(n, "/control/policy", of, nil)
		page, of = rules()
		if of["maxBody"] != "1KiB" || !strings.Contains(page, "1024 bytes") {
			s.errorf("after the change maxBody is %v, and the page does not say 1024 bytes", of["maxBody"])
		}
		s.wantProblem(send("after"), "malformed", http.StatusRequestEntityTooLarge)
		s.wantRuns("/keep/it", 1)
	}},
}

// coded says that an answer is in gzip where that is accepted and plain
// elsewhere, and is text once it is decoded.
func (s *scene) coded(a answer, accepts, text string) answer {
	body, coding := a.body, a.header.Get("Content-Encoding")
	switch {
	case accepts == "gzip" && coding == "gzip":
		zr, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(zr)
		}
		if err != nil {
			s.errorf("an answer in gzip cannot be decoded: %v", err)
		}
	case accepts == "gzip" || coding != "":
		s.errorf("accepting %s, the answer is in coding %q", accepts, coding)
	}
	if string(body) != text {
		s.errorf("accepting %s, the answer has %d bytes %.40q, want %d", accepts, len(body), body, len(text))
	}
	return a
}
