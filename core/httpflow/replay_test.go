package httpflow_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
)

// notKept are headers that belong to one exchange or one person, and what a
// server makes anew for each exchange.
var notKept = []string{
	"Date", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Age", "Set-Cookie", "Www-Authenticate",
	"Server-Timing", "Traceparent", "X-Request-Id", "Ratelimit-Limit", "Access-Control-Allow-Origin", "Proxy-Status",
	"Idempotency-Status", "Idempotent-Replayed",
}

// Given answers of every shape, drawn at random, when the request is repeated,
// then status, body and headers are those of the first answer, value by value
// and in their order, and nothing of the first exchange is among them.
//
// Faults: 29, 30, 31, 32, 37.
func TestI4_AReplayIsTheFirstAnswerByteForByte(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var next func(http.ResponseWriter)
	b := newBed(t, func(w http.ResponseWriter, _ *http.Request) { next(w) })
	const bytesOfAll = " \n\x00\xff\x80{}aé"
	statuses := []int{200, 201, 202, 204, 303, 402, 404, 410}
	for i := range 300 {
		status := statuses[rng.IntN(len(statuses))]
		body := make([]byte, rng.IntN(200))
		for j := range body {
			body[j] = bytesOfAll[rng.IntN(len(bytesOfAll))] // white space, NUL, halves of characters
		}
		fields := map[string][]string{}
		for _, name := range append([]string{"Location", "Etag", "Link", "Vary", "X-Own", "Content-Language"}, notKept[8:17]...) {
			for range rng.IntN(3) {
				fields[name] = append(fields[name], fmt.Sprintf("%s %d", name, rng.IntN(5)))
			}
		}
		next = func(w http.ResponseWriter) {
			for name, values := range fields {
				w.Header()[name] = slices.Clone(values)
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}
		key := fmt.Sprintf("Idempotency-Key: k%d", i)
		b.server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		first := b.send("{}", key)
		for range 2 {
			again := b.send("{}", key)
			if again.StatusCode != status || first.StatusCode != status || !bytes.Equal(again.body, first.body) {
				t.Fatalf("answer %d: %d with %q, then %d with %q", i, first.StatusCode, first.body, again.StatusCode, again.body)
			}
			if again.verdict() != "replayed" || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("answer %d: the repeat is %q", i, again.verdict())
			}
			if status != 204 && !bytes.Equal(first.body, body) {
				t.Errorf("answer %d: the first was altered: %q, want %q", i, first.body, body)
			}
			kept, sent := first.Header.Clone(), again.Header.Clone()
			for _, name := range notKept {
				delete(kept, name)
				if delete(sent, name); name != "Date" && name != "Content-Length" && name[0] != 'I' && again.Header[name] != nil {
					t.Errorf("answer %d: %s was replayed", i, name)
				}
			}
			for name := range kept {
				if !slices.Equal(kept[name], sent[name]) {
					t.Errorf("answer %d: %s is %q, first %q", i, name, sent[name], kept[name])
				}
			}
			if len(kept) != len(sent) {
				t.Errorf("answer %d: %d header names, first %d: %v", i, len(sent), len(kept), sent)
			}
		}
	}
}
