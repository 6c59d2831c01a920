package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	rival2 "github.com/gofiber/fiber/v2/middleware/idempotency"
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"

	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/redisstore"
)

// The rows of budget B9: what stands in Redis.
const (
	claimSize  = "idem: a claim"
	tracedSize = "idem: a claim with a trace link"
	textSize   = "idem: a kept answer of 4 KiB of JSON"
	noiseSize  = "idem: a kept answer of 4 KiB that does not compress"
	rivalSize  = "fiber v2's middleware: an answer of 4 KiB of JSON"

	answerSize = 4 << 10
)

var sizeBudgets = []budget{
	exactly("B9", "a claim: bytes of its value", one(claimSize, length), 44),
	atMost("B9", "a claim with a trace link: bytes of its value", one(tracedSize, length), 80).count(),
	atMost("B9", "a claim with a trace link: bytes in Redis", one(tracedSize, inRedis), 230).count(),
	atMost("B9", "a kept answer of 4 KiB of JSON: bytes of its value", one(textSize, length), answerSize/2).count(),
	atMost("B9", "one that does not compress: bytes of its value", one(noiseSize, length), answerSize+160).count(),
}

// sizeBed keeps records in Redis and looks how large they are.
type sizeBed struct {
	ctx     context.Context
	client  *redis.Client
	guard   *idem.Guard
	flow    *httpflow.Flow
	nameKey idem.NameKey
}

func sizeRows(ctx context.Context, addr string) (*group, error) {
	b := sizeBed{ctx: ctx, client: redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1}), nameKey: idem.GenerateKey()}
	store, err := redisstore.Open(ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
	if err != nil {
		return nil, err
	}
	if b.guard, err = idem.New(idem.Config{Store: store, NameKey: b.nameKey, Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}}); err != nil {
		return nil, err
	}
	if b.flow, err = httpflow.New(httpflow.Config{Guard: b.guard, Scope: func(httpflow.Request) (string, error) { return "alice", nil }}); err != nil {
		return nil, err
	}
	text, noise := someJSON(answerSize), make([]byte, answerSize)
	_, _ = rand.Read(noise)
	return &group{
		reset: func() error { return b.client.FlushAll(ctx).Err() },
		end:   func() { _, _, _ = b.guard.Close(ctx), b.client.Close(), store.Close() },
		rows: []row{
			{name: claimSize, itself: func(time.Duration) (figure, error) { return b.claim(nil) }},
			{name: tracedSize, itself: func(time.Duration) (figure, error) {
				return b.claim([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
			}},
			{name: textSize, itself: func(time.Duration) (figure, error) { return b.answer("application/json", text) }},
			{name: noiseSize, itself: func(time.Duration) (figure, error) { return b.answer("application/octet-stream", noise) }},
			{name: rivalSize, itself: func(time.Duration) (figure, error) { return b.rival(text) }},
		},
	}, nil
}

// size is that of one record.
func (b sizeBed) size(name string) (figure, error) {
	value, err := b.client.StrLen(b.ctx, name).Result()
	if err != nil {
		return nil, err
	}
	whole, err := b.client.MemoryUsage(b.ctx, name).Result()
	if err == nil && value == 0 {
		err = fmt.Errorf("there is no record %s", name)
	}
	return figure{length: float64(value), inRedis: float64(whole)}, err
}

func (b sizeBed) claim(trace []byte) (figure, error) {
	c, err := b.guard.Claim(b.ctx, idem.Intent{Operation: operation, Scope: "alice", Key: "a", Trace: trace})
	if err != nil {
		return nil, err
	}
	f, err := b.size(c.Record())
	if ended := c.Release(b.ctx); err == nil {
		err = ended
	}
	return f, err
}

func (b sizeBed) answer(contentType string, body []byte) (figure, error) {
	h := stdhttp.Guard(b.flow, operation, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}))
	r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(orderBody))
	r.Header.Set("Idempotency-Key", "a")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 200 || !bytes.Equal(w.Body.Bytes(), body) {
		return nil, fmt.Errorf("answered %d with %d bytes", w.Code, w.Body.Len())
	}
	return b.size(idem.RecordName(b.nameKey, "idem:", operation, "alice", idem.KindKey, "a"))
}

// rival is what fiber's middleware keeps of the same answer.
func (b sizeBed) rival(body []byte) (figure, error) {
	a := fiber.New()
	a.Post("/orders", rival2.New(rival2.Config{Storage: redisStorage{b.client}}), func(c *fiber.Ctx) error {
		c.Set("Content-Type", "application/json")
		return c.Send(body)
	})
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("/orders")
	const key = "00000000-0000-4000-8000-000000000000"
	ctx.Request.Header.Set("X-Idempotency-Key", key)
	if a.Handler()(ctx); ctx.Response.StatusCode() != 200 {
		return nil, fmt.Errorf("answered %d", ctx.Response.StatusCode())
	}
	return b.size(key)
}

// someJSON is a list of orders as long as asked.
func someJSON(size int) []byte {
	type item struct {
		ID    int     `json:"id"`
		SKU   string  `json:"sku"`
		Price float64 `json:"price"`
		Note  string  `json:"note"`
	}
	var list []item
	for {
		i := len(list)
		list = append(list, item{i, fmt.Sprintf("tea-%05d", i*7919%99991), float64(i%40) + 0.5, "ring twice"})
		if b, _ := json.Marshal(list); len(b) >= size {
			return b[:size] // nobody reads it as JSON
		}
	}
}
