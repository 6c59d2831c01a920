package httpflow

import (
	"strconv"
	"strings"
)

// quality returns the weight that an Accept or Accept-Encoding value gives to
// something (RFC 9110 section 12.4.2), falling back to the wildcards in their
// order; -1 where nothing matches. A weight that cannot be read counts as 1.
func quality(accept, what string, wildcards ...string) float64 {
	best, rank := -1.0, len(wildcards)+1
	for item := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.Trim(name, " \t")
		at := len(wildcards) + 1
		if strings.EqualFold(name, what) {
			at = 0
		}
		for i, w := range wildcards {
			if at > i && strings.EqualFold(name, w) {
				at = i + 1
			}
		}
		if at < rank {
			best, rank = weight(params), at
		}
	}
	return best
}

func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		if name, value, _ := strings.Cut(param, "="); strings.EqualFold(strings.Trim(name, " \t"), "q") {
			if q, err := strconv.ParseFloat(strings.Trim(value, " \t"), 64); err == nil && q >= 0 && q <= 1 {
				return q
			}
		}
	}
	return 1
}

// prefersHTML says that a person's browser is waiting for a page. Scripts ask
// for JSON or for anything; browsers name text/html.
func prefersHTML(r Request) bool {
	accept := strings.Join(r.Header("Accept"), ",")
	html := quality(accept, "text/html")
	return html > 0 && html >= quality(accept, "application/problem+json") && html >= quality(accept, "application/json")
}
