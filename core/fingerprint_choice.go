package idem

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// How much a policy compares of a request.
const (
	// FingerprintCanonical compares method, path, query and body by content.
	// It is what an empty Mode means.
	FingerprintCanonical = "canonical"
	// FingerprintNone compares method and path only: two requests of one key
	// count as the same whatever their query and body say.
	FingerprintNone = "none"
)

// fingerprintAlgorithm is part of every choice's version. Raise it with any
// change of the message that is hashed: records made before then hold instead
// of conflicting.
const fingerprintAlgorithm = 1

const (
	maxChosen      = 64  // entries of Only or Ignore
	maxChosenBytes = 256 // of one entry
)

// FingerprintChoice says what of a request has to be the same in a repeat. The
// zero value compares everything. Only and Ignore, of which one may be given,
// name members of a JSON body and fields of a form:
//
//   - an entry that begins with '/' is a JSON pointer (RFC 6901) and, if it has
//     one step, the form field of that name too;
//   - any other entry is the name of a form field.
//
// They choose inside bodies that can be read by content. A body that is compared
// byte for byte has no fields, so all of it counts. Method, path and query
// always count.
//
// An ignored member may change, come and go; an ignored element of an array may
// change only, as the others would otherwise move. A field that Only names and
// the body lacks counts as absent; a body that has none of them is compared
// whole, so that a misspelt choice never makes all bodies one.
type FingerprintChoice struct {
	Mode   string   `json:"mode"`   // FingerprintCanonical or FingerprintNone
	Only   []string `json:"only"`   // compare these fields and no others
	Ignore []string `json:"ignore"` // compare all fields but these

	plan *fingerprintPlan // by prepared; nil: made at each use
}

// Field says whether a list of the choice names the form field, and which one: that
// of the fields that alone are compared, or of those that are left out. It is for
// whoever lists a form that this package does not read, such as a multipart one.
func (c FingerprintChoice) Field(name string) (only, ignored bool) {
	plan := c.planned()
	named := plan.fields[name]
	return named && plan.only, named && !plan.only
}

// fingerprintPlan is a choice made ready for use.
type fingerprintPlan struct {
	version byte
	none    bool
	only    bool            // fields and tree say what is compared, else what is not
	fields  map[string]bool // form fields; nil: all are compared
	tree    *fieldTree      // JSON members; nil: all are compared
}

// fieldTree is a set of JSON pointers, step by step.
type fieldTree struct {
	next   map[string]*fieldTree
	chosen bool // a pointer ends here
	place  int  // which one, in the order of the sorted list
}

// The plans of choices without fields, which is what most policies have.
var (
	planCanonical = &fingerprintPlan{version: FingerprintChoice{}.Version()}
	planNone      = &fingerprintPlan{version: FingerprintChoice{Mode: FingerprintNone}.Version(), none: true}
)

// Validate reports everything wrong with the choice, nil if nothing is.
func (c FingerprintChoice) Validate() error {
	var errs []error
	if c.Mode != "" && c.Mode != FingerprintCanonical && c.Mode != FingerprintNone {
		errs = append(errs, fmt.Errorf("fingerprint mode %q is none of %s, %s", c.Mode, FingerprintCanonical, FingerprintNone))
	}
	if len(c.Only) > 0 && len(c.Ignore) > 0 {
		errs = append(errs, errors.New("fingerprint: give only or ignore, not both"))
	}
	if c.Mode == FingerprintNone && len(c.Only)+len(c.Ignore) > 0 {
		errs = append(errs, errors.New("fingerprint: mode none compares no fields, so only and ignore must be empty"))
	}
	errs = append(errs, validFields("only", c.Only), validFields("ignore", c.Ignore))
	return errors.Join(errs...)
}

func validFields(list string, entries []string) error {
	var errs []error
	if len(entries) > maxChosen {
		errs = append(errs, fmt.Errorf("fingerprint: %s has %d entries, at most %d are allowed", list, len(entries), maxChosen))
	}
	for _, entry := range entries {
		switch {
		case entry == "":
			errs = append(errs, fmt.Errorf("fingerprint: %s has an empty entry, which would name the whole body: name a member, such as /csrf", list))
		case len(entry) > maxChosenBytes:
			errs = append(errs, fmt.Errorf("fingerprint: an entry of %s has %d bytes, at most %d are allowed", list, len(entry), maxChosenBytes))
		case !utf8.ValidString(entry):
			errs = append(errs, fmt.Errorf("fingerprint: entry %q of %s is not UTF-8", entry, list))
		case entry[0] == '/' && badTilde(entry):
			errs = append(errs, fmt.Errorf("fingerprint: entry %q of %s is no JSON pointer: write ~0 for '~' and ~1 for '/'", entry, list))
		}
	}
	return errors.Join(errs...)
}

// badTilde finds a '~' that begins no escape of RFC 6901 section 3.
func badTilde(pointer string) bool {
	for _, piece := range strings.Split(pointer, "~")[1:] {
		if piece == "" || piece[0] != '0' && piece[0] != '1' {
			return true
		}
	}
	return false
}

// String tells the choice and its algorithm in clear, for the card and for
// people. Two choices have the same text only if they compare the same way;
// order and repeats in a list make no difference.
func (c FingerprintChoice) String() string {
	if c.Mode == FingerprintNone {
		return fmt.Sprintf("%s/%d", FingerprintNone, fingerprintAlgorithm)
	}
	text := fmt.Sprintf("%s/%d", FingerprintCanonical, fingerprintAlgorithm)
	switch {
	case len(c.Only) > 0:
		return text + " only " + listed(c.Only)
	case len(c.Ignore) > 0:
		return text + " ignore " + listed(c.Ignore)
	}
	return text
}

// parseChoice reads what String tells. ok is false for a text that this release
// does not tell: another algorithm's, say.
func parseChoice(text string) (c FingerprintChoice, ok bool) {
	head, list, listed := strings.Cut(text, " ")
	if listed {
		kind, entries, _ := strings.Cut(list, " ")
		into := map[string]*[]string{"only": &c.Only, "ignore": &c.Ignore}[kind]
		if into == nil || json.Unmarshal([]byte(entries), into) != nil {
			return FingerprintChoice{}, false
		}
	}
	c.Mode, _, _ = strings.Cut(head, "/")
	if c.String() != text {
		return FingerprintChoice{}, false
	}
	return c.prepared(), true
}

func sortedSet(entries []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(entries)))
}

func listed(entries []string) string {
	text, _ := json.Marshal(sortedSet(entries)) // strings always marshal
	return string(text)
}

// Version returns the byte that stands for the algorithm and the choice in
// every fingerprint: the first of the SHA-256 of String, 1 where that is 0. Two
// choices may share one by chance; the guard refuses a new choice that shares
// its byte with one still in use (PROTOCOL section 7).
func (c FingerprintChoice) Version() byte { return choiceVersion(c.String()) }

// choiceVersion is the version of a choice as String tells it.
func choiceVersion(text string) byte {
	sum := sha256.Sum256([]byte(text))
	return max(sum[0], 1)
}

// prepared returns the choice with its plan made, so that it is not made again
// for every request. Later changes of its lists have no effect on the plan.
func (c FingerprintChoice) prepared() FingerprintChoice {
	c.Only, c.Ignore = slices.Clone(c.Only), slices.Clone(c.Ignore)
	c.plan = nil
	c.plan = c.planned()
	return c
}

// planned returns the plan of a choice.
func (c *FingerprintChoice) planned() *fingerprintPlan {
	switch {
	case c.plan != nil:
		return c.plan
	case c.Mode == FingerprintNone:
		return planNone
	case len(c.Only)+len(c.Ignore) == 0:
		return planCanonical
	}
	plan := &fingerprintPlan{version: c.Version(), only: len(c.Only) > 0, fields: map[string]bool{}, tree: &fieldTree{}}
	entries := c.Ignore
	if plan.only {
		entries = c.Only
	}
	for place, entry := range sortedSet(entries) {
		if entry == "" || entry[0] != '/' {
			plan.fields[entry] = true
			continue
		}
		steps := strings.Split(entry[1:], "/")
		for i, step := range steps {
			steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		}
		if len(steps) == 1 {
			plan.fields[steps[0]] = true
		}
		plan.tree.add(steps, place)
	}
	return plan
}

// add adds one pointer. What lies below another chosen pointer is chosen with
// it already.
func (t *fieldTree) add(steps []string, place int) {
	for _, step := range steps {
		if t.next == nil {
			t.next = map[string]*fieldTree{}
		}
		if t.next[step] == nil {
			t.next[step] = &fieldTree{}
		}
		t = t.next[step]
	}
	t.chosen, t.place = true, place
}
