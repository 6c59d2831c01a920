package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
)

// asScript posts what a script of the page posts, and reads the JSON that comes.
func (p *person) asScript(path, kind string, body []byte, into any) answer {
	p.Helper()
	x, err := p.post(p.Context(), p.base, path, kind, body, map[string]string{"Accept": "application/json", "Sec-Fetch-Site": "same-origin"})
	if err != nil {
		p.Fatal(err)
	}
	got, err := x.read()
	if err != nil {
		p.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(got.body, into); err != nil {
			p.Fatalf("%s: %d %s", path, got.status, got.body)
		}
	}
	return got
}

// askToken asks for a token as idem.js does.
func (p *person) askToken(cart string) (given givenToken, got answer) {
	p.Helper()
	body, _ := json.Marshal(map[string]string{"operation": orderOperation, "context": cart})
	got = p.asScript(tokensPath, "text/plain;charset=UTF-8", body, nil)
	if got.status == 200 {
		if err := json.Unmarshal(got.body, &given); err != nil {
			p.Fatal(err)
		}
	}
	return given, got
}

func TestCartHasOneTokenInHoweverManyTabs(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		p := visit(t, d)
		_, form := p.load("/")
		rendered := form.Get(idem.TokenField)
		for _, tab := range []string{"one tab", "another"} {
			if given, _ := p.askToken(form.Get("cart")); given.Token != rendered || given.ExpiresIn < 890 || given.ExpiresIn > 900 || given.Retain != 3600 || given.Degraded {
				t.Errorf("%s is given another token than the page, or with another life: expiresIn %d, retain %d", tab, given.ExpiresIn, given.Retain)
			}
		}
		p.press("/orders", form)
		if given, _ := p.askToken(form.Get("cart")); given.Token != rendered || given.ExpiresIn != 3600 {
			t.Errorf("after the order the cart has another token, or one that is good for %d s", given.ExpiresIn)
		}
		// Somebody else's cart, and one that was never there.
		other := visit(t, d)
		_, _ = other.load("/")
		if _, got := other.askToken(form.Get("cart")); got.status != 403 || bytes.Contains(got.body, []byte(rendered)) {
			t.Errorf("another visitor is answered %d", got.status)
		}
		if _, got := p.askToken("nocartatall"); got.status != 403 {
			t.Errorf("a cart that is nobody's: %d", got.status)
		}
		if _, got := visit(t, d).askToken(form.Get("cart")); got.status != 401 {
			t.Errorf("nobody: %d", got.status)
		}
	})
}

func TestCartIsGivenAnotherTokenOnlyWhenTheFirstIsBuried(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	s, p := d.srv.shop, visit(t, d)
	_, form := p.load("/")
	token, err := s.issueBrief(t.Context(), visitor(p.cookies[visitorCookie]), form.Get("cart"))
	if err != nil {
		t.Fatal(err)
	}
	p.cookies[formCookie] = form.Get("cart") + "." + token.Reveal()
	if given, _ := p.askToken(form.Get("cart")); given.Token != token.Reveal() {
		t.Error("a live token was replaced")
	}
	if err := s.outlive(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	given, _ := p.askToken(form.Get("cart"))
	if given.Token == token.Reveal() || given.Token == "" {
		t.Fatal("an expired token that ordered nothing was not replaced")
	}
	form.Set(idem.TokenField, token.Reveal())
	if got := p.press("/orders", form); got.verdict != "foreign" { // it was given up, and can never order
		t.Errorf("the token that was replaced: %s, want foreign", got.verdict)
	}
}

// playing is a scene in the hands of a test.
type playing struct {
	*person
	opened
	token string
}

func openPlaying(t *testing.T, d *demo, name string) *playing {
	t.Helper()
	p := &playing{person: visit(t, d)}
	_, _ = p.load("/")
	p.asScript("/scenes/"+name, "", nil, &p.opened)
	given, _ := p.askToken(p.Cart)
	p.token = given.Token
	return p
}

// order sends the scene's order; lost says that no answer came.
func (p *playing) order() (got answer, lost bool) {
	p.Helper()
	form, err := url.ParseQuery(p.Body)
	if err != nil {
		p.Fatal(err)
	}
	form.Set("cart", p.Cart)
	x, err := p.post(p.Context(), p.base, "/orders", formKind, []byte(form.Encode()), map[string]string{
		"Accept": "application/json", tokenHeader: p.token, stageHeader: p.ID, shopSendHeader: "1",
	})
	if err != nil {
		p.Fatal(err)
	}
	got, err = x.read()
	return got, err != nil
}

func (p *playing) do(what string) (came outcome) {
	p.Helper()
	p.asScript("/showings/"+p.ID, formKind, []byte("do="+what), &came)
	return came
}

func TestWireDoesToAPageWhatItsSceneSays(t *testing.T) {
	onEachFramework(t, func(t *testing.T, d *demo, _ *buffer) {
		for _, c := range []struct {
			scene string
			play  func(t *testing.T, p *playing)
		}{
			{"lost-answer", func(t *testing.T, p *playing) {
				for _, press := range []string{"the first", "the second"} {
					if got, lost := p.order(); !lost {
						t.Errorf("%s answer arrived: %d %s", press, got.status, got.verdict)
					}
				}
				p.do("release")
				if got, lost := p.order(); lost || got.verdict != "replayed" || got.status != 201 {
					t.Errorf("let through: lost %t, %d %s", lost, got.status, got.verdict)
				}
			}},
			{"busy-proxy", func(t *testing.T, p *playing) {
				if got, _ := p.order(); got.status != 503 || got.verdict != "" {
					t.Errorf("the first: %d %q, want 503 without a verdict", got.status, got.verdict)
				}
				if got, _ := p.order(); got.verdict != "executed" {
					t.Errorf("the second: %s, want executed", got.verdict)
				}
			}},
			{"crash-before", func(t *testing.T, p *playing) {
				if got, _ := p.order(); got.status != 502 || got.verdict != "" {
					t.Errorf("the first: %d %q, want 502 without a verdict", got.status, got.verdict)
				}
				if got, _ := p.order(); got.verdict != "executed" {
					t.Errorf("the second: %s, want executed", got.verdict)
				}
			}},
			{"crash-after", func(t *testing.T, p *playing) {
				if got, _ := p.order(); got.status != 502 {
					t.Errorf("the first: %d, want 502", got.status)
				}
				if got, _ := p.order(); got.verdict != "uncertain" {
					t.Errorf("the second: %s, want uncertain", got.verdict)
				}
			}},
		} {
			t.Run(c.scene, func(t *testing.T) {
				t.Parallel()
				p := openPlaying(t, d, c.scene)
				c.play(t, p)
				came := p.do("end")
				if !came.OK || came.Says != "One order, as it should be." || came.Why == "" {
					t.Errorf("the shop says %q: %v", came.Says, came.Wire)
				}
				if again := p.asScript("/showings/"+p.ID, formKind, []byte("do=look"), nil); again.status != 404 {
					t.Errorf("a scene that has ended still answers %d", again.status)
				}
			})
		}
	})
}

func TestSceneThatComesOutWrongIsSaid(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory", "-without=guard")
	p := openPlaying(t, d, "lost-answer")
	p.order()
	p.do("release")
	p.order()
	if came := p.do("end"); came.OK || came.Says != "2 orders in the table. It should be 1 order." || len(came.Orders) != 2 {
		t.Errorf("without the guard the shop says %q of %d orders", came.Says, len(came.Orders))
	}
}

func TestSceneBelongsToWhoBeganIt(t *testing.T) {
	d, _ := openTestDemo(t, "-store", "memory")
	p, other := openPlaying(t, d, "lost-answer"), visit(t, d)
	_, _ = other.load("/")
	if got := other.asScript("/showings/"+p.ID, formKind, []byte("do=end"), nil); got.status != 404 {
		t.Errorf("another visitor ends it: %d", got.status)
	}
	if _, got := other.askToken(p.Cart); got.status != 403 {
		t.Errorf("another visitor is given its token: %d", got.status)
	}
}

func TestEverySceneSaysWhatItIsAbout(t *testing.T) {
	script, err := scripts.ReadFile("js/scenes.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range scenes {
		if trouble, ours := troubleOf(sc.Name); ours && trouble.Title != sc.Title || !ours && (sc.Short == "" || sc.Press == "") {
			t.Errorf("%s: in the list it is called %q", sc.Name, trouble.Title)
		}
		for _, text := range []string{sc.Story, sc.Why} {
			if !strings.HasSuffix(text, ".") || len(text) < 40 {
				t.Errorf("%s says %q", sc.Name, text)
			}
		}
		if !regexp.MustCompile(`(?m)^  async '?` + sc.Name + `'?\(`).Match(script) {
			t.Errorf("no script plays %s", sc.Name)
		}
	}
	for _, tr := range troubles {
		if _, ok := sceneOf(tr.Name); !ok {
			t.Errorf("%s cannot be played in a page", tr.Name)
		}
	}
}
