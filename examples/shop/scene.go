package main

import "slices"

// scene is a trouble as a page plays it with idem.js: its script sends real
// requests, and this server does to them, on the way and at the order handler,
// what the story says. What is promised is judged here, in the order table.
type scene struct {
	Name  string // in its address; that of the trouble it is the browser's half of
	Title string
	Short string // one sentence for the list, "" where the trouble's own will do
	Press string // on its button, "" where the trouble's own will do
	Story string // what the page does, and what happens to it
	Why   string // one sentence: why it comes out as it does

	Orders   int    // that must be in the table afterwards
	Last     string // the verdict of the last request that reached the shop
	Arrivals int    // requests that must have arrived; 0: any number

	holds  bool   // orders wait in the handler until the page lets them go
	loses  bool   // answers get lost until the page notices
	busy   int    // so many requests are answered by a busy proxy in front
	brief  bool   // the first token expires after a second
	killed moment // the first request goes to a second server that dies then
}

// sceneGroup is the group of troubles that only a page with scripts can have.
const sceneGroup = "Only in a page with JavaScript"

// scenes lists every trouble that a page plays, in the order of the page.
var scenes = []scene{
	{
		Name: "double-click", Title: "Double click",
		Story:  "Two presses, a sixth of a second apart, while the shop takes its time.",
		Why:    "The second press found the first on its way and joined it: one request left the browser, and both presses got its answer.",
		Orders: 1, Last: "executed", Arrivals: 1, holds: true,
	},
	{
		Name: "lost-answer", Title: "Answer lost",
		Story:  "The order is written, but the connection breaks before the answer arrives. The page cannot know that.",
		Why:    "No answer means “unknown”, never “no”. The page kept its token and asked with it again, and the shop found what it had recorded before the answer left.",
		Orders: 1, Last: "replayed", loses: true,
	},
	{
		Name: "slow-shop", Title: "Slow shop",
		Story:  "The shop takes longer than this page is willing to wait for an answer, here two seconds. So the page asks again while the first request is still being worked on.",
		Why:    "Giving up on an answer is not giving up the order. The second request carried the same token, waited for the first, and was given its answer.",
		Orders: 1, Last: "replayed", holds: true,
	},
	{
		Name: "storm", Title: "200 at once",
		Story:  "The button is pressed two hundred times at the same moment.",
		Why:    "One slot has one request on its way. The other presses joined it, and nothing more was sent.",
		Orders: 1, Last: "executed", Arrivals: 1, holds: true,
	},
	{
		Name: "refused", Title: "Refusal and correction",
		Story:  "The order goes without a name and is refused. It is corrected and sent again, and then once more to be sure.",
		Why:    "A refusal without effect leaves the token usable, so the correction is the same order’s next try. Once it had ordered, it had ordered.",
		Orders: 1, Last: "replayed", Arrivals: 3,
	},
	{
		Name: "changed-cart", Title: "Changed cart",
		Story:  "The order is placed. Then the cart is changed and sent again as if it were the same.",
		Why:    "The cart had ordered already. Rather than drop the change silently or order twice, the shop says so, and the page hears “conflict”.",
		Orders: 1, Last: "conflict", Arrivals: 2,
	},
	{
		Name: "two-tabs", Title: "Two tabs",
		Story:  "Two tabs show one cart, share one storage, and both press. Then the second tab fills a new cart and orders that.",
		Why:    "This shop gives one cart one token, in however many tabs, so the two presses were one order. The new cart has a token of its own.",
		Orders: 2, Last: "executed", Arrivals: 3, holds: true,
	},
	{
		Name: "tea-break", Title: "Expired while idle",
		Story:  "The page lay open while the laptop slept. Its token has expired (here after one second), and the page’s own clock stood still.",
		Why:    "The shop buried the expired token before it said “dead”: it ordered nothing and never can. That is the only word on which idem.js takes a new one, and only once.",
		Orders: 1, Last: "executed", Arrivals: 2, brief: true,
	},
	{
		Name: "late-press", Title: "Pressed again after expiry",
		Story:  "The order is placed, the token expires (here after one second), and then the button is pressed again.",
		Why:    "What a token has done is remembered for longer than it lives. A new token here would have ordered twice.",
		Orders: 1, Last: "replayed", Arrivals: 2, brief: true,
	},
	{
		Name: "crash-before", Title: "Crash before the order",
		Story:  "A balancer hands the order to a second server, which is killed (kill -9) before it has written anything. The balancer answers 502.",
		Why:    "A 502 says nothing about the order, so the page asked again with the same token. The dead server had not marked the point of no return; when its claim had run out, this server took over.",
		Orders: 1, Last: "executed", killed: beforeRow,
	},
	{
		Name: "crash-after", Title: "Crash after the order",
		Story:  "A balancer hands the order to a second server, which writes it and is killed (kill -9) before it can say so. The balancer answers 502.",
		Why:    "The dead server had marked the point of no return, so nobody runs the order again. The page is told “uncertain”, asks on until its patience ends, and keeps the token; the order table shows that the order is there.",
		Orders: 1, Last: "uncertain", killed: afterRow,
	},
	{
		Name: "busy-proxy", Title: "Busy for a moment",
		Short:  "A proxy in front of the shop is busy and answers 503 by itself, once.",
		Press:  "Meet a busy proxy",
		Story:  "A proxy in front of the shop is busy and answers 503 by itself, once. The page cannot tell whether the shop was asked.",
		Why:    "A 503 without a verdict is no word from the guard, so it counts as no answer: same token, again, and there was nothing to find.",
		Orders: 1, Last: "executed", Arrivals: 2, busy: 1,
	},
	{
		Name: "reload", Title: "Reload on the way",
		Short:  "You load the page again while your order is on its way.",
		Press:  "Reload in flight",
		Story:  "The page is loaded again while the order is on its way. What it had in memory is gone, and so is the answer.",
		Why:    "The token was written down before the order left. The new page found it and asked what had become of it, and sent nothing.",
		Orders: 1, Last: "executed", Arrivals: 1, holds: true,
	},
}

// sceneOf finds a scene by name; ok is false if there is none.
func sceneOf(name string) (sc scene, ok bool) {
	i := slices.IndexFunc(scenes, func(sc scene) bool { return sc.Name == name })
	if i < 0 {
		return scene{}, false
	}
	return scenes[i], true
}

// pageOnly lists the scenes that the shop cannot play by itself.
func pageOnly() []scene {
	var list []scene
	for _, sc := range scenes {
		if _, ours := troubleOf(sc.Name); !ours {
			list = append(list, sc)
		}
	}
	return list
}
