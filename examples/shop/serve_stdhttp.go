package main

import (
	"io"
	"net/http"

	"github.com/go-idem/idem/adapters/stdhttp"
	"github.com/go-idem/idem/frontend"
)

// stdHandler serves the shop with net/http. The guard is one line.
func stdHandler(s *shop) http.Handler {
	mux := http.NewServeMux()
	for _, rt := range s.routes() {
		h := stdPage(rt)
		if rt.operation != "" && s.guarded {
			h = stdhttp.Guard(s.flow, rt.operation, h)
		}
		if rt.operation != "" {
			h = s.watched(h)
		}
		mux.Handle(rt.method+" "+stdPattern(rt), h)
	}
	mux.Handle("/idempotency/", stdhttp.Endpoints(s.flow))
	mux.Handle("GET "+assetsPath, frontend.Handler())
	return s.export.aroundHTTP(mux)
}

func stdPattern(rt route) string {
	switch {
	case rt.param != "":
		return rt.path + "{" + rt.param + "}"
	case rt.path == "/":
		return "/{$}"
	}
	return rt.path
}

// stdPage serves one route of the shop.
func stdPage(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := &request{ctx: r.Context(), param: r.PathValue(rt.param), header: r.Header.Get}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFormBytes))
		if err == nil {
			err = asked.read(body)
		}
		if err != nil {
			http.Error(w, "the form cannot be read", http.StatusBadRequest)
			return
		}
		answer := rt.serve(asked)
		for _, line := range answer.headers() {
			w.Header().Add(line[0], line[1])
		}
		w.WriteHeader(answer.status)
		_, _ = w.Write(answer.body)
	})
}
