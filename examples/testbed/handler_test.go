package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What the handler obeys, in each framework, with a key and without: the guard
// changes nothing about a first answer.
func TestTheHandlerObeys(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		b := start(t, "-adapter", adapter)
		for i, keyed := range []bool{false, true} {
			for name, c := range obeyed {
				t.Run(fmt.Sprintf("%s/key=%v/%s", adapter, keyed, name), func(t *testing.T) {
					r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/do/obeys-%d-%s", b.url, i, name), strings.NewReader(c.body))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Content-Type", cmp.Or(c.kind, "application/x-www-form-urlencoded"))
					if keyed {
						r.Header.Set("Idempotency-Key", name)
					}
					for _, line := range c.says {
						field, value, _ := strings.Cut(line, ": ")
						r.Header.Add(field, value)
					}
					resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Fatal(err)
					}
					if adapter == "fiber" && c.notFiber != "" {
						if got := resp.Header.Get("Testbed-Ignored"); got != c.notFiber {
							t.Errorf("Testbed-Ignored is %q, want %q", got, c.notFiber)
						}
						return
					}
					if wrong := c.wrong(resp, string(body)); wrong != "" {
						t.Errorf("%s; %d %v %.200q", wrong, resp.StatusCode, resp.Header, body)
					}
					if got := resp.Header.Get("Testbed-Ignored"); got != c.ignored {
						t.Errorf("Testbed-Ignored is %q, want %q", got, c.ignored)
					}
				})
			}
		}
		b.drainIdle()
	}
}

// drainIdle ends a server that has nothing to finish.
func (b *testbed) drainIdle() {
	b.t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := b.cmd.Process.Signal(interrupt); err != nil {
		b.t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil {
		b.t.Errorf("it ended with %v, want exit code 0", err)
	}
}

type obeying struct {
	says     []string
	body     string
	kind     string                                        // of the body; a plain form where it is empty
	wrong    func(resp *http.Response, body string) string // "" is right
	ignored  string
	notFiber string // what Fiber says it cannot do
}

func expect(right bool, what string) string {
	if right {
		return ""
	}
	return what
}

var obeyed = map[string]obeying{
	"delay": {says: []string{"Do-Delay: 300ms"}, wrong: func(r *http.Response, _ string) string {
		return expect(r.StatusCode == 201, "not a 201")
	}},
	"read-body": {says: []string{"Do-Read: body"}, body: "a=1", wrong: func(_ *http.Response, body string) string {
		sum := sha256.Sum256([]byte("a=1"))
		return expect(strings.Contains(body, hex.EncodeToString(sum[:])), "not the hash of the body")
	}},
	"read-multipart": {says: []string{"Do-Read: multipart"}, kind: "multipart/form-data; boundary=cut", wrong: func(_ *http.Response, body string) string {
		sum := sha256.Sum256([]byte("tea"))
		return expect(strings.Contains(body, `"a":["1"]`) && strings.Contains(body, `"f":"`+hex.EncodeToString(sum[:])), "not the field and the file")
	}, body: "--cut\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--cut\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\ntea\r\n--cut--\r\n"},
	"nothing": {body: "a=1", wrong: func(r *http.Response, body string) string {
		return expect(r.StatusCode == 201 && strings.HasPrefix(r.Header.Get("Location"), "/done/") &&
			strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && strings.Contains(body, `"bodyBytes":3`), "not the default answer")
	}},
	"status": {says: []string{"Do-Status: 503"}, wrong: func(r *http.Response, _ string) string {
		return expect(r.StatusCode == 503, "not the status")
	}},
	"body": {says: []string{"Do-Body: hello"}, wrong: func(r *http.Response, body string) string {
		return expect(body == "hello" && strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain"), "not the body")
	}},
	"bytes": {says: []string{"Do-Body-Bytes: 2048"}, wrong: func(_ *http.Response, body string) string {
		return expect(len(body) == 2048, "not so many bytes")
	}},
	"empty": {says: []string{"Do-Empty: 1"}, wrong: func(_ *http.Response, body string) string { return expect(body == "", "not empty") }},
	"header": {says: []string{"Do-Header: X-A: 1", "Do-Header: X-A: 2", "Do-Header: X-B: 3"}, wrong: func(r *http.Response, _ string) string {
		return expect(strings.Join(r.Header.Values("X-A"), ",") == "1,2" && r.Header.Get("X-B") == "3", "not the headers")
	}},
	"flush": {says: []string{"Do-Flush: 3", "Do-Body: abc"}, wrong: func(r *http.Response, body string) string {
		return expect(body == "abc" && r.ContentLength < 0, "not three chunks of abc")
	}},
	"stream": {says: []string{"Do-Stream: 1"}, wrong: func(r *http.Response, body string) string {
		return expect(strings.Count(body, "data: ") == 3 && strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream"), "not a stream of events")
	}},
	"panic": {says: []string{"Do-Panic: help"}, wrong: func(r *http.Response, body string) string {
		return expect(r.StatusCode == 500 && strings.Contains(body, "the same value: help"), "not the panic")
	}},
	"error": {says: []string{"Do-Error: no money", "Do-Status: 402"}, wrong: func(r *http.Response, body string) string {
		return expect(r.StatusCode == 402 && strings.Contains(body, "no money"), "not the error")
	}},
	"bare-error": {says: []string{"Do-Error: broken"}, wrong: func(r *http.Response, _ string) string { return expect(r.StatusCode == 500, "not a 500") }},
	"effects":    {says: []string{"Do-Effects: 1", "Do-Note: order 7"}, wrong: func(r *http.Response, _ string) string { return expect(r.StatusCode == 201, "not a 201") }},
	"gzip": {says: []string{"Do-Encoding: gzip", "Do-Body: hello"}, wrong: func(r *http.Response, body string) string {
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		text, err := io.ReadAll(z)
		return expect(err == nil && string(text) == "hello" && r.Header.Get("Content-Encoding") == "gzip", "not hello under gzip")
	}},
	"brotli": {says: []string{"Do-Encoding: br", "Do-Body: hello"}, ignored: "Do-Encoding", wrong: func(_ *http.Response, body string) string {
		return expect(body == "hello", "not hello")
	}},
	"read-form": {says: []string{"Do-Read: form"}, body: "a=1&a=2", wrong: func(_ *http.Response, body string) string {
		return expect(strings.Contains(body, `"a":["1","2"]`), "not the fields")
	}},
	"read-none": {says: []string{"Do-Read: none"}, body: "a=1", wrong: func(_ *http.Response, body string) string {
		return expect(strings.Contains(body, `"bodyBytes":0`), "it read the body")
	}},
	"read-wrong": {says: []string{"Do-Read: tea-leaves"}, wrong: func(r *http.Response, _ string) string { return expect(r.StatusCode == 400, "not a 400") }},
	"trailer": {says: []string{"Do-Trailer: X-Sum: 7", "Do-Body: hello"}, wrong: func(r *http.Response, _ string) string {
		return expect(r.Trailer.Get("X-Sum") == "7", "no trailer")
	}},
	"early-hints": {says: []string{"Do-Early-Hints: 1"}, notFiber: "Do-Early-Hints", wrong: func(r *http.Response, _ string) string {
		return expect(r.StatusCode == 201 && r.Header.Get("Link") == "", "the final answer is not as it was")
	}},
}

// The 103 itself is seen on the wire only.
func TestEarlyHintsComeFirst(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo"} {
		b := start(t, "-adapter", adapter)
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST /do/hints HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nDo-Early-Hints: 1\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " 103 ") {
			t.Errorf("%s: the first line is %q (%v), want a 103", adapter, line, err)
		}
		_ = conn.Close()
		b.drainIdle()
	}
}
