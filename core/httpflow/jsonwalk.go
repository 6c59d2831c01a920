package httpflow

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// jsonAt returns the string or number that a JSON pointer (RFC 6901) names in a
// valid document, "" if there is none, or more than one.
func jsonAt(doc []byte, pointer string) string {
	value, _ := jsonFind(doc, steps(pointer))
	text, _ := jsonText(value)
	return text
}

// steps takes a JSON pointer apart.
func steps(pointer string) []string {
	list := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i := range list {
		list[i] = unescape.Replace(list[i])
	}
	return list
}

// jsonFind follows a pointer's steps through a valid document and returns the
// value there, nil if there is none. twice says that a member on the way stands
// more than once, so that nobody can tell which one is meant.
func jsonFind(doc []byte, steps []string) (value []byte, twice bool) {
	for _, step := range steps {
		found, times := []byte(nil), 0
		c := cursor{doc: doc}
		c.members(func(name string, value []byte) {
			if name == step {
				found, times = value, times+1
			}
		})
		if times != 1 {
			return nil, times > 1
		}
		doc = found
	}
	return doc, false
}

// jsonText returns a string's value and a number's digits.
func jsonText(value []byte) (string, bool) {
	if len(value) == 0 {
		return "", false
	}
	switch c := value[0]; {
	case c == '"':
		if bytes.IndexByte(value, '\\') < 0 {
			return string(value[1 : len(value)-1]), true
		}
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case c == '-' || c >= '0' && c <= '9':
		return string(value), true
	}
	return "", false
}

// cursor walks through a document that json.Valid has accepted, so that nothing
// in it can surprise.
type cursor struct {
	doc []byte
	at  int
}

// members calls each with the members of the object, or the elements of the
// array, that doc is; of anything else there are none.
func (c *cursor) members(each func(name string, value []byte)) {
	c.space()
	open := c.doc[c.at]
	if open != '{' && open != '[' {
		return
	}
	c.at++
	for i := 0; ; i++ {
		c.space()
		if b := c.doc[c.at]; b == '}' || b == ']' {
			return
		}
		name := strconv.Itoa(i)
		if open == '{' {
			name, _ = jsonText(c.value())
			c.space()
			c.at++ // the colon
			c.space()
		}
		each(name, c.value())
		c.space()
		if c.doc[c.at] == ',' {
			c.at++
		}
	}
}

func (c *cursor) space() {
	for c.at < len(c.doc) && strings.IndexByte(" \t\r\n", c.doc[c.at]) >= 0 {
		c.at++
	}
}

// value returns the value that begins here and steps behind it.
func (c *cursor) value() []byte {
	begin, depth := c.at, 0
	for c.at < len(c.doc) {
		switch c.doc[c.at] {
		case '"':
			for c.at++; c.doc[c.at] != '"'; c.at++ {
				if c.doc[c.at] == '\\' {
					c.at++
				}
			}
			if c.at++; depth == 0 {
				return c.doc[begin:c.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 { // the end of what the value stands in
				return c.doc[begin:c.at]
			}
			if depth == 0 {
				c.at++
				return c.doc[begin:c.at]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return c.doc[begin:c.at]
			}
		}
		c.at++
	}
	return c.doc[begin:c.at]
}
