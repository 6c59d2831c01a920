package main

import (
	"embed"
	"net/http"
	"time"
)

// The page's scripts. idem.js itself comes out of package frontend.
//
//go:embed js
var scripts embed.FS

const (
	assetsPath = "/assets/"            // where frontend.Handler stands
	tokensPath = "/idempotency/tokens" // where idem.js asks for tokens
)

// scriptCookie is "off" for a visitor who wants the page without scripts.
const scriptCookie = "shop-script"

func hasScript(r *request) bool { return r.cookie(scriptCookie) != "off" }

// setScript turns the page's scripts off and on. Without them nothing is lost
// but the plays in the page: tokens are rendered by the server all the same.
func (s *shop) setScript(r *request) reply {
	if r.form.Get("script") == "off" {
		return seeOther("/", shopCookie(scriptCookie, "off"))
	}
	return seeOther("/", forget(scriptCookie))
}

// showScript serves one of the page's scripts.
func showScript(r *request) reply {
	text, err := scripts.ReadFile("js/" + r.param)
	if err != nil {
		return plain(http.StatusNotFound, "there is no such script")
	}
	return reply{status: http.StatusOK, kind: "text/javascript; charset=utf-8", body: text}
}

// toldTables are the page's tables for a script that keeps them up to date: what
// the template writes, cell by cell.
type toldTables struct {
	Count  int         `json:"count"`
	Orders []toldOrder `json:"orders"`
	Log    []toldLog   `json:"log"`
}

type toldOrder struct {
	Number int    `json:"number"`
	At     string `json:"at"`
	Lines  string `json:"lines"`
	Total  string `json:"total"`
	Name   string `json:"name"`
	By     string `json:"by"`
	Yours  bool   `json:"yours"`
	Server string `json:"server"`
}

type toldLog struct {
	At     string `json:"at"`
	By     string `json:"by"`
	Yours  bool   `json:"yours"`
	Form   string `json:"form"`
	Word   string `json:"word"`
	Tone   string `json:"tone"`
	Says   string `json:"says"`
	Status int    `json:"status"`
	Took   string `json:"took"`
}

// tellTables tells the order table and the log as they are now.
func (s *shop) tellTables(r *request) reply {
	you := visitorFrom(r.header("Cookie")).hash()
	rows, err := s.table.all()
	if err != nil {
		return plain(http.StatusInternalServerError, "the order table cannot be read")
	}
	var data pageData
	s.fillOrders(&data, rows, you, nil)
	told := toldTables{Count: data.OrderCount, Orders: []toldOrder{}, Log: []toldLog{}}
	for _, o := range data.Orders {
		told.Orders = append(told.Orders, toldOrder{
			Number: o.Number, At: clock(o.At), Lines: o.Lines, Total: euros(o.Cents), Name: o.Name, By: o.From, Yours: o.Yours, Server: o.Server,
		})
	}
	for _, line := range s.latestLog(you) {
		w := wordOf(line.Verdict)
		word := line.Verdict
		if word == "" {
			word = w.Short
		}
		told.Log = append(told.Log, toldLog{
			At: clock(line.At), By: line.From, Yours: line.Yours, Form: line.Form, Word: word, Tone: w.Tone, Says: w.Says, Status: line.Status, Took: took(line.Took),
		})
	}
	return tell(http.StatusOK, told)
}

// clock is the time of day as the page shows it.
func clock(t time.Time) string { return t.Local().Format("15:04:05") }
