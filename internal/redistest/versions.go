package redistest

import (
	"slices"
	"strings"
)

// What follows makes one server look like another version of it, by [Proxy.Rewrite].
// It is an emulation: it shows that a client does what the documentation of that
// version asks for, not that the version does what its documentation says.

// Before7 makes a server look like Redis 6.2: its SET does not take NX with GET.
func Before7(words []string) []string {
	switch {
	case isInfo(words, "server"):
		return sayInstead("redis_version:6.2.14")
	case is(words, "SET") && slices.Contains(words[3:], "NX") && slices.Contains(words[3:], "GET"):
		return []string{"SET", words[1], words[2], "NX", "XX"} // a syntax error everywhere
	}
	return words
}

// Since84 makes a server look like Redis 8.4: its SET takes IFEQ with GET.
func Since84(words []string) []string {
	if isInfo(words, "server") {
		return sayInstead("redis_version:8.4.0")
	}
	return withIFEQ(words)
}

// Valkey81 makes a server look like Valkey 8.1, which takes IFEQ, too.
func Valkey81(words []string) []string {
	if isInfo(words, "server") {
		return sayInstead("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0")
	}
	return withIFEQ(words)
}

// withIFEQ puts a script in place of SET name value IFEQ old GET PX ttl: the
// previous value comes back, whether or not it was replaced.
func withIFEQ(words []string) []string {
	if !is(words, "SET") || len(words) != 8 || words[3] != "IFEQ" {
		return words
	}
	return []string{"EVAL", `local t = redis.call('GET', KEYS[1])
if t == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return t`, "1", words[1], words[4], words[2], words[7]}
}

func is(words []string, command string) bool {
	return len(words) > 3 && strings.EqualFold(words[0], command)
}

func isInfo(words []string, section string) bool {
	return len(words) == 2 && strings.EqualFold(words[0], "INFO") && strings.EqualFold(words[1], section)
}

// sayInstead has the server answer a text.
func sayInstead(text string) []string { return []string{"EVAL", "return ARGV[1]", "0", text + "\r\n"} }
