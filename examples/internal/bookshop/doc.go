// Package bookshop is what the examples echo and fiber have in common, so that
// they show nothing but their framework: an order book, a payment provider that
// calls back (and calls again), a page, and a visitor who plays the troubles.
//
// None of it knows the guard, but for three lines in [Shop.Buy]: the handler of
// an order marks its point of no return before it calls the provider, and calls
// it with a key that is the same for every repeat of the same order.
//
// Everything listens on the loopback and lives in memory. [Main] is the program
// around it; with -selfcheck it plays every trouble over real connections and
// prints one table; with -without=guard the same troubles show what they do to
// routes that are not guarded.
package bookshop
