package main

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"time"
)

// The picture's measures, in its own units.
const (
	width     = 960
	labels    = 250 // where bars begin
	rowHeight = 24
	barHeight = 14
	gap       = 64 // between the two traces
)

// row is one span as it is drawn.
type row struct {
	span
	depth int
	y     int
}

// draw makes a picture of a pair: two traces on one scale of time, and the link.
func draw(p pair) []byte {
	begin, end := bounds(p)
	scale := float64(width-labels-30) / float64(max(end-begin, 1))
	var b bytes.Buffer
	y := 40
	top := rows(p.original, &y)
	below := y + gap - rowHeight
	y += gap
	bottom := rows(p.duplicate, &y)

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" role="img" aria-labelledby="t">`+"\n", width, y+30)
	fmt.Fprintf(&b, "<title id=\"t\">Two traces: the original request, and a duplicate whose %s span is linked to it</title>\n", html.EscapeString(p.from.Name))
	// A ground of its own: a viewer that goes by another scheme than the page around
	// the picture must not have light words on light paper.
	b.WriteString("<style>.b{fill:#fff}text{fill:#1f2328}.o{fill:#1a7f37}.d{fill:#0969da}.l{stroke:#bc4c00;fill:none;stroke-width:2}.h{font-weight:600}.t{fill:#bc4c00}@media(prefers-color-scheme:dark){.b{fill:#0d1117}text{fill:#e6edf3}.o{fill:#3fb950}.d{fill:#58a6ff}.t{fill:#ffa657}.l{stroke:#ffa657}}</style>\n")
	fmt.Fprintf(&b, `<rect class="b" width="%d" height="%d" rx="6"/>`+"\n", width, y+30)
	b.WriteString(`<marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="t" d="M0 0 10 5 0 10z"/></marker>` + "\n")
	fmt.Fprintf(&b, `<text class="h" x="10" y="22">the original, trace %.8s…</text>`+"\n", p.original.ID)
	bars(&b, top, "o", begin, scale)
	fmt.Fprintf(&b, `<text class="h" x="10" y="%d">the duplicate, trace %.8s…</text>`+"\n", below+12, p.duplicate.ID)
	bars(&b, bottom, "d", begin, scale)

	from, to := find(bottom, p.from.ID), find(top, p.to.ID)
	x1, x2 := labels+float64(from.Start-begin)*scale, labels+float64(to.Start-begin)*scale
	link := curve{{x1, float64(from.y + barHeight/2)}, {x1 - 60, float64(from.y - 40)}, {x2 - 40, float64(to.y + 60)}, {x2, float64(to.y + barHeight/2)}}
	fmt.Fprintf(&b, `<path class="l" d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" stroke-dasharray="5 3" marker-end="url(#a)"/><circle class="t" cx="%.1f" cy="%.1f" r="4"/>`+"\n",
		link[0].x, link[0].y, link[1].x, link[1].y, link[2].x, link[2].y, link[3].x, link[3].y, link[0].x, link[0].y)
	label := float64(below) - 20 // between the two traces, where nothing else is
	fmt.Fprintf(&b, `<text class="t" x="%.1f" y="%.1f">span link from %s to the request that ran</text>`+"\n", link.at(label)+12, label, html.EscapeString(p.from.Name))
	fmt.Fprintf(&b, "<text x=\"10\" y=\"%d\">%v from left to right; drawn from the answer of Jaeger's API</text>\n</svg>\n", y+18, (time.Duration(end-begin) * time.Microsecond).Round(time.Millisecond))
	return b.Bytes()
}

// curve is a cubic one, by its four points.
type curve [4]struct{ x, y float64 }

// at is where the curve, which rises all the way, is at that height.
func (c curve) at(y float64) (x float64) {
	for t := 0.0; t <= 1; t += 0.01 {
		s := 1 - t
		by := func(a, b, c, d float64) float64 { return s*s*s*a + 3*s*s*t*b + 3*s*t*t*c + t*t*t*d }
		x = by(c[0].x, c[1].x, c[2].x, c[3].x)
		if by(c[0].y, c[1].y, c[2].y, c[3].y) <= y {
			break
		}
	}
	return x
}

// bounds are the first and last moment of both.
func bounds(p pair) (begin, end int64) {
	begin = p.to.Start
	for _, t := range []trace{p.original, p.duplicate} {
		for _, s := range t.Spans {
			begin, end = min(begin, s.Start), max(end, s.Start+s.Duration)
		}
	}
	return begin, end
}

// rows lays a trace's spans below each other, children under their parents, in the
// order in which they began. y is where the next one stands.
func rows(t trace, y *int) (list []row) {
	spans := slices.Clone(t.Spans)
	slices.SortFunc(spans, func(a, b span) int { return int(a.Start - b.Start) })
	var under func(parent string, depth int)
	under = func(parent string, depth int) {
		for _, s := range spans {
			if s.parent() == parent {
				list = append(list, row{s, depth, *y})
				*y += rowHeight
				under(s.ID, depth+1)
			}
		}
	}
	under("", 0)
	return list
}

func bars(b *bytes.Buffer, list []row, class string, begin int64, scale float64) {
	for _, r := range list {
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"/>`+"\n",
			10+14*r.depth, r.y+barHeight-2, html.EscapeString(r.Name), class, labels+float64(r.Start-begin)*scale, r.y, max(2, float64(r.Duration)*scale), barHeight)
	}
}

func find(list []row, id string) row {
	return list[max(0, slices.IndexFunc(list, func(r row) bool { return r.ID == id }))]
}
