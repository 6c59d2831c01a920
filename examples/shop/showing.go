package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// showLimit is how long a page may take to play a scene; after that it is ended
// as if the page had gone.
const showLimit = time.Minute

// showing is a scene that a page is playing. Its page knows it by the id of its
// stage, which nobody else can guess. It may be used from any number of
// goroutines.
type showing struct {
	scene   scene
	shop    *shop
	who     visitor
	stage   *stage
	letGo   func() // what the handler holds
	doomed  worker // nil where no server dies
	bedtime *time.Timer
	ending  sync.Once

	mu     sync.Mutex
	carts  map[string]cartForm // by cart; without a token until one is asked for
	lines  []wireLine
	sends  map[string]bool // what idem.js has sent, as the page numbers it
	losing bool
	busy   int
	sent   bool // the first request has been taken by the doomed server
}

// wireLine is one request of a showing as it reached the shop.
type wireLine struct {
	Form    string `json:"form"` // its token's short hash
	Verdict string `json:"verdict"`
	Short   string `json:"short"`
	Tone    string `json:"tone"`
	Status  int    `json:"status"`
	Lost    bool   `json:"lost"`  // the answer never arrived
	Again   bool   `json:"again"` // the browser sent it once more by itself, below JavaScript
}

// shows are the showings of a shop.
type shows struct {
	mu    sync.Mutex
	byID  map[string]*showing
	carts map[string]*showing // each of their carts; kept when they have ended, for the tables
	order []string            // carts, the oldest first
}

const showCartsKept = 200

// ofCart returns the showing that a cart belongs, or belonged, to; nil if none.
func (s *shows) ofCart(cart string) *showing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.carts[cart]
}

// find returns a running showing by its id, nil if there is none.
func (s *shows) find(id string) *showing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// keep remembers whose a cart is.
func (s *shows) keep(cart string, show *showing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carts == nil {
		s.byID, s.carts = map[string]*showing{}, map[string]*showing{}
	}
	s.byID[show.stage.id], s.carts[cart] = show, show
	if s.order = append(s.order, cart); len(s.order) > showCartsKept {
		delete(s.carts, s.order[0])
		s.order = s.order[1:]
	}
}

// forget removes a showing that has ended; its carts keep their name.
func (s *shows) forget(show *showing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, show.stage.id)
}

// endAll ends every showing.
func (s *shows) endAll() {
	s.mu.Lock()
	running := make([]*showing, 0, len(s.byID))
	for _, show := range s.byID {
		running = append(running, show)
	}
	s.mu.Unlock()
	for _, show := range running {
		show.end()
	}
}

// openShowing sets up a scene for a visitor's page and gives it a first cart.
func (s *shop) openShowing(ctx context.Context, sc scene, v visitor) (show *showing, cart string, err error) {
	show = &showing{scene: sc, shop: s, who: v, letGo: func() {}, carts: map[string]cartForm{}, sends: map[string]bool{}, losing: sc.loses, busy: sc.busy}
	if sc.killed != "" {
		if show.doomed, err = s.player.spawn(ctx, sc.killed); err != nil {
			return nil, "", fmt.Errorf("start a second server: %w", err)
		}
	}
	var hold chan struct{}
	if sc.holds {
		hold = make(chan struct{})
		show.letGo = sync.OnceFunc(func() { close(hold) })
	}
	show.stage = s.stages.open(hold)
	show.stage.show = show
	show.bedtime = time.AfterFunc(showLimit, show.end)
	return show, show.addCart(), nil
}

// addCart gives the showing another cart.
func (show *showing) addCart() string {
	cart := newCart()
	show.mu.Lock()
	show.carts[cart] = cartForm{cart: cart}
	show.mu.Unlock()
	show.shop.shows.keep(cart, show)
	return cart
}

// release lets go of what is held and lets answers through again.
func (show *showing) release() {
	show.letGo()
	show.mu.Lock()
	defer show.mu.Unlock()
	show.losing = false
}

// end takes the stage down. Ending twice is the same as once.
func (show *showing) end() {
	show.ending.Do(func() {
		show.bedtime.Stop()
		show.letGo()
		show.shop.stages.strike(show.stage)
		if show.doomed != nil {
			show.doomed.close()
		}
		show.shop.shows.forget(show)
	})
}

// form returns the form of one of the showing's carts, with the token that the
// cart has now, and what became of it so far. A cart that is not the showing's
// gives an empty form.
func (show *showing) form(ctx context.Context, cart string) (form cartForm, state idem.State, err error) {
	show.mu.Lock()
	defer show.mu.Unlock() // also while the store is asked: two tabs must get one token
	kept, ok := show.carts[cart]
	switch {
	case !ok:
		return cartForm{}, idem.StateAbsent, nil
	case !kept.token.IsZero():
		form, state, err = show.shop.inUse(ctx, show.who, kept)
	case show.scene.brief:
		form.cart = cart
		form.token, err = show.shop.issueBrief(ctx, show.who, cart)
	default:
		form, err = show.shop.newForm(ctx, show.who, cart)
	}
	if err == nil && form.cart == cart {
		show.carts[cart] = form
	}
	return form, state, err
}

// outlive waits until the tokens of the showing have expired.
func (show *showing) outlive(ctx context.Context) error {
	show.mu.Lock()
	carts := make([]cartForm, 0, len(show.carts))
	for _, form := range show.carts {
		carts = append(carts, form)
	}
	show.mu.Unlock()
	for _, form := range carts {
		if form.token.IsZero() {
			continue
		}
		if err := show.shop.outlive(ctx, form.token); err != nil {
			return err
		}
	}
	return nil
}

// seen returns the requests so far, in the order in which they were answered.
func (show *showing) seen() []wireLine {
	show.mu.Lock()
	defer show.mu.Unlock()
	return append([]wireLine{}, show.lines...) // never nil: a page reads it
}
