package redistest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The user that [StartWithRights] makes, and the password of everybody else.
const (
	LimitedUser     = "app"
	LimitedPassword = "secret"
	AdminPassword   = "other"
)

var right = regexp.MustCompile(`[+~&][a-z|:*]+`)

// StartWithRights starts a redis-server with a user who has no rights but those
// that a paragraph of a page names, such as +set or ~idem:*: the one that begins
// with begins. Whoever else comes needs [AdminPassword].
func StartWithRights(t testing.TB, page, begins string) (addr string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), begins)
	paragraph, _, _ := strings.Cut(after, "\n\n")
	rights := right.FindAllString(paragraph, -1)
	if len(rights) < 10 {
		t.Fatalf("%s names the rights %q behind %q", page, rights, begins)
	}
	addr, _ = Start(t)
	user := append([]string{"ACL", "SETUSER", LimitedUser, "reset", "on", ">" + LimitedPassword}, rights...)
	for _, words := range [][]string{user, {"ACL", "SETUSER", "default", "resetpass", ">" + AdminPassword}} {
		if got := Do(t, addr, words...); got != "+OK" {
			t.Fatalf("%q: %s", words, got)
		}
	}
	return addr
}
