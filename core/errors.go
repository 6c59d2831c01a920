package idem

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The failures and refusals a caller can tell apart with [errors.Is]. A
// [*RefusedError] matches the sentinel of its verdict.
var (
	ErrInFlight    = errors.New("idem: another owner is running this intent")
	ErrUncertain   = errors.New("idem: this intent may have run; it is held until it is resolved")
	ErrUsed        = errors.New("idem: this intent is done, but its answer was not kept")
	ErrConflict    = errors.New("idem: this key was used with a different request")
	ErrDead        = errors.New("idem: this token expired unused and is buried")
	ErrForgotten   = errors.New("idem: this token is older than what is remembered about it")
	ErrMissing     = errors.New("idem: a key or token is required")
	ErrMalformed   = errors.New("idem: the key, token or body cannot be read")
	ErrForeign     = errors.New("idem: this token is not for this scope, operation, context or client")
	ErrUnavailable = errors.New("idem: the store did not answer in a way that can be relied on")

	// ErrClaimLost ends a handler's context when its claim is no longer its own,
	// and is what a settle of such a claim returns.
	ErrClaimLost = errors.New("idem: the claim was lost: its lease ran out or another owner took over")
	// ErrMaxRun ends a handler's context when the policy's MaxRun is over.
	ErrMaxRun = errors.New("idem: the run took longer than the policy's MaxRun")
	// ErrClosed ends a handler's context, and refuses claims, after Guard.Close.
	ErrClosed = errors.New("idem: the guard is closed")
	// ErrBatchRefused is why an item of an all-or-nothing batch was not run: see
	// [Atomic]. Its verdict is Released: it may be sent again.
	ErrBatchRefused = errors.New("idem: nothing of this batch was run: another of its items stood in the way")
	// ErrNoScope refuses an intent without a scope.
	ErrNoScope = errors.New("idem: the intent has no scope: say whose key it is (a tenant, a user), or build the guard with Unscoped")
	// ErrUnknownOperation refuses an operation without a policy.
	ErrUnknownOperation = errors.New("idem: no policy for this operation")
	// ErrNoClaim is returned where a context or a claim holds nothing to act on.
	ErrNoClaim = errors.New("idem: there is no running claim here")
)

var verdictErrors = map[Verdict]error{
	InFlight: ErrInFlight, Uncertain: ErrUncertain, Used: ErrUsed, Conflict: ErrConflict,
	Dead: ErrDead, Forgotten: ErrForgotten, Missing: ErrMissing, Malformed: ErrMalformed,
	Foreign: ErrForeign, Unavailable: ErrUnavailable,
}

// RefusedError says why an intent was not run and not replayed.
type RefusedError struct {
	Verdict    Verdict
	Operation  string
	RetryAfter time.Duration // when to send the same request again; 0 where waiting does not help
	Err        error         // what stood behind it, nil where the verdict says it all; never holds a key or a body
}

// Error names the operation and the verdict's meaning.
func (e *RefusedError) Error() string {
	meaning := verdictErrors[e.Verdict]
	if meaning == nil {
		meaning = fmt.Errorf("idem: %s", e.Verdict)
	}
	if errors.Is(e.Err, ErrClosed) {
		meaning = ErrClosed // the store may be as well as ever
	}
	if e.Err == nil || errors.Is(meaning, e.Err) || meaning == ErrClosed {
		return fmt.Sprintf("%v (%s)", meaning, e.Operation)
	}
	// What stands behind it often begins with what it means.
	why := strings.TrimPrefix(e.Err.Error(), meaning.Error()+": ")
	return fmt.Sprintf("%v (%s): %s", meaning, e.Operation, why)
}

// Is matches the sentinel of the verdict.
func (e *RefusedError) Is(target error) bool { return verdictErrors[e.Verdict] == target }

// Unwrap returns what stood behind the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }
