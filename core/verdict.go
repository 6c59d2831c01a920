package idem

// Verdict is the one word that says what became of a request. It is sent as
// the header Idempotency-Status, repeated in problem documents, and is the same
// word in spans, metrics, logs and idem.js (design: PROTOCOL section 4). The
// list is closed. The zero Verdict means that nothing was judged.
type Verdict uint8

// The verdicts. The comments say what happened; [Verdict.MayResend] and
// [Verdict.MayTakeNewToken] say what a client may do.
const (
	_           Verdict = iota
	Executed            // the action ran now
	Replayed            // the kept answer is sent again
	Released            // it ran and was refused without effect: the same key may run again
	InFlight            // another owner is running it
	Uncertain           // it may have run; held until it is resolved
	Used                // done, but the answer was not kept
	Conflict            // same key, different request
	Dead                // this token had no effect and can have none any more
	Forgotten           // the token is older than what is remembered about it
	Missing             // a key or token is required here
	Malformed           // the key, token or body cannot be read
	Foreign             // the token is not for this scope, operation, context or client
	Unavailable         // the store is down and the policy closed: nothing ran
	Unprotected         // it ran and no record protects it
	Unguarded           // a key was sent where nothing is guarded
)

var verdictWords = [...]string{
	"", "executed", "replayed", "released", "in-flight", "uncertain", "used", "conflict",
	"dead", "forgotten", "missing", "malformed", "foreign", "unavailable", "unprotected", "unguarded",
}

// Verdicts lists every verdict in the order of PROTOCOL section 4.
func Verdicts() []Verdict {
	all := make([]Verdict, 0, len(verdictWords)-1)
	for v := Executed; v <= Unguarded; v++ {
		all = append(all, v)
	}
	return all
}

// String returns the verdict's word, "" for the zero Verdict.
func (v Verdict) String() string {
	if int(v) >= len(verdictWords) {
		return ""
	}
	return verdictWords[v]
}

// MarshalText returns the verdict's word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Ran says that the action ran for this very request.
func (v Verdict) Ran() bool {
	return v == Executed || v == Released || v == Unprotected || v == Unguarded
}

// MayResend says that the client may send the same request again, unchanged
// (for Released the body may change).
func (v Verdict) MayResend() bool {
	switch v {
	case Executed, Replayed, Released, InFlight, Uncertain, Unavailable:
		return true
	}
	return false
}

// MayTakeNewToken says that a client may fetch a new token by itself and send
// the action again with it. Only one verdict allows that: see PROTOCOL section
// 5 for the double run behind every other answer.
func (v Verdict) MayTakeNewToken() bool { return v == Dead }
