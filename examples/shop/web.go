package main

import (
	"context"
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
	form   url.Values      // of a POST
	header func(name string) string
}

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
}

// headers lists the header lines of a reply, for any framework to copy.
func (p reply) headers() [][2]string {
	list := [][2]string{
		{"Cache-Control", "no-store"},
		{"Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
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
