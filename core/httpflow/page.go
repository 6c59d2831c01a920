package httpflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"

	idem "github.com/go-idem/idem/core"
)

// pages are the answers for browsers that sent a plain form and asked for HTML:
// one sentence for a person, and the verdict in small print for whoever helps.
// They need no script and nothing from elsewhere.
type pages struct {
	template *template.Template
	policy   string // Content-Security-Policy
}

const pageStyle = `body{font:1.125rem/1.6 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1.25rem;color:#1a1a1a;background:#fff}
h1{font-size:1.5rem;line-height:1.3}small{color:#595959}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}small{color:#a8a8a8}}`

const pageText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>` + pageStyle + `</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p>{{.Page}}</p>
<p><small>{{.Operation}}: <a href="{{.Docs}}">{{.Verdict}}</a> ({{.Status}})</small></p>
</main>
</body>
</html>
`

func newPages() *pages {
	style := sha256.Sum256([]byte(pageStyle))
	return &pages{
		template: template.Must(template.New("refusal").Parse(pageText)),
		policy:   "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) + "'; frame-ancestors 'none'",
	}
}

// reply is a refusal as a page.
func (pg *pages) reply(p *plan, v idem.Verdict, w words) *Reply {
	var body bytes.Buffer
	docs := p.flow.Docs + v.String()
	// The template and its data are ours: writing them to memory cannot fail.
	_ = pg.template.Execute(&body, map[string]any{
		"Title": w.title, "Page": w.page, "Status": w.status, "Operation": p.policy.Operation, "Verdict": v.String(), "Docs": docs,
	})
	return &Reply{Status: w.status, Body: body.Bytes(), Fields: []Field{
		{"Content-Type", "text/html; charset=utf-8"}, {"Cache-Control", "no-store"},
		{"Content-Security-Policy", pg.policy}, {"X-Content-Type-Options", "nosniff"},
		{"Link", "<" + docs + `>; rel="describedby"`}, {StatusHeader, v.String()},
	}}
}
