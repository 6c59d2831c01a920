// Command onepage serves one HTML file beside one guarded endpoint. The test that
// reads the page out of the README serves it with this program; it is also the
// whole of what a Go program needs for a form with idem.js:
//
//	go run ./examples/shop/browser/onepage -page order.html
//
// The page is sent as it is, byte for byte. POST /orders is guarded and takes its
// time (-takes), GET /orders tells how many orders there are.
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/frontend"
	"github.com/go-idem/idem/stores/memstore"
)

func main() {
	page := flag.String("page", "", "the HTML `file` to serve")
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	takes := flag.Duration("takes", time.Second, "how long an order takes")
	flag.Parse()
	if err := run(*page, *addr, *takes); err != nil {
		fmt.Fprintln(os.Stderr, "onepage:", err)
		os.Exit(1)
	}
}

func run(page, addr string, takes time.Duration) error {
	html, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	handler, err := handler(html, takes)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	fmt.Println("listening on http://" + ln.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(ln)
}

func handler(html []byte, takes time.Duration) (http.Handler, error) {
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.Form}},
	})
	if err != nil {
		return nil, err
	}
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: visitorOf})
	if err != nil {
		return nil, err
	}
	var orders atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("visitor"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "visitor", Value: rand.Text(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(html) // to a browser that may have gone
	})
	mux.Handle("GET /assets/", frontend.Handler())
	mux.Handle("/idempotency/", stdhttp.Endpoints(flow))
	mux.Handle("POST /orders", stdhttp.Guard(flow, "shop:order:create", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(takes) // the work
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "order %d\n", orders.Add(1))
	})))
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, orders.Load()) })
	return mux, nil
}

// visitorOf says whose order it is: a cookie that the page itself sets. A service
// with accounts asks its session here.
func visitorOf(r httpflow.Request) (string, error) {
	line := r.Header("Cookie")
	if len(line) != 1 {
		return "", nil
	}
	cookies, err := http.ParseCookie(line[0])
	for _, c := range cookies {
		if err == nil && c.Name == "visitor" {
			return c.Value, nil
		}
	}
	return "", nil // nobody: 401
}
