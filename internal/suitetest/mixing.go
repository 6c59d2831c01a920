package suitetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	idem "github.com/go-idem/idem/core"
)

// Asked is a request of [NothingMixes].
type Asked struct {
	Key  string // of Idempotency-Key; none is sent where it is empty
	Who  string // of X-Who
	Body string // JSON
}

// Answered is what came of it.
type Answered struct {
	Status  int
	Verdict string // of Idempotency-Status
	Who     string // of X-Answer, which the handler sets to X-Who
	Body    string // the request's, which the handler sends back
}

// MixingPolicy is the policy that [NothingMixes] wants its requests guarded by.
func MixingPolicy() idem.Policy {
	return idem.Policy{Operation: Operation, Preset: idem.API, OnDuplicate: idem.Wait}
}

const (
	mixers = 8
	mixes  = 150 // of each
	things = 40  // that are asked for
)

// NothingMixes sends first requests, repeats, and requests that are refused, all
// at once and of all lengths, through one guard: whatever is used again from one
// request to the next, each gets the answer to what it asked. client makes what
// one goroutine sends by; a framework's buffers should be used again there, too.
func NothingMixes(t *testing.T, client func() func(Asked) Answered) {
	t.Helper()
	var all sync.WaitGroup
	for n := range mixers {
		all.Go(func() {
			ask, random := client(), rand.New(rand.NewPCG(7, uint64(n)))
			for range mixes {
				if wrong := mix(ask, random); wrong != "" {
					t.Error(wrong)
					return
				}
			}
		})
	}
	all.Wait()
}

// mix sends one request and says what is wrong with its answer.
func mix(ask func(Asked) Answered, random *rand.Rand) string {
	thing := random.IntN(things)
	who := strings.Repeat(fmt.Sprintf("who-%d;", thing), 1+thing%9)
	a := Asked{Key: fmt.Sprintf("key-%d", thing), Who: who, Body: `{"thing":"` + strings.Repeat(fmt.Sprint(thing, ","), 1+7*thing) + `"}`}
	want := Answered{Status: 200, Who: a.Who, Body: a.Body}
	verdicts := []string{"executed", "replayed"}
	switch random.IntN(8) {
	case 0:
		a.Key, verdicts = "", []string{""}
	case 1:
		a.Key, want, verdicts = `"unclosed`, Answered{Status: 400}, []string{"malformed"}
	case 2: // it comes first now and then, and is what runs: then it is on its own key
		a.Key, a.Body = a.Key+"-other", fmt.Sprintf(`{"other":%d}`, random.IntN(3))
		want.Body, verdicts = a.Body, []string{"executed", "replayed", "conflict"}
	}
	got := ask(a)
	if got.Verdict == "conflict" {
		want = Answered{Status: 422}
	}
	if got.Status >= 400 { // a problem document, which holds nothing of the request
		if strings.Contains(got.Body, `"thing"`) || strings.Contains(got.Body, `"other"`) {
			return fmt.Sprintf("a refusal says %s", got.Body)
		}
		got.Body = ""
	}
	for _, v := range verdicts {
		if want.Verdict = v; got == want {
			return ""
		}
	}
	return fmt.Sprintf("asked %.60q as %.60q with %q, answered %d %q %.60q as %.60q", a.Body, a.Who, a.Key, got.Status, got.Verdict, got.Body, got.Who)
}
