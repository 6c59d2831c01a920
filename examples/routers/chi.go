package main

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/go-idem/idem/adapters/stdhttp"
)

// chiRoutes are the routes on chi. Guard takes an http.Handler and is one, so it
// stands around the handler of a route, also in a sub-router.
func chiRoutes(s *shop) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer) // outside of the guard
	r.Route("/shops/{shop}", func(r chi.Router) {
		r.Method(http.MethodPost, "/orders", stdhttp.Guard(s.flow, operation, http.HandlerFunc(s.order)))
	})
	r.Handle("/idempotency/*", stdhttp.Endpoints(s.flow))
	return r
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
