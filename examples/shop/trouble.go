package main

import (
	"fmt"
	"slices"
	"strings"
)

// trouble is something that goes wrong between a person and a shop, and what
// is promised to come of it.
type trouble struct {
	Name   string // in its address
	Title  string
	Group  string
	Story  string // one sentence: what will go wrong
	Button string
	Why    string // one sentence: why it comes out as it does

	Runs     int      // orders that must be in the table afterwards
	Verdicts []string // what must come back, in order
	Storm    int      // instead of Verdicts: so many at once, of which one runs
	play     func(*act) error
}

// Came says which answers are promised, in words.
func (t trouble) Came() string {
	if t.Storm > 0 {
		return fmt.Sprintf("1 × executed, %d × replayed or in-flight", t.Storm-1)
	}
	return strings.Join(t.Verdicts, ", ")
}

// ExpectedRuns says the whole promise in the words of the self-check.
func (t trouble) ExpectedRuns() string {
	runs := "1 run"
	if t.Runs != 1 {
		runs = fmt.Sprintf("%d runs", t.Runs)
	}
	return runs + ": " + t.Came()
}

// orders counts orders in words.
func orders(n int) string {
	if n == 1 {
		return "1 order"
	}
	return fmt.Sprintf("%d orders", n)
}

// The groups of troubles, in the order of the page.
const (
	groupWire    = "Clicks and connections"
	groupForm    = "Forms and carts"
	groupMachine = "Machines"
)

// groupNotes is what a reader has to know of a group.
var groupNotes = map[string]string{
	groupMachine: "This shop lets the next press take over from a dead server (onCrash: retake), which is right here because its handler marks the point of no return just before it writes the order: a run that died unmarked has written nothing, and one that died marked is held and never run again.",
}

// troubles lists every trouble of the page, and every row of -selfcheck.
var troubles = []trouble{
	{
		Name: "double-click", Title: "Double click", Group: groupWire, Button: "Click twice",
		Story: "You click twice: the browser drops the first connection while its order is being written, and sends the same form again.",
		Why:   "The first run is not stopped by a connection that closes. The second press waits for it and is given its answer.",
		Runs:  1, Verdicts: []string{"lost", "replayed"}, play: playDoubleClick,
	},
	{
		Name: "lost-answer", Title: "Answer lost", Group: groupWire, Button: "Lose the answer",
		Story: "Your order is written, but the connection breaks before the answer reaches you, so you press again.",
		Why:   "What happened was recorded before the answer left, so the second press finds it.",
		Runs:  1, Verdicts: []string{"lost", "replayed"}, play: playLostAnswer,
	},
	{
		Name: "slow-shop", Title: "Slow shop", Group: groupWire, Button: "Press while it runs",
		Story: "The shop takes its time, so you press again while the first press is still being worked on.",
		Why:   "A second press of a form that is running waits for the first, and both see the same order.",
		Runs:  1, Verdicts: []string{"executed", "replayed"}, play: playSlowShop,
	},
	{
		Name: "storm", Title: "200 at once", Group: groupWire, Button: "Press 200 times",
		Story: "A stuck Enter key or an eager proxy sends the same form 200 times at the same moment.",
		Why:   "One of them is granted the run by a single atomic step in the store; all the others are its repeats.",
		Runs:  1, Storm: 200, play: playStorm,
	},
	{
		Name: "refused", Title: "Refusal and correction", Group: groupForm, Button: "Forget the name",
		Story: "You forget your name and are refused, correct the form, send it, and press once more to be sure.",
		Why:   "The refusal had no effect, so the same form may run again with better data. Once it has ordered, it has ordered.",
		Runs:  1, Verdicts: []string{"released", "executed", "replayed"}, play: playRefused,
	},
	{
		Name: "changed-cart", Title: "Changed cart", Group: groupForm, Button: "Change and resend",
		Story: "You order, go back, change the cart and send the old form again with its new contents.",
		Why:   "The form has been used for another cart. Rather than drop your change silently or order twice, the shop says so.",
		Runs:  1, Verdicts: []string{"executed", "conflict"}, play: playChangedCart,
	},
	{
		Name: "two-tabs", Title: "Two tabs", Group: groupForm, Button: "Order in both tabs",
		Story: "Two tabs show the same cart and you order in both; then you fill a new cart in the second tab and order that too.",
		Why:   "One cart is one form, in however many tabs: one order. A new cart is a new form, and no tab spoils the other's.",
		Runs:  2, Verdicts: []string{"executed", "replayed", "executed"}, play: playTwoTabs,
	},
	{
		Name: "tea-break", Title: "Expired while idle", Group: groupForm, Button: "Take a tea break",
		Story: "The form lies open until it has expired (here after one second, usually after fifteen minutes); you press, load the page again and press there.",
		Why:   "The expired form is buried: it is certain that it ordered nothing and never will. So a new form is safe.",
		Runs:  1, Verdicts: []string{"dead", "executed"}, play: playTeaBreak,
	},
	{
		Name: "late-press", Title: "Pressed again after expiry", Group: groupForm, Button: "Press again later",
		Story: "You order, leave the page open until the form has expired, come back and press again.",
		Why:   "What a form has done is remembered for longer than the form lives. A new form here would order twice.",
		Runs:  1, Verdicts: []string{"executed", "replayed"}, play: playLatePress,
	},
	{
		Name: "crash-before", Title: "Crash before the order", Group: groupMachine, Button: "Kill it before",
		Story: "A server takes your order and is killed (kill -9) before it has written anything; you press again and reach another server.",
		Why:   "The dead server had not marked the point of no return, so nothing was written: when its claim has run out (after a few seconds here) the next press takes over and runs the order.",
		Runs:  1, Verdicts: []string{"lost", "executed"}, play: playCrash(beforeRow),
	},
	{
		Name: "crash-after", Title: "Crash after the order", Group: groupMachine, Button: "Kill it after",
		Story: "A server writes your order and is killed (kill -9) before it can say so; you press again and reach another server.",
		Why:   "The dead server had marked the point of no return. Whether the row was written cannot be known from the record, so nobody runs it again: it is held, and the order table tells you that the order is there.",
		Runs:  1, Verdicts: []string{"lost", "uncertain"}, play: playCrash(afterRow),
	},
}

// troubleOf finds a trouble by name; ok is false if there is none.
func troubleOf(name string) (t trouble, ok bool) {
	i := slices.IndexFunc(troubles, func(t trouble) bool { return t.Name == name })
	if i < 0 {
		return trouble{}, false
	}
	return troubles[i], true
}
