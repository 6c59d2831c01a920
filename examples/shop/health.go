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
	Says, Tone                    string // of the value and the threshold: good, bad or idle
	Points                        string // of the chart's line, in a box of 240 by 60
	X, Y                          int    // of the newest of them
	Limit                         int    // the height of the threshold's line
	Line                          string // what that line is at
	LineAt                        int    // and where that stands
}

// figure is how a golden figure is made. Its chart goes from bottom to top, so
// that what is on the wrong side of the threshold can be seen to be.
type figure struct {
	name, means string
	threshold   float64
	atLeast     bool // good is at or above the threshold; else at or below
	bottom, top float64
	of          func(reading) (float64, bool) // false: nothing happened
	words       func(v float64, digits int) string
}

func share(part, of float64) (float64, bool) {
	if of <= 0 {
		return 0, false
	}
	return part / of, true
}

func percent(v float64, digits int) string { return fmt.Sprintf("%.*f %%", digits+1, 100*v) }

func seconds(v float64, digits int) string { return fmt.Sprintf("%.*f s", digits, v) }

var goldenFigures = []figure{
	{"Issue success", "Of the tokens asked for, how many were issued.", 0.995, true, 0.95, 1,
		func(m reading) (float64, bool) { return share(m.issued-m.refusedTokens, m.issued) }, percent},
	{"Refusal rate", "Of the judged requests, how many were turned away.", 0.05, false, 0, 0.2,
		func(m reading) (float64, bool) { return share(m.refused, m.requests) }, percent},
	{"Token age", "How old tokens are on average when they are used.", 180, false, 0, 300,
		func(m reading) (float64, bool) { return share(m.ages, m.aged) }, seconds},
	{"Abnormal releases", "Of the runs, how many failed and were released, not by a refusal of the form.", 0.01, false, 0, 0.05,
		func(m reading) (float64, bool) { return share(m.abnormal, m.runs) }, percent},
}

// goldens are the figures by a list of readings, the newest last.
func goldens(list []reading) []golden {
	out := make([]golden, 0, len(goldenFigures))
	for _, f := range goldenFigures {
		out = append(out, f.by(list))
	}
	return out
}

// by makes the figure. A moment at which nothing had happened for so long has none.
func (f *figure) by(list []reading) golden {
	g := golden{Name: f.name, Means: f.means, Value: "–", Says: "nothing yet", Tone: "idle", Limit: f.height(f.threshold), Line: f.words(f.threshold, 0)}
	g.Threshold, g.LineAt = "at most "+g.Line, g.Limit-4
	if f.atLeast {
		g.Threshold = "at least " + g.Line
	}
	if g.LineAt < 10 {
		g.LineAt = g.Limit + 12
	}
	var points []string
	var was reading // the newest that is five minutes older, none before the shop opened
	older := 0
	for i, m := range list {
		for ; older < i && m.at.Sub(list[older].at) >= figuresOf; older++ {
			was = list[older]
		}
		ago := list[len(list)-1].at.Sub(m.at)
		v, any := f.of(m.since(was))
		if !any {
			if g.Tone != "idle" {
				g.Value, g.Says, g.Tone = "–", "nothing lately", "idle"
			}
			continue
		}
		g.Value, g.Says, g.Tone = f.says(v)
		if ago <= chartOf {
			g.X, g.Y = 240-int(240*ago/chartOf), f.height(v)
			points = append(points, fmt.Sprintf("%d,%d", g.X, g.Y))
		}
	}
	g.Points = strings.Join(points, " ")
	return g
}

// says puts a value into words: as exactly as it takes to tell it from a threshold
// that it is past.
func (f *figure) says(v float64) (value, says, tone string) {
	value = f.words(v, 0)
	switch {
	case f.atLeast && v < f.threshold:
		says = "under the line"
	case !f.atLeast && v > f.threshold:
		says = "over the line"
	default:
		return value, "good", "good"
	}
	for digits := 1; digits < 4 && value == f.words(f.threshold, digits-1); digits++ {
		value = f.words(v, digits)
	}
	return value, says, "bad"
}

// height is where a value stands in a chart of 60, counted from above.
func (f *figure) height(v float64) int {
	return 60 - int(60*min(max((v-f.bottom)/(f.top-f.bottom), 0), 1)+0.5)
}

// showHealth shows the four golden figures. It needs no script.
func (s *shop) showHealth(*request) reply {
	var page bytes.Buffer
	if err := healthLayout.Execute(&page, health{goldens(s.figures.moments()), s.trail.newest(), s.trail.path()}); err != nil {
		return plain(http.StatusInternalServerError, "the page cannot be shown")
	}
	return reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: page.Bytes()}
}
