package httpflow

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// vouched says whether a request to an endpoint comes from where it may: a page
// of the same origin or of one in Config.Origins, or a client that
// authenticates itself. why says what is missing.
//
// The browser's own word counts most, Sec-Fetch-Site, then Origin. Authorization
// counts as a page of another origin cannot add it without asking; except for
// the schemes whose credentials a browser adds by itself, where the browser has
// just said that the page is of another origin.
func (f *Flow) vouched(r Request) (why string) {
	site, origin := first(r, "Sec-Fetch-Site"), first(r, "Origin")
	if origin != "" && slices.Contains(f.Origins, origin) {
		return ""
	}
	foreign := false
	switch {
	case site != "":
		foreign = site != "same-origin" && site != "none" // none: typed by a person
	case origin != "":
		u, err := url.Parse(origin)
		foreign = err != nil || u.Host == "" || !strings.EqualFold(u.Host, first(r, "Host"))
	}
	scheme, credentials, _ := strings.Cut(first(r, "Authorization"), " ")
	switch {
	case site+origin != "" && !foreign:
		return ""
	case foreign && (credentials == "" || ambient(scheme)):
		return "The page that asks is of another origin. Ask from a page of this one, or authenticate with an Authorization header of your own."
	case credentials == "":
		return "Nothing says where the request comes from. Looked for Sec-Fetch-Site, Origin and Authorization."
	}
	return ""
}

// ambient names the schemes whose credentials browsers send without being told.
func ambient(scheme string) bool {
	return slices.ContainsFunc([]string{"Basic", "Digest", "Negotiate", "NTLM"}, func(s string) bool { return strings.EqualFold(s, scheme) })
}

// prefetched says that a browser asks ahead of its user, who may never come.
func prefetched(r Request) bool {
	purpose := strings.Join(append(slices.Clone(r.Header("Sec-Purpose")), r.Header("Purpose")...), ",")
	return strings.Contains(strings.ToLower(purpose), "prefetch")
}

func first(r Request, name string) string {
	if lines := r.Header(name); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// The refusals of the endpoints that are no verdict about a key or token.
func (f *Flow) denied(word string, status int, title, detail string) *Reply {
	return f.problem(word, problem{Title: title, Status: status, Detail: detail})
}

func (f *Flow) badRequest(detail string) *Reply {
	return f.denied("bad-request", http.StatusBadRequest, "This request cannot be read", detail)
}
