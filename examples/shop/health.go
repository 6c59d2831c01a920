package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/go-idem/idem/audit"
)

//go:embed health.html
var healthText string

var healthLayout = template.Must(template.New("health").Funcs(template.FuncMap{"clock": clock, "word": wordOf}).Parse(healthText))

// health is what the page is filled with.
type health struct {
	Figures []golden
	Changes []audit.Event // the newest first
	Audited string        // the file to which all are written, "" if none
}

// golden is one of the four golden figures of token systems, against its
// threshold. Those of the alert rules (telemetry/alerts) are the same.
type golden struct {
	Name, Means, Value, Threshold string
	Any, Good                     bool   // there is a value; it is on the right side
	Points                        string // of the chart's line, in a box of 240 by 60
	Limit, Last                   int    // the heights of the threshold's line in it, and of the newest point
}

// figure is how a golden figure is made.
type figure struct {
	name, means string
	threshold   float64
	atLeast     bool // good is at or above the threshold; else at or below
	top         float64
	of          func(reading) (float64, bool) // false: nothing happened yet
	words       func(float64) string
}

func share(part, of float64) (float64, bool) {
	if of == 0 {
		return 0, false
	}
	return part / of, true
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

var goldenFigures = []figure{
	{"Issue success", "Of the tokens asked for, how many were issued.", 0.995, true, 1,
		func(m reading) (float64, bool) { return share(m.issued-m.refusedTokens, m.issued) }, percent},
	{"Refusal rate", "Of the judged requests, how many were turned away.", 0.05, false, 0.2,
		func(m reading) (float64, bool) { return share(m.refused, m.requests) }, percent},
	{"Token age", "How old tokens are on average when they are used.", 180, false, 300,
		func(m reading) (float64, bool) { return share(m.ages, m.aged) }, func(v float64) string { return fmt.Sprintf("%.0f s", v) }},
	{"Abnormal releases", "Of the runs, how many failed and were released: not by a refusal of the form.", 0.01, false, 0.05,
		func(m reading) (float64, bool) { return share(m.abnormal, m.runs) }, percent},
}

// goldens are the figures of a list of moments, the newest last.
func goldens(list []reading) []golden {
	out := make([]golden, 0, len(goldenFigures))
	for _, f := range goldenFigures {
		g := golden{Name: f.name, Means: f.means, Value: "–", Limit: height(f.threshold, f.top)}
		if g.Threshold = "at most " + f.words(f.threshold); f.atLeast {
			g.Threshold = "at least " + f.words(f.threshold)
		}
		var points []string
		for i, m := range list {
			v, any := f.of(m)
			if !any {
				continue
			}
			x := 240
			if len(list) > 1 {
				x = 240 * i / (len(list) - 1)
			}
			g.Last = height(v, f.top)
			points = append(points, fmt.Sprintf("%d,%d", x, g.Last))
			g.Any, g.Value, g.Good = true, f.words(v), v <= f.threshold
			if f.atLeast {
				g.Good = v >= f.threshold
			}
		}
		g.Points = strings.Join(points, " ")
		out = append(out, g)
	}
	return out
}

// height is where a value stands in a chart of 60, counted from above.
func height(v, top float64) int { return 60 - int(60*min(max(v/top, 0), 1)) }

// showHealth shows the four golden figures. It needs no script.
func (s *shop) showHealth(*request) reply {
	var page bytes.Buffer
	if err := healthLayout.Execute(&page, health{goldens(s.figures.moments()), s.trail.newest(), s.trail.path()}); err != nil {
		return plain(http.StatusInternalServerError, "the page cannot be shown")
	}
	return reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: page.Bytes()}
}
