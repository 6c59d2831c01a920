package main

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
)

// maxFormBytes is the most a form of this shop is read to.
const maxFormBytes = 64 << 10

// request is what a handler of the shop sees of a request. The three
// frameworks are translated into it in serve_*.go, so that the shop is written
// once and only its guard is mounted in three ways.
type request struct {
	ctx    context.Context // under the guard: detached from the connection
	param  string          // the part of the path that the route leaves open
	body   []byte          // of a POST, at most maxFormBytes
	form   url.Values      // the body, where it is a form
	header func(name string) string
}

// read gives a request its body, and the form in it. It fails where the body
// says that it is a form and is none.
func (r *request) read(body []byte) (err error) {
	r.body = body
	if kind, _, _ := mime.ParseMediaType(r.header("Content-Type")); kind == "application/x-www-form-urlencoded" {
		r.form, err = url.ParseQuery(string(body))
	}
	return err
}

// wantsJSON says that a script of the page asks, not the browser itself.
func (r *request) wantsJSON() bool { return r.header("Accept") == "application/json" }

// cookie returns the value of a cookie, "" if there is none.
func (r *request) cookie(name string) string {
	return cookieIn(r.header("Cookie"), name)
}

// cookieIn finds a cookie in a Cookie header, "" if it is not there.
func cookieIn(header, name string) string {
	cookies, err := http.ParseCookie(header)
	if err != nil {
		return ""
	}
	for _, c := range cookies {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// reply is what a handler of the shop answers.
type reply struct {
	status  int
	kind    string // Content-Type
	body    []byte
	to      string         // Location
	cookies []*http.Cookie // to set
	scripts bool           // a page that runs the shop's own scripts
}

// What a page may load and do. One without scripts is not even allowed them.
const (
	policyPlain  = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	policyScript = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)

// headers lists the header lines of a reply, for any framework to copy.
func (p reply) headers() [][2]string {
	policy := policyPlain
	if p.scripts {
		policy = policyScript
	}
	list := [][2]string{
		{"Cache-Control", "no-store"},
		{"Content-Security-Policy", policy},
		{"Referrer-Policy", "same-origin"},
		{"X-Content-Type-Options", "nosniff"},
	}
	if p.kind != "" {
		list = append(list, [2]string{"Content-Type", p.kind})
	}
	if p.to != "" {
		list = append(list, [2]string{"Location", p.to})
	}
	for _, c := range p.cookies {
		list = append(list, [2]string{"Set-Cookie", c.String()})
	}
	return list
}

// route is one address of the shop. param is "" or the name of the last,
// open part of the path.
type route struct {
	method    string
	path      string
	param     string
	operation string // "" where nothing is guarded
	serve     func(*request) reply
}

// seeOther sends the browser to another page: after a POST, so that reloading
// the page sends nothing again.
func seeOther(to string, cookies ...*http.Cookie) reply {
	return reply{status: http.StatusSeeOther, to: to, cookies: cookies}
}

// plain answers with one sentence.
func plain(status int, text string) reply {
	return reply{status: status, kind: "text/plain; charset=utf-8", body: []byte(text + "\n")}
}

// tell answers a script of the page.
func tell(status int, v any) reply {
	body, err := json.Marshal(v)
	if err != nil {
		return plain(http.StatusInternalServerError, "the answer cannot be written down")
	}
	return reply{status: status, kind: "application/json", body: append(body, '\n')}
}
