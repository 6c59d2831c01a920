package httpflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	idem "github.com/go-idem/idem/core"
)

// problem is a problem document (RFC 9457) with our extensions.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Verdict   string `json:"verdict,omitempty"`
	Retryable bool   `json:"retryable"`
	NewToken  bool   `json:"newToken"`
	Operation string `json:"operation,omitempty"`
}

// refusal makes the answer to a request that is neither run nor replayed: a
// problem document, or a page for people.
func (p *plan) refusal(page bool, why *idem.RefusedError) *Reply {
	var reply *Reply
	switch fixed := p.fixed[why.Verdict]; {
	case page:
		reply = p.flow.page.reply(p, why.Verdict, p.wordsFor(why))
	case fixed != nil && why.Err == nil:
		reply = &Reply{Status: fixed.Status, Fields: slices.Clip(fixed.Fields), Body: slices.Clip(fixed.Body)}
	default:
		reply = p.problem(why.Verdict, why.Err)
	}
	if after := retryAfter(why); after != "" {
		reply.Fields = append(reply.Fields, Field{"Retry-After", after})
	}
	if reply.Status == wordsNobody.status {
		reply.Fields = append(reply.Fields, Field{"WWW-Authenticate", p.flow.Challenge})
	}
	return reply
}

// problem is the refusal as a problem document.
func (p *plan) problem(v idem.Verdict, why error) *Reply {
	w := p.wordsFor(&idem.RefusedError{Verdict: v, Err: why})
	return p.flow.problem(v.String(), problem{
		Title: w.title, Status: w.status, Detail: w.detail, Verdict: v.String(),
		Retryable: v.MayResend(), NewToken: v.MayTakeNewToken(), Operation: p.policy.Operation,
	})
}

// problem makes a reply of a problem document whose type is called word.
func (f *Flow) problem(word string, doc problem) *Reply {
	doc.Type = f.Docs + word
	body, _ := json.Marshal(doc) // strings, booleans and a number: it cannot fail
	fields := []Field{
		{"Content-Type", "application/problem+json"}, {"Cache-Control", "no-store"},
		{"Link", "<" + doc.Type + `>; rel="describedby"`},
	}
	if doc.Verdict != "" {
		fields = append(fields, Field{StatusHeader, doc.Verdict})
	}
	return &Reply{Status: doc.Status, Fields: fields, Body: append(body, '\n')}
}

// wordsFor says a refusal in words. What stands behind it is told where it is
// about what was sent; it never holds a key, a token or a piece of the body. A
// failure of the house is told to the log only.
func (p *plan) wordsFor(why *idem.RefusedError) words {
	w := refusals[why.Verdict]
	w.status = p.flow.Profile.status(why.Verdict, w.status)
	switch {
	case errors.Is(why.Err, idem.ErrNoScope):
		w = wordsNobody
	case errors.Is(why.Err, errTooLarge):
		w = wordsTooLarge
		w.detail += fmt.Sprintf(" The limit of this operation is %d bytes.", p.policy.MaxBody)
	case why.Verdict == idem.Missing:
		w.detail += " " + p.looked()
	case why.Verdict == idem.Malformed && why.Err != nil:
		w.detail += " What is wrong: " + reason(why.Err) + ". " + p.looked()
	}
	return w
}

// retryAfter says in whole seconds, rounded up, when waiting helps (RFC 9110
// section 10.2.3).
func retryAfter(why *idem.RefusedError) string {
	after := why.RetryAfter
	if after <= 0 && why.Verdict == idem.Unavailable {
		after = time.Second
	}
	if after <= 0 {
		return ""
	}
	return strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10)
}
