package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
)

// person is somebody with a browser in a test.
type person struct {
	*testing.T
	*browser
}

func visit(t *testing.T, d *demo) *person {
	return &person{T: t, browser: &browser{base: d.srv.url, cookies: map[string]string{}}}
}

// load loads a page and returns it with its form, filled in.
func (p *person) load(path string) (page string, form url.Values) {
	p.Helper()
	got, err := p.visit(p.Context(), path, nil)
	if err != nil {
		p.Fatal(err)
	}
	if form, err = formIn(got.body, "Grace Test"); err != nil {
		p.Fatal(err)
	}
	return string(got.body), form
}

// press posts a form and returns the answer, whatever it is.
func (p *person) press(path string, form url.Values) answer {
	p.Helper()
	x, err := p.send(p.Context(), p.base, path, form, nil)
	if err != nil {
		p.Fatal(err)
	}
	got, err := x.read()
	if err != nil {
		p.Fatal(err)
	}
	return got
}

// Each test runs on the three frameworks: pages are the same everywhere.
func onEachFramework(t *testing.T, test func(t *testing.T, d *demo, logged *buffer)) {
	for _, adapter := range adapters {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			d, logged := openTestDemo(t, "-store", "memory", "-adapter", adapter)
			test(t, d, logged)
		})
	}
}

func TestSomebodyWhoComesBackAndPressesAgainHasOneOrder(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		first := p.press("/orders", form)
		if first.status != 303 || first.verdict != "executed" {
			t.Fatalf("the first press: %d %s, want 303 executed", first.status, first.verdict)
		}
		// The answer is lost; the page is loaded again, in this tab or another.
		page, again := p.load("/")
		if again.Get(idem.TokenField) != form.Get(idem.TokenField) || again.Get("cart") != form.Get("cart") {
			t.Error("the page loaded again has another form: a second press would be a second order")
		}
		if !strings.Contains(page, "This form has placed its order.") || !strings.Contains(page, `value="Grace Test"`) {
			t.Error("the page does not say that its form has ordered, with what was ordered")
		}
		if second := p.press("/orders", again); second.verdict != "replayed" || second.to != first.to {
			t.Errorf("the second press: %s to %s, want replayed to %s", second.verdict, second.to, first.to)
		}
		if page, _ := p.load(first.to); !strings.Contains(page, "Thank you, Grace Test. Your order is number 1001.") {
			t.Error("the answer does not lead to a page that names the order")
		}
		if n, err := d.srv.shop.table.countOf(visitor(p.cookies[visitorCookie]).hash()); n != 1 || err != nil {
			t.Errorf("%d orders (%v), want 1", n, err)
		}
	})
}

// Faults: 61.
func TestRefusedFormComesBackWithItsTokenAndWhatWasTyped(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		for _, c := range []struct {
			what, says string
			typed      map[string]string
		}{
			{"no name", "We need a name for the parcel.", map[string]string{"name": "  "}},
			{"a name that is too long", "At most 60 letters", map[string]string{"name": strings.Repeat("é", 61)}},
			{"too many", "Say a number from 0 to 9.", map[string]string{"assam": "10"}},
			{"no number", "Say a number from 0 to 9.", map[string]string{"sencha": "<b>"}},
			{"nothing", "The cart is empty", map[string]string{"assam": "", "sencha": "0", "bowl": "0"}},
		} {
			typed := maps.Clone(form)
			for field, value := range c.typed {
				typed.Set(field, value)
			}
			got := p.press("/orders", typed)
			if got.status != 422 || got.verdict != "released" || !bytes.Contains(got.body, []byte(c.says)) {
				t.Errorf("%s: %d %s, want 422 released with %q", c.what, got.status, got.verdict, c.says)
			}
			back, err := formIn(got.body, "")
			if err != nil || back.Get(idem.TokenField) != form.Get(idem.TokenField) {
				t.Errorf("%s: the form that came back has another token (%v)", c.what, err)
			}
			if bytes.Contains(got.body, []byte("<b>")) {
				t.Errorf("%s: what was typed comes back as markup", c.what)
			}
		}
		if got := p.press("/orders", form); got.verdict != "executed" {
			t.Errorf("corrected: %s, want executed", got.verdict)
		}
	})
}

// Faults: 63.
func TestChangedFormIsRefusedInPlainWords(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		p.press("/orders", form)
		form.Set("assam", "7")
		got := p.press("/orders", form)
		if got.status != 422 || got.verdict != "conflict" || !bytes.Contains(got.body, []byte("<html")) {
			t.Errorf("%d %s, want 422 conflict as a page", got.status, got.verdict)
		}
		if log := d.srv.shop.log.latest(1)[0]; log.Verdict != "conflict" || log.Status != 422 {
			t.Errorf("the log says %d %s", log.Status, log.Verdict)
		}
	})
}

func TestExpiredFormIsReplacedOnlyWhereItOrderedNothing(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	s := d.srv.shop
	for _, c := range []struct {
		what  string
		order bool
	}{{"a form that ordered nothing", false}, {"a form that ordered", true}} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			a := &act{player: s.player, ctx: t.Context(), browser: &browser{base: d.srv.url, cookies: map[string]string{}}, result: &played{}}
			form, err := a.openBrief()
			if err != nil {
				t.Fatal(err)
			}
			form.Set("name", "Grace Test")
			a.browser.cookies[formCookie] = form.Get("cart") + "." + form.Get(idem.TokenField)
			p := &person{T: t, browser: a.browser}
			if c.order {
				p.press("/orders", form)
			}
			if err := a.outlive(form); err != nil {
				t.Fatal(err)
			}
			_, shown := p.load("/")
			if kept := shown.Get(idem.TokenField) == form.Get(idem.TokenField); kept != c.order {
				t.Errorf("the page shows the same form: %t, want %t", kept, c.order)
			}
			if shown.Get("cart") != form.Get("cart") {
				t.Error("the cart is another one")
			}
			want := map[bool]string{true: "replayed", false: "executed"}[c.order]
			if got := p.press("/orders", shown); got.verdict != want {
				t.Errorf("pressed: %s, want %s", got.verdict, want)
			}
			// The old form, should a tab still show it, orders nothing any more.
			old := p.press("/orders", form)
			if !c.order && old.verdict != "foreign" && old.verdict != "dead" {
				t.Errorf("the replaced form, pressed: %s, want foreign or dead", old.verdict)
			}
		})
	}
}

func TestEveryButtonWorksAndWorksAgain(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	for _, name := range []string{"double-click", "lost-answer", "slow-shop", "storm", "refused", "changed-cart", "two-tabs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := visit(t, d)
			for range 2 {
				got := p.press("/trouble/"+name, url.Values{})
				if got.status != 303 {
					t.Fatalf("%d %s", got.status, got.body)
				}
				page, _ := p.load(strings.TrimSuffix(got.to, "#played"))
				if !strings.Contains(page, "as it should be.") {
					t.Errorf("the page does not say that it came out right: %s", got.to)
				}
			}
		})
	}
}

func TestResetEmptiesTheTableTheLogAndTheCart(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		p.press("/orders", form)
		if got := p.press("/trouble/lost-answer", url.Values{}); got.status != 303 {
			t.Fatal(got.status)
		}
		if _, err := p.visit(t.Context(), "/reset", url.Values{}); err != nil {
			t.Fatal(err)
		}
		page, fresh := p.load("/")
		if !strings.Contains(page, "No order yet.") || !strings.Contains(page, "Nothing yet.") {
			t.Error("the page still shows orders or requests")
		}
		if fresh.Get(idem.TokenField) == form.Get(idem.TokenField) {
			t.Error("the form is the old one")
		}
		if got := p.press("/orders", fresh); got.verdict != "executed" || got.to != "/orders/1001" {
			t.Errorf("ordered anew: %s to %s, want executed to /orders/1001", got.verdict, got.to)
		}
	})
}

func TestPageKeepsToItsOwnScriptsOrToNone(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		for _, c := range []struct{ script, policy, tag string }{
			{"on", policyScript, `<script src="/assets/idem.`},
			{"off", policyPlain, ""},
		} {
			if got := p.press("/script", url.Values{"script": {c.script}}); got.status != 303 {
				t.Fatalf("JavaScript %s: %d", c.script, got.status)
			}
			if delete(p.cookies, scriptCookie); c.script == "off" {
				p.cookies[scriptCookie] = "off"
			}
			page, _ := p.load("/")
			for _, banned := range []string{"javascript:", " onclick=", " style=", "http://", "https://", "<script>"} {
				if strings.Contains(page, banned) {
					t.Errorf("JavaScript %s: the page holds %q", c.script, banned)
				}
			}
			if got := strings.Contains(page, "<script"); got != (c.tag != "") || !strings.Contains(page, c.tag) {
				t.Errorf("JavaScript %s: the page has scripts: %t", c.script, got)
			}
			x, err := p.send(t.Context(), p.base, "/", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := x.readHeader("Content-Security-Policy"); got != c.policy {
				t.Errorf("JavaScript %s: Content-Security-Policy: %q (%v)", c.script, got, err)
			}
		}
	})
}

func TestNobodySeesOrUsesWhatIsAnothers(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		// Somebody else's order is not shown, and his form is not his.
		placed := p.press("/orders", form)
		other := visit(t, d)
		_, _ = other.load("/")
		if got := other.press("/orders", form); got.verdict != "foreign" {
			t.Errorf("another visitor with this form: %s, want foreign", got.verdict)
		}
		if _, err := other.visit(t.Context(), placed.to, nil); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("another visitor's look at this order: %v, want 404", err)
		}
		if got := visit(t, d).press("/orders", form); got.status != 401 {
			t.Errorf("nobody with this form: %d, want 401", got.status)
		}
	})
}

func TestTokensStandInTheirFormAndNowhereElse(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, logged *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		token := form.Get(idem.TokenField)
		p.press("/orders", form)
		p.press("/orders", form)
		page, _ := p.load("/")
		if n := strings.Count(page, token); n != 1 {
			t.Errorf("the page holds the token %d times, want once, in its form", n)
		}
		hash := d.srv.shop.formHash(visitor(p.cookies[visitorCookie]), token)
		if len(hash) != 8 || !strings.Contains(page, "<code>"+hash+"</code>") {
			t.Errorf("the log does not show the form's hash %q", hash)
		}
		secrets := slices.Collect(maps.Values(p.cookies))
		told := fmt.Sprint(logged, d.srv.shop.log.latest(99))
		for _, secret := range append(secrets, token) {
			if strings.Contains(told, secret) {
				t.Errorf("a log holds a cookie or a token: %s", told)
			}
		}
	})
}

func TestButtonsOfAnotherSiteAreRefused(t *testing.T) {
	s := &shop{player: &player{}}
	for _, rt := range s.routes() {
		if rt.method != "POST" || rt.operation != "" {
			continue
		}
		got := rt.serve(&request{ctx: context.Background(), header: func(name string) string {
			return map[string]string{"Sec-Fetch-Site": "cross-site"}[name]
		}})
		if got.status != 403 {
			t.Errorf("%s: %d, want 403", rt.path, got.status)
		}
	}
}

func TestEveryVerdictHasItsSentence(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z].*\.$`)
	for _, v := range idem.Verdicts() {
		w := wordOf(v.String())
		if w.Verdict != v.String() || !sentence.MatchString(w.Says) || w.Short == "" || w.Tone == "" {
			t.Errorf("%s: %+v", v, w)
		}
	}
	if len(words) != len(idem.Verdicts()) {
		t.Errorf("%d words for %d verdicts", len(words), len(idem.Verdicts()))
	}
}

func TestSlowShopTakesItsTimeForThisVisitorOnly(t *testing.T) {
	s := &shop{closed: make(chan struct{})}
	close(s.closed) // so that a wait ends at once, as an error
	for pace, waits := range map[string]bool{"slow": true, "": false} {
		err := s.takeTime(&request{ctx: context.Background(), header: func(name string) string {
			return map[string]string{"Cookie": paceCookie + "=" + pace}[name]
		}})
		if (err != nil) != waits {
			t.Errorf("pace %q: %v", pace, err)
		}
	}
}

func TestTimesReadAsAPersonSaysThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Microsecond: "< 1 ms", 12 * time.Millisecond: "12 ms", 3 * time.Second: "3 s", 2340 * time.Millisecond: "2.3 s",
	} {
		if got := took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
