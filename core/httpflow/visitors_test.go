package httpflow_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/core/httpflow"
)

func asked(cookies ...string) httpflow.Request {
	r := httptest.NewRequest(http.MethodPost, "/signup", nil)
	for _, c := range cookies {
		r.Header.Add("Cookie", c)
	}
	return httpflow.NetRequest{Request: r}
}

// Given two visitors who have not signed in, each has a scope of his own, the
// same on every request, and nobody without a cookie has one.
func TestVisitorsAreToldApart(t *testing.T) {
	v := httpflow.Visitors{}
	scope := func(cookies ...string) string {
		s, err := v.Scope(asked(cookies...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var made [2]string
	for i := range made {
		line, needed := v.Cookie(asked())
		for _, part := range []string{"__Host-visitor=", "; Path=/", "; Max-Age=86400", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
			if !needed || !strings.Contains(line, part) {
				t.Errorf("the cookie lacks %q: %q", part, line)
			}
		}
		made[i], _, _ = strings.Cut(line, ";")
	}
	ann, bob := scope(made[0]), scope("theme=dark; "+made[1])
	if ann == "" || ann == bob || ann != scope(made[0]+"; theme=dark") {
		t.Errorf("scopes %q, %q, %q", ann, bob, scope(made[0]))
	}
	if _, needed := v.Cookie(asked(made[0])); needed {
		t.Error("whoever has a cookie gets another")
	}
	for what, cookies := range map[string][]string{
		"nothing": nil, "another cookie": {"session=x"}, "an empty one": {"__Host-visitor="}, "a short one": {"__Host-visitor=AAAA"},
		"one that we never make": {"__Host-visitor=" + strings.Repeat("!", 22)}, "two that differ": {made[0], made[1]},
	} {
		if got := scope(cookies...); got != "" {
			t.Errorf("%s: scope %q", what, got)
		}
	}
}

func TestWhoeverIsSignedInIsNoVisitor(t *testing.T) {
	down := errors.New("the session store is down")
	v := httpflow.Visitors{Insecure: true, Life: time.Hour, User: func(r httpflow.Request) (string, error) {
		if who := strings.Join(r.Header("X-User"), ""); who == "error" {
			return "", down
		} else {
			return who, nil
		}
	}}
	line, _ := v.Cookie(asked())
	cookie, _, _ := strings.Cut(line, ";")
	if strings.Contains(line, "Secure") || !strings.HasPrefix(cookie, "visitor=") || !strings.Contains(line, "Max-Age=3600") {
		t.Errorf("the cookie for plain HTTP: %q", line)
	}
	for user, want := range map[string]string{"ann": "ann", "": "visitor:" + strings.TrimPrefix(cookie, "visitor=")} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Cookie", cookie)
		r.Header.Set("X-User", user)
		if got, err := v.Scope(httpflow.NetRequest{Request: r}); err != nil || got != want {
			t.Errorf("user %q: scope %q, %v, want %q", user, got, err, want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("X-User", "error")
	if _, err := v.Scope(httpflow.NetRequest{Request: r}); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

// A page with a form, for people who have not signed in.
func ExampleVisitors() {
	visitors := httpflow.Visitors{}
	page := func(w http.ResponseWriter, r *http.Request) {
		if line, needed := visitors.Cookie(httpflow.NetRequest{Request: r}); needed {
			w.Header().Add("Set-Cookie", line)
		}
		fmt.Fprint(w, "<form method=post>…</form>")
	}
	first := httptest.NewRecorder()
	page(first, httptest.NewRequest("GET", "/signup", nil))

	again := httptest.NewRequest("POST", "/signup", nil)
	again.AddCookie(first.Result().Cookies()[0])
	scope, _ := visitors.Scope(httpflow.NetRequest{Request: again})
	fmt.Println(len(scope), strings.HasPrefix(scope, "visitor:"))
	// Output: 30 true
}
