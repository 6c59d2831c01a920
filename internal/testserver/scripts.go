package testserver

import (
	"net/http"
	"net/http/httptest"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/frontend"
)

// scripts serves idem.js under its plain name, by the handler that every
// program uses, whatever the framework.
func scripts() []adaptertest.Route {
	const path = "/idem.min.js"
	return []adaptertest.Route{{Method: http.MethodGet, Prefix: path, Handler: func(x adaptertest.Exchange) error {
		got := httptest.NewRecorder()
		ask := httptest.NewRequest(http.MethodGet, path, nil)
		for _, etag := range x.Header("If-None-Match") {
			ask.Header.Add("If-None-Match", etag)
		}
		frontend.Handler().ServeHTTP(got, ask)
		for name, values := range got.Header() {
			for _, value := range values {
				x.AddHeader(name, value)
			}
		}
		return x.Answer(got.Code, got.Body.Bytes())
	}}}
}
