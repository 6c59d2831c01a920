package idem

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file holds how each kind of value in a policy's JSON is read and written.

// readMember reads a value to where it belongs.
func readMember(raw json.RawMessage, at any) []error {
	var err error
	switch at := at.(type) {
	case *string:
		err = readText(raw, at)
	case *[]string:
		err = readList(raw, at)
	case *YesNo:
		switch string(raw) {
		case "true":
			*at = Yes
		case "false":
			*at = No
		default:
			err = fmt.Errorf("%s is neither true nor false", short(raw))
		}
	case *time.Duration:
		err = readDuration(raw, at)
	case leaseMember:
		err = readLease(raw, at)
	case *int64:
		var text string
		if err = readText(raw, &text); err == nil {
			*at, err = parseSize(text)
		}
	case *float64:
		if json.Unmarshal(raw, at) != nil || string(raw) == "null" {
			err = fmt.Errorf("%s is no number", short(raw))
		} else if *at == 0 {
			err = fmt.Errorf("%s of the keys is none of them: for that write \"mode\": \"off\"", short(raw))
		}
	case *FingerprintChoice:
		return readChoice(raw, at)
	case fixed:
		if !sameJSON(raw, []byte(at)) {
			err = fmt.Errorf("%s is not honoured by this build, only %s is", short(raw), at)
		}
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

func readDuration(raw json.RawMessage, into *time.Duration) (err error) {
	var text string
	if err = readText(raw, &text); err == nil {
		if *into, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%s is no duration: write it as Go does, such as \"90s\"", short(raw))
		}
	}
	return err
}

// adaptiveWord stands behind a lease that follows the handler, or alone.
const adaptiveWord = "adaptive"

func readLease(raw json.RawMessage, into leaseMember) error {
	var text string
	if err := readText(raw, &text); err != nil {
		return err
	}
	start, adaptive := strings.CutSuffix(text, adaptiveWord)
	if !adaptive {
		return readDuration(raw, &into.Lease)
	}
	if into.AdaptiveLease = true; start == "" {
		return nil // it begins where the preset says
	}
	start, apart := strings.CutSuffix(start, " ")
	var err error
	if into.Lease, err = time.ParseDuration(start); err != nil || !apart || into.Lease == 0 {
		return fmt.Errorf("%s is no lease: write \"30s\", \"adaptive\", or \"30s adaptive\"", short(raw))
	}
	return nil
}

func readText(raw json.RawMessage, into *string) error {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("%s is no string", short(raw))
	}
	return nil
}

func readList(raw json.RawMessage, into *[]string) error {
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil || entries == nil {
		return fmt.Errorf("%s is no array of strings", short(raw))
	}
	list := make([]string, len(entries))
	for i, entry := range entries {
		if err := readText(entry, &list[i]); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	*into = list
	return nil
}

func readChoice(raw json.RawMessage, into *FingerprintChoice) (wrong []error) {
	places := [...]any{&into.Mode, &into.Only, &into.Ignore}
	err := eachMember(raw, func(name string, raw json.RawMessage) {
		i := slices.Index(choiceMembers[:], name)
		if i < 0 {
			wrong = append(wrong, unknownMember(name, func(s string) string { return s }, choiceMembers[:]))
			return
		}
		for _, err := range readMember(raw, places[i]) {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	})
	return append(wrong, err...)
}

// sameJSON compares two values, so that 1.0 is 1.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// short quotes what was written, so that an error stays one line.
func short(raw []byte) string {
	const most = 60
	text := strings.Join(strings.Fields(string(raw)), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// writtenMember is a member's value as JSON.
func writtenMember(at any) []byte {
	var v any
	switch at := at.(type) {
	case *string:
		v = *at
	case *[]string:
		v = append([]string{}, *at...) // never null
	case *YesNo:
		v = *at == Yes
	case *time.Duration:
		v = durationText(*at)
	case leaseMember:
		v = leaseText(at)
	case *int64:
		v = sizeText(*at)
	case *float64:
		v = *at
	case *FingerprintChoice:
		mode := or(at.Mode, FingerprintCanonical)
		v = FingerprintChoice{Mode: mode, Only: append([]string{}, at.Only...), Ignore: append([]string{}, at.Ignore...)}
	case fixed:
		return []byte(at)
	}
	text, _ := json.Marshal(v) // strings, lists of them and a bool: it cannot fail
	return text
}

func leaseText(at leaseMember) string {
	switch {
	case !at.AdaptiveLease:
		return durationText(at.Lease)
	case at.Lease == 0:
		return adaptiveWord
	}
	return durationText(at.Lease) + " " + adaptiveWord
}

// durationText is 24h where String says 24h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// sizeUnits are the units of a size, the largest first.
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// sizeText is a size in the largest unit that it is a whole number of.
func sizeText(n int64) string {
	for _, u := range sizeUnits {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BGKMi")
	for _, u := range sizeUnits {
		if text[len(digits):] != u.name {
			continue
		}
		if n, err := strconv.ParseUint(digits, 10, 63); err == nil && n <= uint64(math.MaxInt64/u.bytes) {
			return int64(n) * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("%.80q is no size: write a whole number and B, KiB, MiB or GiB, such as \"1MiB\"", text)
}
