package testserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// readPolicies reads a file of policies: a JSON array, as idem.LoadPolicies has it.
func readPolicies(file string) ([]idem.Policy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return idem.LoadPolicies(text)
}

// replaced puts policies in the place of those of the same operations. One whose
// operation is not served is an error: nobody could reach it.
func replaced(served, policies []idem.Policy) ([]idem.Policy, error) {
	served = slices.Clone(served)
	var errs []error
	for _, p := range policies {
		i := slices.IndexFunc(served, func(s idem.Policy) bool { return s.Operation == p.Operation })
		if i < 0 {
			errs = append(errs, fmt.Errorf("-policy: operation %q is not served; these are: %s", p.Operation, operations(served)))
			continue
		}
		served[i] = p
	}
	return served, errors.Join(errs...)
}

func operations(policies []idem.Policy) string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Operation
	}
	return strings.Join(names, ", ")
}
