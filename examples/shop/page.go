package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/frontend"
)

//go:embed page.html
var pageText string

//go:embed shop.css
var style []byte

// layout is the shop's one page.
var layout = template.Must(template.New("page").Funcs(template.FuncMap{
	"euros":  euros,
	"clock":  clock,
	"until":  func(t time.Time) string { return t.Local().Format("15:04") },
	"took":   took,
	"word":   wordOf,
	"orders": orders,
	"status": func(code int) string { return strings.TrimSpace(http.StatusText(code)) },
	"idem":   func() template.HTML { return frontend.Tag(assetsPath) },
}).Parse(pageText))

// view is what a page shows besides the shop itself.
type view struct {
	typed  *orderForm   // a refused form; nil shows the visitor's own
	placed *placedOrder // the order this page is about
	played *played      // the trouble this page is about
}

// pageData is what page.html is filled with.
type pageData struct {
	Guarded         bool
	Script          bool   // the page loads idem.js; else it has no script at all
	User            string // a hash of the visitor, for idem.js
	Adapter, Store  string
	Cart, Token     string
	FormHash        string
	FormUntil       time.Time
	FormState       string // "fresh", "done", "refused", "running", "held" or "gone"
	Form            orderForm
	Refused, IsSlow bool
	Pace            time.Duration
	Placed          *placedOrder
	Played          *played
	PlayedOrders    []orderRow
	Groups          []troubleGroup
	SceneGroup      string
	Scenes          []scene // that only a page can play
	Orders          []orderRow
	OrderCount      int
	Log             []logRow
}

type troubleGroup struct {
	Title    string
	Note     string
	Troubles []trouble
}

type orderRow struct {
	placedOrder
	From  string
	Yours bool
	Fresh bool // it came of the trouble on this page
}

type logRow struct {
	logLine
	From  string
	Yours bool
}

// The page shows the latest of each.
const (
	ordersShown = 12
	logShown    = 15
)

// render fills in the page.
func (s *shop) render(status int, r *request, form shown, v view) reply {
	data := pageData{
		Guarded: s.guarded, Script: hasScript(r), User: form.visitor.hash(), Adapter: adapterWords[s.adapter], Store: s.store,
		Cart: form.form.cart, Token: form.form.token.Reveal(), FormState: stateWords(form.state), FormUntil: form.form.token.ExpiresAt(),
		IsSlow: r.cookie(paceCookie) == "slow", Pace: slowPace, Placed: v.placed, Played: v.played, Groups: groups(),
		SceneGroup: sceneGroup, Scenes: pageOnly(),
	}
	data.FormHash = s.formHash(form.visitor, data.Token)
	rows, err := s.table.all()
	if err != nil {
		return plain(http.StatusInternalServerError, "the order table cannot be read")
	}
	you := form.visitor.hash()
	switch before, found, _ := s.table.ofCart(you, form.form.cart); {
	case v.typed != nil:
		data.Form, data.Refused = *v.typed, true
	case found:
		data.Form = formOfOrder(before)
	default:
		data.Form = emptyForm()
	}
	s.fillOrders(&data, rows, you, v.played)
	data.Log = s.latestLog(you)
	var page bytes.Buffer
	if err := layout.Execute(&page, data); err != nil {
		return plain(http.StatusInternalServerError, "the page cannot be shown")
	}
	return reply{status: status, kind: "text/html; charset=utf-8", body: page.Bytes(), cookies: form.cookies, scripts: data.Script}
}

// latestLog lists the newest requests first.
func (s *shop) latestLog(you string) (rows []logRow) {
	if s.player == nil {
		return nil
	}
	for _, line := range s.log.latest(logShown) {
		from, yours := s.whose(line.Owner, "", you)
		rows = append(rows, logRow{logLine: line, From: from, Yours: yours})
	}
	return rows
}

// fillOrders lists the newest orders first.
func (s *shop) fillOrders(data *pageData, rows []placedOrder, you string, shown *played) {
	data.OrderCount = len(rows)
	for i := len(rows) - 1; i >= 0; i-- {
		row := orderRow{placedOrder: rows[i]}
		row.From, row.Yours = s.whose(row.Owner, row.Cart, you)
		row.Fresh = shown != nil && row.Owner == shown.Owner
		if row.Fresh && len(data.PlayedOrders) < ordersShown {
			data.PlayedOrders = append(data.PlayedOrders, row)
		}
		if len(data.Orders) < ordersShown {
			data.Orders = append(data.Orders, row)
		}
	}
}

// whose says who somebody is to the one who looks at the page: the visitor of a
// trouble that was played, or whoever filled this cart.
func (s *shop) whose(owner, cart, you string) (name string, yours bool) {
	if owner == you {
		if show := s.shows.ofCart(cart); show != nil {
			return "you: " + show.scene.Title, true
		}
		return "you", true
	}
	if s.player != nil {
		if name := s.player.nameOf(owner); name != "" {
			return name, false
		}
	}
	return "another visitor", false
}

// took says how long something took.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// groups sorts the troubles under their headings.
func groups() []troubleGroup {
	var list []troubleGroup
	for _, t := range troubles {
		if len(list) == 0 || list[len(list)-1].Title != t.Group {
			list = append(list, troubleGroup{Title: t.Group, Note: groupNotes[t.Group]})
		}
		last := &list[len(list)-1]
		last.Troubles = append(last.Troubles, t)
	}
	return list
}

// stateWords says what became of a form, as the page distinguishes it.
func stateWords(s idem.State) string {
	switch s {
	case idem.StateAbsent:
		return "fresh"
	case idem.StateSucceeded:
		return "done"
	case idem.StateReleased:
		return "refused"
	case idem.StateProcessing:
		return "running"
	case idem.StateUncertain:
		return "held"
	}
	return "gone"
}

// adapterWords are the frameworks' own names.
var adapterWords = map[string]string{"stdhttp": "net/http", "echo": "Echo", "fiber": "Fiber"}
