package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// bar is a row's µs of CPU.
type bar struct {
	name string
	cpu  float64
}

// bars are those of a part's rows that have any.
func (r result) bars() (list []bar) {
	for _, one := range r.rows {
		if v, ok := r.figures.median(one.name, cpu); ok {
			list = append(list, bar{one.name, v})
		}
	}
	return list
}

// chart draws the µs of CPU of every row as bars, each part to its own scale.
func chart(w io.Writer, measured []result) {
	const left, wide, line = 380, 380, 22
	height := 10
	for _, r := range measured {
		if n := len(r.bars()); n > 0 {
			height += line*(n+1) + line/2
		}
	}
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n<title>Microseconds of CPU a call</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", left+wide+80, height+10)
	y := 10
	for _, r := range measured {
		shown, most := r.bars(), 0.0
		if len(shown) == 0 {
			continue
		}
		for _, one := range shown {
			most = max(most, one.cpu)
		}
		y += line
		fmt.Fprintf(w, "<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s, µs of CPU a call</text>\n", y, text(r.title))
		for _, one := range shown {
			y += line
			fill := "#9aa5b1"
			if strings.Contains(one.name, "idem") {
				fill = "#1f6feb"
			}
			long := one.cpu / cmp.Or(most, 1) * wide
			fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" fill=\"%s\"/><text x=\"%.1f\" y=\"%d\">%.2f</text>\n",
				left-8, y, text(one.name), left, y-12, long, fill, left+long+5, y, one.cpu)
		}
		y += line / 2
	}
	fmt.Fprintln(w, "</svg>")
}

func text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
