package idem

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// A script is what happens to three processes over one store: requests, their
// endings, time, crashes, changes of policy, and what becomes of store calls. It
// is drawn by rapid, played in a bubble (script_play_test.go), held against the
// invariants after every step (script_ledger_test.go), and made as short as it
// can be where one is broken.
type script []scriptStep

// scriptStep is one line. Which of its fields count depends on what it does; one
// that makes no sense where it stands (a claim that is not there) does nothing,
// so that a script stays one whatever is cut out of it.
type scriptStep struct {
	do     string
	who    int           // the process, 0 to 2
	key    int           // the intent: scriptKeys
	which  int           // of the claims that run, counted round
	span   time.Duration // that passes, or that a call is late or slow
	call   string        // the step of the store calls that are disturbed, "" for any
	how    string        // what becomes of them
	times  int
	policy scriptPolicy
}

// scriptPolicy is what a script changes of a policy.
type scriptPolicy struct{ retake, open bool }

const scriptProcesses = 3

// scriptKeys are what is asked for: two client's keys, a token that expires while
// the script runs, and one that has expired before.
var scriptKeys = []string{"key A", "key B", "token", "old token"}

var scriptEndings = []string{"complete", "fail", "release", "doubt", "end"}

// String is the step for people.
func (s scriptStep) String() string {
	switch s.do {
	case "claim", "claim another request", "force", "discard":
		return fmt.Sprintf("process %d: %s %s", s.who, s.do, scriptKeys[s.key])
	case "pass":
		return fmt.Sprintf("%v pass", s.span)
	case "crash":
		return fmt.Sprintf("process %d: crash, and start anew", s.who)
	case "disturb":
		calls := s.call
		if calls == "" {
			calls = "store"
		}
		return fmt.Sprintf("process %d: the next %d %s calls are %s (%v)", s.who, s.times, calls, s.how, s.span)
	case "policy":
		return fmt.Sprintf("policy: retake %v, open %v", s.policy.retake, s.policy.open)
	}
	return fmt.Sprintf("%s claim %d", s.do, s.which)
}

// String is the script for people, a line for each step.
func (s script) String() string {
	var b strings.Builder
	for i, step := range s {
		fmt.Fprintf(&b, "\n%3d  %s", i+1, step)
	}
	return b.String()
}

// scripts draws them. Claims, time and trouble are the most likely, because the
// rest is about them. A slice of rapid's that may be short mostly is, so long ones
// are drawn, of steps that may be nothing: these are left out, and the search for
// the shortest script that goes wrong makes as many of them as it can.
var scripts = rapid.Map(rapid.SliceOfN(rapid.Custom(drawStep), 30, 60), func(drawn []scriptStep) script {
	return slices.DeleteFunc(slices.Clone(drawn), func(s scriptStep) bool { return s.do == "" })
})

func drawStep(t *rapid.T) scriptStep {
	s := scriptStep{do: rapid.SampledFrom([]string{
		"", "claim", "claim", "claim", "claim", "pass", "pass", "pass", "disturb", "disturb", "disturb", "ending", "ending",
		"mark", "force", "claim another request", "discard", "crash", "policy",
	}).Draw(t, "do")}
	process := rapid.IntRange(0, scriptProcesses-1)
	switch s.do {
	case "claim", "claim another request", "force", "discard":
		s.who, s.key = process.Draw(t, "who"), rapid.IntRange(0, len(scriptKeys)-1).Draw(t, "key")
	case "pass":
		s.span = milliseconds(t, 10, 100, 400, 700, 1000, 1500, 3000, 9000)
	case "ending":
		s.do, s.which = rapid.SampledFrom(scriptEndings).Draw(t, "how"), rapid.IntRange(0, 4).Draw(t, "which")
	case "mark":
		s.which = rapid.IntRange(0, 4).Draw(t, "which")
	case "crash":
		s.who = process.Draw(t, "who")
	case "policy":
		s.policy = scriptPolicy{rapid.Bool().Draw(t, "retake"), rapid.Bool().Draw(t, "open")}
	case "disturb":
		s.who, s.times = process.Draw(t, "who"), rapid.SampledFrom([]int{1, 2, 3, 3, 6, 20}).Draw(t, "times")
		s.call = rapid.SampledFrom([]string{"claim", "claim", "renew", "renew", "settle", "settle", "bury", "load", ""}).Draw(t, "call")
		s.how = rapid.SampledFrom([]string{"refused", "applied without a reply", "late", "slow"}).Draw(t, "how")
		switch s.how {
		case "late":
			s.span = milliseconds(t, 5, 200, 1000, 3000)
		case "slow":
			s.span = milliseconds(t, 2, 8, 9, 200)
		}
	}
	return s
}

func milliseconds(t *rapid.T, ms ...int) time.Duration {
	return time.Duration(rapid.SampledFrom(ms).Draw(t, "ms")) * time.Millisecond
}

// fault is what a disturbed call meets.
func (s scriptStep) fault() fault {
	switch s.how {
	case "refused":
		return fault{refuse: true}
	case "applied without a reply":
		return fault{loseReply: true}
	case "late":
		return fault{late: s.span}
	}
	return fault{slow: s.span}
}
