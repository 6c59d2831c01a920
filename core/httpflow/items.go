package httpflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// MostItems is how many items one request may hold.
const MostItems = 1000

// Item is one item of a request that is to be done now.
type Item struct {
	Index int             // in the request's array
	Body  json.RawMessage // the item as it was sent
	Claim *idem.Claim     // its Context ends when this item's claim is lost
}

// ItemAnswer is what a handler answers for one item.
type ItemAnswer struct {
	Status int // an HTTP status, which decides how the item ends as that of a whole answer would; 0 is 200, or 500 where Err is set
	// Body is the item's answer: JSON, kept and replayed; nil is null. Anything
	// else is sent as a JSON string.
	Body []byte
	Err  error // for idem.NoEffects and the error of a failed idem.MarkEffects; never sent
}

// ItemHandler does the items that are to be done now, and gives one answer for
// each, in their order. ctx is the batch's context: see [idem.DoBatch]. r belongs
// to the request and is over with it.
type ItemHandler func(ctx context.Context, r Request, items []Item) []ItemAnswer

// ItemsRoute is a guarded route whose requests hold many items. Adapters serve it.
type ItemsRoute struct {
	route      *Route
	items, key []string // where they stand, as steps of a JSON pointer
	places     string   // for people
}

// Items returns a route that guards each member of a JSON array by a key of its
// own (docs/how-to/batches.md). items and key are JSON pointers: to the
// array in the body, "" where the body is the array, and to the key in an item.
//
//	mux.Handle("POST /orders/batch", stdhttp.Items(httpflow.Items(flow, "shop:order:create", "/items", "/key"), handler))
//
// An item's key has the grammar of Idempotency-Key; an item without one is
// missing, whatever the policy's keyRequired says. Where the policy takes tokens,
// an item's member idempotentToken holds one, and wins; where it takes tokens
// only, what stands at key is the token. An item is the same request as another if
// method, path, query and the item agree, by the policy's fingerprint choice
// applied to the item; what stands beside the array is not compared.
//
// The answer is 200 {"items":[{"verdict","status","body"}]}, in the order of the
// request and without Idempotency-Status: each item has its own verdict and
// status, and body is the handler's answer, the kept one, or a problem document.
// Where the policy's Atomic is Yes all items run or none: then the answer is 409,
// a problem document that names the first item that stands in the way.
//
// Items panics where the guard has no policy for the operation, and where a
// pointer is none: routes are made when a program starts.
func Items(flow *Flow, operation, items, key string) *ItemsRoute {
	for _, pointer := range []string{items, key} {
		if pointer != "" && !strings.HasPrefix(pointer, "/") {
			panic(fmt.Sprintf("httpflow: %q is no JSON pointer: it begins with a slash", pointer))
		}
	}
	if key == "" {
		panic("httpflow: the key of an item has to stand somewhere in it: name a member, such as \"/key\"")
	}
	rt := &ItemsRoute{route: flow.Route(operation), key: steps(key), places: fmt.Sprintf("the array at %q and the keys at %q", items, key)}
	if items != "" {
		rt.items = steps(items)
	}
	return rt
}

// By is the route with the handler behind it, as adapters serve it.
func (rt *ItemsRoute) By(handle ItemHandler) func(Request) *Reply {
	return func(r Request) *Reply { return rt.Serve(r, handle) }
}

// Serve answers one request. A panic of the handler goes through.
func (rt *ItemsRoute) Serve(r Request, handle ItemHandler) *Reply {
	p := rt.route.plan()
	if !p.guards(r.Method()) {
		return p.flow.problem("malformed", problem{
			Title: "This method carries no items", Status: http.StatusMethodNotAllowed, Detail: "Use one of " + strings.Join(p.policy.Methods, ", ") + ".",
		}).with("Allow", strings.Join(p.policy.Methods, ", "))
	}
	b := &itemBatch{ItemsRoute: rt, plan: p, r: r, handle: handle}
	defer b.body.close()
	if refused := b.read(); refused != nil {
		refused.Read = b.body.rest == nil
		return refused
	}
	reply := b.do()
	reply.Read = true
	return reply
}

func (r *Reply) with(name, value string) *Reply {
	r.Fields = append(r.Fields, Field{name, value})
	return r
}

// itemBatch is one request for many items.
type itemBatch struct {
	*ItemsRoute
	plan    *plan
	r       Request
	handle  ItemHandler
	body    Body
	bodies  []json.RawMessage
	intents []idem.Intent
	handler time.Duration
	waited  time.Duration
	seen    []idem.Ending // one step of the observer for each item, which ends with its verdict
	won     []idem.Item   // of a run that has begun
}

// do claims the items, runs what is to be run, and answers for each.
func (b *itemBatch) do() *Reply {
	b.observe()
	defer b.endAbruptly()
	codec := itemCodec{codec{}, b.plan.policy.MaxKeptBody}
	answers, err := idem.DoBatch(b.r.Context(), b.plan.flow.Guard, b.intents, idem.Codec[*Reply](codec), b.run)
	b.won = nil // it returned
	if err != nil {
		b.trouble(err)
		for i := range b.intents {
			b.judged(i, idem.StepResult{Verdict: idem.Unavailable, Err: err})
		}
		return b.refuseAll(&idem.RefusedError{Verdict: idem.Unavailable, Err: err})
	}
	for i := range b.intents {
		b.judged(i, idem.StepResult{Verdict: answers[i].Verdict, Err: refusalIn(answers[i].Err), Handler: b.handler, Waited: b.waited})
	}
	if b.plan.policy.Atomic == idem.Yes {
		if i := inTheWay(answers); i >= 0 {
			return b.refuseFor(i, answers[i])
		}
	}
	return b.reply(answers)
}

// endAbruptly ends the steps of the items that were running when the handler
// panicked or called runtime.Goexit, with what its settle, which is behind us, made
// of them.
func (b *itemBatch) endAbruptly() {
	for _, at := range b.won {
		b.judged(at.Index, idem.StepResult{Verdict: at.Claim.Verdict(), Err: errAbrupt, Handler: b.handler})
	}
}

// run is the batch's one run.
func (b *itemBatch) run(ctx context.Context, won []idem.Item) []idem.Answer[*Reply] {
	items := make([]Item, len(won))
	for i, at := range won {
		items[i] = Item{Index: at.Index, Body: b.bodies[at.Index], Claim: at.Claim}
	}
	began := b.plan.flow.Guard.Now()
	defer func() { b.handler = b.plan.flow.Guard.Now().Sub(began) }() // of a panic, too
	b.won = won
	given := b.handle(ctx, b.r, items)
	answers := make([]idem.Answer[*Reply], min(len(given), len(won)))
	for i := range answers {
		answers[i].Value, answers[i].Err = given[i].reply(), given[i].Err
	}
	for len(answers) < len(won) { // as an error would end them
		answers = append(answers, idem.Answer[*Reply]{Value: (&ItemAnswer{Err: errNoAnswer}).reply(), Err: errNoAnswer})
	}
	return answers
}

var errNoAnswer = errors.New("httpflow: the handler gave this item no answer")

// reply is the answer as it is kept.
func (a *ItemAnswer) reply() *Reply {
	r := &Reply{Status: a.Status, Body: a.Body}
	switch {
	case r.Status == 0 && a.Err != nil:
		r.Status = http.StatusInternalServerError
	case r.Status == 0:
		r.Status = http.StatusOK
	}
	if len(r.Body) > 0 && !json.Valid(r.Body) {
		r.Body, _ = json.Marshal(string(r.Body)) // a string can be written
	}
	return r
}

// itemCodec keeps an item's answer, without its body where that is too long.
type itemCodec struct {
	codec
	most int64
}

func (c itemCodec) Encode(r *Reply) (idem.Payload, error) {
	if int64(len(r.Body)) > c.most {
		r = &Reply{Status: r.Status, Partial: true}
	}
	return c.codec.Encode(r)
}

// Skipped says why an item's answer is not kept: it is held whole.
func (itemCodec) Skipped(*Reply) string { return "too_large" }
