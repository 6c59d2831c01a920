package main

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/go-idem/idem/adapters/stdhttp"
	"github.com/go-idem/idem/core/httpflow"
)

// chiRoutes are the routes on chi. Guard takes an http.Handler and is one, so it
// stands around the handler of a route, also in a sub-router.
func chiRoutes(s *shop) http.Handler {
	r := chi.NewRouter()
	r.Use(recoverer) // outside of the guard
	r.Route("/shops/{shop}", func(r chi.Router) {
		r.Method(http.MethodPost, "/orders", unescaped(stdhttp.Guard(s.flow, operation, http.HandlerFunc(s.order))))
	})
	r.Handle("/idempotency/*", stdhttp.Endpoints(s.flow))
	return r
}

// recoverer is chi's middleware.Recoverer without the stack that it prints.
func recoverer(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// unescaped puts the values of a path where "path:NAME" looks without the
// percent-encoding that chi leaves in them where a path is spelt unusually: two
// spellings of one path are one key. Without such values in a policy it is not needed.
func unescaped(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range chi.RouteContext(r.Context()).URLParams.Keys {
			r.SetPathValue(name, httpflow.NetRequest{Request: r}.Unescaped(r.PathValue(name)))
		}
		h.ServeHTTP(w, r)
	})
}

// order is the handler of chi's routes: it answers what the request asks for.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	s.runs <- struct{}{}
	switch r.URL.Query().Get("end") {
	case "refuse":
		http.Error(w, "no such tea", http.StatusUnprocessableEntity)
	case "panic":
		panic("out of tea")
	case "stream":
		flusher := http.NewResponseController(w)
		_, _ = fmt.Fprintln(w, "one") // to a client that may have gone
		_ = flusher.Flush()
		_, _ = fmt.Fprintln(w, "two")
	default:
		w.Header().Set("Location", "/shops/"+chi.URLParam(r, "shop")+"/orders/1")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "an order at %s\n", chi.URLParam(r, "shop"))
	}
}
