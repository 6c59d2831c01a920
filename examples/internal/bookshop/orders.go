package bookshop

import (
	"slices"
	"sync"
)

// Order is a row of the order book.
type Order struct {
	Number   int    `json:"order"`
	Customer string `json:"-"`
	Item     string `json:"item"`
	Charge   string `json:"charge"`
	Parcels  int    `json:"parcels"` // how often it was sent off; more than one is a loss
}

// Book is the order book: the count of truth. Its methods may be called by any
// goroutine.
type Book struct {
	mu     sync.Mutex
	orders []Order
}

// add writes an order down and gives it a number.
func (b *Book) add(o Order) Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.Number = len(b.orders) + 1
	b.orders = append(b.orders, o)
	return o
}

// ship sends the order of a charge off; false where there is none (yet).
func (b *Book) ship(charge string) (Order, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.orders, func(o Order) bool { return o.Charge == charge })
	if i < 0 {
		return Order{}, false
	}
	b.orders[i].Parcels++
	return b.orders[i], true
}

// Of returns the orders of a customer, oldest first; nil where there are none.
func (b *Book) Of(customer string) (list []Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if o.Customer == customer {
			list = append(list, o)
		}
	}
	return list
}

// Find returns an order of a customer's; false where he has none of that number.
func (b *Book) Find(customer string, number int) (Order, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number < 1 || number > len(b.orders) || b.orders[number-1].Customer != customer {
		return Order{}, false
	}
	return b.orders[number-1], true
}

// parcels is how often the orders of a customer were sent off, all together.
func (b *Book) parcels(customer string) (n int) {
	for _, o := range b.Of(customer) {
		n += o.Parcels
	}
	return n
}
