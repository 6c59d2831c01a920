package httpflow

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"time"
)

// Visitors tells people apart who have not signed in, for forms that come before
// that: to sign up, to write to you, to order as a guest. Each gets a cookie of
// 128 random bits when the page with the form is rendered:
//
//	visitors := httpflow.Visitors{}
//	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: visitors.Scope})
//
//	if line, needed := visitors.Cookie(stdhttp.Request(r)); needed {
//		w.Header().Add("Set-Cookie", line)
//	}
//	// … and the form
//
// The cookie is no login and must not become one: it names a scope of keys, and
// nothing else. A constant or an address in its place would give one person
// another's answers (design: PROTOCOL section 2). A Visitors is plain data and may
// be used from any number of goroutines.
type Visitors struct {
	// Name is the cookie's; "__Host-visitor" if empty. Names that begin with
	// __Host- are taken by browsers over HTTPS only, for this host only.
	Name string
	// Insecure leaves out Secure and takes the name "visitor" by default: for
	// trying it over plain HTTP.
	Insecure bool
	// Life is how long a browser keeps it; 24 h if zero. It has to be longer than
	// a token lives.
	Life time.Duration
	// User, if set, is asked first: whoever is signed in has his own scope. Its
	// scopes must not begin with "visitor:".
	User func(Request) (string, error)
}

// Scope returns the scope of whoever sends a request: what User says, or the
// visitor's, or "" where there is no cookie or an unreadable one. For
// [Config].Scope.
func (v Visitors) Scope(r Request) (string, error) {
	if v.User != nil {
		if scope, err := v.User(r); scope != "" || err != nil {
			return scope, err
		}
	}
	if value := v.value(r); value != "" {
		return "visitor:" + value, nil
	}
	return "", nil
}

// Cookie returns a Set-Cookie line for a visitor who has no cookie yet; needed is
// false for one who has. Call it where a page with a form is rendered.
func (v Visitors) Cookie(r Request) (line string, needed bool) {
	if v.value(r) != "" {
		return "", false
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	life := v.Life
	if life <= 0 {
		life = 24 * time.Hour
	}
	c := http.Cookie{
		Name: v.name(), Value: base64.RawURLEncoding.EncodeToString(random[:]), Path: "/", MaxAge: int(life / time.Second),
		Secure: !v.Insecure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	return c.String(), true
}

func (v Visitors) name() string {
	switch {
	case v.Name != "":
		return v.Name
	case v.Insecure:
		return "visitor"
	}
	return "__Host-visitor"
}

// value is the cookie's, if there is exactly one and we could have made it.
func (v Visitors) value(r Request) (value string) {
	for _, line := range r.Header("Cookie") {
		cookies, err := http.ParseCookie(line)
		if err != nil {
			continue
		}
		for _, c := range cookies {
			if c.Name != v.name() {
				continue
			}
			if value != "" && value != c.Value { // which is whose?
				return ""
			}
			value = c.Value
		}
	}
	if random, err := base64.RawURLEncoding.Strict().DecodeString(value); err != nil || len(random) != 16 {
		return ""
	}
	return value
}
