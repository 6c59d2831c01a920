package idem

// Decorator is a store that stands before another one. Abilities that only tell
// something or wake somebody ([Clocker], [Describer], [StepUser] and the like)
// are found behind it by the package functions, so that a decorator need not
// repeat them; one that answers differently implements the ability itself.
// Abilities that write ([Batcher], [Indexer]) are never looked for behind a decorator:
// their calls would go past it.
type Decorator interface {
	Store
	// Unwrap returns the store behind this one.
	Unwrap() Store
}

// ability finds an ability of a store, or of what stands behind it.
func ability[T any](s Store) (T, bool) {
	for s != nil {
		if a, ok := s.(T); ok {
			return a, true
		}
		d, ok := s.(Decorator)
		if !ok {
			break
		}
		s = d.Unwrap()
	}
	var none T
	return none, false
}
