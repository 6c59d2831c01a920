package httpflow_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever a handler does with its writer, the first client gets what it would
// get without a guard, but for the verdict; and the repeat gets that again, or
// is told that it is done.
func TestTheFirstAnswerIsNotAltered(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	file := filepath.Join(t.TempDir(), "answer.bin")
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		does  string
		again string // the repeat's verdict
		h     http.HandlerFunc
	}{
		{"nothing at all", "replayed", func(http.ResponseWriter, *http.Request) {}},
		{"a status only", "replayed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }},
		{"304 with a validator", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"7"`)
			w.WriteHeader(304)
		}},
		{"303 and Location", "replayed", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/orders/7", http.StatusSeeOther) }},
		{"a body without a type", "replayed", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }},
		{"a body whose type is not to be guessed", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "<html>hello</html>")
		}},
		{"zero", "replayed", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "0") }},
		{"all 256 bytes in pieces", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			for i := range every {
				_, _ = w.Write(every[i : i+1])
			}
		}},
		{"1 MiB", "replayed", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) }},
		{"1 MiB and a byte", "used", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(whole)
			_, _ = w.Write([]byte("!"))
		}},
		{"1 MiB by ReadFrom", "replayed", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, bytes.NewReader(whole)) }},
		{"1 MiB and a byte by ReadFrom", "used", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.MultiReader(bytes.NewReader(whole), strings.NewReader("!")))
		}},
		{"a file", "replayed", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }},
		{"a length that is too long to keep", "used", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)+1))
			_, _ = w.Write(append(whole[:len(whole):len(whole)], '!'))
		}},
		{"repeated fields", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Step"] = []string{"one", "two", "one"}
			w.Header().Add("Link", "<a>; rel=next")
			w.Header().Add("Link", "<b>; rel=prev")
			fmt.Fprint(w, "ok")
		}},
		{"fields after the head", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Early", "1")
			w.WriteHeader(202)
			w.Header().Set("X-Early", "2")
			w.Header().Set("X-Late", "1")
			w.Header().Del("Content-Type")
			fmt.Fprint(w, "ok")
		}},
		{"two heads", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(202)
			w.WriteHeader(500)
			fmt.Fprint(w, "ok")
		}},
		{"more than it announced", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			fmt.Fprint(w, "ok")
			if _, err := fmt.Fprint(w, "more"); !errors.Is(err, http.ErrContentLength) {
				panic(fmt.Sprintf("wrote more: %v", err))
			}
		}},
		{"a body with 204", "replayed", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := fmt.Fprint(w, "more"); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(fmt.Sprintf("wrote a body: %v", err))
			}
		}},
		{"flushes", "used", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "one ")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "two")
			_ = http.NewResponseController(w).Flush()
		}},
		{"a declared trailer", "used", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			fmt.Fprint(w, "ok")
			w.Header().Set("X-Sum", "7")
		}},
		{"a trailer that was not declared", "used", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "ok")
			w.Header().Set(http.TrailerPrefix+"X-Sum", "7")
		}},
	}
	for _, c := range cases {
		t.Run(c.does, func(t *testing.T) {
			b := newBed(t, c.h)
			bare := httptest.NewServer(c.h)
			defer bare.Close()
			want := post(t, b, bare.URL)
			first := post(t, b, b.server.URL+"/do/it")
			same(t, "first", first, want)
			if first.verdict() != "executed" {
				t.Errorf("first: %q", first.verdict())
			}
			var again answer
			b.until(func() bool { // an answer that left early was read before its run was over
				again = post(t, b, b.server.URL+"/do/it")
				return again.verdict() != "in-flight"
			})
			if again.verdict() != c.again || b.runs.Load() != 1 {
				t.Errorf("again: %d %q after %d runs, want %s after one", again.StatusCode, again.verdict(), b.runs.Load(), c.again)
			}
			if c.again == "replayed" {
				same(t, "again", again, want)
			}
			if again.StatusCode == 204 && len(again.Header.Values("Content-Length")) > 0 {
				t.Error("204 with a Content-Length")
			}
		})
	}
}

// post sends the same keyed request without following redirects or decoding.
func post(t *testing.T, b *bed, url string) answer {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Idempotency-Key", "a")
	res, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return answer{res, body}
}

// same compares what a client sees: status, body, trailers, and all fields but
// those of the moment and ours. A length may be announced where it was not.
func same(t *testing.T, which string, got, want answer) {
	t.Helper()
	if got.StatusCode != want.StatusCode || !bytes.Equal(got.body, want.body) {
		t.Errorf("%s: %d with %d bytes, want %d with %d", which, got.StatusCode, len(got.body), want.StatusCode, len(want.body))
	}
	a, b := got.Header.Clone(), want.Header.Clone()
	for _, h := range []http.Header{a, b} {
		for _, name := range []string{"Date", "Idempotency-Status", "Idempotent-Replayed", "Content-Length", "Accept-Ranges"} {
			h.Del(name)
		}
	}
	a["Accept-Ranges"], b["Accept-Ranges"] = got.Header["Accept-Ranges"], want.Header["Accept-Ranges"]
	if fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(got.Trailer) != fmt.Sprint(want.Trailer) {
		t.Errorf("%s: %v %v\nwant %v %v", which, a, got.Trailer, b, want.Trailer)
	}
}

func TestStatement37_WhatIsNotKept(t *testing.T) {
	denied := []string{
		"Set-Cookie", "Date", "Age", "WWW-Authenticate", "Server-Timing", "Traceparent", "X-Request-Id", "RateLimit-Limit",
		"Tracestate", "Traceresponse", "Baggage", "B3", "X-B3-TraceId", "Uber-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
		"RateLimit-Policy", "Access-Control-Allow-Origin", "Proxy-Authenticate", "Keep-Alive", "X-Hop",
	}
	n := 0
	b := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range denied {
			w.Header().Set(name, "of the first exchange")
		}
		w.Header().Set("Connection", "X-Hop, close")
		w.Header().Set("X-Kept", "yes")
		fmt.Fprint(w, "ok")
	}, func(s *setting) {
		s.outside = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n++
				w.Header().Set("X-Outside", fmt.Sprint(n))
				h.ServeHTTP(w, r)
			})
		}
	})
	first := post(t, b, b.server.URL+"/do/it")
	for _, name := range []string{"Set-Cookie", "X-Hop", "X-Kept", "X-Request-Id"} {
		if first.Header.Get(name) == "" {
			t.Errorf("first: %s was taken away", name)
		}
	}
	again := post(t, b, b.server.URL+"/do/it")
	b.want(again, 200, "replayed", 1)
	for _, name := range denied {
		if v := again.Header.Get(name); strings.Contains(v, "first exchange") {
			t.Errorf("again: %s: %s", name, v)
		}
	}
	if again.Header.Get("X-Kept") != "yes" || again.Header.Get("X-Outside") != "2" {
		t.Errorf("again: X-Kept %q, X-Outside %q: want what was kept and what stands outside now", again.Header.Get("X-Kept"), again.Header.Get("X-Outside"))
	}
}

func TestStatement38_AUsedAnswerKeepsItsLocation(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/orders/7")
		w.Header().Set("X-Secret", "1")
		w.WriteHeader(201)
		_ = http.NewResponseController(w).Flush()
	})
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 1)
	a := b.send("{}", "Idempotency-Key: a")
	b.want(a, 409, "used", 1)
	if a.Header.Get("Location") != "/orders/7" || a.Header.Get("X-Secret") != "" {
		t.Errorf("header %v", a.Header)
	}
}

// Faults: 33.
func TestStatement39_ACodingThatTheRepeatDoesNotAccept(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		w.Header().Set("Location", "/orders/7")
		fmt.Fprint(w, "pretend")
	})
	b.want(b.send("{}", "Idempotency-Key: a", "Accept-Encoding: gzip, br"), 200, "executed", 1)
	b.want(b.send("{}", "Idempotency-Key: a", "Accept-Encoding: br;q=0.5"), 200, "replayed", 1)
	b.want(b.send("{}", "Idempotency-Key: a", "Accept-Encoding: *"), 200, "replayed", 1)
	b.want(b.send("{}", "Idempotency-Key: a", "Accept-Encoding: br;q=0, *"), 409, "used", 1)
	a := b.send("{}", "Idempotency-Key: a", "Accept-Encoding: identity")
	b.want(a, 409, "used", 1)
	if a.Header.Get("Location") != "/orders/7" {
		t.Errorf("no Location: %v", a.Header)
	}
}

func TestStatement41_InformationalHeadsPassThrough(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(201)
	})
	send := func() (hints int, a answer) {
		req, _ := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", nil)
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Idempotency-Key", "a")
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == 103 && h.Get("Link") != "" {
				hints++
			}
			return nil
		}}
		a = b.do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		return hints, a
	}
	hints, a := send()
	b.want(a, 201, "executed", 1)
	if hints != 1 {
		t.Errorf("first: %d early hints, want 1", hints)
	}
	hints, a = send()
	b.want(a, 201, "replayed", 1)
	if hints != 0 {
		t.Errorf("again: %d early hints, want none", hints)
	}
}

// Faults: 34.
func TestStatement42_TheFirstByteOfAStreamIsNotDelayed(t *testing.T) {
	more := make(chan struct{})
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "first")
		w.(http.Flusher).Flush()
		<-more
		fmt.Fprint(w, " second")
	})
	req, _ := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", nil)
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Idempotency-Key", "a")
	res, err := b.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	piece := make([]byte, 5)
	if _, err := io.ReadFull(res.Body, piece); err != nil || string(piece) != "first" {
		t.Errorf("read %q, %v", piece, err)
	}
	close(more)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != " second" || res.Header.Get("Idempotency-Status") != "executed" {
		t.Errorf("read %q, %v, verdict %q", rest, err, res.Header.Get("Idempotency-Status"))
	}
}

// Faults: 36.
func TestStatement43_AbilitiesOfTheServersWriter(t *testing.T) {
	t.Run("hijack", func(t *testing.T) {
		for _, how := range []string{"assertion", "controller"} {
			b := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
				var conn net.Conn
				var rw *bufio.ReadWriter
				var err error
				if how == "controller" {
					conn, rw, err = http.NewResponseController(w).Hijack()
				} else {
					conn, rw, err = w.(http.Hijacker).Hijack()
				}
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\n\r\n")
				_ = rw.Flush()
			})
			a := post(t, b, b.server.URL+"/do/it")
			if a.StatusCode != 101 {
				t.Errorf("%s: answered %d", how, a.StatusCode)
			}
			b.want(b.settled("Content-Type: "), 409, "used", 1)
		}
	})
	t.Run("HTTP/2 flushes and cannot be hijacked", func(t *testing.T) {
		b := newBed(t, created)
		h2 := httptest.NewUnstartedServer(guarded(b.flow, operation, func(w http.ResponseWriter, r *http.Request) {
			if _, can := w.(http.Hijacker); can {
				t.Error("a writer that cannot be hijacked says it can")
			}
			created(w, r)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flush: %v", err)
			}
		}))
		h2.EnableHTTP2 = true
		h2.StartTLS()
		defer h2.Close()
		for _, want := range []string{"executed", "used"} {
			req, _ := http.NewRequest(http.MethodPost, h2.URL+"/do/it", strings.NewReader("{}"))
			req.Header.Set("Authorization", "Bearer alice")
			req.Header.Set("Idempotency-Key", "a")
			res, err := h2.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if got := res.Header.Get("Idempotency-Status"); err != nil || got != want || res.ProtoMajor != 2 {
				t.Errorf("%s %d %q %s, %v; want %s", res.Proto, res.StatusCode, got, body, err, want)
			}
		}
	})
	t.Run("deadlines reach the server", func(t *testing.T) {
		b := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
			c := http.NewResponseController(w)
			if err := errors.Join(c.SetReadDeadline(time.Now().Add(time.Minute)), c.SetWriteDeadline(time.Now().Add(time.Minute)), c.EnableFullDuplex()); err != nil {
				t.Error(err)
			}
		})
		b.want(b.send("{}", "Idempotency-Key: a"), 200, "executed", 1)
	})
	t.Run("only what the server can", func(t *testing.T) {
		b := newBed(t, created)
		r := httptest.NewRequest(http.MethodPost, "/do/it", nil)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Idempotency-Key", "a")
		guarded(b.flow, operation, func(w http.ResponseWriter, r *http.Request) {
			if _, can := w.(http.Flusher); !can {
				t.Error("a writer that flushes says it cannot")
			}
			if _, can := w.(http.Hijacker); can {
				t.Error("a writer that cannot be hijacked says it can")
			}
			if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("hijack: %v", err)
			}
		}).ServeHTTP(httptest.NewRecorder(), r)
	})
}

// The answer leaves only when its outcome is in the store, so that whoever got
// an answer finds it again.
func TestTheOutcomeIsWrittenBeforeTheAnswerLeaves(t *testing.T) {
	settled := make(chan struct{})
	store := &slowSettle{gate: settled}
	b := newBed(t, created, func(s *setting) { s.guard.Store, s.guard.SettleWait = store.over(s.guard.Store), time.Minute })
	got := make(chan answer)
	go func() { got <- b.send("{}", "Idempotency-Key: a") }()
	select {
	case <-got:
		t.Error("the answer left before its outcome was written")
	case <-store.reached():
	}
	select {
	case a := <-got:
		t.Errorf("answered %d while the settle is under way", a.StatusCode)
	case <-time.After(20 * time.Millisecond): // long enough for an answer that does not wait
	}
	close(settled)
	b.want(<-got, 201, "executed", 1)
}

// A handler that goes on writing after it has returned finds nobody.
func TestAnAnswerIsOverWhenItsHandlerReturns(t *testing.T) {
	late := make(chan http.ResponseWriter, 1)
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) { late <- w; created(w, r) })
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 1)
	w := <-late
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("a late write was taken")
	}
	if err := http.NewResponseController(w).Flush(); err == nil {
		t.Error("a late flush was taken")
	}
	w.WriteHeader(500)
}
