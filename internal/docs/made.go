package docs

// Page is a page that is made from the tests below the root of the repository.
type Page struct {
	Path string // relative to the root, with forward slashes
	Make func(root string) (string, error)
}

// Made are all of them.
var Made = []Page{
	{"docs/explanation/faults.md", Faults},
	{"docs/reference/invariants.md", Invariants},
}
