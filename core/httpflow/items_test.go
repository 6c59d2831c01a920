package httpflow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// serveItems serves one route of items the way the net/http adapter does.
func serveItems(t testing.TB, change func(*idem.Policy, *idem.Config), h httpflow.ItemHandler) (url string, guard *idem.Guard) {
	t.Helper()
	p := idem.Policy{Operation: operation, Preset: idem.API}
	cfg := idem.Config{Store: memstore.New(memstore.Options{})}
	if change != nil {
		change(&p, &cfg)
	}
	cfg.Policies = []idem.Policy{p}
	guard, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: func(r httpflow.Request) (string, error) {
		return strings.Join(r.Header("Authorization"), ","), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	items := httpflow.Items(flow, operation, "/orders/list", "/ref/id")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := httpflow.NetExchange{NetRequest: httpflow.NetRequest{Request: r}, Writer: w}
		x.Send(items.Serve(x, h))
	}))
	t.Cleanup(func() { server.Close(); _ = guard.Close(context.Background()) })
	return server.URL, guard
}

func sendItems(t testing.TB, url, user string, items ...string) (status int, told []map[string]any, whole map[string]any) {
	t.Helper()
	req, _ := http.NewRequest("POST", url, strings.NewReader(`{"orders":{"list":[`+strings.Join(items, ",")+`]}}`))
	req.Header.Set("Content-Type", "application/json")
	if user != "" {
		req.Header.Set("Authorization", user)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(res.Body)
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatalf("%d %s: %v", res.StatusCode, text, err)
	}
	list, _ := whole["items"].([]any)
	for _, item := range list {
		told = append(told, item.(map[string]any))
	}
	return res.StatusCode, told, whole
}

func each(answer func(httpflow.Item) httpflow.ItemAnswer) httpflow.ItemHandler {
	return func(_ context.Context, _ httpflow.Request, items []httpflow.Item) []httpflow.ItemAnswer {
		list := make([]httpflow.ItemAnswer, len(items))
		for i, at := range items {
			list[i] = answer(at)
		}
		return list
	}
}

func TestItemsAnswersOfEveryKind(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 2000)
	url, guard := serveItems(t, func(p *idem.Policy, _ *idem.Config) { p.MaxKeptBody = 1000 }, each(func(at httpflow.Item) httpflow.ItemAnswer {
		switch {
		case bytes.Contains(at.Body, []byte("empty")):
			return httpflow.ItemAnswer{Status: 204}
		case bytes.Contains(at.Body, []byte("text")):
			return httpflow.ItemAnswer{Body: []byte("no JSON")}
		case bytes.Contains(at.Body, []byte("long")):
			return httpflow.ItemAnswer{Body: long}
		case bytes.Contains(at.Body, []byte("undone")):
			return httpflow.ItemAnswer{Err: idem.NoEffects(fmt.Errorf("rolled back"))}
		}
		return httpflow.ItemAnswer{Body: fmt.Appendf(nil, `{"i":%d}`, at.Index)}
	}))
	items := []string{`{"ref":{"id":"empty"}}`, `{"ref":{"id":7}, "is":"text"}`, `{"ref":{"id":"long"}}`, `{"ref":{"id":"undone"}}`, `{"ref":{"id":"plain"}}`, `{"ref":{"id":null}}`, `{"ref":{"id":true}}`}
	check := func(user string, want ...string) {
		t.Helper()
		status, told, _ := sendItems(t, url, user, items...)
		if status != 200 || len(told) != len(want) {
			t.Fatalf("%d with %d items", status, len(told))
		}
		for i, item := range told {
			text, _ := json.Marshal(item["body"])
			if len(text) > 60 {
				text = text[:20]
			}
			if got := fmt.Sprint(item["verdict"], " ", item["status"], " ", string(text)); !strings.HasPrefix(got, want[i]) {
				t.Errorf("item %d: %s, want %s", i, got, want[i])
			}
		}
	}
	check("alice", `executed 204 null`, `executed 200 "no JSON"`, `executed 200 "xxxx`, `released 500 null`, `executed 200 {"i":4}`, `missing 400 {`, `malformed 400 {`)
	check("alice", `replayed 204 null`, `replayed 200 "no JSON"`, `used 409 {`, `released 500 null`, `replayed 200 {"i":4}`, `missing 400 {`, `malformed 400 {`)
	if c, _ := guard.Claim(context.Background(), idem.Intent{Operation: operation, Scope: "alice", Key: "7"}); c.Won() {
		t.Error("a number is no key")
	}
	if status, _, whole := sendItems(t, url, "", items...); status != 401 || whole["verdict"] != "foreign" {
		t.Errorf("nobody signed in: %d %v", status, whole)
	}
	res, err := http.Get(url)
	if err != nil || res.StatusCode != 405 || res.Header.Get("Allow") == "" {
		t.Errorf("GET: %v, %v", res, err)
	}
	if err == nil {
		_ = res.Body.Close()
	}
}

// Every item is compared with the request's path and query: a long query is for few
// items, or one request would cost a thousand times what it sends.
func TestALongQueryIsForFewItems(t *testing.T) {
	ran := 0
	url, _ := serveItems(t, nil, each(func(httpflow.Item) httpflow.ItemAnswer { ran++; return httpflow.ItemAnswer{} }))
	for _, c := range []struct{ query, items, status int }{{16 << 10, 1000, 400}, {16<<10 - 64, 1000, 200}, {500 << 10, 32, 400}, {500 << 10, 31, 200}} {
		items := make([]string, c.items)
		for i := range items {
			items[i] = fmt.Sprintf(`{"ref":{"id":"%d of %d"}}`, i, c.query)
		}
		status, told, whole := sendItems(t, url+"/?q="+strings.Repeat("x", c.query), "alice", items...)
		if status != c.status || (status == 400) != (whole["verdict"] == "malformed") || status == 200 && len(told) != c.items {
			t.Errorf("%d items under a query of %d bytes: %d %v, want %d", c.items, c.query, status, whole["detail"], c.status)
		}
	}
	if ran != 1031 {
		t.Errorf("%d items ran", ran)
	}
}

// What is observed is not refused, whatever is wrong with an item.
func TestItemsUnderObserveAndOff(t *testing.T) {
	for mode, want := range map[idem.Mode][]string{
		idem.ModeObserve: {"executed", "unprotected", "unprotected"},
		idem.ModeOff:     {"unguarded", "unguarded", "unguarded"},
	} {
		runs := 0
		url, _ := serveItems(t, func(p *idem.Policy, _ *idem.Config) { p.Mode = mode }, each(func(httpflow.Item) httpflow.ItemAnswer { runs++; return httpflow.ItemAnswer{} }))
		_, told, _ := sendItems(t, url, "alice", `{"ref":{"id":"a"}}`, `{}`, `{"ref":{"id":"a"},"n":2}`)
		for i, item := range told {
			if item["verdict"] != want[i] {
				t.Errorf("%s: item %d is %v, want %s", mode, i, item["verdict"], want[i])
			}
		}
		if runs != 3 || len(told) != 3 {
			t.Errorf("%s: %d of 3 ran", mode, runs)
		}
	}
}

// Given items whose handler does not return, then each that was run ends with one
// verdict for the observer, though its client hears nothing.
func TestI6_ItemsOfAHandlerThatPanicsEndWithAVerdict(t *testing.T) {
	seen := &verdicts{}
	url, _ := serveItems(t, func(_ *idem.Policy, c *idem.Config) { c.Observer = seen }, func(_ context.Context, _ httpflow.Request, items []httpflow.Item) []httpflow.ItemAnswer {
		panic(http.ErrAbortHandler)
	})
	req, _ := http.NewRequest("POST", url, strings.NewReader(`{"orders":{"list":[{"ref":{"id":"a"}},{"ref":{"id":"b"}}]}}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "alice")
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
		t.Errorf("answered %s", res.Status)
	}
	if begun, released := seen.begun.Load(), seen.ended[idem.Released].Load(); begun != 2 || released != 2 {
		t.Errorf("%d began, %d were released, want 2 and 2", begun, released)
	}
}

func TestItemsRoutesAreCheckedWhenTheyAreMade(t *testing.T) {
	b := newBed(t, func(http.ResponseWriter, *http.Request) {})
	for _, c := range [][3]string{{"no:such:operation", "/items", "/key"}, {operation, "items", "/key"}, {operation, "/items", "key"}, {operation, "/items", ""}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was taken", c)
				}
			}()
			httpflow.Items(b.flow, c[0], c[1], c[2])
		}()
	}
}
