package idem

import (
	"fmt"
	"strings"
)

const (
	// maxKey is the longest key in bytes.
	maxKey = 255
	// maxKeyField is the longest field, in bytes, that is looked at: a quoted key of
	// nothing but escapes takes an eighth of it, and the rest is for parameters.
	maxKeyField = 4 << 10
)

// What is wrong with a key. The texts name the rule and never the key.
var (
	errKeyEmpty      = fmt.Errorf("%w: the key is empty or blank", ErrMalformed)
	errKeyLong       = fmt.Errorf("%w: a key has at most %d bytes", ErrMalformed, maxKey)
	errKeyField      = fmt.Errorf("%w: the field has more than %d bytes", ErrMalformed, maxKeyField)
	errKeyBytes      = fmt.Errorf("%w: a key consists of printable ASCII, 0x20 to 0x7E", ErrMalformed)
	errKeyQuote      = fmt.Errorf("%w: an unquoted key holds no quotation mark", ErrMalformed)
	errKeyList       = fmt.Errorf("%w: the key is a list: send one key, and quote one that holds a comma", ErrMalformed)
	errKeyBinary     = fmt.Errorf("%w: a key does not both begin and end with a colon", ErrMalformed)
	errKeyBare       = fmt.Errorf("%w: the key must be a quoted string here", ErrMalformed)
	errKeyUnclosed   = fmt.Errorf("%w: the quoted key has no closing quotation mark", ErrMalformed)
	errKeyEscape     = fmt.Errorf(`%w: in a quoted key a backslash stands only before " or \`, ErrMalformed)
	errKeyTrailing   = fmt.Errorf("%w: something other than parameters follows the quoted key", ErrMalformed)
	errKeyParameters = fmt.Errorf("%w: the parameters after the quoted key cannot be read", ErrMalformed)
)

// ParseKey reads the value of one Idempotency-Key field line and returns the
// bare key (design: PROTOCOL section 7):
//
//   - bare: 1 to 255 bytes of 0x20 to 0x7E, spaces around it trimmed; no
//     quotation mark, no comma, and not of the form :…:, which is a byte
//     sequence in structured fields. Semicolons and backslashes are ordinary.
//   - quoted: a structured-field string (RFC 9651 section 3.3.3), parameters
//     after it ignored. Unquoted it keeps to the same limits, but quotation
//     marks and commas are allowed, and spaces inside the quotes are kept.
//
// A field of more than 4 KiB is malformed whatever it holds. Both spellings of a key
// are one key. With strict set, only quoted ones are read, as the draft has it.
// Everything else is an [ErrMalformed] that names the rule broken and never holds the
// key; an empty or blank key is never taken for an absent one. Two field lines are
// malformed too: that is for the caller to see.
func ParseKey(field string, strict bool) (string, error) {
	if len(field) > maxKeyField {
		return "", errKeyField
	}
	value := field
	if value != "" && (value[0] == ' ' || value[len(value)-1] == ' ') {
		value = strings.Trim(value, " ")
	}
	switch {
	case value == "":
		return "", errKeyEmpty
	case value[0] == '"':
		return parseQuotedKey(value)
	case strict:
		return "", errKeyBare
	case len(value) > maxKey:
		return "", errKeyLong
	}
	for i := range len(value) {
		if plainKey[value[i]] {
			continue
		}
		switch c := value[i]; {
		case c < 0x20 || c > 0x7e:
			return "", errKeyBytes
		case c == '"':
			return "", errKeyQuote
		case c == ',':
			return "", errKeyList
		}
	}
	if isByteSequence(value) {
		return "", errKeyBinary
	}
	return value, nil
}

// plainKey marks the bytes that a bare key may hold.
var plainKey = func() (plain [256]bool) {
	for c := byte(0x20); c <= 0x7e; c++ {
		plain[c] = c != '"' && c != ','
	}
	return plain
}()

func isByteSequence(key string) bool {
	return len(key) > 1 && key[0] == ':' && key[len(key)-1] == ':'
}

func parseQuotedKey(value string) (string, error) {
	key, rest, err := cutString(value)
	if err != nil {
		return "", err
	}
	if err := skipParameters(rest); err != nil {
		return "", err
	}
	switch {
	case strings.Trim(key, " ") == "":
		return "", errKeyEmpty
	case len(key) > maxKey:
		return "", errKeyLong
	case isByteSequence(key):
		return "", errKeyBinary
	}
	return key, nil
}

// cutString reads the structured-field string at the start of value, whose
// first byte is a quotation mark, and returns what follows it.
func cutString(value string) (text, rest string, err error) {
	var unescaped []byte // stays nil for as long as text is a piece of value
	for i := 1; i < len(value); i++ {
		switch c := value[i]; {
		case c < 0x20 || c > 0x7e:
			return "", "", errKeyBytes
		case c == '"':
			if unescaped != nil {
				return string(unescaped), value[i+1:], nil
			}
			return value[1:i], value[i+1:], nil
		case c == '\\':
			if unescaped == nil {
				// Room for a key, whatever follows: a parameter comes here, too.
				unescaped = append(make([]byte, 0, min(len(value), maxKey)), value[1:i]...)
			}
			i++
			if i == len(value) {
				return "", "", errKeyUnclosed
			}
			if value[i] != '"' && value[i] != '\\' {
				return "", "", errKeyEscape
			}
			unescaped = append(unescaped, value[i])
		case unescaped != nil:
			unescaped = append(unescaped, c)
		}
	}
	return "", "", errKeyUnclosed
}

// skipParameters reads the parameters after a string (RFC 9651 section 4.2.3.2)
// to the end of the field. They mean nothing to us, but they have to be read: a
// comma inside a parameter's string is no list, one outside is.
func skipParameters(s string) error {
	for s != "" {
		if s[0] == ',' {
			return errKeyList
		}
		if s[0] != ';' {
			return errKeyTrailing
		}
		s = strings.TrimLeft(s[1:], " ")
		n := leading(s, func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
		if n == 0 || !isLower(s[0]) && s[0] != '*' {
			return errKeyParameters
		}
		s = s[n:]
		if s == "" || s[0] != '=' {
			continue // a parameter without a value is true
		}
		var err error
		if s, err = skipBareItem(s[1:]); err != nil {
			return err
		}
	}
	return nil
}

// skipBareItem reads one value of a parameter. It tells the types apart, as
// only strings may hold commas, and leaves the finer grammar of numbers alone.
func skipBareItem(s string) (rest string, err error) {
	if s == "" {
		return "", errKeyParameters
	}
	switch c := s[0]; {
	case c == '"':
		_, rest, err = cutString(s)
		return rest, err
	case c == '%' && strings.HasPrefix(s, `%"`): // display string: holds no escaped quote
		text, rest, closed := strings.Cut(s[2:], `"`)
		if !closed || leading(text, func(c byte) bool { return c >= 0x20 && c <= 0x7e }) != len(text) {
			return "", errKeyParameters
		}
		return rest, nil
	case c == ':':
		n := leading(s[1:], func(c byte) bool { return isAlnum(c) || strings.IndexByte("+/=", c) >= 0 })
		if !strings.HasPrefix(s[1+n:], ":") {
			return "", errKeyParameters
		}
		return s[n+2:], nil
	case strings.HasPrefix(s, "?0"), strings.HasPrefix(s, "?1"):
		return s[2:], nil
	case c == '-' || c == '@' || isDigit(c):
		digits := strings.TrimPrefix(strings.TrimPrefix(s, "@"), "-")
		if digits == "" || !isDigit(digits[0]) {
			return "", errKeyParameters
		}
		return digits[leading(digits, func(c byte) bool { return isDigit(c) || c == '.' }):], nil
	case c == '*' || isAlpha(c): // token, RFC 9651 section 3.3.4
		return s[leading(s, func(c byte) bool { return isAlnum(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0 }):], nil
	}
	return "", errKeyParameters
}

// leading returns how many bytes at the start of s are in the set.
func leading(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isAlpha(c byte) bool { return isLower(c) || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }
