package frontend_test

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-idem/idem/frontend"
)

func ExampleFuncs() {
	page := template.Must(template.New("page").Funcs(frontend.Funcs("/assets/")).Parse(`{{idemScript}}`))
	var out strings.Builder
	if err := page.Execute(&out, nil); err != nil {
		panic(err)
	}
	fmt.Println(regexp.MustCompile(`[0-9a-f]{16}|sha384-[^"]*`).ReplaceAllString(out.String(), "…"))
	// Output: <script src="/assets/idem.….min.js" integrity="…" defer></script>
}

func TestHandler(t *testing.T) {
	server := httptest.NewServer(frontend.Handler())
	defer server.Close()
	const fresh, forever = "no-cache", "public, max-age=31536000, immutable"
	hashed := frontend.HashedName(frontend.Script)
	for _, c := range []struct {
		given, method, path, ifNoneMatch string
		status                           int
		cache                            string
	}{
		{"a plain name", "GET", "/idem.min.js", "", 200, fresh},
		{"any prefix", "GET", "/deep/assets/idem.core.min.js", "", 200, fresh},
		{"HEAD", "HEAD", "/idem.min.js", "", 200, fresh},
		{"a hashed name", "GET", "/assets/" + hashed, "", 200, forever},
		{"the hashed name of the core", "GET", "/" + frontend.HashedName(frontend.Core), "", 200, forever},
		{"what the browser has", "GET", "/idem.min.js", etag(hashed), 304, fresh},
		{"what the browser has, among others", "GET", "/idem.min.js", `"x", W/` + etag(hashed), 304, fresh},
		{"what the browser has of another file", "GET", "/idem.core.min.js", etag(hashed), 200, fresh},
		{"the hash of another build", "GET", "/idem.0123456789abcdef.min.js", "", 404, ""},
		{"a file that is not served", "GET", "/package.json", "", 404, ""},
		{"a way out of the folder", "GET", "/../embed.go", "", 404, ""},
		{"no name", "GET", "/", "", 404, ""},
		{"a POST", "POST", "/idem.min.js", "", 405, ""},
	} {
		t.Run(c.given, func(t *testing.T) {
			req, err := http.NewRequest(c.method, server.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("If-None-Match", c.ifNoneMatch)
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.status {
				t.Fatalf("status %d, want %d", res.StatusCode, c.status)
			}
			if got := res.Header.Get("Cache-Control"); got != c.cache {
				t.Errorf("Cache-Control %q, want %q", got, c.cache)
			}
			if c.status != 200 {
				return
			}
			if got := res.Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" {
				t.Errorf("Content-Type %q", got)
			}
			if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options %q", got)
			}
			if (len(body) == 0) != (c.method == "HEAD") {
				t.Errorf("%d bytes of body", len(body))
			}
		})
	}
}

// etag is the ETag of the file with that hashed name.
func etag(hashed string) string {
	return `"` + strings.Split(hashed, ".")[1] + `"`
}

func TestIntegrityIsOfTheBytesServed(t *testing.T) {
	for _, name := range []string{
		frontend.Script, frontend.Core, frontend.Status, frontend.Batch, frontend.HTMX, frontend.HTMX2, frontend.Turbo, frontend.Axios,
	} {
		rec := httptest.NewRecorder()
		frontend.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/"+frontend.HashedName(name), nil))
		sum := sha512.Sum384(rec.Body.Bytes())
		if want := "sha384-" + base64.StdEncoding.EncodeToString(sum[:]); frontend.Integrity(name) != want {
			t.Errorf("%s: integrity %s, want %s", name, frontend.Integrity(name), want)
		}
	}
	if frontend.Integrity("other.js") != "" || frontend.HashedName("other.js") != "" {
		t.Error("a name that is none of ours has an integrity or a hashed name")
	}
}

func TestTag(t *testing.T) {
	src := regexp.MustCompile(`^<script src="([^"]*)" integrity="sha384-[A-Za-z0-9+/]{64}"( crossorigin="anonymous")? defer></script>$`)
	for _, c := range []struct{ prefix, want, cross string }{
		{"/assets/", "/assets/", ""},
		{"/assets", "/assets/", ""},
		{"", "/", ""},
		{"https://cdn.example.org/x", "https://cdn.example.org/x/", ` crossorigin="anonymous"`},
		{`/a"><b>`, "/a&#34;&gt;&lt;b&gt;/", ""},
	} {
		got := src.FindStringSubmatch(string(frontend.Tag(c.prefix)))
		if got == nil || got[1] != c.want+frontend.HashedName(frontend.Script) || got[2] != c.cross {
			t.Errorf("prefix %q: %s", c.prefix, frontend.Tag(c.prefix))
		}
	}
}

func TestTagsStandInTheOrderInWhichTheyRun(t *testing.T) {
	for _, c := range []struct{ beside, want []string }{
		{nil, []string{frontend.Script}},
		{[]string{frontend.Status, frontend.Batch}, []string{frontend.Batch, frontend.Script, frontend.Status}},
		{[]string{frontend.HTMX, frontend.Script, "no such file"}, []string{frontend.Script, frontend.HTMX}},
	} {
		var want strings.Builder
		for _, name := range c.want {
			want.WriteString("/" + frontend.HashedName(name) + " ")
		}
		got := ""
		for _, m := range regexp.MustCompile(`src="([^"]*)"`).FindAllStringSubmatch(string(frontend.Tag("", c.beside...)), -1) {
			got += m[1] + " "
		}
		if got != want.String() {
			t.Errorf("%v: %s, want %s", c.beside, got, want.String())
		}
	}
}

func TestBudgetIsKeptByWhatIsEmbedded(t *testing.T) {
	// The gzip gate is npm's; here only that nobody embedded a source by mistake.
	for name, most := range map[string]int64{frontend.Script: 7000, frontend.Core: 5200} {
		info, err := os.Stat("dist/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d: it is not the minified file", name, info.Size(), most)
		}
	}
}
