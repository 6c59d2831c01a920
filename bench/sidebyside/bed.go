package sidebyside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/go-idem/idem/core/httpflow"
)

// bed is a subject in one trouble.
type bed struct {
	subject
	runs  atomic.Int64  // of the handler
	ran   chan struct{} // one in it for each run that has begun
	gate  chan struct{} // handlers that wait, wait for it to be closed
	inst  []*instance
	ended bool
}

// patience bounds a wait for what has to happen; silence is how long nothing has
// to come before it is said not to come.
const (
	patience = time.Minute
	silence  = 10 * time.Second
)

func newBed(s subject, instances int, handler func(b *bed, c *fiber.Ctx) error) (*bed, error) {
	b := &bed{subject: s, ran: make(chan struct{}, 16), gate: make(chan struct{})}
	for range instances {
		i, err := start(s, func(c *fiber.Ctx) error {
			b.runs.Add(1)
			b.ran <- struct{}{}
			return handler(b, c)
		})
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.inst = append(b.inst, i)
	}
	return b, nil
}

// open lets the handlers that wait go on.
func (b *bed) open() {
	if !b.ended {
		b.ended = true
		close(b.gate)
	}
}

func (b *bed) close() error {
	b.open()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	for _, i := range b.inst {
		errs = append(errs, i.stop(ctx))
	}
	return errors.Join(append(errs, b.subject.close(ctx))...)
}

// answer is what a client was answered.
type answer struct {
	status  int
	verdict string
	body    string
	early   bool // its first bytes came before the gate was opened
	err     error
}

// String says it in a cell of the page.
func (a answer) String() string {
	switch {
	case a.err != nil:
		return "no answer"
	case a.verdict != "":
		return fmt.Sprintf("%d `%s`", a.status, a.verdict)
	}
	return fmt.Sprint(a.status)
}

// key is a UUID: Fiber's middleware takes keys of its length only.
const key = "8a6e0804-2bd0-4672-b79d-d97027f9071a"

// send sends the request, to one of the instances, and reads the whole answer.
func (b *bed) send(instance int, user string) answer {
	res, err := b.post(instance, user)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, verdict: res.Header.Get(httpflow.StatusHeader), body: string(body), err: err}
}

func (b *bed) post(instance int, user string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.inst[instance].url+"/pay", strings.NewReader(`{"amount":7}`))
	if err != nil {
		cancel()
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, b.header(): {key}, "X-User": {user}}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &body{res.Body, cancel}
	return res, nil
}

// body ends its request's time with it.
type body struct {
	io.ReadCloser
	cancel func()
}

func (b *body) Close() error { defer b.cancel(); return b.ReadCloser.Close() }

// begin sends the request without waiting for its answer.
func (b *bed) begin(instance int, user string) <-chan answer {
	c := make(chan answer, 1)
	go func() { c <- b.send(instance, user) }()
	return c
}

// stream sends the request and opens the gate once the first bytes were there,
// or have not come for a while.
func (b *bed) stream() answer {
	first, rest := make(chan answer, 1), make(chan answer, 1)
	go func() {
		res, err := b.post(0, "ann")
		if err != nil {
			first <- answer{err: err}
			rest <- answer{err: err}
			return
		}
		defer res.Body.Close()
		text := bufio.NewReader(res.Body)
		line, err := text.ReadString('\n')
		a := answer{status: res.StatusCode, verdict: res.Header.Get(httpflow.StatusHeader), body: line, err: err}
		first <- a
		more, err := io.ReadAll(text)
		a.body, a.err = a.body+string(more), err
		rest <- a
	}()
	early := false
	select {
	case a := <-first:
		early = a.err == nil
	case <-time.After(silence):
	}
	b.open()
	a := <-rest
	a.early = early
	return a
}
