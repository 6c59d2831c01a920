package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	idem "github.com/go-idem/idem/core"
)

// browser is as much of a browser as the troubles need: it keeps cookies, reads
// forms out of pages, and sends each request on a TCP connection of its own
// that can be dropped at any moment.
type browser struct {
	base    string // of the shop's server
	cookies map[string]string
}

// exchange is one request on the wire.
type exchange struct {
	conn net.Conn
	sent time.Time
}

// answer is what came back.
type answer struct {
	status  int
	verdict string
	to      string // Location
	wait    time.Duration
	took    time.Duration
	body    []byte
}

// formKind is the content type of a form.
const formKind = "application/x-www-form-urlencoded"

// send writes one request and does not wait for its answer. base is the server
// it goes to; a nil form makes it a GET.
func (b *browser) send(ctx context.Context, base, path string, form url.Values, st *stage) (*exchange, error) {
	extra := map[string]string{}
	if st != nil {
		extra[stageHeader] = st.id
	}
	if form == nil {
		return b.write(ctx, http.MethodGet, base+path, nil, extra)
	}
	return b.post(ctx, base, path, formKind, []byte(form.Encode()), extra)
}

// post writes a request with a body of some kind.
func (b *browser) post(ctx context.Context, base, path, kind string, body []byte, extra map[string]string) (*exchange, error) {
	headers := map[string]string{"Content-Type": kind, "Origin": b.base}
	maps.Copy(headers, extra)
	return b.write(ctx, http.MethodPost, base+path, bytes.NewReader(body), headers)
}

func (b *browser) write(ctx context.Context, method, url string, body io.Reader, headers map[string]string) (*exchange, error) {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return nil, err
	}
	req.Close = true
	req.Header.Set("Accept", "text/html")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return nil, fmt.Errorf("connect to the shop: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	x := &exchange{conn: conn, sent: time.Now()}
	if err := req.Write(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("send to the shop: %w", err)
	}
	return x, nil
}

// drop ends the connection without reading, as a browser does with the first
// request of a double click.
func (x *exchange) drop() { _ = x.conn.Close() }

// read waits for the whole answer. An error means that the connection ended
// without one: what became of the request is unknown.
func (x *exchange) read() (answer, error) {
	defer x.drop()
	res, err := http.ReadResponse(bufio.NewReader(x.conn), nil)
	if err != nil {
		return answer{}, fmt.Errorf("no answer came: %w", err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, verdict: res.Header.Get("Idempotency-Status"), to: res.Header.Get("Location"), took: time.Since(x.sent)}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return answer{}, fmt.Errorf("the answer broke off: %w", err)
	}
	if wait, err := time.ParseDuration(res.Header.Get("Retry-After") + "s"); err == nil {
		a.wait = wait
	}
	return a, nil
}

// visit sends a request, keeps the cookies of its answer and returns it.
func (b *browser) visit(ctx context.Context, path string, form url.Values) (answer, error) {
	x, err := b.send(ctx, b.base, path, form, nil)
	if err != nil {
		return answer{}, err
	}
	defer x.drop()
	res, err := http.ReadResponse(bufio.NewReader(x.conn), nil)
	if err != nil {
		return answer{}, fmt.Errorf("load %s: %w", path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, fmt.Errorf("load %s: %w", path, err)
	}
	if res.StatusCode >= 400 {
		return answer{}, fmt.Errorf("load %s: the shop answered %d: %s", path, res.StatusCode, bytes.TrimSpace(body[:min(len(body), 200)]))
	}
	for _, c := range res.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return answer{status: res.StatusCode, body: body}, nil
}

// hiddenField finds the hidden fields of the shop's order form.
var hiddenField = regexp.MustCompile(`<input type="hidden" name="(cart|` + idem.TokenField + `)" value="([^"]*)"`)

// formIn fills in the order form of a page as somebody would who likes what the
// cart offers.
func formIn(page []byte, name string) (url.Values, error) {
	form := url.Values{"name": {name}}
	for _, field := range hiddenField.FindAllSubmatch(page, -1) {
		form.Set(string(field[1]), string(field[2]))
	}
	if form.Get("cart") == "" || form.Get(idem.TokenField) == "" {
		return nil, fmt.Errorf("the page has no order form")
	}
	for _, line := range emptyForm().Lines {
		form.Set(line.Field, line.Count)
	}
	return form, nil
}
