package audit

import (
	"context"
	"strconv"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Event is one change of one record, in words: what a sink writes. Empty members
// are left out wherever it is written.
type Event struct {
	ID        string    `json:"id"` // the same for every copy of one event
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`
	Change    string    `json:"change"` // an [idem.Change]
	Key       string    `json:"key"`    // keyed hash of the key: 16 hex digits
	Scope     string    `json:"scope,omitempty"`
	From      string    `json:"from"` // states: absent, processing, succeeded…
	To        string    `json:"to"`
	Verdict   string    `json:"verdict,omitempty"`
	Fence     uint64    `json:"fence,omitempty"`
	Owner     string    `json:"owner,omitempty"` // a claim's random nonce
	Actor     string    `json:"actor,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Client    string    `json:"client,omitempty"`
	Trace     string    `json:"trace,omitempty"` // the trace's id: 32 hex digits
}

// EventOf puts a transition into words.
func EventOf(t idem.Transition) Event {
	e := Event{
		ID: t.ID(), Time: t.Time.UTC(), Operation: t.Operation, Change: string(t.Change), Key: t.KeyHash(), Scope: t.Scope,
		From: t.From.String(), To: t.To.String(), Fence: t.Fence, Owner: t.Owner, Actor: t.Actor, Reason: t.Reason, Client: t.Client,
		Trace: traceID(t.Trace),
	}
	if t.Verdict != 0 {
		e.Verdict = t.Verdict.String()
	}
	return e
}

// traceID is the second part of a traceparent (W3C Trace Context).
func traceID(parent []byte) string {
	parts := strings.Split(string(parent), "-")
	if len(parts) < 4 {
		return ""
	}
	return parts[1]
}

// Fields returns the event as name, value, name, value…, in the order of the
// struct and with the names of its JSON form.
func (e Event) Fields() []string {
	fields := make([]string, 0, 30)
	fence := ""
	if e.Fence != 0 {
		fence = strconv.FormatUint(e.Fence, 10)
	}
	for _, f := range [...][2]string{
		{"id", e.ID}, {"time", e.Time.Format(time.RFC3339Nano)}, {"operation", e.Operation}, {"change", e.Change},
		{"key", e.Key}, {"scope", e.Scope}, {"from", e.From}, {"to", e.To}, {"verdict", e.Verdict}, {"fence", fence},
		{"owner", e.Owner}, {"actor", e.Actor}, {"reason", e.Reason}, {"client", e.Client}, {"trace", e.Trace},
	} {
		if f[1] != "" {
			fields = append(fields, f[0], f[1])
		}
	}
	return fields
}

// Sink is where events go. Write writes all of them, or returns an error; some
// may have been written then, and all are given again. It is called by one
// goroutine at a time, under [Options.Strict] by many, and honours ctx's deadline.
type Sink interface {
	Write(ctx context.Context, events []Event) error
}
