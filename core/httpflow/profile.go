package httpflow

import (
	"net/http"

	idem "github.com/go-idem/idem/core"
)

// Profile says which status goes with a verdict. Profiles change numbers, never
// words: Idempotency-Status, the problem document and what a client may do are
// the same under each (design: PROTOCOL section 4). The plain 425 that answers
// TLS early data (RFC 8470) is no verdict and stays what it is.
type Profile string

// The profiles.
const (
	// Standard answers 425 (Too Early) for dead, and only for it.
	Standard Profile = "standard"
	// TooEarly also answers 425 for missing, for clients that know one code for
	// "fetch a token and send again": no token was sent, so a new one is harmless.
	TooEarly Profile = "too-early"
	// Strict keeps 425 for early data, as RFC 8470 has it: dead is 410 (RFC 9205
	// section 4.6 asks that status codes keep their meaning).
	Strict Profile = "strict"
)

func (p Profile) known() bool { return p == Standard || p == TooEarly || p == Strict }

// status is the profile's status of a refusal, given that of [Standard].
func (p Profile) status(v idem.Verdict, standard int) int {
	switch {
	case p == TooEarly && v == idem.Missing:
		return http.StatusTooEarly
	case p == Strict && v == idem.Dead:
		return http.StatusGone
	}
	return standard
}
