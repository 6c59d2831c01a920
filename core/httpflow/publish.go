package httpflow

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// published are the rules of a running server, as its clients read them. The
// draft of the header asks servers to publish theirs (its section on
// specifications); this page is made from the policies that are in force at the
// moment it is asked for, so it cannot be out of date.
type published struct {
	Profile     Profile        `json:"profile"`
	StrictKeys  bool           `json:"strictKeys"`
	Verdicts    []publishedFor `json:"verdicts"`
	NotReplayed []string       `json:"notReplayed"`
	Policies    []idem.Policy  `json:"policies"`
}

// publishedFor is what a client may do after a verdict.
type publishedFor struct {
	Verdict   string `json:"verdict"`
	Status    int    `json:"status,omitempty"` // none where it is the handler's own
	Retryable bool   `json:"retryable"`
	NewToken  bool   `json:"newToken"`
}

func (f *Flow) published() published {
	p := published{Profile: f.Profile, StrictKeys: f.StrictKeys, NotReplayed: notReplayed(), Policies: f.Guard.Policies()}
	for _, v := range idem.Verdicts() {
		one := publishedFor{Verdict: v.String(), Retryable: v.MayResend(), NewToken: v.MayTakeNewToken()}
		if w := refusals[v]; w.status != 0 {
			one.Status = f.Profile.status(v, w.status)
		}
		p.Verdicts = append(p.Verdicts, one)
	}
	return p
}

// policies answers …/policies: Markdown for people, JSON where that is asked
// for by Accept or by the ending .json.
func (f *Flow) policies(r Request, ending string) *Reply {
	accept := strings.Join(r.Header("Accept"), ",")
	asJSON := ending == "json" || ending == "" && quality(accept, "application/json") > quality(accept, "text/markdown", "text/*", "*/*")
	kind, body := "text/markdown; charset=utf-8", []byte(f.published().markdown())
	if asJSON {
		kind = "application/json"
		body, _ = json.MarshalIndent(f.published(), "", "  ") // plain data of ours: it cannot fail
		body = append(body, '\n')
	}
	return &Reply{Status: http.StatusOK, Body: body, Fields: []Field{
		{"Content-Type", kind}, {"Cache-Control", "no-cache"}, {"Vary", "Accept"},
	}}
}

func (p published) markdown() string {
	var b strings.Builder
	b.WriteString("# What is done twice here, and what is not\n\n")
	fmt.Fprintf(&b, "Status profile: %s. ", p.Profile)
	if p.StrictKeys {
		b.WriteString("A key is a quoted string of 1 to 255 printable ASCII characters.\n")
	} else {
		b.WriteString("A key has 1 to 255 printable ASCII characters, bare or quoted.\n")
	}
	for i := range p.Policies {
		writePolicy(&b, &p.Policies[i])
	}
	b.WriteString("\n## What an answer says\n\nEvery answer carries `Idempotency-Status` with one of these words.\n\n")
	b.WriteString("| word | status | may the same request be sent again? | may a program take a new token? |\n|---|---|---|---|\n")
	for _, v := range p.Verdicts {
		status := "the action's own"
		if v.Status != 0 {
			status = fmt.Sprint(v.Status)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Verdict, status, yesNo(v.Retryable), yesNo(v.NewToken))
	}
	fmt.Fprintf(&b, "\nOf a kept answer these are never sent again: `%s`.\n", strings.Join(p.NotReplayed, "`, `"))
	return b.String()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// writePolicy writes one operation's rules.
func writePolicy(b *strings.Builder, p *idem.Policy) {
	fmt.Fprintf(b, "\n## %s\n\n| question | answer |\n|---|---|\n", p.Operation)
	row := func(question, format string, args ...any) {
		fmt.Fprintf(b, "| %s | %s |\n", question, fmt.Sprintf(format, args...))
	}
	switch p.Mode {
	case idem.ModeObserve:
		row("in force", "not yet: nothing is refused or sent again, and a repeat runs (`unprotected`)")
	case idem.ModeOff:
		row("in force", "no: every request runs (`unguarded`)")
	}
	if p.Share < 1 {
		row("in force for", "a share of %v of the keys; the others are `unguarded`, and so is a request without a key", p.Share)
	}
	required := "required"
	if p.KeyRequired != idem.Yes {
		required = "optional"
	}
	row("key", "`%s` (%s)", strings.Join(p.Key, "`, then `"), required)
	row("methods", "%s", strings.Join(p.Methods, ", "))
	row("a repeat is recognised for", "%v", p.Retention)
	if p.UsesToken() {
		row("a token lives for", "%v", p.TokenLife)
	}
	if p.Context != "" {
		row("a token is bound to", "`%s`", p.Context)
	}
	row("a repeat is the same request if", "%s", sameIf(p.Fingerprint))
	switch p.OnDuplicate {
	case idem.Wait:
		row("while the first still runs", "wait for its answer, at most %v", p.Wait)
	default:
		row("while the first still runs", "`in-flight` (409)")
	}
	row("answers of 400, 401, 403, 408, 409, 413, 415, 422, 425, 428, 429", "%s", fate(p.On4xx))
	row("other answers of 4xx", "%s", fate(p.OnOther4xx))
	row("answers of 5xx", "%s", fate(p.On5xx))
	row("a run that was cut off", "%s", map[idem.Choice]string{
		idem.Hold: "`uncertain` until it is resolved", idem.Retake: "the next request runs it again",
	}[p.OnCrash])
	row("if the records are out of reach", "%s", map[idem.Choice]string{
		idem.Closed: "`unavailable` (503), nothing runs", idem.Open: "it runs, `unprotected`",
	}[p.OnOutage])
	if p.Atomic == idem.Yes {
		row("items sent together", "all of them run, or none does")
	}
	row("largest body", "%d bytes", p.MaxBody)
	row("largest answer that is kept", "%d bytes", p.MaxKeptBody)
	row("a run takes at most", "%v", p.MaxRun.Round(time.Millisecond))
}

// fate says what becomes of an answer that is no success.
func fate(c idem.Choice) string {
	switch c {
	case idem.Release:
		return "not kept: the same key may be used again, with another body too"
	case idem.Keep:
		return "kept and sent again"
	}
	return "not kept: `uncertain` until it is resolved"
}

func sameIf(c idem.FingerprintChoice) string {
	what := map[string]string{
		"": "method, path, query and content agree", idem.FingerprintCanonical: "method, path, query and content agree",
		idem.FingerprintNone: "it has the same key",
	}[c.Mode]
	if len(c.Only) > 0 {
		what += "; of the body only `" + strings.Join(c.Only, "`, `") + "`"
	}
	if len(c.Ignore) > 0 {
		what += "; without `" + strings.Join(c.Ignore, "`, `") + "`"
	}
	return what
}
