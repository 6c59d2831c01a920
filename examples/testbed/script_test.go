package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestItServesIdemJS(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		b := start(t, "-adapter", adapter, "-store", "memory")
		get := func(etag string) *http.Response {
			r, err := http.NewRequest(http.MethodGet, b.url+"/idem.min.js", nil)
			if err != nil {
				t.Fatal(err)
			}
			if etag != "" {
				r.Header.Set("If-None-Match", etag)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res
		}
		res := get("")
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/javascript") || res.Header.Get("ETag") == "" {
			t.Errorf("%s: %d, %v", adapter, res.StatusCode, res.Header)
		}
		if again := get(res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: the same again is %d, want 304", adapter, again.StatusCode)
		}
	}
}
