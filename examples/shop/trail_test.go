package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
)

// auditLine is one line of the shop's audit log.
type auditLine struct{ Msg, Change, Key, Scope, From, To, Owner, Verdict string }

func readAudit(t *testing.T, path string) (list []auditLine, text string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(raw)))
	for lines.Scan() {
		var one auditLine
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		list = append(list, one)
	}
	return list, string(raw)
}

// Given a shop with an audit log, when somebody orders and presses again and a
// server is killed in the middle of another order, then the log tells of each
// change of both records and by whom, and holds nothing raw; and the page shows
// the latest.
func TestTheShopKeepsAnAuditLog(t *testing.T) {
	for _, store := range []string{"memory", "miniredis"} {
		t.Run(store, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			d, _ := openTestDemo(t, "-store", store, "-audit", path)
			p := visit(t, d)
			_, form := p.load("/")
			p.press("/orders", form)
			p.press("/orders", form)
			if got := p.press("/trouble/crash-before", url.Values{}); got.status != 303 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			page, _ := p.visit(t.Context(), "/health", nil)
			if err := d.trail.log.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, text := readAudit(t, path)
			var told []string
			owners := map[string]bool{}
			for _, one := range list {
				told, owners[one.Owner] = append(told, one.Change+" "+one.From+" "+one.To), true
				if one.Key == "" || one.Scope == "" {
					t.Errorf("an event of no record: %+v", one)
				}
			}
			// A press that ran once and a repeat that changed nothing; then a claim that
			// a dead server left, taken over by another.
			want := []string{"claim absent processing", "complete processing succeeded", "claim absent processing", "retake processing processing", "complete processing succeeded"}
			if strings.Join(told, "\n") != strings.Join(want, "\n") {
				t.Errorf("the log tells %q, want %q", told, want)
			}
			if len(owners) != 3 {
				t.Errorf("%d owners, want 3: one a run", len(owners))
			}
			for _, raw := range []string{form.Get(idem.TokenField), p.cookies[visitorCookie], "Grace Test", form.Get("cart")} {
				if strings.Contains(text, raw) {
					t.Errorf("%q stands in the audit log", raw)
				}
			}
			for _, shown := range []string{"<td>retake</td>", path, list[0].Key} {
				if !strings.Contains(string(page.body), shown) {
					t.Errorf("/health does not show %q", shown)
				}
			}
		})
	}
}

func TestAnAuditLogThatCannotBeOpenedIsSaidAtOnce(t *testing.T) {
	opts, err := readOptions([]string{"-store", "memory", "-audit", filepath.Join(t.TempDir(), "no", "such", "folder")}, &buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDemo(t.Context(), opts, &buffer{}); err == nil || !strings.Contains(err.Error(), "open the audit log") {
		t.Errorf("opened: %v", err)
	}
}
