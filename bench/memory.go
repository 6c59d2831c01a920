package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	rival2 "github.com/gofiber/fiber/v2/middleware/idempotency"
	"github.com/valyala/fasthttp"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// The rows of budgets B1, B2, B3 and B14, in this process and without a network.
const (
	bareFiber  = "fiber v2, bare"
	noKeyOurs  = "idem on fiber v2, no key sent"
	firstRival = "fiber v2's middleware, first"
	firstCore  = "idem: key, fingerprint, claim, settle"
	firstToken = "idem: token, fingerprint, claim, settle"
	firstOurs  = "idem on fiber v2, first"
	againRival = "fiber v2's middleware, replay"
	againCore  = "idem: key, fingerprint, replay"
	againOurs  = "idem on fiber v2, replay"
	firstQueue = "watermill's deduplicator, first"
	againQueue = "watermill's deduplicator, repeat (dropped)"
	nameRow    = "name the record of a key"
	verifyRow  = "verify a token (two MACs), name its record"
	issueRow   = "issue a token"
	forgedRow  = "verify a forged token"

	operation = "shop:order:create"
	orderBody = `{"cart":42,"items":[{"sku":"tea","count":2}],"note":"ring twice"}`
	answer    = `{"order":7}`

	// turn is how many calls are made before the stores are made anew: a record is
	// kept for a day, and a store that only grows would measure the collector.
	turn = 1 << 16

	// rivalLife is how long fiber's middleware keeps answers here: its own memory
	// storage cannot be emptied, and takes out what is over every ten seconds.
	rivalLife = 2 * time.Second
)

var memoryBudgets = []budget{
	atMost("B1", "no key sent: µs of CPU more than bare", more(noKeyOurs, bareFiber, cpu), 0.12),
	atMost("B1", "no key sent: allocations more than bare", more(noKeyOurs, bareFiber, allocs), 1).count(),
	atMost("B2", "first: CPU, × fiber v2's middleware on fiber", ratio(firstCore, firstRival, cpu), 1.3),
	atMost("B2", "first: allocations, × fiber v2's middleware", ratio(firstCore, firstRival, allocs), 1.3).count(),
	atMost("B2", "first with a token verified: CPU, × fiber v2's middleware on fiber", ratio(firstToken, firstRival, cpu), 1.6),
	atMost("B2", "replay: CPU, × fiber v2's middleware on fiber", ratio(againCore, againRival, cpu), 1.2),
	atMost("B2", "replay: allocations, × fiber v2's middleware", ratio(againCore, againRival, allocs), 1.2).count(),
	atMost("B3", "verify a token: µs of CPU more than a key's name", more(verifyRow, nameRow, cpu), 0.6),
	atMost("B3", "verify a token: allocations more than a key's name", more(verifyRow, nameRow, allocs), 0.05).count(),
	atMost("B3", "issue a token: µs of CPU", one(issueRow, cpu), 1.2),
	atMost("B14", "a forged token: µs of CPU", one(forgedRow, cpu), 2),
}

// keys are 36 characters long, as fiber's middleware wants them.
func keys(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
	}
	return list
}

// memoryBed is what the rows work on.
type memoryBed struct {
	signer *idem.Signer
	guard  *idem.Guard
	policy *idem.Policy
	flow   *httpflow.Flow
	keys   []string
	tokens []string

	bare, ours, rival fasthttp.RequestHandler
}

func (b *memoryBed) fresh() error {
	if b.guard != nil {
		if err := b.guard.Close(context.Background()); err != nil {
			return err
		}
	}
	var err error
	b.guard, err = idem.New(idem.Config{Store: memstore.New(memstore.Options{MaxBytes: 1 << 30}), Signer: b.signer, Policies: []idem.Policy{
		{Operation: operation, Preset: idem.API, Key: []string{"token", "header:Idempotency-Key"}},
		{Operation: "shop:order:pay", Preset: idem.API},
	}})
	if err != nil {
		return err
	}
	b.policy, _ = b.guard.Policy(operation)
	scope := func(httpflow.Request) (string, error) { return "alice", nil }
	if b.flow, err = httpflow.New(httpflow.Config{Guard: b.guard, Scope: scope}); err != nil {
		return err
	}
	b.bare = orders()
	b.ours = orders(fiberidem.Guard(b.flow, "shop:order:pay"))
	if b.rival == nil { // once: its store cannot be ended
		b.rival = orders(rival2.New(rival2.Config{Lifetime: rivalLife}))
	}
	for len(b.tokens) < turn { // good for every guard: they share a signer
		token, err := b.guard.Issue(context.Background(), idem.TokenRequest{Operation: operation, Scope: "alice"})
		if err != nil {
			return err
		}
		b.tokens = append(b.tokens, token.Reveal())
	}
	return nil
}

// play sends requests to a handler as the server would, of which change makes the
// ith.
func play(h *fasthttp.RequestHandler, want int, change func(i int, r *fasthttp.Request)) func(i int) error {
	ctx := &fasthttp.RequestCtx{}
	return func(i int) error {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.ResetUserValues()
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/orders")
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBodyString(orderBody)
		change(i, &ctx.Request)
		if (*h)(ctx); ctx.Response.StatusCode() != want {
			return fmt.Errorf("answered %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
		}
		return nil
	}
}

type bytesCodec struct{}

func (bytesCodec) Encode(v []byte) (idem.Payload, error) { return idem.Payload{Bytes: v}, nil }
func (bytesCodec) Decode(p idem.Payload) ([]byte, error) { return p.Bytes, nil }

// do is the work of B2 without HTTP around it: the key or token read, what was
// asked hashed, a claim, a handler that does nothing, the answer kept.
func (b *memoryBed) do(key, token string, want idem.Verdict) error {
	in := idem.Intent{Operation: operation, Scope: "alice"}
	var err error
	if token != "" {
		in.Token, err = idem.ParseToken(token)
	} else {
		in.Key, err = idem.ParseKey(key, false)
	}
	if err != nil {
		return err
	}
	in.Fingerprint = b.guard.Fingerprint(b.policy, idem.Content{Method: "POST", Path: "/orders", ContentType: "application/json", Body: asked})
	run := func(context.Context) ([]byte, error) { return kept, nil }
	if _, v, err := idem.Do(context.Background(), b.guard, in, idem.Codec[[]byte](bytesCodec{}), run); v != want {
		return fmt.Errorf("%v, %w", v, err)
	}
	return nil
}

var kept, asked = []byte(answer), []byte(orderBody)

func memoryRows() (*group, error) {
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: idem.GenerateKey()})
	if err != nil {
		return nil, err
	}
	b := &memoryBed{keys: keys(turn), signer: signer}
	if err := b.fresh(); err != nil {
		return nil, err
	}
	count := 0
	key := func(i int) string { return b.keys[i%turn] }
	// None of these comes twice in a run: fiber's store remembers.
	var used int64
	never := []byte("00000000-0000-4000-8000-000000000000")
	fresh := func(name string) func(int, *fasthttp.Request) {
		return func(_ int, r *fasthttp.Request) {
			used++
			for at, n := len(never)-1, used; n > 0; at, n = at-1, n/10 {
				never[at] = byte('0' + n%10)
			}
			r.Header.SetBytesV(name, never)
		}
	}
	same := func(name string) func(int, *fasthttp.Request) {
		return func(_ int, r *fasthttp.Request) { r.Header.Set(name, b.keys[0]) }
	}
	nothing := func(int, *fasthttp.Request) {}
	forged := strings.Repeat("A", 32)
	g := &group{
		reset: func() error { count = 0; return b.fresh() },
		end:   func() { _ = b.guard.Close(context.Background()) },
	}
	const theirs, ours = "X-Idempotency-Key", "Idempotency-Key"
	g.rows = []row{
		{name: bareFiber, callers: 1, do: play(&b.bare, 201, nothing)},
		{name: noKeyOurs, callers: 1, do: play(&b.ours, 201, nothing)},
		{name: firstRival, callers: 1, most: turn, do: play(&b.rival, 201, fresh(theirs))},
		{name: firstCore, callers: 1, most: turn, do: func(i int) error { return b.do(key(i), "", idem.Executed) }},
		{name: firstToken, callers: 1, most: turn, do: func(i int) error { return b.do("", b.tokens[i%turn], idem.Executed) }},
		{name: firstOurs, callers: 1, most: turn, do: play(&b.ours, 201, fresh(ours))},
		{name: againRival, callers: 1, do: play(&b.rival, 201, same(theirs))},
		{name: againCore, callers: 1, do: func(int) error {
			want := idem.Replayed
			if count++; count == 1 {
				want = idem.Executed
			}
			return b.do(b.keys[0], "", want)
		}},
		{name: againOurs, callers: 1, do: play(&b.ours, 201, same(ours))},
		{name: firstQueue, callers: 1, most: turn, do: deduplicates(func() int { used++; return int(used) }, true)},
		{name: againQueue, callers: 1, do: deduplicates(func() int { return 0 }, false)},
		{name: nameRow, callers: 1, do: func(i int) error {
			_, err := b.guard.Verify(context.Background(), idem.Intent{Operation: operation, Scope: "alice", Key: b.keys[i%turn]})
			return err
		}},
		{name: verifyRow, callers: 1, do: func(i int) error {
			token, err := idem.ParseToken(b.tokens[i%turn])
			if err == nil {
				_, err = b.guard.Verify(context.Background(), idem.Intent{Operation: operation, Scope: "alice", Token: token})
			}
			return err
		}},
		{name: issueRow, callers: 1, do: func(int) error {
			_, err := b.guard.Issue(context.Background(), idem.TokenRequest{Operation: operation, Scope: "alice"})
			return err
		}},
		{name: forgedRow, callers: 1, do: func(int) error {
			token, err := idem.ParseToken(forged)
			if err == nil {
				_, err = b.guard.Verify(context.Background(), idem.Intent{Operation: operation, Scope: "alice", Token: token})
			}
			if err == nil {
				return fmt.Errorf("a forged token passed")
			}
			return nil
		}},
	}
	return g, nil
}
