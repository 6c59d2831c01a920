package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/redistest"
)

// What scripts outside of this repository rely on: every header, flag and
// endpoint that the program's comment names does something, in each framework.

// A header that the comment names and no test sends would be a promise only.
func TestEveryHeaderOfTheCommentIsPlayed(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	played := []string{"Do-Hang"} // below: it ends by MaxRun only
	for _, c := range obeyed {
		for _, line := range c.says {
			name, _, _ := strings.Cut(line, ":")
			played = append(played, name)
		}
	}
	named := regexp.MustCompile(`Do-[A-Z][a-z]+(-[A-Z][a-z]+)*`).FindAllString(string(text), -1)
	if len(named) < 17 {
		t.Fatalf("%d headers were read: %v", len(named), named)
	}
	for _, name := range named {
		if !slices.Contains(played, name) {
			t.Errorf("the comment names %s, and no test sends it", name)
		}
	}
}

// Do-Hang waits for the end of the handler's context, which is that of MaxRun:
// the client hears a 500, and whether it ran to its end nobody knows.
func TestAHandlerThatHangsEndsWithItsContext(t *testing.T) {
	file := policyFile(t, `[{"operation":"test:do:run","preset":"api","lease":"500ms","maxRun":"500ms"}]`)
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			b := start(t, "-adapter", adapter, "-policy", file)
			b.want(500, "uncertain", "POST /do/hang", `{}`, "Idempotency-Key: h", "Do-Hang: 1")
			b.want(409, "uncertain", "POST /do/hang", `{}`, "Idempotency-Key: h", "Do-Hang: 1")
		})
	}
}

// Each mode, at the steps that a client can see, for as many calls as were named.
func TestFaultsComeAsOrderedAndGo(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			b := start(t, "-adapter", adapter, "-store", "miniredis", "-call", patient, "-control")
			fault := func(order string) { b.want(200, "", "POST /control/fault", order) }
			for key, mode := range map[string]string{"a": "refuse", "b": "timeout", "c": "lost-reply"} {
				fault(`{"op":"claim","mode":"` + mode + `","times":-1,"delay":"20ms"}`)
				b.want(503, "unavailable", "POST /do/"+key, `{}`, "Idempotency-Key: "+key)
				fault(`{"op":"claim","times":0}`)
				b.want(201, "executed", "POST /do/"+key+"2", `{}`, "Idempotency-Key: "+key+"2")
			}
			// One call is asked again: a single fault is nobody's trouble.
			fault(`{"op":"claim","mode":"lost-reply","times":1}`)
			b.want(201, "executed", "POST /do/d", `{}`, "Idempotency-Key: d")
			fault(`{"op":"claim","mode":"slow","times":1,"delay":"50ms"}`)
			b.want(201, "executed", "POST /do/e", `{}`, "Idempotency-Key: e")
			fault(`{"op":"settle","mode":"refuse","times":-1}`)
			b.want(201, "executed", "POST /do/f", `{}`, "Idempotency-Key: f")
			b.want(201, "replayed", "POST /do/f", `{}`, "Idempotency-Key: f")
			fault(`{"op":"settle","times":0}`)
			for _, op := range []string{"renew", "bury", "load", "scan"} {
				fault(`{"op":"` + op + `","mode":"refuse","times":1}`)
				fault(`{"op":"` + op + `","times":0}`)
			}
			for _, wrong := range []string{`{"op":"claim","mode":"pray","times":1}`, `{"op":"claim","mode":"refuse","times":1,"delay":"soon"}`, `{"op":"claim","often":1}`, `{`} {
				b.want(400, "", "POST /control/fault", wrong)
			}
			b.want(400, "", "POST /control/expire", `{"advance":"-1s"}`)
		})
	}
}

// Endpoints that do not depend on what a request says.
func TestTheEndpointsAreThereAndControlOnlyIfAskedFor(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			b := start(t, "-adapter", adapter)
			for _, path := range []string{"fault", "policy", "expire"} {
				if status, _, _ := b.send("POST /control/"+path, `{}`); status != http.StatusNotFound {
					t.Errorf("/control/%s without -control: %d, want 404", path, status)
				}
			}
			if text := b.want(200, "", "GET /idempotency/policies.json", ""); !strings.Contains(text, `"test:pay:run"`) {
				t.Errorf("the rules in force: %.200s", text)
			}
			got := b.want(200, "", "POST /batch/a", `{"items":[{"key":"1"},{"key":"2","status":422}]}`)
			for _, item := range []string{`"verdict":"executed"`, `"verdict":"released"`} {
				if !strings.Contains(got, item) {
					t.Errorf("a batch was answered %s, want %s in it", got, item)
				}
			}
			b.want(404, "", "POST /idempotency/nothing", `{}`)
		})
	}
}

// -call is how long a call of the store may take, and by that how short a lease
// may be; -clock-offset changes nothing that the store's clock decides.
func TestCallAndClockOffsetAreHonoured(t *testing.T) {
	t.Parallel() // it waits, for longer than a lease
	file := policyFile(t, `[{"operation":"test:do:run","preset":"api","lease":"3s"}]`)
	b := start(t, "-store", "miniredis", "-call", "150ms", "-policy", file, "-clock-offset", "1h", "-control")
	b.want(201, "executed", "POST /do/a", `{}`, "Idempotency-Key: a", "Do-Delay: 4s")
	b.want(201, "replayed", "POST /do/a", `{}`, "Idempotency-Key: a", "Do-Delay: 4s")
	if text := b.want(200, "", "POST /idempotency/tokens", `{"operation":"test:form:run","context":"x"}`, "Authorization: Bearer ann"); !strings.Contains(text, `"expiresAt":"`+time.Now().UTC().Format("2006-01-02")) &&
		!strings.Contains(text, time.Now().Add(16*time.Minute).UTC().Format("2006-01-02")) {
		t.Errorf("a token's end was told by the host's clock, which is ahead: %s", text)
	}
	// The default of 250 ms allows no such lease.
	out, err := command(t, "-store", "miniredis", "-policy", file)
	if err == nil || !strings.Contains(out, "lease") {
		t.Errorf("a lease that the store cannot hold: %v, %q", err, out)
	}
}

// On a store whose time cannot be moved, that is said.
func TestTimeThatCannotBeMovedIsA409(t *testing.T) {
	b := start(t, "-store", "redis", "-redis", "redis://"+redistest.Server(t), "-call", patient, "-control")
	b.want(201, "executed", "POST /do/a", `{}`, "Idempotency-Key: "+t.Name()+time.Now().String())
	b.want(409, "", "POST /control/expire", `{"advance":"16m"}`)
}

// command runs the program to its end, which is expected at once.
func command(t *testing.T, flags ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, program, flags...).CombinedOutput()
	return string(text), err
}
