// Package sidebyside puts this library and Fiber's own idempotency middleware
// through the same eight troubles, and writes down what was seen:
// docs/reference/side-by-side.md.
//
// Both are set up as their documentation says, with their defaults, but for one
// thing each trouble names. Every sentence of the page is put together from what
// a client was answered, how often a handler ran and what a store held; a test
// plays the troubles anew and fails while the page says anything else:
//
//	go test ./bench/sidebyside          # plays and compares
//	go test ./bench/sidebyside -write   # plays and writes the page
package sidebyside
