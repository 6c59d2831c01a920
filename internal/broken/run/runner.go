package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// verdict is what came of one rule. Only noticedIt is good.
type verdict string

const (
	noticedIt  verdict = "noticed"
	blind      verdict = "does not notice"
	failsAlone verdict = "fails with nothing broken"
	notThere   verdict = "no such test"
	skips      verdict = "skips"
	hangs      verdict = "hangs instead of failing"
	brokeOff   verdict = "ends the process instead of failing"
	unbuilt    verdict = "does not build"
)

// row is one rule with its verdict.
type row struct {
	entry   broken.Entry
	verdict verdict
	took    time.Duration // of the broken run
	said    string        // end of the output, where the verdict is not good
}

func (w row) title() string { return w.entry.Pkg + " " + w.entry.Test }

// String is the row's line in the table.
func (w row) String() string {
	return fmt.Sprintf("  %-26s %-26s %6.1f s  %s", w.verdict, w.entry.Name, w.took.Seconds(), w.title())
}

// runner builds each package's test program once and keeps what a test did with
// nothing broken, since several rules may name the same one.
type runner struct {
	root, bin string
	limit     time.Duration
	out       io.Writer
	built     map[string]built
	sound     map[string]trial
}

// built is a test program, or the reason why there is none.
type built struct {
	path string
	said string
}

// trial is one run of one test.
type trial struct {
	ended string // "PASS", "FAIL" or "SKIP" as the test program said of that test, "" if it did not
	ok    bool   // exit status 0
	said  string
	took  time.Duration
}

// judge runs one rule's test with nothing broken and with the rule broken.
func (r *runner) judge(ctx context.Context, e broken.Entry) row {
	w := row{entry: e}
	b := r.build(ctx, e.Pkg)
	if b.path == "" {
		w.verdict, w.said = unbuilt, b.said
		return w
	}
	key := e.Pkg + " " + e.Test
	sound, ok := r.sound[key]
	if !ok {
		sound = r.run(ctx, b.path, e, "")
		if r.sound == nil {
			r.sound = map[string]trial{}
		}
		r.sound[key] = sound
	}
	switch {
	case sound.ended == "SKIP":
		w.verdict, w.said = skips, sound.said
		return w
	case sound.ended == "" && sound.ok:
		w.verdict, w.said = notThere, sound.said
		return w
	case sound.ended != "PASS" || !sound.ok:
		w.verdict, w.said = failsAlone, sound.said
		return w
	}
	trial := r.run(ctx, b.path, e, e.Name)
	w.took = trial.took
	if w.verdict = afterBreaking(trial); w.verdict != noticedIt {
		w.said = trial.said
	}
	return w
}

// afterBreaking judges the run with the rule broken.
func afterBreaking(t trial) verdict {
	switch {
	case strings.Contains(t.said, "panic: test timed out"):
		return hangs
	case t.ended == "FAIL" && !t.ok:
		return noticedIt
	case t.ended == "SKIP":
		return skips
	case t.ok:
		return blind
	}
	return brokeOff
}

// build makes the test program of a package, the first time it is asked for.
func (r *runner) build(ctx context.Context, pkg string) built {
	if b, ok := r.built[pkg]; ok {
		return b
	}
	if r.built == nil {
		r.built = map[string]built{}
	}
	path := filepath.Join(r.bin, strings.NewReplacer("/", "_", ".", "_").Replace(pkg)+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", path, ".")
	cmd.Dir = filepath.Join(r.root, pkg)
	out, err := cmd.CombinedOutput()
	b := built{path: path}
	if err != nil {
		b = built{said: fmt.Sprintf("%s%v\n", out, err)}
	} else if _, err := os.Stat(path); err != nil {
		b = built{said: string(out) + "the package has no test\n"}
	}
	r.built[pkg] = b
	return b
}

// run runs one test of a built program with the rule of that name broken; the
// empty name breaks nothing.
func (r *runner) run(ctx context.Context, path string, e broken.Entry, name string) trial {
	ctx, cancel := context.WithTimeout(ctx, r.limit+10*time.Second)
	defer cancel()
	started := time.Now()
	cmd := exec.CommandContext(ctx, path, "-test.run="+pattern(e.Test), "-test.v", "-test.count=1", "-test.timeout="+r.limit.String())
	cmd.Dir = filepath.Join(r.root, e.Pkg)
	cmd.Env = append(os.Environ(), "IDEM_BROKEN="+name)
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return trial{ended: endOf(e.Test, out.String()), ok: err == nil, said: tail(out.String()), took: time.Since(started)}
}

// pattern is the -test.run expression that matches the test of that name alone.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(spelt(p)) + "$"
	}
	return strings.Join(parts, "/")
}

// spelt is a subtest's name as the test program writes it: with underscores for
// spaces.
func spelt(name string) string { return strings.ReplaceAll(name, " ", "_") }

// endOf finds what the output says of the test itself: PASS, FAIL, SKIP or "".
func endOf(test, out string) string {
	m := regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): ` + regexp.QuoteMeta(spelt(test)) + ` \(`).FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1]
}

// tail is the end of an output, enough to see what went wrong. The line of a
// time-out stands before a dump of all goroutines, so it is kept by name.
func tail(out string) string {
	const most = 3000
	if len(out) <= most {
		return out
	}
	cut := "…" + out[len(out)-most:]
	if i := strings.Index(out, "panic: test timed out"); i >= 0 && !strings.Contains(cut, "panic: test timed out") {
		cut = out[i:i+strings.IndexByte(out[i:]+"\n", '\n')] + "\n" + cut
	}
	return cut
}
