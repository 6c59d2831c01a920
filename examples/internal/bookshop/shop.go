package bookshop

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Shop is the business behind the routes.
type Shop struct {
	Orders *Book
	// Guarded is false under -without=guard.
	Guarded bool

	provider *provider
}

// ErrNoItem is what a form without an item is refused for: a 422, which releases.
var ErrNoItem = errors.New("say what you would like to have")

// ErrNotYet is what an event is refused for that comes before its order is in
// the book: a 409, which releases, so that the next delivery runs again.
var ErrNotYet = errors.New("there is no such order yet")

// shipping is how long it takes to send a parcel off: longer than the provider
// waits for an answer the first time.
const shipping = 250 * time.Millisecond

// Buy charges for an item and writes the order down. A refusal comes before the
// mark, and has no effect; what fails after it may have charged.
func (s *Shop) Buy(ctx context.Context, customer, item string) (Order, error) {
	item = strings.TrimSpace(item)
	if item == "" {
		return Order{}, ErrNoItem
	}
	// Without a guard there is neither claim nor key: every call is a new charge.
	key, guarded := idem.DownstreamKey(ctx, "provider")
	if !guarded {
		key = rand.Text()
	}
	if err := idem.MarkEffects(ctx, "an order of "+item); err != nil && guarded {
		return Order{}, err // do not go on: the claim is not surely ours
	}
	charge, err := s.provider.charge(ctx, key)
	if err != nil {
		return Order{}, err // nobody can tell whether it was charged: held as uncertain
	}
	return s.Orders.add(Order{Customer: customer, Item: item, Charge: charge}), nil
}

// Event is what the provider calls back with.
type Event struct {
	Event struct {
		ID string `json:"id"`
	} `json:"event"`
	Charge string `json:"charge"`
}

// Settle sends off what was paid for. It is not one transaction with anything,
// and takes its time, as such things do.
func (s *Shop) Settle(e Event) (Order, error) {
	<-time.After(shipping)
	order, ok := s.Orders.ship(e.Charge)
	if !ok {
		return Order{}, ErrNotYet
	}
	return order, nil
}

// Tenant returns whose API key a bearer token is; "" where it is nobody's.
func (s *Shop) Tenant(authorization string) string {
	return map[string]string{"Bearer key-of-acme": "acme", "Bearer key-of-zenith": "zenith"}[authorization]
}

// Signed tells whether an event was signed by the provider.
func (s *Shop) Signed(body []byte, signature string) bool { return s.provider.signed(body, signature) }

// Cookie is the name of the cookie by which the page knows a customer.
const Cookie = "customer"

// NewCustomer returns the value of a cookie for somebody who has none. Nobody
// can guess it, and it stays the same as long as he keeps it: that makes it fit
// to be a scope.
func NewCustomer() string { return rand.Text() }
