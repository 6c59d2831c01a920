package main

// word is a verdict as the shop says it.
type word struct {
	Verdict string // the protocol's word, "" where there was none
	Short   string // what a person calls it
	Says    string // one sentence
	Tone    string // of its label: good, calm, warn or bad
}

// words has a sentence for every verdict of the protocol (design: PROTOCOL
// section 4), written for somebody who wants to know whether tea is coming.
var words = map[string]word{
	"executed":    {"executed", "order placed", "The order was placed now, by this very request.", "good"},
	"replayed":    {"replayed", "same answer again", "This form had been processed already: the kept answer was sent again and nothing ran.", "calm"},
	"released":    {"released", "refused, no harm", "The shop refused it without doing anything. Correct the form and send it again: it is still good.", "calm"},
	"in-flight":   {"in-flight", "still running", "The same form is being processed at this moment. Nothing ran a second time; ask again shortly.", "warn"},
	"uncertain":   {"uncertain", "held", "A server died between the point of no return and its report. Nobody can know from here whether the order was written, so it is held and will not be run again.", "warn"},
	"used":        {"used", "already done", "This form had been processed already; only its answer was not kept.", "calm"},
	"conflict":    {"conflict", "not the same order", "This form has been sent before with other contents. What it ordered then stands; the change was not taken in.", "warn"},
	"dead":        {"dead", "form expired", "The form expired without ever ordering anything, and is buried now: it can never order. A new form is safe.", "warn"},
	"forgotten":   {"forgotten", "too old to tell", "The form is older than what is remembered about it. Look at your orders, then decide on a new form.", "warn"},
	"missing":     {"missing", "no token", "The form came without its token, so nothing was run.", "bad"},
	"malformed":   {"malformed", "unreadable", "The form or its token cannot be read, so nothing was run.", "bad"},
	"foreign":     {"foreign", "not your form", "The token does not belong to this visitor and this cart, so nothing was run. Load the page again.", "bad"},
	"unavailable": {"unavailable", "try again", "The store of records did not answer, so nothing was run. Sending the same form again is safe.", "warn"},
	"unprotected": {"unprotected", "ran unprotected", "It ran, but no record protects it against being sent again.", "bad"},
	"unguarded":   {"unguarded", "not guarded", "A token came with a request that is not guarded.", "calm"},
}

// Those that are no verdicts: what the wire did, and a shop without a guard.
var (
	lostWord      = word{"lost", "no answer", "The connection ended without an answer. The browser cannot know whether the order was placed.", "bad"}
	busyWord      = word{"busy", "answered in front", "A busy proxy answered in the shop's place. The shop was never asked, but the browser cannot know that.", "warn"}
	killedWord    = word{"killed", "server killed", "A second server took this form and was killed in the middle of it.", "bad"}
	unguardedWord = word{"", "no verdict", "Nothing stood in front of the order handler: whatever arrived, ran.", "bad"}
)

// wordOf returns the shop's word for a verdict.
func wordOf(verdict string) word {
	if w, ok := words[verdict]; ok {
		return w
	}
	for _, w := range []word{lostWord, busyWord, killedWord} {
		if w.Verdict == verdict {
			return w
		}
	}
	return unguardedWord
}
