package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// charge is what the provider keeps of a payment.
type charge struct {
	Order   string `json:"order,omitempty"`
	ID      string `json:"id,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// provider stands in for somebody who takes payments, and who knows repeats by
// their Idempotency-Key. The lamp's card is refused; the vase's is looked at by
// a person first, so that the first question about it is too early.
type provider struct {
	URL     string
	server  *http.Server
	mu      sync.Mutex
	byKey   map[string]charge
	answers map[string][]string // by order, what it said when it was asked
	never   []string            // what it said of keys it does not know
	paid    int
}

func newProvider() (*provider, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{URL: "http://" + listener.Addr().String(), byKey: map[string]charge{}, answers: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", p.take)
	mux.HandleFunc("GET /charges", p.tell)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // until Close
	return p, nil
}

// Close ends the provider.
func (p *provider) Close() { _ = p.server.Close() }

// take takes a payment, once for each key.
func (p *provider) take(w http.ResponseWriter, r *http.Request) {
	var asked charge
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, "no charge", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	c, known := p.byKey[key]
	switch {
	case known:
	case asked.Order == "lamp":
		c = charge{Order: asked.Order, Refused: "card refused"}
	default:
		p.paid++
		c = charge{Order: asked.Order, ID: fmt.Sprintf("ch-%s", asked.Order)}
	}
	p.byKey[key] = c
	answer(w, http.StatusOK, c)
}

// tell says what became of a key.
func (p *provider) tell(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	c, known := p.byKey[key]
	said := p.answers[c.Order]
	switch {
	case !known:
		p.never = append(p.never, "nothing")
		answer(w, http.StatusNotFound, c)
		return
	case c.Order == "vase" && len(said) == 0:
		p.answers[c.Order] = append(said, "wait")
		answer(w, http.StatusAccepted, c)
		return
	case c.Refused != "":
		said = append(said, "refused")
	default:
		said = append(said, "paid")
	}
	p.answers[c.Order] = said
	answer(w, http.StatusOK, c)
}

// said is what it answered to questions about an order.
func (p *provider) said(order string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.answers[order]; len(list) > 0 {
		return list
	}
	return p.never
}

func (p *provider) charges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paid
}

func answer(w http.ResponseWriter, status int, c charge) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(c)
}
