package httpflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	idem "github.com/go-idem/idem/core"
)

// itemDoc is one item of the answer.
type itemDoc struct {
	Verdict string          `json:"verdict"`
	Status  int             `json:"status"`
	Body    json.RawMessage `json:"body"`
}

// reply is the answer for all items.
func (b *itemBatch) reply(answers []idem.Answer[*Reply]) *Reply {
	list := make([]itemDoc, len(answers))
	for i, a := range answers {
		r := b.answer(a)
		list[i] = itemDoc{a.Verdict.String(), r.Status, r.Body}
		if len(r.Body) == 0 {
			list[i].Body = json.RawMessage("null")
		}
	}
	body, err := json.Marshal(struct {
		Items []itemDoc `json:"items"`
	}{list})
	if err != nil { // a kept body that is no JSON: the record was another route's
		b.trouble(err)
		return b.refuseAll(&idem.RefusedError{Verdict: idem.Unavailable, Err: err})
	}
	return &Reply{Status: http.StatusOK, Fields: []Field{{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}, Body: append(body, '\n')}
}

// answer is what is said about one item.
func (b *itemBatch) answer(a idem.Answer[*Reply]) *Reply {
	if refused := refusalIn(a.Err); refused != nil {
		var why *idem.RefusedError
		errors.As(refused, &why)
		return b.plan.problem(why.Verdict, why.Err)
	}
	if a.Value == nil {
		return &Reply{Status: http.StatusInternalServerError}
	}
	return a.Value
}

// refusalIn is the refusal that an item was answered with, nil for one that ran
// or is replayed.
func refusalIn(err error) error {
	var why *idem.RefusedError
	if errors.As(err, &why) && !errors.Is(err, idem.ErrBatchRefused) {
		return why
	}
	return nil
}

// inTheWay is the first item that kept an all-or-nothing batch from being run, -1
// where nothing did: it was run, or every item is done.
func inTheWay(answers []idem.Answer[*Reply]) int {
	first, undone := -1, -1
	given := false
	for i, a := range answers {
		done := a.Verdict == idem.Replayed || a.Verdict == idem.Used
		switch {
		case errors.Is(a.Err, idem.ErrBatchRefused):
			given = true
			continue
		case !done && refusalIn(a.Err) == nil:
			return -1 // it ran
		case !done && undone < 0:
			undone = i
		}
		if first < 0 {
			first = i
		}
	}
	if given {
		return first // what is done already stands in the way of the rest, too
	}
	return undone
}

// refuseFor refuses all items for the sake of one.
func (b *itemBatch) refuseFor(i int, a idem.Answer[*Reply]) *Reply {
	title, detail := "It is done already", "The action of this item was carried out before."
	why := &idem.RefusedError{Verdict: a.Verdict}
	if refused := refusalIn(a.Err); refused != nil {
		errors.As(refused, &why)
		w := b.plan.wordsFor(why)
		title, detail = w.title, w.detail
	}
	doc := itemProblem{Item: i, problem: problem{
		Title: title, Status: http.StatusConflict, Verdict: a.Verdict.String(), Operation: b.plan.policy.Operation,
		Detail:    fmt.Sprintf("Nothing of this batch was carried out: item %d of it, counted from 0, stands in the way. %s", i, detail),
		Retryable: a.Verdict.MayResend() && a.Verdict != idem.Replayed, NewToken: a.Verdict.MayTakeNewToken(),
	}}
	doc.Type = b.plan.flow.Docs + doc.Verdict
	body, _ := json.Marshal(doc) // strings, booleans and numbers: it cannot fail
	reply := &Reply{Status: http.StatusConflict, Body: append(body, '\n'), Fields: []Field{
		{"Content-Type", "application/problem+json"}, {"Cache-Control", "no-store"}, {"Link", "<" + doc.Type + `>; rel="describedby"`},
	}}
	if after := retryAfter(why); after != "" {
		reply.with("Retry-After", after)
	}
	return reply
}

// itemProblem is a problem document that names an item.
type itemProblem struct {
	problem
	Item int `json:"item"`
}

// refuseAll refuses a request whose items cannot be told apart.
func (b *itemBatch) refuseAll(why *idem.RefusedError) *Reply {
	return b.plan.refusal(prefersHTML(b.r), why)
}
