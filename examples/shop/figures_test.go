package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func scrape(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, res.StatusCode, err)
	}
	return string(text)
}

// notHere are metrics of which this shop has nothing to tell: its records are in no
// memory of its own, it observes nothing, loses no claim and resolves none. They are held by the
// tests of package telemetry.
var notHere = regexp.MustCompile(`^idem_(store_(memory|evictions)|observed|lease_(losses|renewals)|degrade_transitions|kept_body_skips|batch|reconciled)`)

var metricName = regexp.MustCompile(`\bidem_[a-z_]+_(?:total|seconds|bucket|sum|count|bytes)\b|\bidem_(?:records|degrade_status)\b`)

// The golden figures are those of the last five minutes, past their thresholds in
// words and in the chart's place, and exact where rounding would hide it.
func TestGoldenFiguresAreOfTheLastFiveMinutes(t *testing.T) {
	open := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(after time.Duration, m reading) reading { m.at = open.Add(after); return m }
	refusals := func(list ...reading) golden { return goldenFigures[1].by(list) }
	for name, row := range map[string]struct {
		is                  golden
		value, says, points string
	}{
		"nothing happened":        {refusals(at(0, reading{})), "–", "nothing yet", ""},
		"since the shop opened":   {refusals(at(time.Minute, reading{requests: 100, refused: 10})), "10.0 %", "over the line", "240,30"},
		"a trouble that is over":  {refusals(at(0, reading{requests: 100, refused: 50}), at(6*time.Minute, reading{requests: 200, refused: 50})), "0.0 %", "good", "96,0 240,60"},
		"nothing in five minutes": {refusals(at(0, reading{requests: 100, refused: 50}), at(6*time.Minute, reading{requests: 100, refused: 50})), "–", "nothing lately", "96,0"},
		"a hair over the line":    {refusals(at(0, reading{requests: 10_000, refused: 504})), "5.04 %", "over the line", "240,45"},
		"a hair under it":         {goldenFigures[0].by([]reading{at(0, reading{issued: 10_000, refusedTokens: 53})}), "99.47 %", "under the line", "240,6"},
	} {
		if row.is.Value != row.value || row.is.Says != row.says || row.is.Points != row.points || (row.is.Tone == "bad") != strings.HasSuffix(row.says, " line") {
			t.Errorf("%s: %+v, want %s, %s, %s", name, row.is, row.value, row.says, row.points)
		}
	}
}

// TestTheDashboardNamesMetricsThatExist asks a shop that has sold and been in
// trouble for its metrics, and looks for every one that the dashboard and the
// alert rules ask about.
func TestTheDashboardNamesMetricsThatExist(t *testing.T) {
	d, _ := openTestDemo(t)
	s := d.srv
	for _, name := range []string{"refused", "slow-shop", "changed-cart"} {
		tr, _ := troubleOf(name)
		s.shop.player.play(context.Background(), tr)
	}
	have := scrape(t, s.url+"/metrics")
	page := scrape(t, s.url+"/health")
	for _, want := range []string{"Issue success", "Refusal rate", "Token age", "Abnormal releases", "<circle cx=\""} {
		if !strings.Contains(page, want) {
			t.Errorf("/health does not show %q", want)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("/health needs a script")
	}
	raw, err := os.ReadFile("../../telemetry/dashboards/idem.json")
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
	rules, err := os.ReadFile("../../telemetry/alerts/idem.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	asked := metricName.FindAllString(string(rules), -1)
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			names := metricName.FindAllString(q.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s asks about none of our metrics: %s", p.Title, q.Expr)
			}
			asked = append(asked, names...)
		}
	}
	for _, name := range asked {
		if !strings.Contains(have, "\n"+name) && !strings.HasPrefix(have, name) && !notHere.MatchString(name) {
			t.Errorf("%s is asked about, and a shop does not have it", name)
		}
	}
	if len(asked) < 40 {
		t.Errorf("only %d metrics are asked about: the reading is broken", len(asked))
	}
}
