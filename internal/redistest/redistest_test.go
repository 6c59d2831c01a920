package redistest

import (
	"bufio"
	"bytes"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// client is a connection that a test keeps.
type client struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

// do sends commands in one go and returns the replies that came, up to the first
// failure.
func (c *client) do(patience time.Duration, commands ...string) (replies []string) {
	for _, command := range commands {
		words := strings.Fields(command)
		_, _ = c.Write([]byte("*" + string(rune('0'+len(words))) + "\r\n"))
		for _, w := range words {
			_, _ = c.Write([]byte("$" + string(rune('0'+len(w))) + "\r\n" + w + "\r\n"))
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	for range commands {
		frame, err := readFrame(c.r)
		if err != nil {
			return replies
		}
		replies = append(replies, strings.TrimSpace(string(frame)))
	}
	return replies
}

const patience = 30 * time.Second

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come about within %v", what, patience)
		}
	}
}

func TestServerIsSharedAndAnswers(t *testing.T) {
	addr := Server(t)
	if again := Server(t); again != addr {
		t.Errorf("asked again there is another server: %s, %s", addr, again)
	}
	if got := Do(t, addr, "CONFIG", "GET", "maxmemory-policy"); !strings.HasSuffix(got, "noeviction") {
		t.Errorf("it may evict: %q", got)
	}
	Do(t, addr, "SET", "a", "v")
	Flush(t, addr)
	if got := Do(t, addr, "GET", "a"); got != "$-1" {
		t.Errorf("after Flush there is %q", got)
	}
	own, stop := Start(t, "--maxmemory", "3mb")
	if own == addr {
		t.Error("a server of one's own is the shared one")
	}
	stop()
	if _, err := do(own, "PING"); err == nil {
		t.Error("stopped, it answers")
	}
}

// Programs that test at once each look for a free port: one that another took first
// is not ours, whoever answers there.
func TestTheServerOfAnotherIsNotTakenForOurs(t *testing.T) {
	others := Server(t)
	if s, err := launchAt(find(t, "redis-server"), others, plainly(nil)); err == nil {
		s.stop()
		t.Error("a server was started where another listens")
	}
	if got := Do(t, others, "PING"); got != "+PONG" {
		t.Errorf("the other answers %q", got)
	}
}

func TestServerEndsWithItsLastUser(t *testing.T) {
	var addr string
	t.Run("user", func(t *testing.T) { addr = Server(t) })
	if _, err := do(addr, "PING"); err == nil {
		t.Error("without a user it still answers")
	}
}

func TestMiniredisTimeMovesByHandOnly(t *testing.T) {
	m := Miniredis(t)
	Do(t, m.Addr(), "SET", "a", "v", "PX", "1000")
	before := timeOf(t, m.Addr())
	Advance(t, m, 999*time.Millisecond)
	if got := Do(t, m.Addr(), "PTTL", "a"); got != ":1" {
		t.Errorf("after 999 ms of its second it has %s left", got)
	}
	Advance(t, m, time.Millisecond)
	if got := Do(t, m.Addr(), "GET", "a"); got != "$-1" {
		t.Errorf("after its second there is %q", got)
	}
	if went := timeOf(t, m.Addr()).Sub(before); went != time.Second {
		t.Errorf("its clock went on by %v", went)
	}
}

func TestKeepTimeFollowsTheHost(t *testing.T) {
	m := Miniredis(t)
	advance, stop := KeepTime(m)
	Do(t, m.Addr(), "SET", "short", "v", "PX", "30")
	eventually(t, "the end of a value of 30 ms", func() bool { return Do(t, m.Addr(), "GET", "short") == "$-1" })
	Do(t, m.Addr(), "SET", "long", "v", "EX", "3600")
	advance(time.Hour)
	if got := Do(t, m.Addr(), "GET", "long"); got != "$-1" {
		t.Errorf("advanced by its hour there is %q", got)
	}
	if ahead := time.Until(timeOf(t, m.Addr())); ahead < 59*time.Minute || ahead > time.Hour {
		t.Errorf("advanced by an hour it is ahead by %v", ahead)
	}
	stop()
	stop()
}

func TestProxyLosesTheReplyItWasToldTo(t *testing.T) {
	m := Miniredis(t)
	p := NewProxy(t, m.Addr())
	c := dial(t, p.Addr())
	p.Lose(1, "SET")
	if got := c.do(patience, "PING", "SET a 1", "PING"); len(got) != 1 || got[0] != "+PONG" {
		t.Errorf("got %q, want the reply before the lost one alone", got)
	}
	if got, _ := m.Get("a"); got != "1" {
		t.Errorf("the command whose reply was lost left %q", got)
	}
	if got := dial(t, p.Addr()).do(patience, "SET a 2"); len(got) != 1 || got[0] != "+OK" {
		t.Errorf("the next one got %q", got)
	}
	if n := p.Count("SET"); n != 2 {
		t.Errorf("counted %d SETs, want 2", n)
	}
}

func TestProxyLosesSome(t *testing.T) {
	m := Miniredis(t)
	p := NewProxy(t, m.Addr())
	p.LoseSome(0.2, "INCR")
	const times = 300
	failed := 0
	var c *client
	for range times {
		if c == nil {
			c = dial(t, p.Addr())
		}
		if got := c.do(patience, "INCR a"); len(got) == 0 {
			failed++
			_ = c.Close()
			c = nil
		}
	}
	if failed != p.Lost() || failed < times/10 || failed > times*3/10 {
		t.Errorf("at 20 %%, %d of %d replies did not come and %d were lost", failed, times, p.Lost())
	}
	if got, _ := m.Get("a"); got != strconv.Itoa(times) {
		t.Errorf("of %d commands %s were applied", times, got)
	}
}

func TestProxyDeliversLate(t *testing.T) {
	m := Miniredis(t)
	p := NewProxy(t, m.Addr())
	const late = 200 * time.Millisecond
	p.Late(1, late, "SET")
	sent := time.Now()
	if got := dial(t, p.Addr()).do(patience, "SET a 1"); len(got) != 0 {
		t.Errorf("the client got %q, want its connection closed", got)
	}
	if m.Exists("a") && time.Since(sent) < late {
		t.Error("it was there before its time")
	}
	eventually(t, "the late command", func() bool { return m.Exists("a") })
}

func TestProxyFallsSilent(t *testing.T) {
	m := Miniredis(t)
	p := NewProxy(t, m.Addr())
	c := dial(t, p.Addr())
	resume := p.Stall()
	if got := c.do(30*time.Millisecond, "SET a 1"); len(got) != 0 || m.Exists("a") {
		t.Errorf("silent, it answered %q", got)
	}
	resume()
	if got := c.do(patience, "PING"); len(got) != 1 || got[0] != "+OK" {
		t.Errorf("afterwards the reply to the first command was %q", got)
	}
}

func TestProxyRefuses(t *testing.T) {
	m := Miniredis(t)
	p := NewProxy(t, m.Addr())
	c := dial(t, p.Addr())
	if got := c.do(patience, "PING"); len(got) != 1 {
		t.Fatalf("undisturbed: %q", got)
	}
	resume := p.Refuse()
	if got := c.do(patience, "PING"); len(got) != 0 {
		t.Errorf("an open connection still answers: %q", got)
	}
	if got := dial(t, p.Addr()).do(patience, "PING"); len(got) != 0 {
		t.Errorf("a new connection answers: %q", got)
	}
	eventually(t, "the end of the connections", func() bool { return p.Conns() == 0 })
	resume()
	if got := dial(t, p.Addr()).do(patience, "PING"); len(got) != 1 {
		t.Errorf("afterwards: %q", got)
	}
}

func TestProxyStepsInBetweenTwoCommands(t *testing.T) {
	m := Miniredis(t)
	p := NewProxy(t, m.Addr())
	Do(t, m.Addr(), "SET", "a", "1")
	p.Before(func() { Do(t, m.Addr(), "SET", "a", "2") }, "STRLEN")
	if got := dial(t, p.Addr()).do(patience, "GET a", "STRLEN a", "GET a"); len(got) != 3 ||
		got[0] != "$1\r\n1" || got[2] != "$1\r\n2" {
		t.Errorf("got %q, want the value to change before the second command", got)
	}
}

func TestFramesAreReadWhole(t *testing.T) {
	for _, frame := range []string{
		"+OK\r\n", "-ERR no\r\n", ":5\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "$3\r\na\r\n\r\n", "*2\r\n$1\r\na\r\n:1\r\n",
		"*2\r\n*1\r\n+a\r\n$0\r\n\r\n", "%1\r\n+a\r\n:1\r\n",
	} {
		r := bufio.NewReader(strings.NewReader(frame + "+next\r\n"))
		if got, err := readFrame(r); err != nil || !bytes.Equal(got, []byte(frame)) {
			t.Errorf("%q was read as %q, %v", frame, got, err)
		}
	}
	for _, frame := range []string{"", "$5\r\nab", "*2\r\n+a\r\n", "$x\r\n"} {
		if got, err := readFrame(bufio.NewReader(strings.NewReader(frame))); err == nil {
			t.Errorf("%q was read as %q without an error", frame, got)
		}
	}
}
