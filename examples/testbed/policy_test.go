package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// policyFile writes a file of policies.
func policyFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "policies.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Policies come from a file, and change while the server runs.
func TestPoliciesComeFromAFileAndChangeWhileItRuns(t *testing.T) {
	file := policyFile(t, `[{"operation":"test:do:run","preset":"api","keyRequired":true,"on5xx":"keep","maxBody":"1KiB"}]`)
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			b := start(t, "-adapter", adapter, "-store", "memory", "-control", "-policy", file)
			b.want(400, "missing", "POST /do/a", `{}`)
			b.want(503, "executed", "POST /do/a", `{}`, "Idempotency-Key: a", "Do-Status: 503")
			b.want(413, "malformed", "POST /do/a", `{"x":"`+strings.Repeat("x", 1024)+`"}`, "Idempotency-Key: b")
			b.want(201, "executed", "POST /key/a", `{}`, "Idempotency-Key: a") // the others stand as they were

			told := b.want(200, "", "POST /control/policy", `{"operation":"test:do:run","preset":"api","on5xx":"doubt","fingerprint":{"ignore":["/csrf"]}}`)
			for _, member := range []string{`"keyRequired":false`, `"on5xx":"doubt"`, `"maxBody":"1MiB"`, `"retention":"24h"`} {
				if !strings.Contains(told, member) {
					t.Errorf("the running policy was told as %s, want %s in it", told, member)
				}
			}
			b.want(201, "", "POST /do/a", `{}`)
			b.want(503, "replayed", "POST /do/a", `{}`, "Idempotency-Key: a") // kept under the policy of the file
			b.want(503, "uncertain", "POST /do/c", `{}`, "Idempotency-Key: c", "Do-Status: 503")
			b.want(201, "executed", "POST /do/d", `{"csrf":1}`, "Idempotency-Key: d")
			b.want(201, "replayed", "POST /do/d", `{"csrf":2}`, "Idempotency-Key: d")

			for text, says := range map[string]string{
				`{"operation":"test:no:run","preset":"api"}`:                         "test:no:run",
				`{"operation":"test:do:run","lease":"1ms","onCrash":"pray"}`:         "onCrash",
				`{"operation":"test:do:run","leese":"30s"}`:                          "leese",
				`{"operation":"test:do:run","retention":"1h","tokenLife":"2h"`:       "JSON",
				`{"operation":"test:do:run","retention":"1h","tokenLife":"2h"}`:      "retention",
				`{"operation":"test:do:run","fingerprint":{"only":["/a"],"no":"x"}}`: "fingerprint",
			} {
				if answer := b.want(400, "", "POST /control/policy", text); !strings.Contains(answer, says) {
					t.Errorf("%s: %s, want an error that says %s", text, answer, says)
				}
			}
			b.want(503, "uncertain", "POST /do/e", `{}`, "Idempotency-Key: e", "Do-Status: 503") // nothing changed
			b.want(200, "", "POST /control/fault", `{"op":"load","mode":"refuse","times":-1}`)
			b.want(503, "", "POST /control/policy", `{"operation":"test:do:run","preset":"api","retention":"48h"}`)
		})
	}
}

// GET /runs counts by intent, also where no client sends a key.
func TestRunsAreCountedByKeysThatNobodySent(t *testing.T) {
	file := policyFile(t, `[{"operation":"test:do:run","preset":"api","key":["json:/orderId","path:*"]}]`)
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		b := start(t, "-adapter", adapter, "-store", "memory", "-policy", file)
		b.want(422, "released", "POST /do/a", `{"orderId":1}`, "Do-Status: 422", "Authorization: Bearer ann")
		b.want(201, "executed", "POST /do/a", `{"orderId":1}`, "Authorization: Bearer ann")
		b.want(201, "executed", "POST /do/a", `{"orderId":2}`, "Authorization: Bearer ann")
		b.want(201, "executed", "POST /do/b", `{}`, "Authorization: Bearer ann")
		var tally struct{ ByKey map[string]int }
		if err := json.Unmarshal([]byte(b.want(200, "", "GET /runs", "")), &tally); err != nil {
			t.Fatal(err)
		}
		var counts []int
		for key, n := range tally.ByKey {
			if counts = append(counts, n); !strings.HasPrefix(key, "ann|idem:test:do:run:") {
				t.Errorf("%s: runs are counted under %q", adapter, key)
			}
		}
		if slices.Sort(counts); !slices.Equal(counts, []int{1, 1, 2}) {
			t.Errorf("%s: %v, want three intents, one of which ran twice", adapter, tally.ByKey)
		}
	}
}

func TestAFileOfPoliciesThatCannotBeHonouredIsAnError(t *testing.T) {
	for text, says := range map[string]string{
		`[{"operation":"test:do:run","lease":"soon"},{"operation":"test:pay:run","onOutage":"pray"}]`: "lease",
		`[{"operation":"test:do:run","mode":"pray"}]`:                                                 "mode",
		`{"operation":"test:do:run"}`:                                                                 "array",
		`[{"operation":"test:no:run"}]`:                                                               "not served",
	} {
		out, err := command(t, "-store", "memory", "-policy", policyFile(t, text))
		if err == nil || !strings.Contains(out, says) || strings.Contains(out, "listening on") {
			t.Errorf("%s: %v, said %q, want an error that says %q", text, err, out, says)
		}
	}
}
