package testserver_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/testserver"
)

func launcher(t *testing.T) *testserver.Launcher {
	t.Helper()
	var l testserver.Launcher
	t.Cleanup(l.Close)
	if err := l.Build(); err != nil {
		t.Fatal(err)
	}
	return &l
}

func start(t *testing.T, l *testserver.Launcher, flags ...string) *testserver.Process {
	t.Helper()
	p, err := l.Start(flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// eventually asks again until yes says yes, for at most half a minute.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !yes(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestTimePassesInAMini(t *testing.T) {
	mini, err := testserver.StartMini("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mini.Close)
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	set := func(key string, ttl time.Duration) {
		t.Helper()
		if err := client.Set(ctx, key, "v", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	there := func(key string) bool { return client.Exists(ctx, key).Val() == 1 }

	set("short", 50*time.Millisecond)
	set("hour", time.Hour)
	eventually(t, "a value to expire by itself", func() bool { return !there("short") })
	if !there("hour") {
		t.Error("a value of an hour is gone after a moment")
	}

	// Moved on from here and from the other end of the wire, by half an hour each.
	mini.Advance(30 * time.Minute)
	if left := client.PTTL(ctx, "hour").Val(); left > 30*time.Minute || left < 29*time.Minute {
		t.Errorf("half an hour later the value of an hour has %v left", left)
	}
	if err := client.Do(ctx, "CLOCK.ADVANCE", (30 * time.Minute).Milliseconds()).Err(); err != nil {
		t.Fatal(err)
	}
	if there("hour") {
		t.Error("an hour later a value of an hour is still there")
	}
	if now := client.Time(ctx).Val(); time.Until(now) < 59*time.Minute || time.Until(now) > 61*time.Minute {
		t.Errorf("its clock says %v, want an hour from now", now)
	}
	for _, wrong := range [][]any{{"CLOCK.ADVANCE"}, {"CLOCK.ADVANCE", "-1"}, {"CLOCK.ADVANCE", "soon"}} {
		if err := client.Do(ctx, wrong...).Err(); err == nil {
			t.Errorf("%v is no error", wrong)
		}
	}
}

func TestAProcessEndsInOrderOrIsKilled(t *testing.T) {
	l := launcher(t)
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		p := start(t, l, "-adapter", adapter, "-tied")
		if status := get(t, p.URL()+"/runs"); status != http.StatusOK {
			t.Errorf("%s: /runs answered %d", adapter, status)
		}
		if err := p.Stop(); err != nil {
			t.Errorf("%s: %v", adapter, err)
		}
		p = start(t, l, "-adapter", adapter, "-tied")
		p.Kill()
		if _, err := http.Get(p.URL() + "/runs"); err == nil {
			t.Errorf("%s: a killed server answers", adapter)
		}
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestAProcessThatCannotStartSaysWhy(t *testing.T) {
	l := launcher(t)
	for flags, says := range map[string]string{
		"-adapter gin": "none of stdhttp", "-store redis": "needs -redis", "-ring one": "one", "-lose 2": "between 0 and 1",
	} {
		p, err := l.Start(strings.Fields(flags)...)
		if err == nil {
			p.Kill()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want an error that says %q", flags, err, says)
		}
	}
}

// The ledger outlives a killed process, with every run that had begun.
func TestTheLedgerOutlivesAKill(t *testing.T) {
	l, ledger := launcher(t), filepath.Join(t.TempDir(), "ledger")
	p := start(t, l, "-tied", "-control", "-ledger", ledger)
	go func() {
		r, err := http.NewRequest(http.MethodPost, p.URL()+"/do/held", nil)
		if err != nil {
			return
		}
		r.Header.Set("Do-Gate", "never")
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	lines := func() string { text, _ := os.ReadFile(ledger); return string(text) }
	eventually(t, "the run to be written down", func() bool { return strings.Contains(lines(), "run /do/held\n") })
	p.Kill()
	if got := lines(); got != "run /do/held\n" {
		t.Errorf("the ledger says %q", got)
	}
}
