package idem

import "context"

// Page is one page of a walk over a store.
type Page struct {
	Names []string // of records; may be none on any page but the last
	Next  string   // the cursor of the next page; empty after the last one
}

// Scanner is the ability of a store to be walked, page by page, slowly and
// without holding anybody up: for reconcilers and consoles.
type Scanner interface {
	// Scan returns a page of the names that begin with prefix; the cursor of the
	// first page is empty. A record that is there from the first page to the last
	// is told at least once, perhaps more than once; one that comes or goes
	// meanwhile may be told or not. Names of indexes are not told. A page takes a
	// bounded time: limit, above zero, is about how many records it looks at,
	// those without the prefix included. A cursor that the store did not give is
	// an error.
	Scan(ctx context.Context, prefix, cursor string, limit int) (Page, error)
}

// Scan returns a page of a walk over a store, or over what stands behind it;
// ErrUnable where neither can be walked.
func Scan(ctx context.Context, s Store, prefix, cursor string, limit int) (Page, error) {
	if x, ok := ability[Scanner](s); ok {
		return x.Scan(ctx, prefix, cursor, limit)
	}
	return Page{}, ErrUnable
}
