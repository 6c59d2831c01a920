package docs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// step is one command of a page, and what stands below it.
type step struct{ typed, shown string }

// steps takes a session apart.
func steps(session string) (list []step) {
	for line := range strings.Lines(session) {
		if typed, is := strings.CutPrefix(line, "$ "); is {
			list = append(list, step{typed: strings.TrimSpace(typed)})
		} else if len(list) > 0 {
			list[len(list)-1].shown += line
		}
	}
	return list
}

var (
	word   = regexp.MustCompile(`'[^']*'|\S+`)
	issued = regexp.MustCompile(`"token":"([^"]+)"`)
)

// check types a command and holds the answer to the page. What the page says in
// words stands behind two of them: "in-flight" is the answer to a request that
// comes while the same one runs, and a sleep waits for a run to end.
func (s step) check(t *testing.T, address string, told map[string]string, some bool) {
	t.Helper()
	typed, shown := s.typed, s.shown
	for page, here := range told {
		typed, shown = strings.ReplaceAll(typed, page, here), strings.ReplaceAll(shown, page, here)
	}
	words := word.FindAllString(typed, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, "'")
	}
	if words[0] == "sleep" {
		return // until the next command is no longer in flight: below
	}
	var got string
	if strings.Contains(shown, "Idempotency-Status: in-flight") {
		both := make(chan string, 2)
		for range 2 {
			go func() { both <- curl(t, address, words) }()
		}
		got = <-both
		defer func() { <-both }()
	} else {
		eventually(t, "the run before is over", func() bool {
			got = curl(t, address, words)
			return !strings.Contains(got, "Idempotency-Status: in-flight")
		})
	}
	if m, here := issued.FindStringSubmatch(shown), issued.FindStringSubmatch(got); m != nil && here != nil {
		told[m[1]] = here[1]
		shown = strings.ReplaceAll(shown, m[1], here[1])
	}
	if !same(shown, got, some) {
		t.Errorf("$ %s\nwas answered\n%s\nthe page shows\n%s", typed, got, shown)
	}
}

// curl does what curl does with these words, and returns what it would print, but
// for the date. It needs no curl, and shows the answer as it came.
func curl(t *testing.T, address string, words []string) string {
	var head []string
	var body, target string
	patience := 30 * time.Second
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-i":
		case "-H", "-d", "-m":
			i++
			switch words[i-1] {
			case "-H":
				head = append(head, words[i])
			case "-d":
				body = words[i]
			default:
				patience, _ = time.ParseDuration(words[i] + "s")
			}
		default:
			target = strings.TrimPrefix(words[i], "http://"+address)
		}
	}
	if !strings.HasPrefix(target, "/") {
		t.Errorf("%v asks nobody here", words)
		return ""
	}
	head = append(head, "Host: "+address, "Accept: */*", "Content-Type: application/x-www-form-urlencoded",
		fmt.Sprintf("Content-Length: %d", len(body)), "Connection: close")
	got, err := exchange(address, "POST "+target+" HTTP/1.1\r\n"+strings.Join(head, "\r\n")+"\r\n\r\n"+body, patience)
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return fmt.Sprintf("curl: (28) Operation timed out after %d milliseconds with 0 bytes received\n", patience.Milliseconds())
	case err != nil:
		t.Errorf("%v: %v", words, err)
	}
	return got
}

// exchange sends a request and returns the answer with its lines in their order,
// without the date.
func exchange(address, request string, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	var raw strings.Builder
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	head, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
	lines := slices.DeleteFunc(strings.Split(head, "\r\n"), func(line string) bool {
		return strings.HasPrefix(line, "Date: ") || line == "Connection: close"
	})
	return strings.Join(lines, "\n") + "\n\n" + string(body), err
}
