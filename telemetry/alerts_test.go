package telemetry_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	exprLine    = regexp.MustCompile(`expr: \|\n\s+(.*)\n`)
	askedMetric = regexp.MustCompile(`\bidem_[a-z_]+`)
	askedLabel  = regexp.MustCompile(`\b([a-z_]+)(?:=~|!=|=)"`)
	grouping    = regexp.MustCompile(`\b(?:by|on) \(([a-z_, ]+)\)`)
)

// seriesOf are the names under which Prometheus has the metrics of
// docs/reference/metrics.md, each with its labels.
func seriesOf(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.NewReplacer(".", "_").Replace
	names := map[string][]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		labels := []string{"instance"}
		for _, w := range regexp.MustCompile("`([a-z._]+)`").FindAllStringSubmatch(row[4], -1) {
			labels = append(labels, flat(w[1]))
		}
		name := flat(row[1]) + map[string]string{"s": "_seconds", "By": "_bytes"}[row[3]]
		switch row[2] {
		case "counter":
			names[name+"_total"] = labels
		case "histogram":
			names[name+"_sum"], names[name+"_count"], names[name+"_bucket"] = labels, labels, append(labels, "le")
		default:
			names[name] = labels
		}
	}
	return names
}

// Given every query of the alert rules and of the dashboard, then each asks about
// series that there are, by labels that these have; and what an alert is about is on
// the dashboard.
func TestQueriesAskForWhatIsMeasured(t *testing.T) {
	rules, err := os.ReadFile("alerts/idem.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("dashboards/idem.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	have, shown := seriesOf(t), map[string]bool{}
	check := func(where, expr string) (names []string) {
		var labels []string
		asked := expr
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) { // what is grouped by may be called like a metric
			asked = strings.Replace(asked, g[0], "", 1)
		}
		asked = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(asked, "")
		for _, name := range askedMetric.FindAllString(asked, -1) {
			if names = append(names, name); have[name] == nil {
				t.Errorf("%s asks about %s, which nobody measures", where, name)
			}
			labels = append(labels, have[name]...)
		}
		if len(names) == 0 {
			t.Errorf("%s asks about none of our metrics: %s", where, expr)
		}
		for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
			for _, label := range strings.Split(g[1], ", ") {
				if !slices.Contains(labels, label) {
					t.Errorf("%s groups by %s, which %v do not have", where, label, names)
				}
			}
		}
		for _, l := range askedLabel.FindAllStringSubmatch(expr, -1) {
			if !slices.Contains(labels, l[1]) {
				t.Errorf("%s selects by %s, which %v do not have", where, l[1], names)
			}
		}
		return names
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range check(p.Title, target.Expr) {
				shown[name] = true
			}
		}
	}
	exprs := exprLine.FindAllStringSubmatch(string(rules), -1)
	for _, e := range exprs {
		for _, name := range check("a rule", e[1]) {
			if !shown[name] {
				t.Errorf("a rule is about %s, which the dashboard does not show", name)
			}
		}
	}
	if len(exprs) < 16 || len(shown) < 30 {
		t.Errorf("%d rules, %d series on the dashboard: the reading is broken", len(exprs), len(shown))
	}
}

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
