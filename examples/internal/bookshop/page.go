package bookshop

import (
	_ "embed"
	"html/template"
	"io"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/frontend"
)

// Assets is where the page expects frontend.Handler.
const Assets = "/assets/"

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(frontend.Funcs(Assets)).Parse(pageText))

// Page is what the page shows.
type Page struct {
	Framework string
	Token     idem.Token // a hidden field of the form
	Item      string     // as it was typed
	Refused   error      // why the form comes back
	ByScript  bool       // idem.js sends the form and tries again by itself; otherwise the browser sends it
	Orders    []Order
}

// Field is the hidden field with the token.
func (p Page) Field() template.HTML { return httpflow.Input(p.Token) }

// Write writes the page as HTML. It must be answered with Cache-Control:
// no-store, or a browser puts an old token back.
func (p Page) Write(w io.Writer) error { return page.Execute(w, p) }

// Token reads the token that a form came with, for the form that is shown again.
func Token(field string) idem.Token {
	token, _ := idem.ParseToken(field) // the guard has let it through
	return token
}
