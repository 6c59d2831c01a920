package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the testbed, built once and driven as scripts outside this
// repository do it.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "testbed-")
	if err != nil {
		log.Fatal(err)
	}
	program = filepath.Join(dir, "testbed")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		log.Fatalf("building the testbed: %v\n%s", err, out)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func TestFlagsThatCannotBeHonouredAreErrors(t *testing.T) {
	for _, c := range []struct{ flags, says string }{
		{"-store postgres", "not there yet"},
		{"-store mysql", "not there yet"},
		{"-store etcd", "not there yet"},
		{"-store tiered", "not there yet"},
		{"-store floppy", "none of"},
		{"-postgres postgres://localhost/x", "-postgres: not there yet"},
		{"-mysql localhost", "-mysql: not there yet"},
		{"-etcd localhost", "-etcd: not there yet"},
		{"-policy file.json", "-policy: open file.json"},
		{"-tier failover", "-tier: not there yet"},
		{"-adapter gin", "none of stdhttp, echo, fiber"},
		{"-store redis", "needs -redis"},
		{"-redis redis://127.0.0.1:1", "goes with -store redis"},
		{"-store redis -redis nonsense", "-redis"},
		{"-call 0s", "above zero"},
		{"-suite", "not defined"},
		{"extra", "no flag"},
	} {
		out, err := command(t, strings.Fields(c.flags)...)
		if err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v, said %q, want an error that says %q", c.flags, err, out, c.says)
		}
		if strings.Contains(out, "listening on") {
			t.Errorf("%s: it listened", c.flags)
		}
	}
}

func TestItRunsCountsMisbehavesAndDrains(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		for _, store := range []string{"memory", "miniredis"} {
			t.Run(adapter+"/"+store, func(t *testing.T) {
				drive(t, start(t, "-adapter", adapter, "-store", store, "-call", patient, "-control"))
			})
		}
	}
}

// patient is as long as a call of a store may take under the presets' leases, and
// longer than a busy machine stands still.
const patient = "1500ms"

// interrupt is what asks a testbed to end.
const interrupt = syscall.SIGTERM

type testbed struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	rest *bufio.Reader
}

func start(t *testing.T, flags ...string) *testbed {
	t.Helper()
	b := &testbed{t: t, cmd: exec.Command(program, flags...)}
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	b.rest = bufio.NewReader(out)
	line, err := b.rest.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("its first line is %q (%v)", line, err)
	}
	b.url = url
	return b
}

// send sends a request of "METHOD path", a body, and header lines.
func (b *testbed) send(what, body string, lines ...string) (status int, verdict, text string) {
	b.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	r, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Idempotency-Status"), string(answer)
}

func (b *testbed) want(status int, verdict, what, body string, lines ...string) string {
	b.t.Helper()
	gotStatus, gotVerdict, text := b.send(what, body, lines...)
	if gotStatus != status || gotVerdict != verdict {
		b.t.Errorf("%s %q: %d %q %s, want %d %q", what, lines, gotStatus, gotVerdict, text, status, verdict)
	}
	return text
}

// drive is a day in the life of a testbed.
func drive(t *testing.T, b *testbed) {
	b.want(201, "executed", "POST /do/a", `{}`, "Idempotency-Key: a", "Authorization: Bearer ann.1")
	b.want(201, "replayed", "POST /do/a", `{}`, "Idempotency-Key: a", "Authorization: Bearer ann.2", "Do-Status: 202")
	b.want(402, "executed", "POST /do/b", `{}`, "Idempotency-Key: b", "Do-Error: no money", "Do-Status: 402")
	b.want(503, "released", "POST /key/c", `{}`, "Idempotency-Key: c", "Do-Status: 503")
	b.want(500, "uncertain", "POST /pay/d", `{}`, "Idempotency-Key: d", "Do-Effects: 1", "Do-Panic: at once")
	b.want(200, "unguarded", "GET /do/e", "", "Idempotency-Key: e", "Do-Status: 200")

	var tally struct {
		Total, Effects int
		ByKey          map[string]int
	}
	if err := json.Unmarshal([]byte(b.want(200, "", "GET /runs", "")), &tally); err != nil {
		t.Fatal(err)
	}
	if tally.Total != 5 || tally.Effects != 3 || len(tally.ByKey) != 5 {
		t.Errorf("counted %+v, want 5 runs, 3 effects, 5 keys", tally)
	}
	for key, n := range tally.ByKey {
		if n != 1 || !strings.Contains(key, "|idem:test:") {
			t.Errorf("counted %d runs of %q, want 1 each by scope and record name", n, key)
		}
	}
	b.want(200, "", "POST /runs/reset", "")
	if text := b.want(200, "", "GET /runs", ""); !strings.Contains(text, `"total":0`) {
		t.Errorf("after the reset: %s", text)
	}

	b.want(200, "", "POST /control/fault", `{"op":"claim","mode":"refuse","times":-1}`)
	b.want(503, "unavailable", "POST /do/f", `{}`, "Idempotency-Key: f")
	b.want(200, "", "POST /control/fault", `{"op":"claim","times":0}`)
	b.want(201, "executed", "POST /do/g", `{}`, "Idempotency-Key: g")
	b.want(400, "", "POST /control/fault", `{"op":"nothing","mode":"refuse","times":1}`)

	var token struct{ Token string }
	if err := json.Unmarshal([]byte(b.want(200, "", "POST /idempotency/tokens", `{"operation":"test:form:run","context":"cart"}`, "Authorization: Bearer ann")), &token); err != nil {
		t.Fatal(err)
	}
	b.want(201, "executed", "POST /form/cart", `{"idempotentToken":"`+token.Token+`"}`, "Authorization: Bearer ann")
	b.want(200, "", "POST /control/expire", `{"advance":"16m"}`)
	b.want(201, "replayed", "POST /form/cart", `{}`, "Authorization: Bearer ann", "Idempotency-Token: "+token.Token)
	b.drain()
}

// drain: what runs is finished, and the program ends with 0.
func (b *testbed) drain() {
	b.t.Helper()
	status := make(chan int, 1)
	go func() {
		s, _, _ := b.send("POST /do/last", `{}`, "Idempotency-Key: last", "Do-Delay: 300ms")
		status <- s
	}()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(b.want(200, "", "GET /runs", ""), `"total":`+"3"); {
		if time.Now().After(deadline) {
			b.t.Fatal("the last request did not begin")
		}
	}
	// A connection that the client has in reserve would be waited for.
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := b.cmd.Process.Signal(interrupt); err != nil {
		b.t.Fatal(err)
	}
	if s := <-status; s != 201 {
		b.t.Errorf("the request under way was answered %d", s)
	}
	if err := b.cmd.Wait(); err != nil {
		b.t.Errorf("it ended with %v, want exit code 0", err)
	}
}
