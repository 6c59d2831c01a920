package bookshop

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-idem/idem/core/httpflow"
)

// provider stands in for a company that takes payments. It knows repeats of a
// charge by their key, as real ones do. Some time later it calls the shop back,
// and goes on until it hears a 2xx: it delivers at least once, and never says
// which delivery is the first.
type provider struct {
	secret   []byte
	charging time.Duration // how long a charge takes
	log      io.Writer     // a line for each delivery
	stop     context.CancelFunc
	ctx      context.Context
	all      sync.WaitGroup

	mu        sync.Mutex
	callback  string            // where the shop is; "" until it listens
	charges   map[string]string // by key
	delivered map[string][]string
}

// The provider's patience: once it gives up while the shop is still at work.
const (
	impatient    = 100 * time.Millisecond
	patient      = 30 * time.Second
	between      = 60 * time.Millisecond
	mostAttempts = 100
)

func newProvider(charging time.Duration) *provider {
	ctx, stop := context.WithCancel(context.Background())
	return &provider{charging: charging, secret: []byte(rand.Text()), log: io.Discard, ctx: ctx, stop: stop, charges: map[string]string{}, delivered: map[string][]string{}}
}

// close ends what it still delivers.
func (p *provider) close() {
	p.stop()
	p.all.Wait()
}

func (p *provider) callBackTo(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.callback = url
}

// charge takes a payment, once for each key.
func (p *provider) charge(ctx context.Context, key string) (string, error) {
	select {
	case <-time.After(p.charging):
	case <-ctx.Done():
		return "", fmt.Errorf("the provider was not heard out: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, known := p.charges[key]; known {
		return id, nil
	}
	id := fmt.Sprintf("ch-%d", len(p.charges)+1)
	p.charges[key] = id
	p.all.Go(func() { p.deliver(p.event(id)) })
	return id, nil
}

// event is the event that a charge was paid.
func (p *provider) event(charge string) []byte {
	e := Event{Charge: charge}
	e.Event.ID = "evt-" + charge
	body, _ := json.Marshal(e) // two strings
	return body
}

// deliver delivers an event until it is answered, and then once more: whoever
// delivers at least once does that some day too.
func (p *provider) deliver(event []byte) {
	patience := impatient
	for range mostAttempts {
		select {
		case <-p.ctx.Done():
			return
		case <-time.After(between):
		}
		status := p.call(event, patience)
		if status >= 200 && status < 300 {
			break
		}
		patience = patient
	}
	p.call(event, patient)
}

// call delivers an event once and notes how it was answered: by the verdict, or
// the status where there is none, or "gave up".
func (p *provider) call(event []byte, patience time.Duration) (status int) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	p.mu.Lock()
	url := p.callback
	p.mu.Unlock()
	heard := "gave up"
	if res, err := p.post(ctx, url, event, p.sign(event)); err == nil {
		status, heard = res.StatusCode, res.Header.Get(httpflow.StatusHeader)
		if heard == "" {
			heard = fmt.Sprint(status)
		}
	}
	var e Event
	_ = json.Unmarshal(event, &e) // it is its own
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.log, "the provider called back about %s and heard: %s\n", e.Charge, heard)
	p.delivered[e.Charge] = append(p.delivered[e.Charge], heard)
	return status
}

func (p *provider) post(ctx context.Context, url string, event []byte, signature string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Provider-Signature", signature)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res, err
}

// deliveries tells how the deliveries about a charge were answered so far.
func (p *provider) deliveries(charge string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.delivered[charge]...)
}

func (p *provider) sign(body []byte) string {
	mac := hmac.New(sha256.New, p.secret)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (p *provider) signed(body []byte, signature string) bool {
	return hmac.Equal([]byte(p.sign(body)), []byte(signature))
}
