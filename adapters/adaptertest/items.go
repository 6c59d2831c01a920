package adaptertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
)

// scriptedItem is an item as the bed's batches take it. It is the item that says
// what becomes of it, so that statements need no header for each.
type scriptedItem struct {
	Key    string `json:"key"`
	Status int    `json:"status"` // 201 if zero
	Panic  string `json:"panic"`  // the whole run panics
	Delay  string `json:"delay"`  // the run takes so much longer
}

// Items returns the handler behind the bed's batches, which counts a run for each
// item.
func (b *Bed) Items() httpflow.ItemHandler {
	return func(ctx context.Context, r httpflow.Request, items []httpflow.Item) []httpflow.ItemAnswer {
		path := strings.Clone(r.Path())
		answers := make([]httpflow.ItemAnswer, len(items))
		for i, at := range items {
			answers[i] = b.doItem(at, b.scopeIn(r)+"|"+at.Claim.Record(), path)
		}
		return answers
	}
}

// doItem does what an item says.
func (b *Bed) doItem(at httpflow.Item, identity, path string) (a httpflow.ItemAnswer) {
	var item scriptedItem
	if err := json.Unmarshal(at.Body, &item); err != nil {
		return httpflow.ItemAnswer{Status: http.StatusBadRequest}
	}
	run := b.Counts.beginItem(identity, path+"#"+item.Key)
	if d, err := time.ParseDuration(item.Delay); err == nil {
		<-time.After(d)
	}
	if item.Panic != "" {
		panic(&Panic{Text: item.Panic})
	}
	if a.Status = item.Status; item.Status == 0 {
		a.Status = http.StatusCreated
	}
	if a.Status < 300 {
		run.effect()
	}
	a.Body = fmt.Appendf(nil, `{"run":%d,"item":%d}`, run.number, at.Index)
	return a
}

// bareItems is the same without a guard, for a control that forgets it.
func (b *Bed) bareItems(x Exchange) error {
	body, err := x.Body()
	if err != nil {
		return err
	}
	var doc struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(body, &doc) // what holds no items does nothing
	type told struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body"`
	}
	answers := make([]told, len(doc.Items))
	for i, item := range doc.Items {
		a := b.doItem(httpflow.Item{Index: i, Body: item}, b.identify(x), x.Path())
		answers[i] = told{a.Status, a.Body}
	}
	return answerJSON(x, http.StatusOK, map[string]any{"items": answers})
}

func (b *Bed) scopeIn(r httpflow.Request) string {
	scope, _ := bearerScope(r) // it was judged already
	return strings.Clone(scope)
}

// itemsOf is the route of items that an operation is served by, nil if it is
// served as a whole.
func (b *Bed) itemsOf(p *idem.Policy) *httpflow.ItemsRoute {
	switch p.Operation {
	case "test:batch:run", "test:allbatch:run", "test:tokenbatch:run":
		return httpflow.Items(b.Flow, p.Operation, "/items", "/key")
	}
	return nil
}
