package telemetry_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestTheAlertRules has promtool check the rules and play their unit tests, and
// looks that each has both: a test in which it fires and one in which it does not.
func TestTheAlertRules(t *testing.T) {
	rules, err := os.ReadFile("alerts/idem.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("alerts/idem_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	runbooks, err := os.ReadFile("../docs/runbooks/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := strings.Split(string(rules), "- alert: ")[1:]
	if len(alerts) < 16 {
		t.Errorf("%d alerts were found", len(alerts))
	}
	for _, alert := range alerts {
		name, _, _ := strings.Cut(alert, "\n")
		for _, part := range []string{"severity: ", "summary: ", "meaning: ", "first_step: ", "runbook_url: "} {
			if !strings.Contains(alert, part) {
				t.Errorf("%s has no %s", name, strings.TrimSpace(part))
			}
		}
		for _, played := range []string{" fires", " stays quiet"} {
			if !strings.Contains(string(tests), "name: "+name+played+"\n") {
				t.Errorf("no test in which %s%s", name, played)
			}
		}
		anchor := regexp.MustCompile(`runbook_url: \S+#(\S+)`).FindStringSubmatch(alert)
		if anchor == nil || !strings.Contains(strings.ToLower(string(runbooks)), "\n## "+anchor[1]+"\n") {
			t.Errorf("%s leads to no runbook", name)
		}
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on the PATH: the rules are not played (Debian: prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", "idem.rules.yml"}, {"test", "rules", "idem_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Dir = "alerts"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
