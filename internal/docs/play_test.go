package docs

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// pageAddress is where every server of a page listens.
const pageAddress = "127.0.0.1:8080"

// play is a program of a page, and what the page says that it prints or answers.
type play struct {
	where    string
	text     string
	prints   string  // the whole of its output, "" where the page does not say
	report   string  // what a server prints before it listens, likewise
	sessions []block // what is typed beside it, in order
}

// endComments finds comments behind the last statement of a function.
var endComments = regexp.MustCompile(`(?m)((?:^\t// .*\n)+)}\n`)

// plays returns the programs of a page of which the page says what comes of them.
// What a program prints stands in the fence behind "It prints", or in the comments
// at the end of main. A diff makes the next program out of the one before.
func plays(p page) (list []*play) {
	lines := strings.Split(p.text, "\n")
	said := func(b block) bool { return b.line > 4 && strings.HasSuffix(lines[b.line-4], "It prints") }
	var now *play
	begin := func(b block, text string) *play {
		now := &play{where: fmt.Sprintf("%s:%d", p.path, b.line), text: text}
		if m := endComments.FindStringSubmatch(text); m != nil {
			now.prints = strings.TrimPrefix(strings.ReplaceAll("\n"+m[1], "\n\t// ", "\n"), "\n")
		}
		return now
	}
	blocks, _ := p.blocks()
	for _, b := range blocks {
		switch {
		case strings.HasPrefix(b.text, "package main\n"):
			now = begin(b, b.text)
		case now == nil:
			continue
		case b.kind == "diff":
			now = begin(b, patched(now.text, b.text))
		case b.kind == "" && said(b):
			now.prints = b.text
		case strings.HasPrefix(b.text, "store memory: "):
			now.report = b.text
		case strings.HasPrefix(b.text, "$ curl ") && strings.Contains(b.text, pageAddress):
			now.sessions = append(now.sessions, b)
		}
		if len(list) == 0 || list[len(list)-1] != now {
			list = append(list, now)
		}
	}
	return list
}

// patched puts the lines with a plus in the place of those with a minus.
func patched(text, diff string) string {
	var old, new strings.Builder
	for line := range strings.Lines(diff) {
		if rest, is := strings.CutPrefix(line, "-"); is {
			old.WriteString(rest)
		} else if rest, is := strings.CutPrefix(line, "+"); is {
			new.WriteString(rest)
		}
	}
	return strings.Replace(text, old.String(), new.String(), 1)
}

// TestPagesShowWhatHappens runs the programs of every page and types what the
// page types. A page that shows what a program printed once goes wrong with the
// next release; and a reader who sees something else stops believing the rest.
func TestPagesShowWhatHappens(t *testing.T) {
	played := 0
	for _, p := range pagesOf(t) {
		for _, a := range plays(p) {
			if a.prints == "" && a.report == "" && len(a.sessions) == 0 {
				continue
			}
			played++
			t.Run(a.where, func(t *testing.T) {
				t.Parallel()
				a.run(t, p.path == "README.md")
			})
		}
	}
	if played < 9 {
		t.Errorf("%d programs were played: the reading is broken", played)
	}
	t.Run("the control", func(t *testing.T) {
		for _, c := range []struct {
			shown, got string
			some, want bool
		}{
			{"a\nb: 1\n\nc\n", "a\nb: 1\n\nc\n", false, true},
			{"a\n\nc\n", "a\nb: 1\n\nc\n", false, false},
			{"a\n\nc\n", "a\nb: 1\n\nc\n", true, true},
			{"a\nz: 1\n\nc\n", "a\nb: 1\n\nc\n", true, false},
			{"a\nRetry-After: 30\n\nc\n", "a\nRetry-After: 1\n\nc\n", false, true},
			{`{"since":"…","x":1}`, `{"since":"2026","x":1}`, false, true},
			{`{"since":"…","x":1}`, `{"since":"2026","x":2}`, false, false},
		} {
			if same(c.shown, c.got, c.some) != c.want {
				t.Errorf("%q for %q, some lines %v: want %v", c.got, c.shown, c.some, c.want)
			}
		}
	})
}

// run builds and runs the program, and holds what comes to what the page shows.
// The answers that the README shows leave out some lines of their heads.
func (a *play) run(t *testing.T, someLines bool) {
	dir := t.TempDir()
	address := freeAddress(t)
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(a.text, pageAddress, address)), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, file)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir = dir
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	if a.prints != "" {
		defer stop()
		if err := cmd.Run(); err != nil || !same(a.prints, out.String(), false) {
			t.Errorf("%v; it printed\n%s\nthe page shows\n%s", err, out.String(), a.prints)
		}
		return
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = cmd.Wait() }()
	eventually(t, "the server listens", func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	if a.report != "" {
		eventually(t, "the report is printed", func() bool { return strings.Count(out.String(), "\n") >= strings.Count(a.report, "\n") })
		if shown, got := sampleName.ReplaceAllString(a.report, "…"), sampleName.ReplaceAllString(out.String(), "…"); strings.TrimSpace(shown) != strings.TrimSpace(got) {
			t.Errorf("the report is\n%s\nthe page shows\n%s", got, shown)
		}
	}
	told := map[string]string{pageAddress: address} // what the page says → what it is here
	for _, b := range a.sessions {
		for _, s := range steps(b.text) {
			s.check(t, address, told, someLines)
		}
	}
}

// sampleName finds the hash in a name that the report makes up.
var sampleName = regexp.MustCompile(`[a-z2-7]{26}\b`)

// retryAfter finds the time that an answer says to wait.
var retryAfter = regexp.MustCompile(`(?m)^(Retry-After:) \d+$`)

// freeAddress is where nobody listens just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually polls for something to come true, a minute at most.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to be: %s", what)
		}
	}
}

// output may be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// same compares what a page shows with what came. An ellipsis between quotation
// marks stands for anything, and how long to wait depends on when it was asked;
// with some, lines of the head may be left out.
func same(shown, got string, some bool) bool {
	shown, got = retryAfter.ReplaceAllString(shown, "$1 some"), retryAfter.ReplaceAllString(got, "$1 some")
	pattern := regexp.QuoteMeta(strings.TrimRight(shown, "\n"))
	pattern = strings.ReplaceAll(pattern, `"…"`, `"[^"]*"`)
	if some {
		head, body, _ := strings.Cut(pattern, "\n\n")
		pattern = strings.ReplaceAll(head, "\n", "\n(?:.+\n)*?") + "(?:\n.+)*\n\n" + body
	}
	return regexp.MustCompile(`\A(?:` + pattern + `)\n*\z`).MatchString(got)
}
