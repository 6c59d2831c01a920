// Package frontend serves idem.js, the browser's half of the protocol, from
// inside the program: a Go team needs no npm, no bundler and no CDN.
//
//	mux.Handle("/assets/", frontend.Handler())
//	page := template.Must(template.New("shop").Funcs(frontend.Funcs("/assets/")).Parse(`
//		<head>{{idemScript}}</head>
//		<form method="post" action="/orders" id="order"
//		      data-idem="shop:order:create" data-idem-context="cart:42">
//		  <input type="hidden" name="idempotent-token" value="{{.Token}}" autocomplete="off">
//		  …
//		</form>`))
//
// The tag that idemScript writes names the file by its hash, which may be kept
// for ever, and carries its integrity value. The plain name works too, for pages
// that are no templates; it is asked for again each time, and answered 304.
//
// Files beside it add what a page wants: {{idemScript "idem.status.min.js"}}
// writes the tags of both. [Status] says in a line what became of the action,
// [Batch] fetches the tokens of several forms at once, and [HTMX], [HTMX2],
// [Turbo] and [Axios] have those libraries send through idem.js.
//
// What goes wrong without care: a page from yesterday's deploy asks for
// yesterday's hash. It gets a 404 and works without JavaScript, with the token
// that the server rendered; an old name is never answered with a new file,
// whose integrity would not match.
package frontend

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// Script is the file for a script tag: it guards every form with data-idem
	// and offers idem.createIdem to other scripts.
	Script = "idem.min.js"
	// Core is createIdem alone, as a module for import maps and bundlers.
	Core = "idem.core.min.js"
	// Status says on lines marked data-idem-status what became of an action.
	Status = "idem.status.min.js"
	// Batch asks for the tokens of several forms in one request.
	Batch = "idem.batch.min.js"
	// HTMX, HTMX2 and Turbo have htmx 4, htmx 2 and Turbo 8 send the elements
	// that are marked data-idem-op; Axios has axios send requests with idem in
	// their config.
	HTMX, HTMX2, Turbo, Axios = "idem.htmx.min.js", "idem.htmx2.min.js", "idem.turbo.min.js", "idem.axios.min.js"
)

//go:embed dist/*.min.js
var dist embed.FS

// file is one built file and what is derived from its bytes.
type file struct {
	name      string
	body      []byte
	hash      string // 16 hex digits of SHA-256: part of the hashed name, and the ETag
	integrity string // as in Subresource Integrity
}

// files holds every built file; reading them cannot fail, they are part of the
// program.
var files = sync.OnceValue(func() []file {
	names := []string{Script, Core, Status, Batch, HTMX, HTMX2, Turbo, Axios}
	list := make([]file, 0, len(names))
	for _, name := range names {
		body, err := dist.ReadFile("dist/" + name)
		if err != nil {
			panic("frontend: " + err.Error())
		}
		short, long := sha256.Sum256(body), sha512.Sum384(body)
		list = append(list, file{
			name: name, body: body, hash: hex.EncodeToString(short[:8]),
			integrity: "sha384-" + base64.StdEncoding.EncodeToString(long[:]),
		})
	}
	return list
})

// find returns the file of a plain or hashed name.
func find(name string) (f file, hashed, ok bool) {
	for _, f := range files() {
		switch name {
		case f.name:
			return f, false, true
		case f.hashedName():
			return f, true, true
		}
	}
	return file{}, false, false
}

func (f file) hashedName() string {
	return strings.TrimSuffix(f.name, "min.js") + f.hash + ".min.js"
}

// HashedName returns the name of a file with its hash in it, such as
// idem.0f1e2d3c4b5a6978.min.js, and "" for a name that is none of ours. What
// stands under such a name never changes.
func HashedName(name string) string {
	f, _, ok := find(name)
	if !ok {
		return ""
	}
	return f.hashedName()
}

// Integrity returns the value of the integrity attribute for a file ("sha384-…",
// W3C Subresource Integrity), and "" for a name that is none of ours.
func Integrity(name string) string {
	f, _, _ := find(name)
	return f.integrity
}

// Tag returns the script tag of [Script] under the prefix that Handler is
// mounted on, such as "/assets/", and those of the files named beside it, in the
// order in which they must run. They run when the page is parsed (defer). A name
// that is none of ours gets no tag. A prefix on another origin gets crossorigin,
// without which a browser could not check the integrity.
func Tag(prefix string, beside ...string) template.HTML {
	var tags template.HTML
	if slices.Contains(beside, Batch) { // what it gives, Script takes up
		tags = tag(prefix, Batch)
	}
	tags += tag(prefix, Script)
	for _, name := range beside {
		if name != Batch && name != Script {
			tags += tag(prefix, name)
		}
	}
	return tags
}

func tag(prefix, name string) template.HTML {
	f, _, ok := find(name)
	if !ok {
		return ""
	}
	cross := ""
	if strings.Contains(prefix, "//") {
		cross = ` crossorigin="anonymous"`
	}
	return template.HTML(`<script src="` + template.HTMLEscapeString(strings.TrimSuffix(prefix, "/")+"/"+f.hashedName()) + // #nosec: the prefix is escaped, the rest is ours
		`" integrity="` + f.integrity + `"` + cross + ` defer></script>`)
}

// Funcs returns the template function idemScript, which writes [Tag] for that
// prefix and the names it is given.
func Funcs(prefix string) template.FuncMap {
	return template.FuncMap{"idemScript": func(beside ...string) template.HTML { return Tag(prefix, beside...) }}
}

// Handler serves the built files by the last element of the path, under any
// prefix, to GET and HEAD. Hashed names may be kept for a year and never asked
// for again; plain names are asked for again each time (ETag, 304). Any other
// name is 404. It is safe for concurrent use.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, hashed, ok := find(path.Base(r.URL.Path))
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are allowed here", http.StatusMethodNotAllowed)
			return
		}
		head := w.Header()
		head.Set("Content-Type", "text/javascript; charset=utf-8")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("ETag", `"`+f.hash+`"`)
		if hashed {
			head.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			head.Set("Cache-Control", "no-cache")
		}
		http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.body))
	})
}
