package httpflow

import (
	"strconv"
	"strings"
	"time"
)

// wait is how long the client would wait for another request's run (Prefer:
// wait=N, RFC 7240 section 4.3): zero where it says nothing that can be read,
// negative where it would not wait at all. Of several the first counts.
func wait(r Request) time.Duration {
	if !sent(r, "Prefer") {
		return 0
	}
	for _, line := range r.Header("Prefer") {
		for preference := range strings.SplitSeq(line, ",") {
			token, _, _ := strings.Cut(preference, ";")
			name, value, _ := strings.Cut(token, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			switch {
			case err != nil:
				return 0
			case seconds == 0:
				return -1
			}
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

// asksForce says whether the client asks to run over a record that refuses it:
// the policy and the application's ForceAuthorizer have the last word.
func asksForce(r Request) bool {
	line, lines := peek(r, "Idempotency-Force")
	return lines == 1 && strings.TrimSpace(line) == "1"
}
