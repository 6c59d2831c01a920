package main

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/frontend"
)

// labOperation is what the lab guards on our side.
const labOperation = "shop:lab:order"

func labPolicy(lease time.Duration) idem.Policy {
	return idem.Policy{
		Operation: labOperation, Preset: idem.Form, Context: "form:run",
		Lease: lease, MaxRun: time.Minute, Retention: retention, TokenLife: tokenLife,
	}
}

// lab is the trouble lab: two shops for one book behind one server that breaks
// connections. One shop is guarded by this library and asked by idem.js. The
// other is the usual one-time-token server, asked by the usual helper: "425?
// fetch a new token and send again". Both commit an order and then, where the
// connection that brought it had been used before, reset it instead of
// answering. A browser sends such a request again by itself, below JavaScript,
// and that is where the two part (design: PROTOCOL section 5).
//
// The lab has a port of its own: a reset must hit no other part of the shop, and
// the page must be of the same origin as what it asks.
type lab struct {
	shop     *shop
	server   *http.Server
	listener net.Listener
	done     chan struct{} // closed when serving has ended

	mu    sync.Mutex
	runs  map[string]*labRun
	order []string // of runs, the oldest first
}

const labRunsKept = 100

// labRun is one press of the button on both sides.
type labRun struct {
	mu    sync.Mutex
	sides map[string]*labSide
}

// labSide is what happened on one side of a run.
type labSide struct {
	armed  bool // a reset is due
	issued map[string]bool
	tokens map[string]int // each token's number, by when it was first seen
	bySend map[string]int // requests on the wire for each send of the script

	Arrived []labArrival `json:"arrived"`
	Orders  int          `json:"orders"`
}

// labArrival is one request for an order as it came over the wire.
type labArrival struct {
	Send    string `json:"send"`    // which send of the page's script it belongs to
	Again   bool   `json:"again"`   // the browser sent it once more by itself
	Token   int    `json:"token"`   // its token's number, 0 if it had none
	Reused  bool   `json:"reused"`  // the connection had been used before
	Reset   bool   `json:"reset"`   // the connection was reset instead of answering
	Status  int    `json:"status"`  // of the answer, whether or not it left
	Verdict string `json:"verdict"` // of our side
	Order   int    `json:"order"`   // the order it placed, 0 if none
}

// openLab serves a shop's lab on a free port of the host.
func openLab(s *shop, host string) (*lab, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for the trouble lab: %w", err)
	}
	l := &lab{shop: s, listener: ln, runs: map[string]*labRun{}, done: make(chan struct{})}
	l.server = &http.Server{Handler: l.handler(), ReadHeaderTimeout: 10 * time.Second, ConnContext: countRequests}
	go func() {
		defer close(l.done)
		_ = l.server.Serve(ln) // ends when it is closed
	}()
	return l, nil
}

// close ends the lab at once.
func (l *lab) close() error {
	if l == nil {
		return nil
	}
	err := l.server.Close()
	<-l.done
	return err
}

func (l *lab) url() string { return urlOf(l.listener.Addr()) + "/lab" }

func (l *lab) handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range []route{
		{method: "GET", path: "/lab", serve: l.showPage},
		{method: "GET", path: "/shop.css", serve: l.shop.showStyle},
		{method: "GET", path: "/js/", param: "file", serve: showScript},
		{method: "POST", path: "/runs", serve: ours(l.begin)},
		{method: "GET", path: "/runs/", param: "id", serve: l.look},
		{method: "POST", path: "/naive/tokens", serve: ours(l.naiveToken)},
	} {
		mux.Handle(rt.method+" "+stdPattern(rt), counted(stdPage(rt)))
	}
	mux.Handle("POST /naive/orders", counted(l.breaks("naive", naiveHeader, http.HandlerFunc(l.naiveOrder))))
	guarded := stdhttp.Guard(l.shop.flow, labOperation, http.HandlerFunc(l.guardedOrder))
	mux.Handle("POST /guarded/orders", counted(l.breaks("ours", tokenHeader, guarded)))
	mux.Handle("/idempotency/", counted(stdhttp.Endpoints(l.shop.flow)))
	mux.Handle("GET "+assetsPath, counted(frontend.Handler()))
	mux.Handle("GET /{$}", http.RedirectHandler("/lab", http.StatusSeeOther))
	return mux
}

//go:embed lab.html
var labText string

var labLayout = template.Must(template.New("lab").Funcs(template.FuncMap{
	"idem": func() template.HTML { return frontend.Tag(assetsPath) },
}).Parse(labText))

// showLab leads from the shop to its lab.
func (s *shop) showLab(*request) reply {
	if s.lab == nil {
		return plain(http.StatusNotFound, "the lab is not open")
	}
	return seeOther(s.lab.url())
}

// showPage shows the lab.
func (l *lab) showPage(r *request) reply {
	answer := reply{status: http.StatusOK, kind: "text/html; charset=utf-8", scripts: true}
	if visitorFrom(r.header("Cookie")) == "" {
		answer.cookies = append(answer.cookies, shopCookie(visitorCookie, rand.Text()))
	}
	naive, err := scripts.ReadFile("js/naive.js")
	if err != nil {
		return plain(http.StatusInternalServerError, "the page cannot be shown")
	}
	var page bytes.Buffer
	if err := labLayout.Execute(&page, map[string]string{"Shop": l.shop.player.base, "Naive": string(naive)}); err != nil {
		return plain(http.StatusInternalServerError, "the page cannot be shown")
	}
	answer.body = page.Bytes()
	return answer
}

// begin sets up a run and arms a reset on both sides.
func (l *lab) begin(*request) reply {
	run := &labRun{sides: map[string]*labSide{}}
	for _, side := range []string{"naive", "ours"} {
		run.sides[side] = &labSide{armed: true, issued: map[string]bool{}, tokens: map[string]int{}, bySend: map[string]int{}, Arrived: []labArrival{}}
	}
	id := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[id] = run
	if l.order = append(l.order, id); len(l.order) > labRunsKept {
		delete(l.runs, l.order[0])
		l.order = l.order[1:]
	}
	return tell(http.StatusOK, map[string]string{"run": id})
}

// look tells what has come over the wire.
func (l *lab) look(r *request) reply {
	run := l.run(r.param)
	if run == nil {
		return plain(http.StatusNotFound, "there is no such run")
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	return tell(http.StatusOK, run.sides)
}

// run returns a run by its id, nil if it is not kept.
func (l *lab) run(id string) *labRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[id]
}
