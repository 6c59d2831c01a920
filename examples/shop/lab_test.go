package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// labVisitor is somebody at the lab whose client keeps connections open, and
// sends nothing by itself.
type labVisitor struct {
	*testing.T
	client *http.Client
	base   string
	run    string
}

func visitLab(t *testing.T, d *demo) *labVisitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	v := &labVisitor{T: t, client: &http.Client{Jar: jar, Transport: transport}, base: urlOf(d.srv.shop.lab.listener.Addr())}
	v.send("GET", "/lab", "", nil)
	var begun struct{ Run string }
	_, text := v.send("POST", "/runs", "", nil)
	if err := json.Unmarshal([]byte(text), &begun); err != nil {
		t.Fatal(err)
	}
	v.run = begun.Run
	return v
}

// send sends a request; the status is 0 where the connection broke.
func (v *labVisitor) send(method, path, body string, headers map[string]string) (status int, text string) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Content-Type", formKind)
	req.Header.Set(runHeader, v.run)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := v.client.Do(req)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		v.Fatal(err)
	}
	return res.StatusCode, string(all)
}

func (v *labVisitor) token(path, body string) string {
	v.Helper()
	var given struct{ Token string }
	if _, text := v.send("POST", path, body, nil); json.Unmarshal([]byte(text), &given) != nil || given.Token == "" {
		v.Fatalf("no token from %s: %s", path, text)
	}
	return given.Token
}

func (v *labVisitor) sides() (sides map[string]labSide) {
	v.Helper()
	_, text := v.send("GET", "/runs/"+v.run, "", nil)
	if err := json.Unmarshal([]byte(text), &sides); err != nil {
		v.Fatal(err)
	}
	return sides
}

// Faults: 69.
func TestLabCommitsThenResetsTheUsedConnectionOnce(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	v := visitLab(t, d)
	order := url.Values{"run": {v.run}}.Encode()
	for _, c := range []struct {
		side, path, header, token, second string
		status                            int
	}{
		{"naive", "/naive/orders", naiveHeader, v.token("/naive/tokens", ""), "425", http.StatusTooEarly},
		{"ours", "/guarded/orders", tokenHeader, v.token("/idempotency/tokens", `{"operation":"`+labOperation+`","context":"`+v.run+`"}`), "replayed", http.StatusCreated},
	} {
		headers := map[string]string{c.header: c.token, sendHeader: "1"}
		if status, _ := v.send("POST", c.path, order, headers); status != 0 {
			t.Errorf("%s: the first answer arrived: %d", c.side, status)
		}
		if status, _ := v.send("POST", c.path, order, headers); status != c.status {
			t.Errorf("%s: the same again is answered %d, want %d", c.side, status, c.status)
		}
		came := v.sides()[c.side]
		if came.Orders != 1 || len(came.Arrived) != 2 {
			t.Fatalf("%s: %d orders of %d requests, want 1 of 2", c.side, came.Orders, len(came.Arrived))
		}
		first, second := came.Arrived[0], came.Arrived[1]
		if !first.Reset || !first.Reused || first.Order != 1 || first.Again || second.Reset || second.Order != 0 || !second.Again || second.Token != 1 {
			t.Errorf("%s: %+v", c.side, came.Arrived)
		}
	}
}

func TestLabOfTheUsualHelperOrdersAgainWithANewToken(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	v := visitLab(t, d)
	for want, send := range []string{"1", "2"} {
		token := v.token("/naive/tokens", "")
		_, _ = v.send("POST", "/naive/orders", "", map[string]string{naiveHeader: token, sendHeader: send})
		if got := v.sides()["naive"]; got.Orders != want+1 || got.Arrived[len(got.Arrived)-1].Token != want+1 {
			t.Errorf("token %s: %+v", send, got)
		}
	}
	if status, _ := v.send("POST", "/naive/orders", "", map[string]string{naiveHeader: "made up"}); status != http.StatusTooEarly {
		t.Errorf("a token that was never given: %d, want 425", status)
	}
}

func TestLabSharesNothingWithTheShopsTable(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	v := visitLab(t, d)
	_, _ = v.send("POST", "/naive/orders", "", map[string]string{naiveHeader: v.token("/naive/tokens", "")})
	if rows, err := d.srv.shop.table.all(); err != nil || len(rows) != 0 {
		t.Errorf("the shop's table has %d rows (%v)", len(rows), err)
	}
	v.run = "nobody's"
	if status, _ := v.send("POST", "/guarded/orders", "run=x", nil); status != http.StatusNotFound {
		t.Errorf("a run that nobody began: %d, want 404", status)
	}
	p := visit(t, d)
	if got := p.press("/script", url.Values{}); got.status != 303 {
		t.Error(got.status)
	}
	x, err := p.send(t.Context(), p.base, "/lab", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := x.read(); err != nil || got.status != 303 || got.to != d.srv.shop.lab.url() {
		t.Errorf("/lab leads to %q with %d, want the lab", got.to, got.status)
	}
}
